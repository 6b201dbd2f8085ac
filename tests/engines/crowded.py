"""A population in which one value may be too common."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from model.models import Person, population_of
from serigraph.model import Population, ProtectedValue


def crowded(holders: int, others: int) -> Population:
    """So many people with the value c, which is protected by itself only, and so many without."""
    people = [Person((0, 0), True, frozenset("c"))] * holders
    people += [Person((0, 0), True, frozenset("d"))] * others
    both = population_of(people, ["c", "m"])
    is_value = both.held == 0
    value = both.protected[0]
    return replace(
        both,
        protected=(ProtectedValue(value.name, value.threshold),),
        held=both.held[is_value],
        held_start=np.cumsum([0] + [1] * holders + [0] * others).astype(np.int64),
    )
