"""The command line. One file for each command; heavy imports wait until a command runs."""

from serigraph.cli.app import main

__all__ = ["main"]
