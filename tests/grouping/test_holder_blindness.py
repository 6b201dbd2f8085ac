"""Which member of a group holds a value cannot be read from where the member sits."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import pytest

from grouping.blindness import BARS, HELD, bets_on_positions
from grouping.positions import Bets, bets, orders_of, pooled, telling
from grouping.releases import Spread, Values
from marks import thorough

SEEDS = range(4)
SPREADS: tuple[Spread, ...] = ("uniform", "clustered")


@pytest.mark.parametrize("values", ["frequent", thorough("rare")])
def test_no_position_in_a_group_gives_the_holder_away(values: Values) -> None:
    """Eight tables, because of one alone chance would put too many holders somewhere; in each form
    and direction, and with a past."""
    of_way: defaultdict[str, list[dict[str, Bets]]] = defaultdict(list)
    for seed in SEEDS:
        for spread in SPREADS:
            for way, found in bets_on_positions(spread, values, seed):
                of_way[way].append(found)
    assert len(of_way) == (7 if values == "rare" else 3)
    above = [
        f"{way}, {position}: {each.lift:.3f} (up to {each.highest:.3f})"
        for way, releases in of_way.items()
        for position, each in telling(pooled(releases)).items()
        if each.highest > BARS[values]
    ]
    assert not above


def test_groups_around_their_holders_are_found() -> None:
    """Groups of eight neighbours, each with its holder in the middle."""
    draw = np.random.default_rng(1)
    at = draw.random((2, HELD * 8))
    group = np.empty(at.shape[1], dtype=np.int64)
    order = np.argsort(at[0])
    group[order] = np.arange(len(order)) // 8
    found = bets(group, order[4::8], orders_of(at, draw))
    assert found["a column: middle"].lift > 4  # never in the middle of the other column
    assert max(found.values(), key=lambda each: each.lift) is found["a column: middle"]
