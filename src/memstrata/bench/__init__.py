"""How fast memstrata is on this machine: `python -m benchmarks` (or `make bench`). No model, no network."""
