"""Everything that is refused leaves the series as it was, byte for byte."""

from __future__ import annotations

import resource
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

import serigraph
from marks import thorough
from publishing.clinic import COMMON, Clinic, clinic, new_series, policy_text
from publishing.series_digest import digest_of_series
from serigraph.errors import (
    AlreadyPublished,
    Infeasible,
    InputRefused,
    LedgerDamaged,
    PolicyChanged,
    PolicyError,
    SeriesNotFound,
    SerigraphError,
    StorageError,
    TableError,
)
from serigraph.runtime.randomness import SeededRandomness


@pytest.fixture(scope="module")
def hospital() -> Clinic:
    return clinic(releases=3, people=150, registered=400, seed=11, protected_share=0.1)


@pytest.fixture(scope="module")
def template(hospital: Clinic, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A series with two releases."""
    series = new_series(tmp_path_factory.mktemp("template") / "clinic", policy_text())
    for number in range(2):
        serigraph.publish(
            hospital.tables[number],
            series,
            label=f"r{number}",
            randomness=SeededRandomness(number),
        )
    return series.path


@pytest.fixture
def path(template: Path, tmp_path: Path) -> Path:
    return shutil.copytree(template, tmp_path / "clinic")


def refused(path: Path, table: object, error: type[SerigraphError], **options: object) -> str:
    """Publish, see it refused and see nothing changed; returns the message."""
    before = digest_of_series(path)
    with pytest.raises(error) as caught:
        serigraph.publish(table, path, **options)
    assert digest_of_series(path) == before
    return str(caught.value)


def test_the_same_table_twice(path: Path, hospital: Clinic) -> None:
    message = refused(path, hospital.tables[1], AlreadyPublished, label="r1")
    assert message == "this table is out already - release 2, r1 - nothing is left to do"
    shuffled = hospital.tables[0].sample(fraction=1, shuffle=True, seed=3)
    message = refused(path, shuffled.select(reversed(shuffled.columns)), AlreadyPublished)
    assert message.startswith("this table is out already - release 1, r0 - give the table")
    again = serigraph.publish(shuffled, path, label="again", same_table=True)
    assert (again.record.number, again.record.label) == (3, "again")


def test_the_same_table_from_a_file_of_another_format(
    path: Path, hospital: Clinic, tmp_path: Path
) -> None:
    hospital.tables[0].write_csv(tmp_path / "again.csv", separator=";")
    hospital.tables[0].write_parquet(tmp_path / "again.parquet")
    for name in ("again.csv", "again.parquet"):
        assert "release 1, r0" in refused(path, tmp_path / name, AlreadyPublished)


@pytest.mark.parametrize("label", ["r1", "R1"])
def test_the_same_label_twice(path: Path, hospital: Clinic, label: str) -> None:
    message = refused(path, hospital.tables[2], AlreadyPublished, label=label)
    assert "this label is used already, for another table" in message


@pytest.mark.parametrize("label", ["../r3", "a/b", ".hidden", "r 3", "CON", "x" * 101])
def test_a_label_that_is_no_name_of_a_folder(path: Path, hospital: Clinic, label: str) -> None:
    assert "cannot be the name of a folder" in refused(
        path, hospital.tables[2], InputRefused, label=label
    )


def test_ids_of_another_type(path: Path, hospital: Clinic) -> None:
    numbered = hospital.tables[2].with_columns(pl.col("patient").str.slice(1).cast(pl.Int64))
    message = refused(path, numbered, TableError, label="r2")
    assert "integer" in message
    assert "text" in message


def test_a_byte_of_the_ledger_was_changed(path: Path, hospital: Clinic) -> None:
    for part in sorted(path.glob("ledger/*/*.parquet")):
        whole = part.read_bytes()
        part.write_bytes(whole[:-9] + bytes([whole[-9] ^ 1]) + whole[-8:])
        message = refused(path, hospital.tables[2], LedgerDamaged, label="r2")
        assert f"was changed - {part.relative_to(path)}" in message
        part.write_bytes(whole)
    serigraph.publish(hospital.tables[2], path, label="r2")


def test_a_part_of_the_ledger_is_missing(path: Path, hospital: Clinic) -> None:
    for part in sorted(path.glob("ledger/*/*.parquet")):
        aside = part.rename(path.parent / "aside")
        message = refused(path, hospital.tables[2], LedgerDamaged, label="r2")
        assert f"is missing - {part.relative_to(path)}" in message
        aside.rename(part)


def test_a_changed_policy_is_refused_with_its_line(path: Path, hospital: Clinic) -> None:
    text = policy_text()
    for old, new, place in [
        ('threshold = "1/2"', 'threshold = "2/3"', "guarantee.threshold was '1/2', is '2/3'"),
        ('kind = "numeric"', 'kind = "categorical"', "quasi_identifiers.age.kind"),
        (f"except = {list(COMMON)}", 'values = "all"', "protected"),
        ('threshold = "1/2"', 'l = 2\nadversary = "presence known"', "guarantee.adversary"),
    ]:
        assert old in text
        changed = text.replace(old, new)
        (path / "policy.toml").write_text(changed)
        message = refused(path, hospital.tables[2], PolicyChanged, label="r2")
        line = changed[: changed.index(new)].count("\n") + 1 + new.count("\n")
        assert f"line {line}, {place}" in message
    # The same promise in other words is no change.
    (path / "policy.toml").write_text(text.replace('threshold = "1/2"', "l = 2"))
    serigraph.publish(hospital.tables[2], path, label="r2")


def test_values_that_do_not_fit(path: Path, hospital: Clinic) -> None:
    table = hospital.tables[2].with_columns(diagnosis=pl.lit("hiv"))
    everybody = f"'hiv' is held by {table.height} of {table.height} people"
    assert everybody in refused(path, table, Infeasible)


def _with_null_id(table: pl.DataFrame) -> pl.DataFrame:
    first = pl.int_range(pl.len()) == 0
    return table.with_columns(patient=pl.when(~first).then("patient"))


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda table: table.clear(), "the table is empty: it has no rows"),
        (lambda table: table.drop("age", "zip"), "the table has no column 'age'"),
        (lambda table: table.drop("diagnosis"), "the table has no column 'diagnosis'"),
        (_with_null_id, "1 id in column 'patient' is missing, row 1"),
        (lambda table: pl.concat([table, table.head(2)]), "2 people have several rows"),
        (
            lambda table: table.with_columns(age=pl.lit("old")),
            "column 'age': text where numbers are expected",
        ),
        (
            lambda table: table.with_columns(age=pl.lit(float("inf"))),
            "column 'age': infinite numbers",
        ),
        (
            lambda table: table.with_columns(zip=pl.lit("0000")),
            "1 value of column 'zip' is not in the taxonomy",
        ),
    ],
)
def test_a_table_that_does_not_fit(
    path: Path, hospital: Clinic, spoil: Callable[[pl.DataFrame], pl.DataFrame], said: str
) -> None:
    assert said in refused(path, spoil(hospital.tables[2]), InputRefused, label="r2")


def test_all_problems_are_told_at_once(path: Path, hospital: Clinic) -> None:
    spoilt = hospital.tables[2].drop("sex").with_columns(age=pl.lit("old"), zip=pl.lit("0000"))
    message = refused(path, spoilt, TableError, label="r2")
    assert "3 problems" in message
    assert message.count("\n  - ") == 3


def test_a_registry_that_does_not_fit(path: Path, hospital: Clinic) -> None:
    registry = hospital.registry.drop("zip")
    message = refused(path, hospital.tables[2], TableError, label="r2", registry=registry)
    assert "the registry has no column 'zip'" in message


def test_a_wrong_key_in_the_policy(path: Path, hospital: Clinic) -> None:
    text = policy_text().replace("[guarantee]\n", "[guarantee]\ntreshold = 1\n")
    (path / "policy.toml").write_text(text)
    message = refused(path, hospital.tables[2], PolicyError, label="r2")
    assert f"line {text[: text.index('treshold')].count(chr(10)) + 1}" in message
    assert "treshold" in message
    (path / "policy.toml").unlink()
    refused(path, hospital.tables[2], PolicyError, label="r2")


@pytest.mark.parametrize("name", ["t.parquet", "t.csv", "t.arrow", "t.duckdb", "t.sav", "t.csv.gz"])
def test_a_file_that_is_not_what_its_name_says(
    path: Path, hospital: Clinic, tmp_path: Path, name: str
) -> None:
    if name == "t.csv":
        hospital.tables[2].write_parquet(tmp_path / name)
    else:
        (tmp_path / name).write_text(hospital.tables[2].write_csv())
    refused(path, tmp_path / name, InputRefused)


def test_no_file_and_no_series(path: Path, hospital: Clinic, tmp_path: Path) -> None:
    refused(path, tmp_path / "nowhere.csv", InputRefused)
    with pytest.raises(SeriesNotFound):
        serigraph.publish(hospital.tables[2], tmp_path)


_PUBLISH_WITH_SMALL_FILES = """
import resource, sys
import serigraph
from serigraph.cli import main
from serigraph.publishing import publish
limit = int(sys.argv.pop(1))
resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
main()
"""


@pytest.mark.parametrize("limit", [0, 2000, 8000, thorough(300), thorough(1000), thorough(4000)])
def test_a_full_disk(path: Path, hospital: Clinic, tmp_path: Path, limit: int) -> None:
    # What the publication writes: tables of 3 to 6 kB, documents, parts of 1 kB, catalog of 20 kB.
    table = tmp_path / "r2.parquet"
    hospital.tables[2].write_parquet(table)
    before = digest_of_series(path)
    arguments = ["publish", str(table), "--series", str(path)]
    run = subprocess.run(
        [sys.executable, "-c", _PUBLISH_WITH_SMALL_FILES, str(limit), *arguments],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert run.returncode == StorageError.exit_code, run.stderr
    assert run.stderr.startswith("StorageError: ")
    if limit == 8000:  # the tables were written: what is protected was shown, nothing committed
        assert run.stdout.startswith("Values, with the number of people who hold each:\n")
    assert digest_of_series(path) == before
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] == resource.RLIM_INFINITY
    serigraph.publish(table, path)  # and with room again it works


MISSPELT = 'values = ["rare-00", "rare-0l", "Rare-02"]'


def test_a_misspelt_protected_value_stops_the_first_release(
    hospital: Clinic, tmp_path: Path
) -> None:
    series = new_series(tmp_path / "clinic", policy_text(protected=MISSPELT))
    message = refused(series.path, hospital.tables[0], PolicyError)
    assert "nobody in the table holds 2 protected values" in message
    assert "'Rare-02': the table has 'rare-02'" in message
    assert 'unheld = "allow"' in message
    assert str(series.path / "policy.toml") in message


def test_so_does_a_class_with_a_member_that_nobody_holds(hospital: Clinic, tmp_path: Path) -> None:
    classes = 'values = ["rare-00"]\n[protected.classes]\npox = ["rare-01", "smallpox"]'
    series = new_series(tmp_path / "clinic", policy_text(protected=classes))
    assert "'smallpox'" in refused(series.path, hospital.tables[0], PolicyError)


def test_values_that_come_later_are_allowed_in_as_many_words(
    hospital: Clinic, tmp_path: Path
) -> None:
    distinct = '[reading]\nlook_alikes = "distinct"\n'
    allowed = policy_text(protected=f'{MISSPELT}\nunheld = "allow"', rest=distinct)
    series = new_series(tmp_path / "clinic", allowed)
    first = serigraph.publish(hospital.tables[0], series)
    assert [each.name for each in first.value_list.unheld] == ["Rare-02", "rare-0l"]
    # The key is about the first table only: it may go afterwards.
    (series.path / "policy.toml").write_text(policy_text(protected=MISSPELT, rest=distinct))
    serigraph.publish(hospital.tables[1], series)


def test_a_later_release_may_lack_a_value(hospital: Clinic, tmp_path: Path) -> None:
    series = new_series(tmp_path / "clinic", policy_text(protected='values = ["rare-00"]'))
    serigraph.publish(hospital.tables[0], series)
    without = hospital.tables[1].filter(pl.col("diagnosis") != "rare-00")
    assert serigraph.publish(without, series).value_list.unheld[0].name == "rare-00"
