"""The audit of a memory store, ours or another's: what in it is junk, repeated, looped, secret, stale or unsupported.

Words and rules only: no model is asked, nothing leaves the machine, and the file that is read is not changed.
"""
