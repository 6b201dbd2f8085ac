"""Plain l-diversity, release by release, breaks over a series: the audit shows how fast."""

from __future__ import annotations

import random
from collections import Counter
from itertools import pairwise
from pathlib import Path

import polars as pl

from serigraph.auditing import audit_releases
from serigraph.policy import parse_policy

DIVERSITY = 3
VALUES = [f"value {number}" for number in range(12)]
POLICY = f"""version = 1
[person]
id = "id"
[quasi_identifiers.x]
kind = "numeric"
[quasi_identifiers.y]
kind = "numeric"
[sensitive]
column = "value"
[guarantee]
l = {DIVERSITY}
"""

Person = tuple[int, int, int, str]


def is_diverse(people: list[Person]) -> bool:
    commonest = max(Counter(person[3] for person in people).values())
    return commonest * DIVERSITY <= len(people)


def mondrian(people: list[Person]) -> list[list[Person]]:
    """Top-down median splits while both halves stay l-diverse: today's practice, one release."""
    for column in (1, 2):
        ordered = sorted(person[column] for person in people)
        middle = ordered[len(ordered) // 2]
        low = [person for person in people if person[column] < middle]
        high = [person for person in people if person[column] >= middle]
        if low and high and is_diverse(low) and is_diverse(high):
            return [*mondrian(low), *mondrian(high)]
    return [people]


def generalised(people: list[Person]) -> pl.DataFrame:
    rows = []
    for group in mondrian(people):
        columns = [sorted(person[column] for person in group) for column in (1, 2)]
        cells = [f"[{ordered[0]}, {ordered[-1]}]" for ordered in columns]
        rows += [(*cells, person[3]) for person in group]
    return pl.DataFrame(rows, schema=["x", "y", "value"], orient="row")


def test_share_of_people_above_the_threshold_grows() -> None:
    draw = random.Random(11)
    at = [(number, draw.randrange(200), draw.randrange(200)) for number in range(600)]
    raw, releases = [], []
    for _ in range(6):
        there = draw.sample(at, 450)
        people = [(*person, draw.choice(VALUES)) for person in there]
        raw.append(pl.DataFrame(people, schema=["id", "x", "y", "value"], orient="row"))
        releases.append(generalised(people))
    found = audit_releases(releases, parse_policy(POLICY, "the policy", Path()), raw=raw).audit
    assert all(each.localised.is_within for each in found.releases), "each release keeps 1/3"
    shares = [each.so_far.people_above / found.people for each in found.releases]
    assert shares[0] == 0
    assert all(before < after for before, after in pairwise(shares))
    assert shares[-1] > 0.5
    assert found.over_all.largest > found.threshold
    assert not found.is_within
