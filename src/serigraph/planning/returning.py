"""The share of people who return from one release to the next."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import polars as pl

from serigraph.ledger import ReleaseRecord, Series
from serigraph.ledger.layout import Layout
from serigraph.ledger.parts import MEMBERS, read_part, read_people
from serigraph.model import Population

ASSUMED = 0.5


@dataclass(frozen=True)
class ReturnRate:
    """The share of people of a release who are also in the next, and its source."""

    rate: float
    source: Literal["given", "estimated", "assumed"]
    releases: int = 0  # it was estimated from


def return_rate_of(
    series: Series,
    releases: tuple[ReleaseRecord, ...],
    population: Population,
    given: float | None,
) -> ReturnRate:
    """The given rate; else the mean over all steps from release to release, including the one to
    this table; else an assumption."""
    if given is not None:
        return ReturnRate(given, "given")
    if not releases:
        return ReturnRate(ASSUMED, "assumed")
    layout = Layout(series.path)
    ids = read_people(layout, releases)["id"]
    there = []
    for release in releases:
        members = read_part(layout, release, MEMBERS).filter("present")
        there.append(ids.gather(members["person"]))
    there.append(population.ids.filter(pl.Series(population.present)))
    returned = sum(int(before.is_in(after.implode()).sum()) for before, after in pairwise(there))
    before = sum(len(each) for each in there[:-1])
    return ReturnRate(returned / max(before, 1), "estimated", len(releases))
