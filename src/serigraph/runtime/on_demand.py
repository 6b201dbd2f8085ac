"""Packages that import what they offer on first use, so that commands start at once."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def on_demand(
    package: str, places: Mapping[str, str]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """The ``__getattr__`` and the ``__dir__`` of a package. ``places`` has each name's module and,
    after a colon, its name there if that differs."""

    def find(name: str) -> Any:
        if name not in places:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module, _, other = places[name].partition(":")
        return getattr(import_module(module), other or name)

    def names() -> list[str]:
        loaded = vars(sys.modules[package])
        special = [name for name in loaded if name.startswith("__")]
        return sorted({*loaded.get("__all__", ()), *places, *special})

    return find, names
