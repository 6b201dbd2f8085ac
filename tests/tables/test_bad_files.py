"""Files that cannot be read: each error says what, where and what to do."""

from __future__ import annotations

import sys
from pathlib import Path

import duckdb
import pandas as pd
import polars as pl
import pytest

from serigraph.errors import MissingExtra, TableError
from serigraph.policy import Reading
from serigraph.tables import read_table

TABLE = pl.DataFrame({"a": [1, 2], "b": ["x", "y"]})


def refusal(source: object, reading: Reading | None = None) -> TableError:
    with pytest.raises(TableError) as caught:
        read_table(source, reading)
    assert caught.value.remedy
    return caught.value


def written(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path


def parquet_bytes(folder: Path) -> bytes:
    TABLE.write_parquet(folder / "good.parquet")
    return (folder / "good.parquet").read_bytes()


@pytest.mark.parametrize(
    "suffix", ["csv", "csv.gz", "arrow", "duckdb", "dta", "sav", "sas7bdat", "xpt"]
)
def test_a_parquet_file_under_another_name(suffix: str, tmp_path: Path) -> None:
    path = written(tmp_path / f"t.{suffix}", parquet_bytes(tmp_path))
    assert "looks like Parquet" in str(refusal(path))


@pytest.mark.parametrize("suffix", ["parquet", "csv.gz", "arrow", "duckdb", "dta", "sav", "xpt"])
def test_text_under_another_name(suffix: str, tmp_path: Path) -> None:
    path = written(tmp_path / f"t.{suffix}", b"a,b\n1,2\n")
    assert "does not match its name" in str(refusal(path))


@pytest.mark.parametrize(
    ("head", "looks"),
    [(b"PK\x03\x04", "ZIP"), (b"SQLite format 3\0", "SQLite"), (b"ab\0\0\1", "binary")],
)
def test_other_files_that_are_named_csv(head: bytes, looks: str, tmp_path: Path) -> None:
    assert looks in str(refusal(written(tmp_path / "t.csv", head + b"\0" * 100)))


@pytest.mark.parametrize("suffix", ["csv", "parquet", "duckdb", "dta"])
def test_an_empty_file(suffix: str, tmp_path: Path) -> None:
    assert "empty" in str(refusal(written(tmp_path / f"t.{suffix}", b"")))


def test_a_file_that_is_not_there_and_a_folder(tmp_path: Path) -> None:
    assert "the file does not exist" in str(refusal(tmp_path / "t.csv"))
    (tmp_path / "folder.csv").mkdir()
    assert "this is a folder" in str(refusal(tmp_path / "folder.csv"))


def test_an_unknown_ending(tmp_path: Path) -> None:
    assert ".parquet" in refusal(written(tmp_path / "t.json", b"[]")).remedy


@pytest.mark.parametrize("keep", [40, -20])
def test_a_file_that_was_cut_short(keep: int, tmp_path: Path) -> None:
    assert "damaged" in str(
        refusal(written(tmp_path / "t.parquet", parquet_bytes(tmp_path)[:keep]))
    )


def test_a_damaged_gzip_file(tmp_path: Path) -> None:
    assert "damaged" in str(refusal(written(tmp_path / "t.csv.gz", b"\x1f\x8b\x08" + b"x" * 40)))


def test_ragged_lines_are_named(tmp_path: Path) -> None:
    error = refusal(written(tmp_path / "t.csv", b"a,b,c\n1,2,3\n1,2\n4,5,6\n1,2,3,4\n"))
    assert error.what.startswith("2 lines have more or fewer cells")
    assert "lines 3, 5" in error.where


def test_a_line_that_is_too_short_is_not_filled_up(tmp_path: Path) -> None:
    error = refusal(written(tmp_path / "t.csv", b"a,b,c\n1,2,3\n4\n5,6,7\n"))
    assert error.where.endswith(", line 3")
    assert "1 line has more or fewer cells" in str(error)


@pytest.mark.parametrize(
    "lines", [b"a,b\n1,2\n\n3,4\n\n", b"a,b\n1,2\n3,4", b"a,b\r\n1,2\r\n3,4\r\n"]
)
def test_empty_lines_and_ends_of_lines_do_not_count(lines: bytes, tmp_path: Path) -> None:
    table = read_table(written(tmp_path / "t.csv", lines))
    assert table.to_dict(as_series=False) == {"a": ["1", "3"], "b": ["2", "4"]}


@pytest.mark.parametrize(
    ("header", "problem"),
    [(b"a,b,a", "columns 1, 3 have the same name"), (b"a,,c", "column 2 has no")],
)
def test_a_header_without_names(header: bytes, problem: str, tmp_path: Path) -> None:
    assert problem in str(refusal(written(tmp_path / "t.csv", header + b"\n1,2,3\n")))


@pytest.mark.parametrize("end", [b"", b'9,z,"flu\n'])
def test_a_quote_that_is_never_closed_does_not_publish_other_rows(
    tmp_path: Path, end: bytes
) -> None:
    rows = b'id,zip,diagnosis\n1,"x",flu\n2,y,"gout\n3,y,hiv\n4,z,flu\n' + end
    error = refusal(written(tmp_path / "t.csv", rows))
    assert "a quote is not closed" in str(error) or "more or fewer cells" in str(error)
    assert "hiv" not in str(error)


def test_a_cell_may_have_several_lines(tmp_path: Path) -> None:
    rows = b'id,zip,remark\n1,x,"fell, then\nrose"\n2,y,"a\n\nb, c, and d, e"\n'
    assert read_table(written(tmp_path / "t.csv", rows)).height == 2


def test_a_ragged_line_in_another_encoding_prints_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = b"id,zip\n" + b"1,x\n" * 300_000 + b'"2",\xe9,\xff\n'
    refusal(written(tmp_path / "t.csv", rows))
    assert capsys.readouterr().err == ""


def test_an_encoding_that_does_not_fit(tmp_path: Path) -> None:
    path = written(tmp_path / "t.csv", "a,b\n1,é\n".encode("latin-1") * 9)
    assert "'utf-8'" in str(refusal(path, Reading(encoding="utf-8")))
    assert "'klingon'" in str(refusal(path, Reading(encoding="klingon")))


def test_databases_without_a_clear_table(tmp_path: Path) -> None:
    path = tmp_path / "t.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("create table one as select 'secret' as a")
        connection.execute("create table two as select 2 as b")
    assert "2 tables" in str(refusal(path))
    assert "gives no table" in str(refusal(path, Reading(query="-- nothing")))
    assert "absent" in str(refusal(path, Reading(query="select * from absent")))
    failing = refusal(path, Reading(query="select a::int from one"))
    assert "secret" not in str(failing)
    assert "ConversionException" in str(failing)


def test_a_data_frame_of_mixed_types_names_its_columns() -> None:
    frame = pd.DataFrame({"a": [1, "secret"], "b": [1, 2], "c": ["x", 3.5]})
    error = refusal(frame)
    assert [problem.split()[1] for problem in error.problems] == ["1", "3"]
    assert "secret" not in str(error)


def test_what_is_no_table() -> None:
    assert "dict is not a table" in str(refusal({"a": [1]}))
    assert "pandas Series is not a table" in str(refusal(pd.Series([1])))


@pytest.mark.parametrize(
    ("package", "name", "data", "extra"),
    [
        ("duckdb", "t.duckdb", b"\0" * 8 + b"DUCK" + b"\0" * 99, "duckdb"),
        ("pyreadstat", "t.sav", b"$FL2" + b"\0" * 99, "statistics"),
    ],
)
def test_a_missing_package_is_named_with_its_extra(
    package: str,
    name: str,
    data: bytes,
    extra: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    path = written(tmp_path / name, data)
    assert refusal(path)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingExtra, match=rf"serigraph\[{extra}\]"):
        read_table(path)


def test_an_address_of_several_lines_is_a_cell(tmp_path: Path) -> None:
    path = tmp_path / "addresses.csv"
    path.write_text('id,name,address\n1,Jane,"Jane Roe\n12 High St, Leeds, UK"\n2,Jo,"Bonn"\n')
    assert read_table(path, Reading()).height == 2


@pytest.mark.parametrize("columns", [2, 3, 60])
def test_rows_inside_a_cell_are_refused(columns: int, tmp_path: Path) -> None:
    lines = [",".join(f"{row}-{n}" for n in range(columns)) for row in range(6)]
    lines[2] = lines[2].removesuffix(f"2-{columns - 1}") + '"open'
    path = tmp_path / "open.csv"
    path.write_text("\n".join([*lines, '"']) + "\n")
    with pytest.raises(TableError, match="a quote is not closed") as refused:
        read_table(path, Reading(delimiter=","))
    assert "remove its line breaks" in str(refused.value)
