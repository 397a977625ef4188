"""How fast memstrata is on this machine: `memstrata bench`. No model, no network."""
