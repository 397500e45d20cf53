"""Context: what a request costs, when it is compacted, what was offloaded."""
