"""Moving in: the stores and exports of mem0, A-MEM and MemoryOS, read as statements and messages for our own path."""
