"""Optional packages: imported at use; if missing, the error names the extra to install."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from serigraph.errors import MissingExtra


def optional_package(name: str, *, extra: str, purpose: str) -> Any:
    """The module of an optional package, or ``MissingExtra`` with the extra to install."""
    try:
        return import_module(name)
    except ImportError:
        raise MissingExtra(
            f"{purpose} needs the package {name}, which is not installed",
            remedy=f"pip install 'serigraph[{extra}]'",
        ) from None
