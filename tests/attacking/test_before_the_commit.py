"""Every draft is attacked before it is committed; what is found is for the publisher alone."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import serigraph
from attacking.worlds import NAMES, policy
from grouping.releases import generated, plan
from serigraph.attacking.draft import as_one, attack_draft, refuse_leaks
from serigraph.engines.local import make_release
from serigraph.errors import Leaking
from serigraph.ledger import Series
from serigraph.model import Past
from serigraph.publishing import Published
from serigraph.runtime.randomness import SeededRandomness
from serigraph.verification import RememberedReleases

PEOPLE = 3000
AT = datetime(2026, 1, 1, tzinfo=UTC)


def patients(telling: bool) -> pl.DataFrame:
    """Three people of ten hold a protected value; if ``telling``, those of every third ward."""
    draw = np.random.default_rng(1)
    ward = draw.integers(0, 18, PEOPLE)
    chance = np.where(ward % 3 == 0, 0.9, 0.0) if telling else np.full(PEOPLE, 0.3)
    held = np.where(draw.random(PEOPLE) < chance, draw.choice(NAMES, PEOPLE), "flu")
    age = draw.integers(0, 300, PEOPLE)
    return pl.DataFrame({"id": np.arange(PEOPLE), "age": age, "zip": ward, "diagnosis": held})


def published(folder: Path, limit: str, *, telling: bool) -> Published:
    folder.mkdir()
    text = policy(folder, minimum=30).read_text() + limit
    series = Series.create(folder / "series", {"policy.toml": text.encode()})
    return serigraph.publish(
        patients(telling), series, label="r", randomness=SeededRandomness(1), published_at=AT
    )


def test_a_leak_refuses_the_release(tmp_path: Path) -> None:
    with pytest.raises(Leaking, match="deFinetti right") as refusal:
        published(tmp_path / "at", "[attacks]\nhighest_lift = 1.05\n", telling=True)
    assert refusal.value.exit_code == 4
    assert "highest_lift" in refusal.value.remedy
    assert Series.open(tmp_path / "at" / "series").releases() == ()
    assert not any((tmp_path / "at" / "series" / "releases").iterdir())
    with pytest.raises(Leaking, match="deFinetti right"):
        serigraph.draft(
            patients(telling=True),
            tmp_path / "at" / "series",
            label="r",
            randomness=SeededRandomness(1),
            published_at=AT,
        )
    assert serigraph.drafts(tmp_path / "at" / "series") == ()


def test_the_publisher_is_told_and_nobody_else(tmp_path: Path) -> None:
    """Whatever attacks have found, documents say the same of them: which ran, on whom."""
    said = []
    for telling in (True, False):
        made = published(tmp_path / str(telling), "", telling=telling)
        learned = next(each for each in made.attacks if each.attack == "deFinetti")
        assert learned.exceeds(1.3) is telling
        certificate = json.loads((made.folder / "certificate.json").read_text())
        assert certificate["attacks"]["names"] == [each.attack for each in made.attacks]
        report = (made.folder / "report.html").read_text()
        assert "no limit was set" in report
        assert not any(f"{each.lift:.2f} times" in report for each in made.attacks)
        said.append(certificate["attacks"])
    assert said[0] == said[1]


def test_documents_have_the_limit(tmp_path: Path) -> None:
    made = published(tmp_path / "at", "[attacks]\nhighest_lift = 20.0\n", telling=True)
    certificate = json.loads((made.folder / "certificate.json").read_text())
    assert certificate["attacks"]["highest_lift"] == 20
    assert "more than 20 times as often as claimed" in (made.folder / "report.html").read_text()


def test_a_large_release_is_sampled() -> None:
    """Few groups and values are looked at, and it is said how many."""
    population = generated("uniform", "frequent", 40_000, np.random.default_rng(1))
    past = Past.none(population.size)
    how = plan("generalised", "top-down")
    made = make_release(population, past, RememberedReleases(), how, SeededRandomness(2))
    one = attack_draft(made, how, most_people=4_000)
    assert one.share == Fraction(1, 10)
    whole = as_one([one, one])
    assert (whole.people, whole.share) == (80_000, Fraction(1, 10))
    for part, both in zip(one.findings, whole.findings, strict=True):
        assert 0 < both.guessed == 2 * part.guessed < 4_000
        assert both.lift == part.lift
        assert part.lowest < both.lowest


def test_a_few_lucky_bets_refuse_nothing(tmp_path: Path) -> None:
    """A refusal rules worlds out, so chance must hardly ever bring one about."""
    lucky = replace(
        published(tmp_path / "at", "", telling=False).attacks[0], guessed=3, right=3, claimed=0.3
    )
    assert lucky.exceeds(2)
    refuse_leaks([lucky], 2, "r")


def test_a_release_without_leaks_is_published(tmp_path: Path) -> None:
    made = published(tmp_path / "at", "[attacks]\nhighest_lift = 1.3\n", telling=False)
    assert made.record.label == "r"
