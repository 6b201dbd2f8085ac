"""Serigraph publishes microdata again and again under one guarantee over the whole series."""

from serigraph._version import __version__

__all__ = ["__version__"]
