"""The methods of `AsyncMemory`, by what they are about; `memstrata.async_memory` puts them together."""
