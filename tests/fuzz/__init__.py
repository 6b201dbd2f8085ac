"""Inputs that nobody would write, by the thousand; ``python -m fuzz`` in this folder's parent."""
