"""Published series are measured again from their tables and the ledger."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from serigraph.cli.app import app
from serigraph.errors import SeriesError, TableError
from serigraph.ledger import Series
from serigraph.publishing import publish
from serigraph.randomness import SeededRandomness
from serigraph.utility import QueryPlan, evaluate

PLAN = QueryPlan(queries=200)
POLICY = """\
version = 1
[person]
id = "person"
[quasi_identifiers.age]
kind = "numeric"
[quasi_identifiers.town]
kind = "categorical"
[sensitive]
column = "value"
form = "rows"
[protected]
except = ["flu"]
[protected.classes]
"any x" = ["x1", "x2"]
[guarantee]
l = 2
[strategy]
name = "constant"
releases = 4
[output]
form = "{form}"
"""


def table(seed: int, common: float = 0.02) -> pl.DataFrame:
    """Two hundred people with flu; some of them hold a protected value beside it or instead."""
    draw = np.random.default_rng(seed)
    rows = []
    for person in range(200):
        age, town = int(20 + (person * 7) % 50), f"t{person % 8}"
        held = ["flu"] if draw.random() < 0.9 else []
        held += [name for name in ("x1", "x2", "y") if draw.random() < common]
        rows += [(person, age, town, value) for value in held]
    return pl.DataFrame(rows, schema=["person", "age", "town", "value"], orient="row")


def registry() -> pl.DataFrame:
    people = range(400)
    return pl.DataFrame(
        {
            "person": list(people),
            "age": [20 + (person * 7) % 50 for person in people],
            "town": [f"t{person % 8}" for person in people],
        }
    )


def begun(folder: Path, form: str = "generalised") -> Series:
    return Series.create(folder / "series", {"policy.toml": POLICY.format(form=form).encode()})


@pytest.mark.parametrize("form", ["generalised", "bucketised"])
def test_every_release_is_measured_as_it_was_published(tmp_path: Path, form: str) -> None:
    series = begun(tmp_path, form)
    tables = [table(1), table(2)]
    released = [
        publish(each, series, registry=registry(), randomness=SeededRandomness(1))
        for each in tables
    ]
    found = evaluate(series, list(reversed(tables)), registry=registry(), plan=PLAN)
    assert [each.release for each in found.releases] == [1, 2]
    assert found.without_table == ()
    for each, release in zip(found.releases, released, strict=True):
        assert each.form == form
        assert each.groups == release.figures["groups"]
        assert each.mean_size == pytest.approx(release.figures["mean_size"])
        assert each.largest_size == release.figures["largest_size"]
        assert each.suppressed_share == 0
        assert each.errors.queries == each.errors_protected.queries == 200
        assert each.errors_protected.mean > each.errors.mean > 0


def test_releases_without_their_table_are_told(tmp_path: Path) -> None:
    series = begun(tmp_path)
    for seed in (1, 2):
        publish(table(seed), series, registry=registry())
    found = evaluate(series, [table(2)], registry=registry(), plan=PLAN)
    assert [each.label for each in found.releases] == ["release-2"]
    assert [each.label for each in found.without_table] == ["release-1"]
    assert len(evaluate(series).without_table) == 2


def test_suppressed_values_are_found_again(tmp_path: Path) -> None:
    series = begun(tmp_path)
    raw = table(3, common=0.12)
    release = publish(raw, series, allow_suppression=True, randomness=SeededRandomness(2))
    assert release.figures["suppressed_values"] > 0
    found = evaluate(series, [raw], plan=PLAN).releases[0]
    published = release.tables["table"]
    kept = int(published["value"].list.len().sum())
    assert found.suppressed_share == pytest.approx((raw.height - kept) / raw.height)
    assert found.people == raw["person"].n_unique()


def test_a_table_that_was_not_published_is_refused(tmp_path: Path) -> None:
    series = begun(tmp_path)
    with pytest.raises(SeriesError, match="no release is out yet"):
        evaluate(series, [table(1)])
    publish(table(1), series, registry=registry())
    with pytest.raises(TableError, match="no release of this table"):
        evaluate(series, [table(2)], registry=registry())
    with pytest.raises(TableError, match="--registry"):
        evaluate(series, [table(1)])


def test_the_command_line_tells_figures_only(tmp_path: Path) -> None:
    series = begun(tmp_path)
    table(1).write_csv(tmp_path / "first.csv")
    registry().write_csv(tmp_path / "registry.csv")
    for seed in (1, 2):
        publish(table(seed), series, registry=registry())
    arguments = [
        "evaluate",
        str(series.path),
        str(tmp_path / "first.csv"),
        "--registry",
        str(tmp_path / "registry.csv"),
        "--queries",
        "100",
    ]
    shown = CliRunner().invoke(app, arguments)
    assert shown.exit_code == 0, shown.output
    assert "Release 1, release-1" in shown.output
    assert "Release 2, release-2: " in shown.output
    assert "NCP" in shown.output
    answer = json.loads(CliRunner().invoke(app, [*arguments, "--json"]).output)
    assert answer["releases"][0]["errors"]["queries"] == 100
    assert answer["without_table"][0]["label"] == "release-2"
