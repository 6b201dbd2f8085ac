"""Attacks on releases, ours and those of other tools, with figures of how far they come."""

from typing import TYPE_CHECKING

from serigraph.runtime.on_demand import on_demand

if TYPE_CHECKING:
    from serigraph.attacking.entry import ATTACKS, Attacked, attack
    from serigraph.attacking.scoring import Attack, Finding

__getattr__, __dir__ = on_demand(
    __name__,
    {
        "ATTACKS": "serigraph.attacking.entry",
        "Attack": "serigraph.attacking.scoring",
        "Attacked": "serigraph.attacking.entry",
        "Finding": "serigraph.attacking.scoring",
        "attack": "serigraph.attacking.entry",
    },
)

__all__ = ["ATTACKS", "Attack", "Attacked", "Finding", "attack"]
