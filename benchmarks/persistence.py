"""What comparing releases tells where values persist: `make bench-persistence`.

Generated series with a registry, in which everybody's values are known to us: a value is kept to
the next release with a chance q, people are present with a chance r, and a share of the registry
leaves before every release and is replaced by newcomers. Each is published with values called
transient, and called "any". Then somebody attacks who knows the laws, all registries, all groups
and who belongs to which cohort.

- *crowds*: of the people ever published as holders, how many are above the threshold, and how many
  certain, for somebody who knows the holders in each crowd of people who are alike: H/|K|.
- *law*: the same for somebody who knows q, r and how many fall ill, and computes the posterior from
  the counts of the cohorts in all releases. It is exact but for one thing: the limit on holders is
  not used, without which it can come out above the threshold. *true* is the share of holders among
  the people whom it puts above: within the threshold, it was too sure. Only for cohorts.
- *size*: of the mean group; *withheld*: the people of the registry who are not in the release.
- *not shown*: of those who held a value in a table, how many were never published as holders.
"""

from __future__ import annotations

import argparse
import itertools
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

NAMES = [f"s{i}" for i in range(5)]
SHARE = 0.02  # of the people hold one of these values
THRESHOLD = 0.5
COLUMNS = 4
PLACES = 100  # values of a column
CERTAIN = 0.99
ROUNDING = 1e-9
Pattern = tuple[int, ...]  # for each release: was the person published as a holder
Counts = tuple[int, ...]


@dataclass(frozen=True)
class Law:
    """How values, people and registry change."""

    keeps: float  # q
    present: float  # r
    leaves: float  # of the registry, a release

    def falls_ill(self) -> float:
        """The chance to get one of the values between two releases: their share stays the same."""
        return SHARE * (1 - self.keeps)


@dataclass(frozen=True)
class Tables:
    """A release before it is published."""

    registry: pl.DataFrame
    table: pl.DataFrame


def policy(form: str, persistence: str) -> str:
    columns = "".join(f'[quasi_identifiers.q{i}]\nkind = "numeric"\n' for i in range(COLUMNS))
    return f"""
version = 1
[person]
id = "id"
type = "integer"
{columns}
[sensitive]
column = "value"
[protected]
values = {NAMES}
unheld = "allow"
[protected.persistence]
default = "{persistence}"
[guarantee]
threshold = "{THRESHOLD}"
[output]
form = "{form}"
files = ["parquet"]
"""


def series(people: int, law: Law, seed: int) -> Iterator[Tables]:
    """Release after release."""
    chance = np.random.default_rng(seed)
    ids = np.arange(people)
    places = {int(i): chance.integers(0, PLACES, COLUMNS) for i in ids}
    held = {int(i): str(chance.choice(NAMES)) for i in ids if chance.random() < SHARE}
    while True:
        registry = pl.DataFrame(
            {"id": ids} | {f"q{c}": [int(places[int(i)][c]) for i in ids] for c in range(COLUMNS)}
        )
        here = chance.random(len(ids)) < law.present
        values = [held.get(int(i), "none") for i in ids[here]]
        yield Tables(registry, registry.filter(here).with_columns(value=pl.Series(values)))
        held = {i: value for i, value in held.items() if chance.random() < law.keeps}
        for i in ids[chance.random(len(ids)) < law.falls_ill()].tolist():
            held.setdefault(i, str(chance.choice(NAMES)))
        stays = ids[chance.random(len(ids)) >= law.leaves]
        new = np.arange(max(places) + 1, max(places) + 1 + people - len(stays))
        places |= {int(i): chance.integers(0, PLACES, COLUMNS) for i in new}
        held |= {int(i): str(chance.choice(NAMES)) for i in new if chance.random() < SHARE}
        ids = np.concatenate([stays, new])


@dataclass(frozen=True)
class Ledger:
    """What was published, and of whom: more than any adversary has."""

    releases: int
    groups: Mapping[int, Mapping[int, int]]  # by release, person: group
    shows: frozenset[tuple[int, int, str]]  # release, group and value
    sizes: Mapping[tuple[int, int], tuple[int, int]]  # by release and group: members, records
    holders: Mapping[tuple[int, str], frozenset[int]]  # by person and value: the releases
    cohorts: Mapping[int, frozenset[int]]  # their people; none where no value persists


def published(form: str, persistence: str, tables: Sequence[Tables]) -> Ledger:
    """Publish a series, and read what the ledger says of it."""
    import serigraph

    with tempfile.TemporaryDirectory() as folder:
        text = policy(form, persistence).encode()
        book = serigraph.Series.create(Path(folder) / "series", {"policy.toml": text})
        for number, each in enumerate(tables, 1):
            serigraph.publish(
                each.table,
                book,
                registry=each.registry,
                label=f"r{number}",
                new_people=True,
                assume_transient=NAMES if persistence == "transient" else (),
            )
        exported = Path(folder) / "exported"
        book.export(exported, confidential=True)
        read = {
            name: pl.read_parquet(exported / f"{name}.parquet")
            for name in ("members", "groups", "values", "holders", "cohorts")
        }
    groups: dict[int, dict[int, int]] = defaultdict(dict)
    for release, person, group in read["members"].select("release", "person", "group").iter_rows():
        groups[release][int(person)] = group
    records: dict[tuple[int, int], int] = defaultdict(int)
    for release, each in enumerate(tables, 1):
        for person in each.table["id"]:
            if person in groups[release]:
                records[release, groups[release][person]] += 1
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
        sizes={key: (size, records[key]) for key, size in members.items()},
        holders={pair: frozenset(releases) for pair, releases in holders.items()},
        cohorts={number: frozenset(people) for number, people in cohorts.items()},
    )


