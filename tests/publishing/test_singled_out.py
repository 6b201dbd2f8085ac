"""People alone in their group and rows that are unique: counted, told, and refused if columns ask
for them."""

from __future__ import annotations

import json
import shutil
import sqlite3
from fractions import Fraction
from pathlib import Path
from typing import Any

import jsonschema
import polars as pl
import pytest

import serigraph
from cli.running import run
from publishing.clinic import COLUMNS, Clinic, clinic, new_series, policy_text
from publishing.series_digest import digest_of_series
from serigraph.errors import PolicyError
from serigraph.ledger.layout import Layout
from serigraph.ledger.release import chain_link, chain_start
from serigraph.publishing import Published
from serigraph.publishing.published import SingledOut
from serigraph.reporting import read_certificate
from serigraph.reporting.certificate import shipped_schema

FEW = {"protected": 'values = ["rare-00"]', "strategy": 'name = "constant"\nreleases = 2'}
QUASI_IDENTIFIERS = ["age", "sex", "zip"]
ALONE = "are alone in their group"
UNIQUE = "rows are unique on the quasi-identifiers"


@pytest.fixture(scope="module")
def hospital() -> Clinic:
    return clinic(releases=2, people=200, registered=500, seed=21, protected_share=0.1)


def unique_rows(release: Published) -> tuple[int, int]:
    """Counted by hand on the table that the public gets: how many are unique, and of how many."""
    name = "table" if "table" in release.tables else "quasi_identifiers"
    rows = [tuple(row) for row in release.tables[name].select(QUASI_IDENTIFIERS).iter_rows()]
    return sum(1 for row in rows if rows.count(row) == 1), len(rows)


def groups_of_one(series: Any) -> int:
    """Counted by hand in the ledger."""
    folder = series.path.parent / "exported"
    serigraph.export(series, folder)
    groups = pl.read_parquet(folder / "groups.parquet")
    shutil.rmtree(folder)
    return int((groups["size"] == 1).sum())


@pytest.mark.parametrize("form", ["generalised", "bucketised"])
@pytest.mark.parametrize("adversary", ["presence unknown", "presence known"])
@pytest.mark.parametrize("has_registry", [True, False])
@pytest.mark.parametrize("size", [1, 3])
def test_the_figures_are_those_of_the_tables_and_of_the_ledger(
    hospital: Clinic, tmp_path: Path, form: str, adversary: str, has_registry: bool, size: int
) -> None:
    guarantee = f'threshold = "1/2"\nadversary = "{adversary}"\nminimum_group_size = {size}'
    text = policy_text(guarantee=guarantee, output=f'form = "{form}"', **FEW)
    series = new_series(tmp_path / "clinic", text)
    release = serigraph.publish(
        hospital.tables[0],
        series,
        registry=hospital.registry if has_registry else None,
        allow_suppression=True,
    )
    figures = release.figures
    assert (figures["unique_rows"], figures["rows"]) == unique_rows(release)
    assert figures["people_alone"] == groups_of_one(series)
    if size > 1:
        assert figures["people_alone"] == 0
    elif form == "generalised":
        assert figures["people_alone"] > 0


def test_what_is_not_zero_is_said_in_words(hospital: Clinic, tmp_path: Path) -> None:
    series = new_series(tmp_path / "clinic", policy_text(**FEW))
    hospital.tables[0].write_csv(tmp_path / "first.csv")
    told = run("publish", tmp_path / "first.csv", "--series", series.path)
    assert told.code == 0, told.err
    (record,) = series.releases()
    singled = SingledOut.of(record.summary)
    assert singled is not None
    alone, unique = f"{singled.people_alone:,} people {ALONE}", f"{singled.unique_rows:,} of 200"
    folder = series.path / "releases" / "first"
    serigraph.report(series)
    for shown in (
        told.out,
        run("status", series.path).out,
        (folder / "report.html").read_text(),
        (series.path / "report" / "report.html").read_text(),
    ):
        assert alone in shown
        assert f"{unique} {UNIQUE}" in shown
    for path in (folder, series.path / "report"):
        certificate = read_certificate(path / "certificate.json")
        assert certificate.figures["people_alone"] == singled.people_alone
        assert certificate.figures["unique_rows"] == singled.unique_rows
        assert certificate.figures["rows"] == 200


def test_zero_is_said_to_be_zero(hospital: Clinic, tmp_path: Path) -> None:
    guarantee = 'threshold = "1/2"\nminimum_group_size = 5'
    series = new_series(tmp_path / "clinic", policy_text(guarantee=guarantee, **FEW))
    hospital.tables[0].write_csv(tmp_path / "first.csv")
    told = run("publish", tmp_path / "first.csv", "--series", series.path)
    assert "  nobody is alone in a group, and no row is unique\n" in told.out
    page = (series.path / "releases/first/report.html").read_text()
    assert "People alone in their group" in page
    assert ALONE not in told.out + page + run("status", series.path).out


@pytest.mark.parametrize(
    ("figures", "share"),
    [
        ({"people_alone": 0, "unique_rows": 0, "rows": 0}, Fraction(0)),
        ({"people_alone": 1, "unique_rows": 2, "rows": 8}, Fraction(1, 4)),
    ],
)
def test_the_share(figures: dict[str, int], share: Fraction) -> None:
    singled = SingledOut.of(figures)
    assert singled is not None
    assert singled.share == share


