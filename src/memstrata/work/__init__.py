"""Queued work: slow stages run after the turns are durable, resume after a crash and are retried with backoff."""
