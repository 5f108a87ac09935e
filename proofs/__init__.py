"""Why the protocol is right for every number of ranks."""