def in_crowds(ledger: Ledger) -> list[float]:
    """For everybody ever published as a holder: H/|K| of the crowd."""
    from serigraph.privacy import Seen, crowds
    from serigraph.privacy.alikeness import Sight, sight

    found = []
    everybody = {person for group_of in ledger.groups.values() for person in group_of}
    for name in NAMES:
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


def pattern_weights(law: Law, releases: int) -> dict[Pattern, float]:
    """How probable it is to be published as a holder of one value in these releases."""
    ill = law.falls_ill() / len(NAMES)
    weights: dict[Pattern, float] = defaultdict(float)
    for held in itertools.product((0, 1), repeat=releases):
        weight = SHARE / len(NAMES) if held[0] else 1 - SHARE / len(NAMES)
        for before, now in itertools.pairwise(held):
            stays = law.keeps if before else ill
            weight *= stays if now else 1 - stays
        for here in itertools.product((0, 1), repeat=sum(held)):
            shown = iter(here)
            pattern = tuple(next(shown) if holds else 0 for holds in held)
            ways = law.present ** sum(here) * (1 - law.present) ** (len(here) - sum(here))
            weights[pattern] += weight * ways
    return weights


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
        total: dict[Counts, float] = {none: 1.0}
        for other, people in enumerate(others):
            for _ in range(people):
                total = _added(total, ways[other], counts)
        together = _added(total, ways[number], counts)[counts]
        found[number] = 1 - total.get(counts, 0.0) * ways[number][none] / together
    return found[kind]


def _added(
    total: Mapping[Counts, float], ways: Mapping[Pattern, float], most: Counts
) -> dict[Counts, float]:
    sums: dict[Counts, float] = defaultdict(float)
    for so_far, weight in total.items():
        for pattern, more in ways.items():
            both = tuple(a + b for a, b in zip(so_far, pattern, strict=True))
            if all(x <= c for x, c in zip(both, most, strict=True)):
                sums[both] += weight * more
    return sums


def by_law(ledger: Ledger, law: Law) -> list[tuple[float, bool]]:
    """Of everybody in a cohort that ever showed a value: the posterior, and the truth."""
    weights = pattern_weights(law, ledger.releases)
    found: list[tuple[float, bool]] = []
    releases = range(1, ledger.releases + 1)
    for people in ledger.cohorts.values():
        order = sorted(people)
        member = np.array([[person in ledger.groups[k] for k in releases] for person in order])
        for name in NAMES:
            shown = [ledger.holders.get((person, name), frozenset()) for person in order]
            counts = tuple(sum(k in each for each in shown) for k in releases)
            if any(counts):
                chances = cohort_posteriors(counts, member, weights)
                found += zip(chances.tolist(), map(bool, shown), strict=True)
    return found


def row(form: str, persistence: str, people: int, releases: int, law: Law, seed: int) -> str:
    tables = list(itertools.islice(series(people, law, seed), releases))
    ledger = published(form, persistence, tables)
    crowd = np.array(in_crowds(ledger))
    held = {
        (person, value)
        for each in tables
        for person, value in each.table.select("id", "value").iter_rows()
        if value != "none"
    }
    size = np.mean([len(g) / len(set(g.values())) for g in ledger.groups.values()])
    cells = [
        f"{form:11} {persistence:9} {law.keeps:4} {law.present:4} {law.leaves:5} {seed:4}",
        f"{np.mean(crowd > THRESHOLD):6.1%} {np.mean(crowd >= CERTAIN):6.1%} {crowd.max():5.3f}",
    ]
    if persistence == "any":
        found = by_law(ledger, law)
        chance = np.array([each for each, _ in found])
        truth = np.array([each for _, each in found])
        above = chance > THRESHOLD + ROUNDING
        cells.append(
            f"{np.mean(above[truth]):6.1%} {np.mean(chance[truth] >= CERTAIN):6.1%} "
            f"{chance.max():5.3f} {f'{np.mean(truth[above]):5.3f}' if above.any() else '    -'}"
        )
    else:
        cells.append(f"{'':6} {'':6} {'':5} {'':5}")
    away = 1 - np.mean(
        [len(ledger.groups[k]) / each.registry.height for k, each in enumerate(tables, 1)]
    )
    cells.append(
        f"{size:5.1f} {away:6.1%} {1 - len(ledger.holders.keys() & held) / len(held):6.1%}"
    )
    return " | ".join(cells)


LAWS = [
    Law(keeps, present, leaves)
    for keeps, present, leaves in [
        (1, 0.8, 0.02), (0.8, 0.8, 0.02), (0.5, 0.8, 0.02),
        (1, 1, 0.02), (1, 0.5, 0.02), (1, 0.8, 0), (1, 0.8, 0.1), (0.8, 0.5, 0.1),
    ]
]  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--people", type=int, default=4000)
    parser.add_argument("--releases", type=int, default=6)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--forms", nargs="+", default=["generalised", "bucketised"])
    parser.add_argument("--persistence", nargs="+", default=["transient", "any"])
    options = parser.parse_args()
    print(
        "form        values       q    r churn seed | crowds: above, certain, worst | "
        "law: above, certain, worst, true | size, withheld, not shown"
    )
    for persistence, law, form, seed in itertools.product(
        options.persistence, LAWS, options.forms, range(options.seeds)
    ):
        found = row(form, persistence, options.people, options.releases, law, seed)
        print(found, flush=True)


if __name__ == "__main__":
    main()
