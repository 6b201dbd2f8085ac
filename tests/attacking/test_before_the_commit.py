"""A draft is attacked before it is committed, if the policy sets a limit."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import serigraph
from attacking.worlds import NAMES, policy
from serigraph.errors import Leaking
from serigraph.ledger import Series
from serigraph.publishing import Published
from serigraph.runtime.randomness import SeededRandomness

AT = datetime(2026, 1, 1, tzinfo=UTC)


def patients(telling: bool) -> pl.DataFrame:
    """Three people of ten hold a protected value; if ``telling``, those of every third ward."""
    draw = np.random.default_rng(1)
    ward = draw.integers(0, 18, 900)
    chance = np.where(ward % 3 == 0, 0.9, 0.0) if telling else np.full(900, 0.3)
    held = np.where(draw.random(900) < chance, draw.choice(NAMES, 900), "flu")
    age = draw.integers(0, 300, 900)
    return pl.DataFrame({"id": np.arange(900), "age": age, "zip": ward, "diagnosis": held})


def published(folder: Path, limit: str, *, telling: bool) -> Published:
    folder.mkdir()
    text = policy(folder, minimum=30).read_text() + limit
    series = Series.create(folder / "series", {"policy.toml": text.encode()})
    return serigraph.publish(
        patients(telling), series, label="r", randomness=SeededRandomness(1), published_at=AT
    )


def test_a_leak_refuses_the_release(tmp_path: Path) -> None:
    with pytest.raises(Leaking, match="deFinetti: right") as refusal:
        published(tmp_path / "at", "[attacks]\nhighest_lift = 1.05\n", telling=True)
    assert refusal.value.exit_code == 4
    assert "highest_lift" in refusal.value.remedy
    assert Series.open(tmp_path / "at" / "series").releases() == ()
    assert not any((tmp_path / "at" / "series" / "releases").iterdir())
    with pytest.raises(Leaking, match="deFinetti: right"):
        serigraph.draft(patients(telling=True), tmp_path / "at" / "series", label="r")
    assert serigraph.drafts(tmp_path / "at" / "series") == ()


def test_no_document_has_what_attacks_found(tmp_path: Path) -> None:
    """The same release with a limit that it keeps, and without one, has the same files."""
    digest = re.compile(r"[0-9a-f]{8,}")
    files = []
    for number, limit in enumerate(("", "[attacks]\nhighest_lift = 20.0\n")):
        made = published(tmp_path / str(number), limit, telling=True)
        texts = {each.name: each.read_text() for each in made.folder.iterdir()}
        files.append({name: sorted(digest.sub("", text)) for name, text in texts.items()})
    assert files[0] == files[1]


def test_a_release_without_leaks_is_published(tmp_path: Path) -> None:
    made = published(tmp_path / "at", "[attacks]\nhighest_lift = 1.3\n", telling=False)
    assert made.record.label == "r"
