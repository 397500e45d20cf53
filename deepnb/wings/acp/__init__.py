"""deepnb's agent for clients of the Agent Client Protocol: chats that share memory, and threads, with notebooks."""
