"""What people type for an argument in Python is taken as it is meant, or refused with what is
wanted; one thing is never taken letter by letter."""

from __future__ import annotations

import math
import random
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import serigraph
from serigraph.errors import InputRefused
from serigraph.utility import QueryPlan

FEW = QueryPlan(queries=20)


@pytest.fixture(scope="module")
def clinic(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a table, and a series that published it."""
    folder = tmp_path_factory.mktemp("clinic")
    draw = random.Random(1)
    table = pl.DataFrame(
        {
            "id": range(60),
            "age": [draw.randint(18, 90) for _ in range(60)],
            "sex": [draw.choice("FM") for _ in range(60)],
            "ward": [draw.choice("XYZ") for _ in range(60)],
            "diagnosis": [f"d{number % 30}" for number in range(60)],
        }
    )
    table.write_csv(folder / "first.csv")
    table.with_columns(pl.col("diagnosis").reverse()).write_csv(folder / "d5.csv")
    serigraph.init(
        folder / "series", folder / "first.csv", sensitive="diagnosis", persistence="transient"
    )
    serigraph.publish(folder / "first.csv", folder / "series")
    return folder


def copied(clinic: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(clinic / "series", tmp_path / "series"))


def plan(clinic: Path, **how: Any) -> Any:
    given = {"releases": 3, "return_rate": 0.8, "thresholds": "1/2", "lengths": 2, "factors": 2}
    if "threshold" in how:
        del given["thresholds"]
    found = serigraph.plan(
        clinic / "d5.csv", clinic / "series", **{**given, "most_rehearsed": 20, **how}
    )
    names = [each.name for each in found.outlooks]
    return found.releases_ahead, found.return_rate.rate, names


PLANS = [
    {"threshold": 0.5},
    {"threshold": ["1/2"]},
    {"thresholds": np.array([0.5])},
    {"threshold": Decimal("0.5")},
    {"releases": "3"},
    {"releases": 3.0},
    {"releases": np.int64(3)},
    {"return_rate": "80%"},
    {"return_rate": "4/5"},
    {"return_rate": Fraction(4, 5)},
    {"return_rate": Decimal("0.8")},
    {"lengths": "2"},
    {"lengths": [2.0]},
    {"factors": "4/2"},
    {"factors": np.float64(2)},
    {"minimum_group_size": "5"},
    {"most_rehearsed": "20"},
]


@pytest.mark.parametrize("how", PLANS, ids=str)
def test_a_plan_takes_numbers_as_they_are_typed(how: dict[str, Any], clinic: Path) -> None:
    found = plan(clinic, **how)
    assert found[:2] == (2, 0.8)
    assert found[2] == plan(clinic)[2]


def test_one_thing_is_a_list_of_one(clinic: Path, tmp_path: Path) -> None:
    series, table = clinic / "series", clinic / "first.csv"
    (release,) = serigraph.evaluate(series, str(table), plan=FEW).releases
    assert release.label == "first"
    frame = pd.read_csv(table, dtype=str)
    (of_frame,) = serigraph.evaluate(series, frame, plan=FEW).releases
    assert of_frame.errors.mean == release.errors.mean
    assert serigraph.audit(series, raw=str(table)).crowds
    known = {"policy": series / "policy.toml", "raw": table, "known_members": "1"}
    theirs = serigraph.audit(releases=series / "releases" / "first", **known)
    assert theirs.over_all.largest == serigraph.audit(series).over_all.largest
    assert (
        serigraph.attack(series, raw=str(table), highest_lift="1.5", seed="1").highest_lift == 1.5
    )
    assert serigraph.report(series, tmp_path / "report", raw=str(table)).audit.crowds
    begun = serigraph.init(
        tmp_path / "new",
        table,
        sensitive="diagnosis",
        plain="ward",
        persistence="transient",
        releases="2",
    )
    assert "ward" not in begun.quasi_identifiers
    assert "releases = 2" in begun.policy.read_text(encoding="utf-8")
    seen = serigraph.init(tmp_path / "seen", table, sensitive=["diagnosis"], also=clinic / "d5.csv")
    text = seen.policy.read_text(encoding="utf-8")
    assert text.count("who came back") == 30  # measured for every value
    built = serigraph.taxonomy(table, "age", by="intervals", parts=10)
    assert built.taxonomy == serigraph.taxonomy(table, "age", by="intervals", parts=["10"]).taxonomy


def test_measuring_says_how_far_it_is(clinic: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[tuple[Any, ...]] = []

    @contextmanager
    def stages(_names: Sequence[str]) -> Iterator[Callable[..., None]]:
        yield lambda *stage: told.append(stage)

    monkeypatch.setattr("serigraph.runtime.stages.stages", stages)
    serigraph.evaluate(clinic / "series", clinic / "first.csv", plan=FEW)
    assert told == [("measuring", 0, 1)]


def test_a_release_takes_a_number_as_its_label(clinic: Path, tmp_path: Path) -> None:
    series = copied(clinic, tmp_path)
    made = serigraph.draft(clinic / "d5.csv", series, label=3, wait="1")
    assert serigraph.publish_draft(series, made.name, wait="0").record.label == "3"
    again = pl.read_csv(clinic / "d5.csv").with_columns(pl.col("diagnosis").shuffle(seed=1))
    found = serigraph.publish(again, series, label=4, assume_transient="d1")
    assert found.record.label == "4"


REFUSED: list[tuple[Callable[[Path], object], str]] = [
    (lambda at: plan(at, releases="two"), "'two' is no whole number - releases"),
    (lambda at: plan(at, releases=2.5), "2.5 is no whole number - releases"),
    (lambda at: plan(at, releases=True), "True is no whole number"),
    (lambda at: plan(at, releases=None), "None is no whole number"),
    (lambda at: plan(at, return_rate="much"), "'much' is no number - return_rate"),
    (lambda at: plan(at, return_rate="1/0"), "'1/0' is no number"),
    (lambda at: plan(at, return_rate=math.nan), "nan is no number"),
    (lambda at: plan(at, return_rate="120%"), "between 0 and 1"),
    (lambda at: plan(at, thresholds=[math.nan]), "cannot compare the threshold nan: 'nan' is not"),
    (lambda at: plan(at, threshold="half"), "cannot compare the threshold 'half'"),
    (lambda at: plan(at, factors=[math.inf]), "cannot compare factor = 'inf'"),
    (lambda at: plan(at, lengths="many"), "'many' is no whole number - lengths"),
    (lambda at: plan(at, minimum_group_size="few"), "no whole number - minimum_group_size"),
    (lambda at: plan(at, most_rehearsed=0), "0 is too small - most_rehearsed - give 1 or more"),
    (lambda at: serigraph.init(at / "x", at / "d5.csv", plain=3), "3 is no name - plain"),
    (lambda at: serigraph.init(at / "x", at / "d5.csv", releases=-1), "-1 is too small - releases"),
    (lambda at: serigraph.draft(at / "d5.csv", at / "series", wait="soon"), "no number - wait"),
    (lambda at: serigraph.publish(at / "d5.csv", at / "series", label=1.5), "1.5 is no text"),
    (lambda at: serigraph.discard_draft(at / "series", 2.5), "2.5 is no text - name"),
    (lambda at: serigraph.attack(at / "series", highest_lift="0.5"), "give 1 or more"),
    (lambda at: serigraph.attack(at / "series", sample="some"), "no whole number - sample"),
    (lambda at: serigraph.audit(at / "series", known_members="-1"), "-1 is too small"),
    (
        lambda at: serigraph.taxonomy(at / "d5.csv", "age", by="intervals", parts="x"),
        "not a number",
    ),
    (
        lambda at: serigraph.audit(
            releases=at / "d5.csv", policy=at / "series/policy.toml", tolerate="overlap"
        ),
        "'overlap' cannot be tolerated",
    ),
]


@pytest.mark.parametrize(("call", "message"), REFUSED, ids=[message for _, message in REFUSED])
def test_what_cannot_be_meant_is_refused(
    call: Callable[[Path], object], message: str, clinic: Path
) -> None:
    with pytest.raises(InputRefused) as refused:
        call(clinic)
    assert message in str(refused.value)
    assert refused.value.remedy
    assert not (clinic / "x").exists()


def test_a_refusal_shows_no_cells(clinic: Path) -> None:
    table = pl.read_csv(clinic / "d5.csv")
    for given in (table, table.to_pandas(), table["diagnosis"], table.rows()):
        with pytest.raises(InputRefused) as refused:
            plan(clinic, releases=given)
        assert str(refused.value).startswith("something of type ")
        assert "d7" not in str(refused.value)
