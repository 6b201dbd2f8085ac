"""Published series are measured again from their tables and the ledger."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from serigraph.cli.app import app
from serigraph.errors import SeriesError, TableError
from serigraph.ledger import Series
from serigraph.ledger.layout import Layout
from serigraph.policy import read_policy
from serigraph.publishing import publish
from serigraph.runtime.randomness import SeededRandomness
from serigraph.tables import prepare
from serigraph.utility import QueryPlan, evaluate
from serigraph.utility.rebuilding import rebuilt
from serigraph.utility.same_people import refuse_other_people

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


WRONG = {
    "one more who lies in a region": lambda listed: pl.concat(
        [listed, listed[300:301].with_columns(person=pl.lit(999, pl.Int64))]
    ),
    "an absent member of another age": lambda listed: listed.with_columns(
        age=pl.when(pl.col("person") == 207).then(70).otherwise("age")
    ),
    "somebody of the table described otherwise": lambda listed: listed.with_columns(
        age=pl.when(pl.col("person") == 7).then(70).otherwise("age")
    ),
    "somebody of the table left out": lambda listed: listed.filter(pl.col("person") != 7),
    "a member left out": lambda listed: listed.filter(pl.col("person") != 207),
}


@pytest.mark.parametrize("form", ["generalised", "bucketised"])
@pytest.mark.parametrize("wrong", WRONG)
def test_another_registry_is_refused(tmp_path: Path, form: str, wrong: str) -> None:
    series = begun(tmp_path, form)
    publish(table(1), series, registry=registry(), randomness=SeededRandomness(1))
    members = pl.read_parquet(_exported(series, tmp_path) / "members.parquet")
    assert "207" in members["person"], "the case must be about a member"
    with pytest.raises(TableError, match="--registry") as caught:
        evaluate(series, [table(1)], registry=WRONG[wrong](registry()), plan=PLAN)
    assert "207" not in str(caught.value)
    evaluate(series, [table(1)], registry=registry(), plan=PLAN)


@pytest.mark.parametrize("form", ["generalised", "bucketised"])
def test_a_registry_where_there_was_none_is_refused(tmp_path: Path, form: str) -> None:
    series = begun(tmp_path, form)
    publish(table(1), series)
    with pytest.raises(TableError, match="made without a registry"):
        evaluate(series, [table(1)], registry=registry(), plan=PLAN)


@pytest.mark.parametrize("form", ["generalised", "bucketised"])
@pytest.mark.parametrize("files", ["csv", "parquet"])
@pytest.mark.parametrize("adversary", ["presence unknown", "presence known"])
def test_releases_of_older_versions_are_measured(
    tmp_path: Path, form: str, files: str, adversary: str
) -> None:
    """They do not say how large the registry was: the release itself shows whether it fits."""
    text = POLICY.format(form=form).replace("l = 2", f'l = 2\nadversary = "{adversary}"')
    text += f'files = ["{files}"]\n'
    series = Series.create(tmp_path / "series", {"policy.toml": text.encode()})
    mixed = table(1).with_columns(age=pl.col("age") + 0.5)
    listed = registry().with_columns(age=pl.col("age") + 0.5)
    record = publish(mixed, series, registry=listed).record
    older = {
        name: figure
        for name, figure in record.summary.items()
        if name not in ("has_registry", "people_in_registry")
    }
    record = replace(record, summary_json=json.dumps(older))
    prepared = prepare(mixed, read_policy(series.path / "policy.toml"), listed)
    ledger = _exported(series, tmp_path)
    layout = Layout(series.path)
    people, group = rebuilt(prepared.population, ledger, 1, "the table")
    refuse_other_people(prepared, True, people, group, record, layout, "the table")
    if adversary == "presence unknown":
        moved = listed.with_columns(age=pl.when(person=207).then(70.5).otherwise("age"))
        prepared = prepare(mixed, read_policy(series.path / "policy.toml"), moved)
        people, group = rebuilt(prepared.population, ledger, 1, "the table")
        with pytest.raises(TableError, match="not those that the release shows"):
            refuse_other_people(prepared, True, people, group, record, layout, "the table")
    if adversary == "presence unknown" and form == "generalised":
        more = pl.concat([listed, listed[:1].with_columns(person=pl.lit(999, pl.Int64))])
        prepared = prepare(mixed, read_policy(series.path / "policy.toml"), more)
        people, group = rebuilt(prepared.population, ledger, 1, "the table")
        with pytest.raises(TableError, match="lie in its regions"):
            refuse_other_people(prepared, True, people, group, record, layout, "the table")


def _exported(series: Series, folder: Path) -> Path:
    series.export(folder / "exported")
    return folder / "exported"


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
