"""Tapes: a recording of what models were asked and answered, and the chat model that plays one."""