def test_one_person_is_not_people() -> None:
    assert SingledOut(1, 1, 9).words()[0].startswith("1 person is alone in a group: ")


def without_figures(path: Path) -> None:
    """Make the releases of a series as those of 0.1.0: they lack these figures."""
    with sqlite3.connect(Layout(path).catalog) as catalog:
        columns = [row[1] for row in catalog.execute("PRAGMA table_info(release)")]
        chain = chain_start(catalog.execute("SELECT identity FROM series").fetchone()[0])
        for row in catalog.execute("SELECT * FROM release ORDER BY number").fetchall():
            old = dict(zip(columns, row, strict=True))
            summary = json.loads(old["summary_json"])
            for name in ("people_alone", "unique_rows", "rows"):
                del summary[name]
            old["summary_json"] = json.dumps(summary)
            *sealed, _, _ = old.values()
            chain = chain_link(chain, sealed)
            catalog.execute(
                "UPDATE release SET summary_json = ?, chain = ? WHERE number = ?",
                (old["summary_json"], chain, old["number"]),
            )


def test_a_release_of_0_1_0_says_nothing_of_it(hospital: Clinic, tmp_path: Path) -> None:
    series = new_series(tmp_path / "clinic", policy_text(**FEW))
    serigraph.publish(hospital.tables[0], series, label="old")
    without_figures(series.path)
    told = run("status", series.path)
    assert told.code == 0, told.err
    assert "alone" not in told.out
    assert "unique" not in told.out
    serigraph.publish(hospital.tables[1], series, label="new")
    told = run("status", series.path).out
    lines = {line.split()[1]: line for line in told.splitlines() if line[:5].strip().isdigit()}
    assert "alone" not in lines["old"]
    assert "alone" in lines["new"]
    made = serigraph.report(series)
    figures = read_certificate(made.certificate).figures
    assert "people_alone" not in figures
    jsonschema.validate(json.loads(made.certificate.read_text()), json.loads(shipped_schema()))


# A column whose values are mostly unique.

NUMBERED = COLUMNS + '[quasi_identifiers.account]\nkind = "numeric"\n'
NAMED_IN_POLICY = NUMBERED + 'unique_values = "publish"\n'


def with_accounts(table: pl.DataFrame, unique: int) -> pl.DataFrame:
    """A further column: so many people have a value of their own, and all others the same one."""
    values = [*range(1, unique + 1), *[0] * (table.height - unique)]
    return table.with_columns(pl.Series("account", values))


@pytest.mark.parametrize(
    ("form", "size", "unique", "people", "is_refused"),
    [
        ("generalised", 1, 100, 200, True),
        ("generalised", 1, 99, 200, False),
        ("generalised", 1, 99, 99, False),  # too few people to call a column mostly unique
        ("generalised", 2, 200, 200, False),
        ("bucketised", 5, 100, 200, True),
        ("bucketised", 5, 99, 200, False),
    ],
)
def test_exact_output_of_a_mostly_unique_column_is_refused(
    hospital: Clinic,
    tmp_path: Path,
    form: str,
    size: int,
    unique: int,
    people: int,
    is_refused: bool,
) -> None:
    table = with_accounts(hospital.tables[0].head(people), unique)
    guarantee = f'threshold = "1/2"\nminimum_group_size = {size}'
    options = {
        "guarantee": guarantee,
        "output": f'form = "{form}"',
        "strategy": 'name = "constant"\nreleases = 3',
    }
    series = new_series(tmp_path / "clinic", policy_text(columns=NUMBERED, **options))
    if not is_refused:
        serigraph.publish(table, series, allow_suppression=True)
        return
    before = digest_of_series(series.path)
    with pytest.raises(PolicyError) as refused:
        serigraph.publish(table, series, allow_suppression=True)
    assert digest_of_series(series.path) == before
    message = str(refused.value)
    assert "'account'" in message
    assert "100 of 200 people" in message
    assert "'age'" not in message
    assert "minimum_group_size = 5" in message
    assert 'unique_values = "publish"' in message
    assert ('form = "generalised"' in message) == (form == "bucketised")
    (series.path / "policy.toml").write_text(policy_text(columns=NAMED_IN_POLICY, **options))
    serigraph.publish(table, series, allow_suppression=True)
    # The key is no part of the promise: it may go, and then the next release is refused.
    (series.path / "policy.toml").write_text(policy_text(columns=NUMBERED, **options))
    with pytest.raises(PolicyError, match="would be published exactly"):
        serigraph.publish(with_accounts(hospital.tables[1], 200), series, allow_suppression=True)


def test_a_registry_does_not_make_a_column_less_unique(hospital: Clinic, tmp_path: Path) -> None:
    table = with_accounts(hospital.tables[0], 200)
    absent = hospital.registry.join(table, on="patient", how="anti").head(200)
    registry = pl.concat([table.drop("diagnosis"), with_accounts(absent, 200)])
    series = new_series(tmp_path / "clinic", policy_text(columns=NUMBERED))
    with pytest.raises(PolicyError, match="200 of 200 people"):
        serigraph.publish(table, series, registry=registry)
