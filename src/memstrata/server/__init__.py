"""The service: every verb of `AsyncMemory` over HTTP, for many tenants, each behind its credentials."""
