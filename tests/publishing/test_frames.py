"""The Python interface: every kind of table goes in, and tables come out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import serigraph
from publishing.clinic import Clinic, clinic, new_series, policy_text
from serigraph.errors import AlreadyPublished, TableError


@pytest.fixture(scope="module")
def hospital() -> Clinic:
    return clinic(releases=2, people=150, registered=400, seed=41, protected_share=0.1)


def as_polars(table: pl.DataFrame) -> Any:
    return table


def as_lazy(table: pl.DataFrame) -> Any:
    return table.lazy()


def as_arrow(table: pl.DataFrame) -> Any:
    return table.to_arrow()


def as_pandas(table: pl.DataFrame) -> Any:
    pytest.importorskip("pandas")
    return table.to_pandas()


def as_pandas_with_arrow_types(table: pl.DataFrame) -> Any:
    pytest.importorskip("pandas")
    return table.to_pandas(use_pyarrow_extension_array=True)


def as_relation(table: pl.DataFrame) -> Any:
    duckdb = pytest.importorskip("duckdb")
    connection = duckdb.connect()
    connection.register("given", table.to_arrow())
    connection.execute("CREATE TABLE people AS FROM given")
    return connection.sql("FROM people")


KINDS = [as_polars, as_lazy, as_arrow, as_pandas, as_pandas_with_arrow_types, as_relation]


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_table_is_the_same_table(hospital: Clinic, tmp_path: Path, kind: Any) -> None:
    series = new_series(tmp_path / "clinic", policy_text())
    registry = kind(hospital.registry)
    release = serigraph.publish(kind(hospital.tables[0]), series, registry=registry)
    assert release.record.label == "release-1"
    assert release.record.table_digest == _digest(hospital.tables[0], tmp_path)
    with pytest.raises(AlreadyPublished):
        serigraph.publish(hospital.tables[0], series)
    second = serigraph.publish(kind(hospital.tables[1]), series.path, label="later")
    assert [each.label for each in serigraph.status(series).releases] == ["release-1", "later"]
    assert second.folder == series.path / "releases" / "later"


def _digest(table: pl.DataFrame, folder: Path) -> str:
    table.write_csv(folder / "t.csv")
    series = new_series(folder / "from-csv", policy_text())
    return serigraph.publish(folder / "t.csv", series).record.table_digest


@pytest.mark.parametrize("form", ["generalised", "bucketised"])
def test_tables_come_out(hospital: Clinic, tmp_path: Path, form: str) -> None:
    pandas = pytest.importorskip("pandas")
    series = new_series(tmp_path / "clinic", policy_text(output=f'form = "{form}"'))
    release = serigraph.publish(hospital.tables[0], series)
    names = {"generalised": ["table"], "bucketised": ["quasi_identifiers", "sensitive"]}
    assert list(release.tables) == names[form]
    for name, table in release.tables.items():
        assert isinstance(table, pl.DataFrame)
        assert isinstance(table.to_arrow(), pa.Table)
        frame = table.to_pandas()
        assert isinstance(frame, pandas.DataFrame)
        assert list(frame.columns) == table.columns
        assert len(frame) == table.height > 0
        # The files say the same, and readers other than Polars can read them.
        assert pl.read_parquet(release.folder / f"{name}.parquet").equals(table)
        assert pq.read_table(release.folder / f"{name}.parquet").num_rows == table.height
        written = pl.read_csv(release.folder / f"{name}.csv", schema=table.schema)
        assert written.equals(table)
    for path in release.folder.iterdir():
        content = path.read_bytes()
        assert not any(person.encode() in content for person in hospital.tables[0]["patient"])


def test_a_series_from_a_frame(hospital: Clinic, tmp_path: Path) -> None:
    begun = serigraph.init(tmp_path / "clinic", hospital.tables[0])
    assert "a data frame" in begun.policy.read_text()
    assert serigraph.status(begun.path).releases == ()
    serigraph.export(begun.path, tmp_path / "out")
    assert pl.read_parquet(tmp_path / "out" / "members.parquet").height == 0


@pytest.mark.parametrize("wrong", [7, None, [1, 2], {"patient": ["a"]}])
def test_what_is_no_table(tmp_path: Path, wrong: object) -> None:
    series = new_series(tmp_path / "clinic", policy_text())
    with pytest.raises(TableError, match="is not a table"):
        serigraph.publish(wrong, series)


def test_a_frame_of_mixed_types_is_refused_without_its_cells(
    hospital: Clinic, tmp_path: Path
) -> None:
    pandas = pytest.importorskip("pandas")
    frame = hospital.tables[0].to_pandas()
    frame["age"] = pandas.Series([["secret"], *frame["age"][1:]], dtype=object)
    series = new_series(tmp_path / "clinic", policy_text())
    with pytest.raises(TableError) as refused:
        serigraph.publish(frame, series)
    # The frame may come from a file without a header: its names would be cells, too.
    assert f"column {frame.columns.get_loc('age') + 1} holds" in str(refused.value)
    assert "secret" not in str(refused.value)


def test_the_seed_decides_nothing_but_the_choices(hospital: Clinic, tmp_path: Path) -> None:
    # Without a seed two runs differ in the order of rows and in nothing that is promised.
    tables = []
    for name in ("one", "other"):
        series = new_series(tmp_path / name, policy_text())
        tables.append(serigraph.publish(hospital.tables[0], series).tables["table"])
    assert not tables[0].equals(tables[1])
    assert tables[0].sort(pl.all()).equals(tables[1].sort(pl.all()))
