"""The client: `Memory("https://...", api_key=...)` has the methods of a memory, and its memory is a service's."""

from memstrata.remote.client import RemoteMemory

__all__ = ["RemoteMemory"]
