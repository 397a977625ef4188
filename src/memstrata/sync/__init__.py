"""The methods of `AsyncMemory` without `await`: made by tools/make_sync.py from face/, but for thread.py."""
