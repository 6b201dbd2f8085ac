"""m-invariance (Xiao and Tao, 2007), the main predecessor for series of tables.

A person who comes back joins a group with the same set of values, the person's signature, so that
releases do not narrow down the value. Counterfeit people fill groups in which values are missing.

It assumes that a person's value never changes. If one did, and the signature does not hold it, the
person has to be treated as new: the paper's Section 2 says why that fails.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from serigraph.experiments.baselines import Grouped
from serigraph.model import Population
from serigraph.runtime.randomness import Randomness, shuffled

Signature = tuple[str, ...]
FIRST_COUNTERFEIT = 2**40  # ids of counterfeit people lie above those of all others

_COUNTERFEIT = -1
_CUTS = 8  # places at which a bucket may be cut in each column


@dataclass(frozen=True)
class Memory:
    """The signature of the last group of each person that was ever in a release."""

    signatures: dict[int, Signature]


class _Bucket:
    """People of one signature, one column a value; ends with columns of one length."""

    def __init__(self, signature: Signature) -> None:
        self.columns: dict[str, list[int]] = {value: [] for value in signature}

    @property
    def height(self) -> int:
        return max(len(people) for people in self.columns.values())


def m_invariant(
    population: Population, m: int, memory: Memory, randomness: Randomness
) -> tuple[Grouped, Memory]:
    """Group one table of people with one value each; returns the memory for the next one."""
    ids = population.ids.to_list()
    values: list[str] = population.values.list.first().to_list()
    buckets, new = _divided(ids, values, memory, shuffled(len(ids), randomness))
    _balance(buckets, new, m)
    _assign(buckets, new, m)
    rows: list[list[int]] = []
    signature_of_row: list[Signature] = []
    for signature in sorted(buckets):
        columns = [list(buckets[signature].columns[value]) for value in signature]
        for each in _partitioned(population, columns):
            rows.append(each)
            signature_of_row.append(signature)
    signatures = dict(memory.signatures)
    for row, signature in zip(rows, signature_of_row, strict=True):
        for person in row:
            if person != _COUNTERFEIT:
                signatures[ids[person]] = signature
    return _with_counterfeits(population, rows, signature_of_row), Memory(signatures)


def _divided(
    ids: list[int], values: list[str], memory: Memory, order: NDArray[np.int64]
) -> tuple[dict[Signature, _Bucket], dict[str, list[int]]]:
    """Division: people who come back go into the bucket of their signature, the others are new."""
    buckets: dict[Signature, _Bucket] = {}
    new: dict[str, list[int]] = defaultdict(list)
    for person in order.tolist():
        signature = memory.signatures.get(ids[person])
        if signature is not None and values[person] in signature:
            bucket = buckets.setdefault(signature, _Bucket(signature))
            bucket.columns[values[person]].append(person)
        else:
            new[values[person]].append(person)
    return buckets, new


def _balance(buckets: dict[Signature, _Bucket], new: dict[str, list[int]], m: int) -> None:
    """Fill each bucket's columns up to the longest: by new people while the others stay eligible
    (no value above 1/m of them), otherwise by counterfeits."""
    left = sum(len(people) for people in new.values())
    for signature in sorted(buckets):
        bucket = buckets[signature]
        height = bucket.height
        for value in signature:
            column = bucket.columns[value]
            while len(column) < height:
                most = max((len(new[other]) for other in new if other != value), default=0)
                own = len(new.get(value, ()))
                if own and max(most, own - 1) * m <= left - 1:
                    column.append(new[value].pop())
                    left -= 1
                else:
                    column.append(_COUNTERFEIT)


def _assign(buckets: dict[Signature, _Bucket], new: dict[str, list[int]], m: int) -> None:
    """Assignment: give the remaining people to buckets of the most frequent values."""
    left = sum(len(people) for people in new.values())
    while left:
        ranked = sorted((v for v in new if new[v]), key=lambda v: (-len(new[v]), v))
        counts = [len(new[value]) for value in ranked]
        wide, number = _take(counts, left, m)
        signature = tuple(sorted(ranked[:wide]))
        if wide < m:  # too few values are left: counterfeits of others complete the signature
            others = [value for value in sorted(new) if value not in signature]
            signature = tuple(sorted([*signature, *others[: m - wide]]))
        bucket = buckets.setdefault(signature, _Bucket(signature))
        for value in signature:
            taken = [new[value].pop() for _ in range(min(number, len(new[value])))]
            bucket.columns[value] += taken + [_COUNTERFEIT] * (number - len(taken))
            left -= len(taken)


def _take(counts: list[int], left: int, m: int) -> tuple[int, int]:
    """The smallest b >= m with the largest a such that taking a people of each of the top b values
    leaves the others eligible; all that is left where there is no such b."""
    for b in range(m, len(counts) + 1):
        following = counts[b] if b < len(counts) else 0
        for a in range(counts[b - 1], 0, -1):
            rest = left - a * b
            if (counts[0] - a) * m <= rest and following * m <= rest:
                return b, a
    return min(m, len(counts)), counts[0]


def _partitioned(population: Population, columns: list[list[int]]) -> list[list[int]]:
    """Partitioning: cut a bucket, all its columns at the same place, down to one of each value."""
    scales = [domain.positions() for domain in population.domains]
    placed = np.stack([s[c] for s, c in zip(scales, population.codes, strict=True)])
    done: list[list[int]] = []
    stack = [columns]
    while stack:
        bucket = stack.pop()
        height = len(bucket[0])
        if height == 1:
            done.append([column[0] for column in bucket])
            continue
        stack.extend(_best_cut(placed, bucket, height))
    return done


def _best_cut(
    placed: NDArray[np.float64], bucket: list[list[int]], height: int
) -> tuple[list[list[int]], list[list[int]]]:
    """The cut with the least perimeter of both parts' boxes, weighted by their sizes."""
    places = sorted({max(1, min(height - 1, height * k // _CUTS)) for k in range(1, _CUTS)})
    orders: list[list[list[int]]] = []
    cuts: list[tuple[float, int, int]] = []
    for at in range(len(placed)):
        # Counterfeits lie nowhere, and so come last.
        ordered = [
            sorted(column, key=lambda i: (i == _COUNTERFEIT, placed[at, i], i)) for column in bucket
        ]
        orders.append(ordered)
        for place in places:
            left = _perimeter(placed, [i for column in ordered for i in column[:place]])
            right = _perimeter(placed, [i for column in ordered for i in column[place:]])
            cuts.append((left * place + right * (height - place), at, place))
    _, at, place = min(cuts)
    return [c[:place] for c in orders[at]], [c[place:] for c in orders[at]]


def _perimeter(placed: NDArray[np.float64], people: list[int]) -> float:
    real = [person for person in people if person != _COUNTERFEIT]
    if not real:
        return 0.0
    box = placed[:, real]
    return float((box.max(axis=1) - box.min(axis=1)).sum())


def _with_counterfeits(
    population: Population, rows: list[list[int]], signatures: list[Signature]
) -> Grouped:
    """The population with a person for each counterfeit, inside the box of its group."""
    group = np.empty(population.size, dtype=np.int64)
    beside, values, groups = [], [], []
    for number, (row, signature) in enumerate(zip(rows, signatures, strict=True)):
        real = [person for person in row if person != _COUNTERFEIT]
        group[real] = number
        for person, value in zip(row, signature, strict=True):
            if person == _COUNTERFEIT and real:
                beside.append(real[0])
                values.append(value)
                groups.append(number)
    if not values:
        return Grouped(population, group)
    place = {value.name: number for number, value in enumerate(population.protected)}
    held = np.array([place[value] for value in values if value in place], dtype=np.int32)
    lengths = np.array([value in place for value in values], dtype=np.int64)
    ids = pl.Series(np.arange(FIRST_COUNTERFEIT, FIRST_COUNTERFEIT + len(values)))
    return Grouped(
        replace(
            population,
            ids=pl.concat([population.ids, ids.cast(population.ids.dtype)]),
            present=np.concatenate([population.present, np.ones(len(values), dtype=np.bool_)]),
            codes=np.concatenate([population.codes, population.codes[:, beside]], axis=1),
            held_start=np.concatenate(
                [population.held_start, population.held_start[-1] + np.cumsum(lengths)]
            ),
            held=np.concatenate([population.held, held]),
            values=pl.concat(
                [
                    population.values.cast(pl.List(pl.String)),
                    pl.Series([[v] for v in values], dtype=pl.List(pl.String)),
                ]
            ),
        ),
        np.concatenate([group, np.array(groups, dtype=np.int64)]),
        counterfeits=len(values),
    )
