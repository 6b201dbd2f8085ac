"""What somebody finds out who compares the releases of a series whose values persist, and knows the
laws, all registries, all groups and who belongs to which cohort."""

from __future__ import annotations

import itertools
import tempfile
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from benchmarks.persisting_people import Law, Setting, Tables

Pattern = tuple[int, ...]  # for each release: was the person published as a holder
Counts = tuple[int, ...]


@dataclass(frozen=True)
class Ledger:
    """What was published, and of whom: more than any adversary has."""

    releases: int
    groups: Mapping[int, Mapping[int, int]]  # by release, person: group
    shows: frozenset[tuple[int, int, str]]  # release, group and value
    sizes: Mapping[tuple[int, int], tuple[int, int]]  # by release and group: members, records
    holders: Mapping[tuple[int, str], frozenset[int]]  # by person and value: the releases
    cohorts: Mapping[int, frozenset[int]]  # their people; none where no value persists
    records: int  # published in all releases together

    def group_size(self) -> float:
        """The mean size of the groups that show a protected value, over all releases."""
        sizes = [self.sizes[k, group][0] for k, group in {(k, g) for k, g, _ in self.shows}]
        return float(np.mean(sizes)) if sizes else 0.0


def published(
    setting: Setting, form: str, persistence: str, tables: Sequence[Tables], *, registry: bool
) -> Ledger:
    """Publish a series, and read what the ledger says of it."""
    import serigraph

    records = 0
    with tempfile.TemporaryDirectory() as folder:
        text = setting.policy(form, persistence).encode()
        book = serigraph.Series.create(Path(folder) / "series", {"policy.toml": text})
        for number, each in enumerate(tables, 1):
            release = serigraph.publish(
                each.table,
                book,
                registry=each.registry if registry else None,
                label=f"r{number}",
                new_people=True,
                assume_transient=setting.names if persistence == "transient" else (),
            )
            records += release.figures["present"]
        exported = Path(folder) / "exported"
        book.export(exported, confidential=True)
        read = {
            name: pl.read_parquet(exported / f"{name}.parquet")
            for name in ("members", "groups", "values", "holders", "cohorts")
        }
    groups: dict[int, dict[int, int]] = defaultdict(dict)
    for release, person, group in read["members"].select("release", "person", "group").iter_rows():
        groups[release][int(person)] = group
    with_record: dict[tuple[int, int], int] = defaultdict(int)
    for release, each in enumerate(tables, 1):
        for person in each.table["id"]:
            if person in groups[release]:
                with_record[release, groups[release][person]] += 1
    members: dict[tuple[int, int], int] = defaultdict(int)
    for release, group_of in groups.items():
        for group in group_of.values():
            members[release, group] += 1
    holders: dict[tuple[int, str], set[int]] = defaultdict(set)
    for release, person, value in read["holders"].select("release", "person", "value").iter_rows():
        holders[int(person), value].add(release)
    cohorts: dict[int, set[int]] = defaultdict(set)
    for person, cohort in read["cohorts"].select("person", "cohort").iter_rows():
        cohorts[cohort].add(int(person))
    return Ledger(
        releases=len(tables),
        groups=groups,
        shows=frozenset(read["values"].select("release", "group", "value").iter_rows()),
        sizes={key: (size, with_record[key]) for key, size in members.items()},
        holders={pair: frozenset(releases) for pair, releases in holders.items()},
        cohorts={number: frozenset(people) for number, people in cohorts.items()},
        records=records,
    )


def in_crowds(ledger: Ledger, names: Sequence[str]) -> list[float]:
    """For everybody ever published as a holder: H/|K| of the crowd."""
    from serigraph.privacy import Seen, crowds
    from serigraph.privacy.alikeness import Sight, sight

    found = []
    everybody = {person for group_of in ledger.groups.values() for person in group_of}
    for name in names:
        told = {}
        for person in everybody:
            sights: list[Sight] = []
            for release in range(1, ledger.releases + 1):
                group = ledger.groups[release].get(person)
                if group is None:
                    sights.append(Seen.AWAY)
                    continue
                members, records = ledger.sizes[release, group]
                shows = (release, group, name) in ledger.shows
                sights.append(
                    sight((release, group), shows=shows, members=members, records=records)
                )
            told[person] = sights
        for crowd in crowds(told):
            holders = sum((person, name) in ledger.holders for person in crowd)
            found += [holders / len(crowd)] * holders
    return found


