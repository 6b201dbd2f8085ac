"""What somebody finds out who compares the releases of a series whose values persist, and knows the
laws, all registries, all groups and who belongs to which cohort."""

from __future__ import annotations

import itertools
import tempfile
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import numpy as np
import polars as pl

from benchmarks.persistence_law import Belief, Rules, Told, posteriors
from benchmarks.persisting_people import Law, Setting, Tables
from serigraph.privacy import smallest_crowd


@dataclass(frozen=True)
class Ledger:
    """What was published, and of whom: more than any adversary has."""

    releases: int
    groups: Mapping[int, Mapping[int, int]]  # by release, person: group
    shows: frozenset[tuple[int, int, str]]  # release, group and value
    sizes: Mapping[tuple[int, int], tuple[int, int]]  # by release and group: members, records
    holders: Mapping[tuple[int, str], frozenset[int]]  # by person and value: the releases
    cohorts: Mapping[int, frozenset[int]]  # their people; none where no value persists
    recorded: Mapping[int, frozenset[int]]  # by release, who has a record in it
    withheld: Mapping[int, frozenset[tuple[int, str]]]  # whose record is missing, and its value
    registries: Mapping[int, frozenset[int]]
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
    recorded: dict[int, set[int]] = defaultdict(set)
    for release, person, group, present in (
        read["members"].select("release", "person", "group", "present").iter_rows()
    ):
        groups[release][int(person)] = group
        if present:
            recorded[release].add(int(person))
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
        recorded={release: frozenset(people) for release, people in recorded.items()},
        withheld={
            release: frozenset(pair for pair in each.held if pair[0] not in recorded[release])
            for release, each in enumerate(tables, 1)
        },
        registries={k: frozenset(each.registry["id"]) for k, each in enumerate(tables, 1)},
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


def belief(law: Law, setting: Setting) -> Belief:
    """The law of one value of those that a person may hold one of."""
    share = setting.share / len(setting.names)
    keeps = law.keeps + (1 - law.keeps) * law.falls_ill(setting.share) / len(setting.names)
    return Belief(share, keeps, share * (1 - keeps) / (1 - share), law.present)


def by_law(ledger: Ledger, law: Law, setting: Setting) -> list[tuple[float, bool]]:
    """Of everybody in a cohort that ever showed a value: the posterior, and the truth."""
    mine, rules = belief(law, setting), Rules(Fraction(setting.threshold))
    found: list[tuple[float, bool]] = []
    for people, name in itertools.product(ledger.cohorts.values(), setting.names):
        if any((person, name) in ledger.holders for person in people):
            sights, lives = _sights(ledger, people, name, setting)
            chances = posteriors(mine, rules, len(people), sights)
            found += [
                (chances[lives[person]], (person, name) in ledger.holders) for person in people
            ]
    return found


def _sights(
    ledger: Ledger, people: frozenset[int], name: str, setting: Setting
) -> tuple[list[Told], dict[int, int]]:
    """What the releases tell of a cohort and a value to somebody who is told everything about the
    other values; and in how many releases each of its people was."""
    others = [other for other in setting.names if other != name]
    threshold = Fraction(setting.threshold)
    lives = dict.fromkeys(people, 0)
    sights: list[Told] = []
    before = people
    for k in range(1, ledger.releases + 1):
        now = people & ledger.groups[k].keys()
        if not now and not sights:
            continue  # the cohort is formed later
        left = before - ledger.registries[k]
        ever = [
            sum(min(ledger.holders.get((person, other), {k})) < k for person in before)
            for other in others
        ]
        sights.append(
            Told(
                records=len(now & ledger.recorded[k])
                + sum(person in now and value != name for person, value in ledger.withheld[k]),
                count=sum(k in ledger.holders.get((person, name), ()) for person in now),
                left=len(left),
                companions=len(before - now - left),
                others=max((smallest_crowd(each, threshold) for each in ever if each), default=0),
            )
        )
        for person in now:
            lives[person] += 1
        before = now
    return sights, lives
