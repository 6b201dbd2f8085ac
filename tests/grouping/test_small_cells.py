"""Groups of people with a past are as large as somebody in them asks for, and no larger."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np

from grouping.releases import generated, history_of, plan, with_values
from serigraph.engines.earlier_releases import remembered
from serigraph.engines.local import make_release
from serigraph.model import Past
from serigraph.privacy import Geometric
from serigraph.runtime.randomness import SeededRandomness
from serigraph.verification import RememberedReleases


def test_no_group_is_larger_than_somebody_asks_for() -> None:
    draw = np.random.default_rng(1)
    first = generated("uniform", "frequent", 20_000, draw)
    geometric = replace(plan("bucketised", "top-down"), strategy=Geometric(Fraction(2)))
    nothing = Past.none(first.size), RememberedReleases()
    known = make_release(first, *nothing, geometric, SeededRandomness(2))
    # One person in twenty returns, and some of those ask for a group of six; others for four.
    past = history_of(known)
    stays_away = draw.random(first.size) > 1 / 20
    past = replace(past, group=np.where(stays_away[:, None], -1, past.group).astype(np.int32))
    again = with_values(first, draw.permutation(first.held))
    earlier = remembered(again.ids, [value.name for value in again.protected], past)
    size = make_release(again, past, earlier, geometric, SeededRandomness(3)).proof.size
    assert size.min() == 4
    assert np.average(size, weights=size) < 6.5  # six is what the neediest ask for
