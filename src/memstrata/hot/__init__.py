"""The hot tier of a service in Redis or Valkey: what contexts show of a session, one round trip away."""
