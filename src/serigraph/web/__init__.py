"""Serigraph in the browser: one local server for the people who publish, plan and audit.

Everything is decided by the public functions that the command line calls too. ``guard`` is the
first to see a request; ``jobs`` do long work in processes of their own; ``screens`` make pages.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from serigraph.runtime.on_demand import on_demand

if TYPE_CHECKING:
    from serigraph.web.serving import serve

__getattr__, __dir__ = on_demand(__name__, {"serve": "serigraph.web.serving"})

__all__ = ["serve"]
