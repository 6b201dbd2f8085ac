"""Values that persist are shown once where presence may be known, in series that are published."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import serigraph
from ledger.builders import shape_on_disk
from publishing.clinic import policy_text
from serigraph.errors import GuaranteeExceeded, ImpossibleState
from serigraph.ledger import Series, writer

PROTECTED = ("HIV", "lupus")
PERSISTENCE = ("permanent", "any")


def new_series(
    folder: Path, *, form: str, persistence: str, adversary: str, minimum: int = 1
) -> Series:
    policy = policy_text(
        columns='[quasi_identifiers.age]\nkind = "numeric"\nunique_values = "publish"\n',
        protected='values = ["HIV", "lupus"]\nunheld = "allow"\n'
        f'[protected.persistence]\ndefault = "{persistence}"',
        guarantee=f'threshold = "1/2"\nadversary = "{adversary}"\ncohort_size = 6\n'
        f"minimum_group_size = {minimum}",
        output=f'form = "{form}"',
    )
    return Series.create(folder, {"policy.toml": policy.encode()})


def tables(seed: int, releases: int, people: int = 160) -> list[pl.DataFrame]:
    """Four of five people come each time; what they hold is for life."""
    rng = random.Random(seed)
    held = {who: PROTECTED[who % 2] for who in range(people) if rng.random() < 0.06}
    age = {who: rng.randint(20, 90) for who in range(people)}
    return [
        pl.DataFrame(
            [
                (f"P{who:03}", age[who], held.get(who) or rng.choice(["flu", "gout"]))
                for who in range(people)
                if rng.random() < 0.8
            ],
            schema=["patient", "age", "diagnosis"],
            orient="row",
        )
        for _ in range(releases)
    ]


def publish_all(series: Series, some: Sequence[pl.DataFrame]) -> list[Any]:
    return [
        serigraph.publish(table, series, label=f"r{number}", new_people=True)
        for number, table in enumerate(some, 1)
    ]


@pytest.mark.parametrize("form", ["bucketised", "generalised"])
@pytest.mark.parametrize("persistence", PERSISTENCE)
@pytest.mark.parametrize("adversary", ["presence known", "presence unknown"])
def test_a_series_is_published_and_every_holder_shown_once(
    tmp_path: Path, form: str, persistence: str, adversary: str
) -> None:
    series = new_series(tmp_path / "s", form=form, persistence=persistence, adversary=adversary)
    made = tables(4, releases=5)
    publish_all(series, made)
    shown = defaultdict(list)
    ids = series.people()["id"]
    for number, release in enumerate(series.reader().holders(), 1):
        assert release.held is not None
        for person, value in release.held.iter_rows():
            shown[ids[person], value].append(number)
    assert shown
    assert all(len(releases) == 1 for releases in shown.values())
    cohorts = series.reader().cohorts(PROTECTED)
    alike = defaultdict(int)
    for cohort, retired in zip(cohorts.cohort.tolist(), cohorts.retired.tolist(), strict=True):
        alike[cohort] += 1
        assert retired
    holders = defaultdict(int)
    for place, value in zip(cohorts.holder.tolist(), cohorts.value, strict=True):
        holders[int(cohorts.cohort[place]), value] += 1
    assert all(
        Fraction(many, alike[cohort]) <= Fraction(1, 2) for (cohort, _), many in holders.items()
    )
    first = made[0].filter(pl.col("diagnosis").is_in(PROTECTED))
    assert {(id, value) for id, _, value in first.iter_rows()} <= set(shown)


def test_a_group_needs_enough_members_and_not_records(tmp_path: Path) -> None:
    series = new_series(
        tmp_path / "s",
        form="bucketised",
        persistence="permanent",
        adversary="presence known",
        minimum=3,
    )
    publish_all(series, tables(4, releases=5))
    folders = sorted((series.path / "ledger").glob("*/groups.parquet"))
    assert len(folders) == 5
    groups = pl.concat([pl.read_parquet(path) for path in folders])
    assert groups["size"].min() == 3
    assert groups["present"].min() == 1


@pytest.mark.parametrize("persistence", PERSISTENCE)
def test_a_group_with_a_protected_value_shows_nothing_else(
    tmp_path: Path, persistence: str
) -> None:
    series = new_series(
        tmp_path / "s", form="bucketised", persistence=persistence, adversary="presence known"
    )
    made = tables(4, releases=5)
    retired: set[str] = set()
    for table, published in zip(made, publish_all(series, made), strict=True):
        folder = series.path / "ledger" / f"{published.record.number:04}"
        members = pl.read_parquet(folder / "members.parquet")
        members = members.with_columns(id=series.people()["id"].gather(members["person"]))
        assert retired.isdisjoint(members["id"])
        records = members.join(table, left_on="id", right_on="patient")
        is_protected = pl.col("diagnosis").is_in(PROTECTED)
        shows = records.with_columns(shows=is_protected.any().over("group"))
        right = shows.filter(is_protected | ~pl.col("shows")).group_by("group", "diagnosis").len()
        shown = published.tables["sensitive"]
        assert sorted(right.rows()) == sorted(shown.select("group", "value", "count").rows())
        assert len(published.tables["quasi_identifiers"]) == len(members)
        retired |= set(shows.filter("shows")["id"])


def test_permanent_and_any_are_the_same(tmp_path: Path) -> None:
    """Which people retire, and when, does not depend on how a persisting value is called."""
    found = []
    for persistence in PERSISTENCE:
        series = new_series(
            tmp_path / persistence,
            form="bucketised",
            persistence=persistence,
            adversary="presence known",
        )
        publish_all(series, tables(4, releases=4))
        cohorts = series.reader().cohorts(PROTECTED)
        found.append(dict(zip(cohorts.ids, cohorts.retired.tolist(), strict=True)))
    assert found[0]
    assert found[0] == found[1]


@pytest.mark.parametrize("persistence", PERSISTENCE)
def test_attendance_that_is_recalled_wrongly_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, persistence: str
) -> None:
    series = new_series(
        tmp_path / "s", form="bucketised", persistence=persistence, adversary="presence known"
    )
    *before, last = tables(4, releases=4)
    publish_all(series, before)
    was = shape_on_disk(series.path)

    def forgetful(_layout: Any, _releases: Any, number: Any) -> Any:
        return np.zeros(len(number), dtype=np.int64)

    with monkeypatch.context() as patched:
        patched.setattr(writer, "recall_attendance", forgetful)
        with pytest.raises((ImpossibleState, GuaranteeExceeded)):
            serigraph.publish(last, series, label="last", new_people=True)
    assert shape_on_disk(series.path) == was
    serigraph.publish(last, series, label="last", new_people=True)


def test_people_who_retire_now_and_who_came_back_are_counted(tmp_path: Path) -> None:
    series = new_series(
        tmp_path / "s", form="generalised", persistence="any", adversary="presence known"
    )
    made = tables(4, releases=4)
    releases = publish_all(series, made)
    series.export(tmp_path / "exported", confidential=True)
    members, values = (
        pl.read_parquet(tmp_path / "exported" / f"{name}.parquet") for name in ("members", "values")
    )
    showing = members.join(values.select("release", "group").unique(), on=["release", "group"])
    gone: set[str] = set()
    for number, (table, release) in enumerate(zip(made, releases, strict=True), 1):
        leaving = set(showing.filter(pl.col("release") == number)["person"])
        assert release.figures["people_leaving"] == len(leaving)
        assert release.figures["people_retired"] == len(gone & set(table["patient"]))
        page = (release.folder / "report.html").read_text(encoding="utf-8")
        assert ("People published for the last time" in page) == bool(leaving)
        told = f"{len(leaving)} people are published for the last time"
        assert any(told in note for note in release.notes) == bool(leaving)
        gone |= leaving
    assert releases[0].figures["people_leaving"] > 0
    assert releases[-1].figures["people_retired"] > 0
