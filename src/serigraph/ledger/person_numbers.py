"""The numbers that the ledger gave people, and how they are looked up by id."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from serigraph.errors import ImpossibleState, LedgerDamaged
from serigraph.ledger.layout import Layout
from serigraph.ledger.parts import NOT_ADDED_UP, read_newcomers
from serigraph.ledger.release import ReleaseRecord
from serigraph.model import ascend
from serigraph.runtime.threads import TOGETHER, parallel_map, slices
from serigraph.short_repr import Undisclosed


@dataclass(frozen=True, repr=False)
class Numbered(Undisclosed):
    """People with the numbers that the ledger gave them, -1 for people it does not know."""

    ids: pl.Series
    number: NDArray[np.int64]
    people: int  # known to the ledger, asked for or not

    @staticmethod
    def asked(layout: Layout, releases: tuple[ReleaseRecord, ...], ids: pl.Series) -> Numbered:
        """Look people up; this reads everybody the ledger knows."""
        if not releases:
            return Numbered(ids, _nobody(ids), 0)
        people = []

        def known() -> Iterator[pl.Series]:
            for newcomers in read_newcomers(layout, releases):
                people.append(len(newcomers))
                yield newcomers

        return Numbered(ids, numbers_of(ids, known()), sum(people))

    def first_release(self, releases: tuple[ReleaseRecord, ...]) -> int:
        """The place of the first release that had any of these people: numbers are given in the
        order in which people arrive."""
        known = self.number[self.number >= 0]
        if not len(known):
            return len(releases)
        come = np.cumsum([release.newcomers for release in releases])
        return int(np.searchsorted(come, known.min(), "right"))

    def with_new(self) -> NDArray[np.int64]:
        """The numbers of all these people; those who are new get the next ones."""
        is_new = self.number < 0
        return np.where(is_new, self.people - 1 + np.cumsum(is_new), self.number)

    def numbers(self, ids: pl.Series) -> NDArray[np.int64]:
        """The numbers of some of these people; nobody has one before the first release."""
        if self.people == 0:
            return _nobody(ids)
        if ids.equals(self.ids):
            return self.number
        place = numbers_of(ids, [self.ids])
        if place.min(initial=0) < 0:
            raise ImpossibleState("a release has people that nobody asked the ledger for")
        return self.number[place]


def _nobody(ids: pl.Series) -> NDArray[np.int64]:
    """The numbers of people unknown to the ledger, without using memory for each."""
    return np.broadcast_to(np.int64(-1), len(ids))


def numbers_of(ids: pl.Series, known: Iterable[pl.Series]) -> NDArray[np.int64]:
    """The ledger's number of each id, -1 for people it does not know. The number of a known person
    is the place of its id in all ``known`` series together.

    >>> numbers_of(pl.Series([5, 8, 2]), [pl.Series([2, 3]), pl.Series([1, 5])]).tolist()
    [3, -1, 0]
    """
    if ids.dtype == pl.Int64:
        return _searched(ids.to_numpy(), _gathered(each.to_numpy() for each in known))
    numbers = np.full(len(ids), -1, dtype=np.int64)
    people = pl.concat(known).alias("id").to_frame().with_row_index("person")
    found = ids.alias("id").to_frame().with_row_index("place").join(people, on="id")
    if found["place"].n_unique() < found.height:
        raise LedgerDamaged(
            "the ledger knows people twice, by two Unicode forms of one id",
            where="ledger",
            remedy=NOT_ADDED_UP,
        )
    numbers[found["place"].to_numpy()] = found["person"].to_numpy()
    return numbers


def _gathered(pieces: Iterable[NDArray[np.int64]]) -> Iterator[NDArray[np.int64]]:
    """The same numbers in fewer pieces: each search has a fixed cost."""
    small: list[NDArray[np.int64]] = []
    for piece in pieces:
        small.append(piece)
        if sum(map(len, small)) >= TOGETHER:
            yield np.concatenate(small)
            small.clear()
    if small:
        yield np.concatenate(small)


def _searched(ids: NDArray[np.int64], known: Iterable[NDArray[np.int64]]) -> NDArray[np.int64]:
    """The same for integers. They are usually sorted, and a search takes a fraction of the time of
    a join; piece by piece, so that memory holds only one."""
    if not ascend(ids):
        different, place = np.unique(ids, return_inverse=True)
        return _searched(different, known)[place]
    numbers = np.full(len(ids), -1, dtype=np.int64)
    first = 0
    for each in known:
        # A release made on a cluster has its people in the order of their districts.
        order = None if ascend(each) else np.argsort(each)
        _search(ids, each if order is None else each[order], order, first, numbers)
        first += len(each)
    return numbers


def _search(
    ids: NDArray[np.int64],
    known: NDArray[np.int64],
    order: NDArray[np.intp] | None,
    first: int,
    numbers: NDArray[np.int64],
) -> None:
    """Write the numbers of those ids that are known; both ascend. Known ids are numbered from
    ``first`` on, in another order if one is given."""
    begin, ids = _between(ids, known)
    numbers = numbers[begin : begin + len(ids)]

    def search(here: slice) -> None:
        place, among = _matches(ids[here], known)
        numbers[here][place] = first + (among if order is None else order[among])

    parallel_map(search, slices(len(ids), longest=TOGETHER))


def _matches(
    left: NDArray[np.int64], right: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Where ascending, distinct numbers agree: places on the left and on the right.

    >>> [places.tolist() for places in _matches(np.array([1, 4, 6, 9]), np.array([0, 4, 9]))]
    [[1, 3], [1, 2]]
    """
    # Numbers outside the other's range, usually nearly all, are not searched for.
    first, left = _between(left, right)
    begin, right = _between(right, left)
    if len(left) > len(right):
        there, here = _matches(right, left)
        return first + here, begin + there
    at = np.minimum(np.searchsorted(right, left), len(right) - 1)
    here = np.flatnonzero(right[at] == left)
    return first + here, begin + at[here]


def _between(
    numbers: NDArray[np.int64], others: NDArray[np.int64]
) -> tuple[int, NDArray[np.int64]]:
    """The part of ascending numbers within the range of others, and where it begins."""
    if len(others) == 0:
        return 0, numbers[:0]
    begin, end = np.searchsorted(numbers, others[0]), np.searchsorted(numbers, others[-1], "right")
    return int(begin), numbers[begin:end]
