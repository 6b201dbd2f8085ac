"""Every attack succeeds on a release made naively, so that it is known to work, and fails on ours.

deFinetti is the exception that known limits describe: where values go with quasi-identifiers, it
learns from ours, too. On ours it must not find anything where there is nothing to learn.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from attacking.worlds import (
    Tables,
    around_holders,
    beside_holders,
    blocks,
    decades,
    found,
    naive_target,
    one_holder_after_the_other,
    our_target,
    ours,
    scattered,
    tables,
)
from serigraph.attacking import ATTACKS, Finding
from serigraph.attacking.reading import Target
from serigraph.attacking.scoring import interval

SEEDS = (1, 2, 3)
ACCEPTED = 1.05

Naive = Callable[[Path, int], Target]


NAIVE: dict[str, Naive] = {
    "singling out": lambda at, seed: naive_target(at, tables(seed), around_holders(5), minimum=5),
    "order of rows": lambda at, seed: naive_target(at, tables(seed), blocks(5), shuffled=False),
    "numbers of groups": lambda at, seed: naive_target(
        at, tables(seed), one_holder_after_the_other(5), in_two=True
    ),
    "linkage by other values": lambda at, seed: naive_target(
        at, tables(seed, people=1800, keeps=0.0, others_last=True), around_holders(7)
    ),
    "intersection, values stay": lambda at, seed: naive_target(at, tables(seed), blocks(5)),
    "intersection, values change": lambda at, seed: naive_target(
        at, tables(seed, people=2400, keeps=0.8), blocks(5)
    ),
    "attendance": lambda at, seed: naive_target(
        at, tables(seed, returns=0.95, holder_returns=0.4), blocks(5)
    ),
    "newcomers": lambda at, seed: naive_target(
        at, tables(seed, people=2400, returns=0.98, share=0.15), decades
    ),
    "suppression": lambda at, seed: naive_target(
        at, tables(seed, releases=1), blocks(1), suppressed=["a"]
    ),
    "one member known": lambda at, seed: naive_target(at, tables(seed, people=2400), blocks(3)),
    "two members known": lambda at, seed: naive_target(at, tables(seed, people=2400), blocks(4)),
    "three members known": lambda at, seed: naive_target(at, tables(seed, people=2400), blocks(5)),
    "deFinetti": lambda at, seed: naive_target(
        at, tables(seed, people=3000, releases=1, correlated=True), scattered(10), in_two=True
    ),
    "downcoding, middle": lambda at, seed: naive_target(at, tables(seed), around_holders(7)),
    "downcoding, edge": lambda at, seed: naive_target(
        at, tables(seed, people=1800), beside_holders(9)
    ),
}


@pytest.mark.parametrize("name", NAIVE)
def test_it_succeeds_on_a_naive_release(name: str, tmp_path: Path) -> None:
    finding = found(NAIVE[name](tmp_path, 1), name)
    assert not finding.not_run
    assert finding.exceeds(ACCEPTED)
    assert finding.control < finding.lowest or name == "singling out"  # no other world has others


@pytest.mark.parametrize(
    ("name", "keeps", "is_sampled"),
    [("intersection, values stay", 1.0, False), ("intersection, values change", 0.8, True)],
)
def test_intersection_succeeds_where_groups_interleave(
    name: str, keeps: float, is_sampled: bool, tmp_path: Path
) -> None:
    """Too many groups overlap for a sum over all ways: they are deduced, or drawn."""
    made = tables(1, people=2400, keeps=keeps, returns=0.95)
    finding = found(naive_target(tmp_path, made, scattered(7), in_two=True), name)
    assert finding.exceeds(ACCEPTED)
    assert finding.approximate == 0
    assert (finding.error > 0) == is_sampled
    assert len(finding.doubts()) == is_sampled


@pytest.fixture(scope="module")
def ours_of(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, int], Target]:
    """Our releases of the same tables, in three ways."""
    made: dict[tuple[str, int], Target] = {}

    def target(way: str, seed: int) -> Target:
        if (way, seed) not in made:
            made[way, seed] = our_target(*_WAYS[way](tmp_path_factory.mktemp("ours"), seed))
        return made[way, seed]

    return target


def _registered(at: Path, seed: int) -> tuple[object, Tables]:
    """Permanent values, lasting other values, holders who stay away: cohorts hide all of it."""
    given = tables(seed, returns=0.95, holder_returns=0.4, others_last=True)
    return ours(at, given, registry=True, persistence="any", adversary="presence unknown"), given


def _shown_once(at: Path, seed: int) -> tuple[object, Tables]:
    given = tables(seed, others_last=True)
    return ours(at, given, persistence="any"), given


def _transient(at: Path, seed: int) -> tuple[object, Tables]:
    given = tables(seed, keeps=0.0, people=1500)
    return ours(at, given, known=1, minimum=5), given


def _bucketised(at: Path, seed: int) -> tuple[object, Tables]:
    given = tables(seed, keeps=0.0)
    return ours(at, given, minimum=5, form="bucketised"), given


def _many_known(at: Path, seed: int) -> tuple[object, Tables]:
    given = tables(seed, keeps=0.0, releases=1)
    return ours(at, given, known=3, minimum=5), given


_WAYS: dict[str, Callable[[Path, int], tuple[object, Tables]]] = {
    "registry": _registered,
    "shown once": _shown_once,
    "transient": _transient,
    "bucketised": _bucketised,
    "many known": _many_known,
}
OURS = {
    "singling out": ["registry", "transient"],
    "order of rows": ["registry", "transient"],
    "numbers of groups": ["registry", "transient", "bucketised"],
    "linkage by other values": ["registry", "shown once", "transient"],
    "intersection, values stay": ["registry", "shown once", "transient", "bucketised"],
    "intersection, values change": ["registry", "shown once", "transient", "bucketised"],
    "attendance": ["registry", "shown once", "transient"],
    "newcomers": ["registry", "shown once", "transient"],
    "suppression": ["shown once", "transient"],
    "one member known": ["transient"],
    "two members known": ["many known"],
    "three members known": ["many known"],
    "deFinetti": ["registry", "shown once", "transient"],
    "downcoding, middle": ["registry", "shown once", "transient"],
    "downcoding, edge": ["registry", "shown once", "transient"],
}


@pytest.mark.parametrize(
    ("name", "way"), [(name, way) for name, ways in OURS.items() for way in ways]
)
def test_it_fails_on_ours(name: str, way: str, ours_of: Callable[[str, int], Target]) -> None:
    findings = [found(ours_of(way, seed), name) for seed in SEEDS]
    guessed, right = sum(e.guessed for e in findings), sum(e.right for e in findings)
    if guessed:
        lowest = interval(right, guessed)[0] * guessed / sum(e.claimed for e in findings)
        assert lowest <= ACCEPTED, [_told(each) for each in findings]


def test_every_attack_is_tried_both_ways() -> None:
    in_worlds = {"minimality", "minimality, by a holder"}  # see test_minimality.py
    names = {each.name for each in ATTACKS} - in_worlds
    assert names == OURS.keys()
    assert names == NAIVE.keys()


def _told(finding: Finding) -> str:
    return f"{finding.lift:.2f} ({finding.lowest:.2f} to {finding.highest:.2f})"
