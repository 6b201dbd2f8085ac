"""What every room stands on: threads, progress, randomness, compiled code, imports on demand."""
