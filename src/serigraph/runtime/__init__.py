"""What every package builds on: threads, progress, randomness, compiled code, lazy imports."""