def pattern_weights(law: Law, setting: Setting, releases: int) -> dict[Pattern, float]:
    """How probable it is to be published as a holder of one value in these releases."""
    share = setting.share / len(setting.names)
    ill = law.falls_ill(share)
    weights: dict[tuple[Pattern, int], float] = {((), 0): 1 - share, ((), 1): share}
    for number in range(releases):
        longer: dict[tuple[Pattern, int], float] = defaultdict(float)
        for (pattern, held), weight in weights.items():
            holds = law.keeps if held else ill
            ways = ((held, 1.0),) if number == 0 else ((1, holds), (0, 1 - holds))
            for now, chance in ways:
                if now:
                    longer[(*pattern, 1), 1] += weight * chance * law.present
                    longer[(*pattern, 0), 1] += weight * chance * (1 - law.present)
                else:
                    longer[(*pattern, 0), 0] += weight * chance
        weights = longer
    found: dict[Pattern, float] = defaultdict(float)
    for (pattern, _), weight in weights.items():
        if weight:
            found[pattern] += weight
    return found


def cohort_posteriors(
    counts: Counts, member: NDArray[np.bool_], weights: Mapping[Pattern, float]
) -> NDArray[np.float64]:
    """P(ever published as a holder | the counts of a cohort), for each person.

    ``member`` says who was in the cohort in which release. Generating functions: each person adds
    its pattern to the counts, and the last one is taken out again.
    """
    kinds, kind = np.unique(member, axis=0, return_inverse=True)
    kind = kind.reshape(-1)
    ways: list[dict[Pattern, float]] = []
    for here in kinds:
        mine: dict[Pattern, float] = defaultdict(float)
        for pattern, weight in weights.items():
            shown = tuple(int(x and h) for x, h in zip(pattern, here, strict=True))
            if all(x <= c for x, c in zip(shown, counts, strict=True)):
                mine[shown] += weight
        ways.append(mine)
    found = np.zeros(len(kinds))
    none = (0,) * len(counts)
    for number in range(len(kinds)):
        others = np.bincount(kind, minlength=len(kinds))
        others[number] -= 1
        total = np.zeros([most + 1 for most in counts])
        total[none] = 1.0
        for other, people in enumerate(others):
            for _ in range(people):
                total = _added(total, ways[other])
        together = _added(total, ways[number])[counts]
        found[number] = 1 - total[counts] * ways[number][none] / together
    return found[kind]


def _added(total: NDArray[np.float64], ways: Mapping[Pattern, float]) -> NDArray[np.float64]:
    sums = np.zeros_like(total)
    for pattern, weight in ways.items():
        later = tuple(slice(x, None) for x in pattern)
        sooner = tuple(slice(None, size - x) for x, size in zip(pattern, total.shape, strict=True))
        sums[later] += weight * total[sooner]
    return sums


def by_law(
    ledger: Ledger, law: Law, setting: Setting, most_ways: int
) -> tuple[list[tuple[float, bool]], int]:
    """Of everybody in a cohort that ever showed a value: the posterior, and the truth. Cohorts with
    more than so many ways to reach their counts are left out, and counted."""
    weights = pattern_weights(law, setting, ledger.releases)
    found: list[tuple[float, bool]] = []
    left_out = 0
    releases = range(1, ledger.releases + 1)
    for people, name in itertools.product(ledger.cohorts.values(), setting.names):
        order = sorted(people)
        shown = [ledger.holders.get((person, name), frozenset()) for person in order]
        counts = tuple(sum(k in each for each in shown) for k in releases)
        if not any(counts):
            continue
        if np.prod(np.array(counts) + 1.0) > most_ways:
            left_out += 1
            continue
        member = np.array([[person in ledger.groups[k] for k in releases] for person in order])
        chances = cohort_posteriors(counts, member, weights)
        found += zip(chances.tolist(), map(bool, shown), strict=True)
    return found, left_out
