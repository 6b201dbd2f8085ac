"""What an adversary has, and apart from it the truth, which only the scoring sees.

People are numbered, values are numbered, and each release says who is in which group and what the
groups show. Rows and quasi-identifiers are there if the tables of the releases were given.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import polars as pl
from numpy.typing import NDArray

from serigraph.short_repr import Undisclosed

NOBODY = -1  # the group of people who are in none
MOST_INSIDERS = 3  # of a group, who tell what they hold


@dataclass(frozen=True, repr=False)
class Neighbourhood(Undisclosed):
    """A few people, and how they would be grouped if others of them held a value."""

    person: NDArray[np.int64]  # numbers that tell the people of all neighbourhoods apart
    number: int  # tells the values of neighbourhoods apart
    holders: tuple[int, ...]  # places among these people; the release that is attacked has these
    regroup: Callable[[tuple[int, ...]], NDArray[np.int64]]


@dataclass(frozen=True, repr=False)
class Rows(Undisclosed):
    """The records of a release in the order of its file."""

    group: NDArray[np.int64]  # of each record; NOBODY where it is not known
    values: pl.Series  # List(String), one a record, unprotected values too
    number: NDArray[np.int64]  # of each group: where it comes, by its number if it has one, or else
    # by its first record; NOBODY where it is not known


@dataclass(frozen=True, repr=False)
class Seen(Undisclosed):
    """One release as an adversary sees it who knows who is in which group."""

    label: str
    group: NDArray[np.int64]  # of each person, or NOBODY
    size: NDArray[np.int64]  # of each group: the people to choose from
    recorded: NDArray[np.float64]  # of each group: the share of these that have a record
    shown_group: NDArray[np.int64]  # of each entry, ascending by value
    shown_value: NDArray[np.int64]
    shown_count: NDArray[np.int64]  # people who hold the value
    attends: NDArray[np.bool_] | None = None  # who is known to be in the table
    rows: Rows | None = None

    def counts(self, value: int) -> NDArray[np.int64]:
        """How many people of each group hold a value; a last 0 is for people in no group."""
        first, last = np.searchsorted(self.shown_value, [value, value + 1])
        found = np.zeros(len(self.size) + 1, dtype=np.int64)
        found[self.shown_group[first:last]] = self.shown_count[first:last]
        return found

    def chances(self, value: int, known: int = 0) -> NDArray[np.float64]:
        """n_s/(n - c) of each group, and a last 0."""
        counts = self.counts(value)
        left = np.maximum(np.append(self.size, 1) - known, np.maximum(counts, 1))
        found: NDArray[np.float64] = np.minimum(counts / left, 1.0)
        return found


@dataclass(frozen=True, repr=False)
class Evidence(Undisclosed):
    """Everything that an adversary may use."""

    people: int
    values: tuple[str, ...]  # those that are protected
    thresholds: tuple[Fraction, ...]
    releases: tuple[Seen, ...]
    known_members: int  # whom the policy grants the adversary, in every group
    codes: NDArray[np.int64] | None = None  # [column, person], ranks; quasi-identifiers
    columns: tuple[str, ...] = ()
    minimum_size: int = 1  # of groups, as the policy has it
    listed: NDArray[np.int64] | None = None  # the place of each person in the tables
    classes: NDArray[np.int64] | None = None  # of people who are promised to be alike; -1: none
    persisting: tuple[bool, ...] = ()  # of each value: whether the promise rests on classes
    insiders: tuple[NDArray[np.int64], ...] = ()  # of each release: the first, second, ... of a
    # group (0, 1, ...) to tell what they hold; NOBODY for those who do not
    told: tuple[NDArray[np.int64], ...] = ()  # pairs (person, value) in one number that these told
    neighbourhoods: tuple[Neighbourhood, ...] | str = (  # or why there are none
        "the method is not known, or the tables are not given (--raw)"
    )

    def pairs(self, person: NDArray[np.int64], value: NDArray[np.int64] | int) -> NDArray[np.int64]:
        """A person and a value in one number."""
        keys: NDArray[np.int64] = person * len(self.values) + value
        return keys


@dataclass(frozen=True, repr=False)
class Truth(Undisclosed):
    """Who holds what. Attacks never see it."""

    evidence: Evidence
    published: tuple[NDArray[np.int64], ...]  # of each release: pairs published as holders, sorted
    present: tuple[NDArray[np.bool_], ...]  # of each release: who has a record
    tables: tuple[
        NDArray[np.int64], ...
    ] = ()  # of each: who holds any protected value, shown or not

    def holds(
        self, person: NDArray[np.int64], value: NDArray[np.int64], release: int | None
    ) -> NDArray[np.bool_]:
        """Whether these people were published as holders, in one release or ever."""
        asked = self.evidence.pairs(person, value)
        if release is not None:
            return np.isin(asked, self.published[release])
        return np.isin(asked, np.concatenate(self.published))

    def holds_anything(self, person: NDArray[np.int64], release: int) -> NDArray[np.bool_]:
        """Whether these people hold any protected value in the table of a release."""
        return np.isin(person, self.tables[release])

    def permuted(self, draw: np.random.Generator) -> Truth:
        """Another world with the same releases: people of a group who have a record change places,
        or people of a class where values persist. It tells chance from leak."""
        evidence = self.evidence
        values = max(len(evidence.values), 1)
        persisting = np.array(evidence.persisting or (False,) * values, dtype=np.bool_)
        within_class = None
        if evidence.classes is not None:
            within_class = _swapped(evidence.classes, draw)
        published = []
        for seen, pairs, present in zip(
            evidence.releases, self.published, self.present, strict=True
        ):
            person, value = pairs // values, pairs % values
            changed = _swapped(np.where(present, seen.group, NOBODY), draw)[person]
            if within_class is not None:
                changed = np.where(persisting[value], within_class[person], changed)
            published.append(np.sort(changed * values + value))
        return Truth(
            evidence,
            tuple(published),
            self.present,
            tuple(self._anywhere(j, held, draw) for j, held in enumerate(self.tables)),
        )

    def _anywhere(
        self, release: int, people: NDArray[np.int64], draw: np.random.Generator
    ) -> NDArray[np.int64]:
        """The people of a table change places."""
        attends = self.evidence.releases[release].attends
        here = self.present[release] if attends is None else attends
        return np.sort(_swapped(np.where(here, 0, NOBODY), draw)[people])


def _swapped(within: NDArray[np.int64], draw: np.random.Generator) -> NDArray[np.int64]:
    """For each person another one with the same number, drawn by lot; -1 stays as it is."""
    place = np.flatnonzero(within >= 0)
    shuffled = place[np.lexsort((draw.random(len(place)), within[place]))]
    found = np.arange(len(within))
    found[place[np.argsort(within[place], kind="stable")]] = shuffled
    return found


def one_of_each(
    group: NDArray[np.int64], belief: NDArray[np.float64], draw: np.random.Generator
) -> NDArray[np.int64]:
    """The place of the largest belief in each group; ties are drawn by lot.

    >>> one_of_each(np.array([5, 5, 7]), np.array([0.1, 0.9, 0.2]), np.random.default_rng(0))
    array([1, 2])
    """
    order = np.lexsort((draw.random(len(group)), -belief, group))
    first = np.append(True, np.diff(group[order]) != 0)[: len(order)]
    return np.sort(order[first])


def insiders_of(releases: Sequence[Seen], draw: np.random.Generator) -> list[NDArray[np.int64]]:
    """Up to three members of each group, drawn by lot, who tell the adversary what they hold."""
    found = []
    for seen in releases:
        insider = np.full(len(seen.group), NOBODY, dtype=np.int64)
        for number in range(MOST_INSIDERS):
            left = np.flatnonzero((seen.group >= 0) & (insider < 0))
            chosen = one_of_each(seen.group[left], np.zeros(len(left)), draw)
            insider[left[chosen]] = number
        found.append(insider)
    return found
