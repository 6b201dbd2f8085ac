"""Which regions of a release a person lies in, found from the person's quasi-identifiers."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from serigraph.auditing.cells import CellReader, Writing
from serigraph.model import Domain
from serigraph.runtime.compiled import kernel
from serigraph.tables.cells import counted, rows_where


@dataclass(frozen=True)
class Regions:
    """The cells of a release as sets of codes; rows whose cells mean the same share a region."""

    of_row: NDArray[np.int64]  # the region of each row
    label: NDArray[np.int64]  # [region, column]: which set of codes
    admits: NDArray[np.bool_]  # [set, code], the sets of all columns below each other
    offset: NDArray[np.int64]  # where the sets of a column begin
    is_everything: NDArray[np.bool_]  # [region]: every cell stands for anything


def read_regions(
    cells: pl.DataFrame,
    domains: tuple[Domain, ...],
    writing: Writing = "any",
    null_values: Collection[str] = (),
) -> tuple[Regions, list[str]]:
    """The regions of a release, and the cells that cannot be read, by column and row."""
    problems: list[str] = []
    sets: list[NDArray[np.bool_]] = []
    of_row: list[NDArray[np.int64]] = []
    offset = [0]
    width = max((domain.size for domain in domains), default=0)
    for name, domain in zip(cells.columns, domains, strict=True):
        reader = CellReader(domain, writing, null_values)
        which, masks, unreadable = _column(cells[name], domain, reader)
        if unreadable is not None:
            problems.append(
                f"column {name!r}: {counted(int(unreadable.sum()), 'cell')} that is no value of "
                f"anybody's, no range, no set and no node of a taxonomy, {rows_where(unreadable)}"
            )
        padded = np.zeros((len(masks), width), dtype=np.bool_)
        padded[:, : domain.size] = masks
        sets.append(padded)
        of_row.append(which)
        offset.append(offset[-1] + len(masks))
    label, region = np.unique(np.stack(of_row, axis=1), axis=0, return_inverse=True)
    everything = np.ones(len(label), dtype=np.bool_)
    for column, (masks, domain) in enumerate(zip(sets, domains, strict=True)):
        is_anything: NDArray[np.bool_] = np.all(masks[:, : domain.size], axis=1)
        everything &= is_anything[label[:, column]]
    regions = Regions(
        of_row=region.reshape(-1),
        label=label,
        admits=np.concatenate(sets),
        offset=np.array(offset[:-1], dtype=np.int64),
        is_everything=everything,
    )
    return regions, problems


def match(
    codes: NDArray[np.int32], regions: Regions
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Every (person, region) such that the person lies in the region; ``codes[column, person]``."""
    distinct, which = np.unique(codes.T, axis=0, return_inverse=True)
    kind, region = _matching_regions(distinct, regions.label, regions.admits, regions.offset)
    begin = np.searchsorted(kind, np.arange(len(distinct) + 1))
    of_person = which.reshape(-1)
    number = np.diff(begin)[of_person]
    person = np.repeat(np.arange(len(of_person)), number)
    within = np.arange(len(person)) - np.repeat(np.cumsum(number) - number, number)
    return person, region[np.repeat(begin[of_person], number) + within]


def _column(
    cells: pl.Series, domain: Domain, reader: CellReader
) -> tuple[NDArray[np.int64], NDArray[np.bool_], pl.Series | None]:
    """For each row the number of its set of codes, the sets, and which rows cannot be read."""
    texts = cells.unique(maintain_order=True)
    read = [reader.admitted(text) for text in texts]
    nothing = np.zeros(domain.size, dtype=np.bool_)
    masks, number = np.unique(
        np.stack([nothing if mask is None else mask for mask in read]), axis=0, return_inverse=True
    )
    place = (
        pl.DataFrame({"cell": cells})
        .join(
            pl.DataFrame({"cell": texts, "place": np.arange(len(texts))}),
            on="cell",
            how="left",
            nulls_equal=True,
            maintain_order="left",
        )["place"]
        .to_numpy()
    )
    is_unreadable = np.array([mask is None for mask in read], dtype=np.bool_)[place]
    wrong = pl.Series(is_unreadable) if is_unreadable.any() else None
    return number.reshape(-1)[place], masks, wrong


@kernel
def _matching_regions(
    codes: NDArray[np.int32],
    label: NDArray[Any],
    admits: NDArray[np.bool_],
    offset: NDArray[np.int64],
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The regions that each person lies in: two arrays of equal length, person and region.

    ``codes`` has one row a person, in lexicographic order; ``label[region, column]`` is the cell of
    a region; ``admits[offset[column] + cell, code]`` says whether a cell holds a code. Regions that
    the first columns leave over are kept from person to person for as long as these columns agree.
    """
    people, columns = codes.shape
    regions = len(label)
    left = np.empty((columns + 1, regions), dtype=np.int64)
    number = np.zeros(columns + 1, dtype=np.int64)
    left[0] = np.arange(regions)
    number[0] = regions
    person = [np.int64(0) for _ in range(0)]
    region = [np.int64(0) for _ in range(0)]
    for i in range(people):
        first = 0
        if i > 0:
            while first < columns and codes[i, first] == codes[i - 1, first]:
                first += 1
        for c in range(first, columns):
            kept = 0
            for k in range(number[c]):
                r = left[c, k]
                if admits[offset[c] + label[r, c], codes[i, c]]:
                    left[c + 1, kept] = r
                    kept += 1
            number[c + 1] = kept
        for k in range(number[columns]):
            person.append(np.int64(i))
            region.append(left[columns, k])
    return np.array(person, dtype=np.int64), np.array(region, dtype=np.int64)
