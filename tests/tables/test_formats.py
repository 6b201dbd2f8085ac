"""The same table in every format, in any order of rows and columns, gives the same population."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pyreadstat
import pytest

from serigraph.model import Population
from serigraph.policy import Reading
from serigraph.tables import prepare, read_table
from tables.examples import clinic_policy, clinic_table

EXPECTED = prepare(clinic_table(), clinic_policy()).population


def same(found: Population, expected: Population) -> bool:
    return (
        found.digest == expected.digest
        and found.ids.equals(expected.ids)
        and np.array_equal(found.codes, expected.codes)
        and all(
            a.values.equals(b.values) and a.values.dtype == b.values.dtype
            for a, b in zip(found.domains, expected.domains, strict=True)
        )
        and found.protected == expected.protected
        and np.array_equal(found.held, expected.held)
        and np.array_equal(found.held_start, expected.held_start)
        and found.values.equals(expected.values)
    )


def csv_bytes(separator: str = ",", **options: Any) -> bytes:
    return clinic_table().write_csv(separator=separator, **options).encode()


def duckdb_file(folder: Path) -> Path:
    path = folder / "clinic.duckdb"
    frame = clinic_table()
    with duckdb.connect(str(path)) as connection:
        connection.execute("create table people as select * from frame")
    assert frame.height
    return path


def written(folder: Path, name: str, data: bytes) -> Path:
    path = folder / name
    path.write_bytes(data)
    return path


def by_polars(folder: Path, name: str, write: str) -> Path:
    path = folder / name
    getattr(clinic_table(), write)(path)
    return path


def by_pyreadstat(folder: Path, name: str, write: Callable[..., None]) -> Path:
    path = folder / name
    frame = clinic_table().to_pandas()
    frame["born"] = [None if day is None else day for day in clinic_table()["born"].to_list()]
    write(frame, str(path))
    return path


SOURCES: dict[str, Callable[[Path], Any]] = {
    "csv": lambda folder: written(folder, "t.csv", csv_bytes()),
    "semicolons": lambda folder: written(folder, "t.csv", csv_bytes(";")),
    "tabs": lambda folder: written(folder, "t.tsv", csv_bytes("\t")),
    "bars": lambda folder: written(folder, "t.txt", csv_bytes("|")),
    "quoted": lambda folder: written(folder, "t.csv", csv_bytes(quote_style="always")),
    "apostrophes": lambda folder: written(
        folder, "t.csv", csv_bytes(quote_style="non_numeric", quote_char="'")
    ),
    "byte order mark": lambda folder: written(folder, "t.csv", b"\xef\xbb\xbf" + csv_bytes()),
    "utf-16": lambda folder: written(folder, "t.csv", csv_bytes().decode().encode("utf-16")),
    "windows lines": lambda folder: written(folder, "t.csv", csv_bytes(line_terminator="\r\n")),
    "gzip": lambda folder: written(folder, "t.csv.gz", gzip.compress(csv_bytes())),
    "german dates": lambda folder: written(folder, "t.csv", csv_bytes(date_format="%d.%m.%Y")),
    "parquet": lambda folder: by_polars(folder, "t.parquet", "write_parquet"),
    "arrow": lambda folder: by_polars(folder, "t.arrow", "write_ipc"),
    "duckdb": duckdb_file,
    "stata": lambda folder: by_pyreadstat(folder, "t.dta", pyreadstat.write_dta),
    "spss": lambda folder: by_pyreadstat(folder, "t.sav", pyreadstat.write_sav),
    "sas transport": lambda folder: by_pyreadstat(folder, "t.xpt", pyreadstat.write_xport),
    "path as text": lambda folder: str(written(folder, "t.csv", csv_bytes())),
    "polars": lambda folder: clinic_table(),
    "lazy polars": lambda folder: clinic_table().lazy(),
    "pandas": lambda folder: clinic_table().to_pandas(),
    "arrow table": lambda folder: clinic_table().to_arrow(),
    "arrow stream": lambda folder: pa.RecordBatchReader.from_stream(clinic_table()),
    "floats": lambda folder: clinic_table().cast({"age": pl.Float64, "patient": pl.Float64}),
    "categories": lambda folder: clinic_table().cast({"zip": pl.Categorical}),
    "other order": lambda folder: clinic_table().reverse().select(clinic_table().columns[::-1]),
    "more columns": lambda folder: clinic_table().with_columns(note=pl.lit("x")),
    "blanks": lambda folder: clinic_table().with_columns(pl.col(pl.String) + "  "),
    "times of day": lambda folder: clinic_table().cast({"born": pl.Datetime}),
}


@pytest.mark.parametrize("name", SOURCES)
def test_every_format_gives_the_same_population(name: str, tmp_path: Path) -> None:
    table = read_table(SOURCES[name](tmp_path))
    assert same(prepare(table, clinic_policy()).population, EXPECTED)


def test_a_duckdb_relation_is_a_table() -> None:
    frame = clinic_table()
    relation = duckdb.sql("select * from frame")
    assert frame.height == 5
    assert same(prepare(read_table(relation), clinic_policy()).population, EXPECTED)


def test_a_query_chooses_from_a_database(tmp_path: Path) -> None:
    path = duckdb_file(tmp_path)
    chosen = read_table(path, Reading(query="select * from people where patient < 3"))
    assert sorted(chosen["patient"].to_list()) == [1, 2]


@pytest.mark.parametrize(
    "change",
    [
        pl.col("patient") + 10,
        pl.col("age").fill_null(1),
        pl.col("zip").fill_null("02139"),
        pl.col("diagnosis").fill_null("flu"),
        pl.col("diagnosis").replace("flu", "hiv"),
        pl.col("born").dt.offset_by("1d"),
    ],
)
def test_other_content_has_another_digest(change: pl.Expr) -> None:
    other = prepare(clinic_table().with_columns(change), clinic_policy()).population
    assert other.digest != EXPECTED.digest


def test_letters_beyond_ascii_survive_in_old_encodings(tmp_path: Path) -> None:
    text = "patient,diagnosis\n" + "1,flu\n" * 20_000 + "2,Ménière\n"
    for encoding in ("utf-8", "cp1252", "latin-1", "utf-16"):
        path = written(tmp_path, "t.csv", text.encode(encoding))
        assert read_table(path)["diagnosis"][-1] == "Ménière"


def test_reading_options_override_what_is_detected(tmp_path: Path) -> None:
    path = written(tmp_path, "t.csv", "a;b,c\n1;2,3\n".encode("utf-16-le"))
    table = read_table(path, Reading(delimiter=";", encoding="utf-16-le"))
    assert table.to_dict(as_series=False) == {"a": ["1"], "b,c": ["2,3"]}
    path = written(tmp_path, "q.csv", b"a,b\n1,~x,y~\n")
    assert read_table(path, Reading(quote="~"))["b"].to_list() == ["x,y"]


def test_cells_of_csv_files_stay_as_they_are_written(tmp_path: Path) -> None:
    path = written(tmp_path, "t.csv", b'a,b\n007,"1,50"\n,"two\nlines"\n')
    assert read_table(path).rows() == [("007", "1,50"), (None, "two\nlines")]


def test_labels_of_coded_values_can_be_read(tmp_path: Path) -> None:
    path = str(tmp_path / "t.sav")
    frame = pl.DataFrame({"sex": [1.0, 2.0, 9.0, None]}).to_pandas()
    pyreadstat.write_sav(frame, path, variable_value_labels={"sex": {1: "male", 2: "female"}})
    assert read_table(path)["sex"].to_list() == [1.0, 2.0, 9.0, None]
    labelled = read_table(path, Reading(value_labels=True))
    assert labelled["sex"].to_list() == ["male", "female", "9", None]


def test_the_registry_has_a_query_of_its_own(tmp_path: Path) -> None:
    reading = Reading(query="select 1 as a", registry_query="select 2 as a")
    path = duckdb_file(tmp_path)
    assert read_table(path, reading)["a"].to_list() == [1]
    assert read_table(path, reading.for_registry())["a"].to_list() == [2]
