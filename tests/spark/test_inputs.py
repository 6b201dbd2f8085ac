"""What comes in on Spark: the same people and values as on one machine, or the same refusal."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import polars as pl
import pytest

import serigraph
from publishing.clinic import new_series, policy_text
from serigraph.engines.spark.ledger_frames import LedgerFrames
from serigraph.errors import InputRefused, TableError
from serigraph.ledger import Series
from serigraph.ledger.layout import Layout
from serigraph.tables import cells

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PEOPLE = 600
pytestmark = pytest.mark.parametrize("spark", ["local[2]"], indirect=True)


def table(first: int = 1, shift: int = 0) -> pl.DataFrame:
    numbers = pl.int_range(first, first + PEOPLE, eager=True)
    return pl.DataFrame(
        {
            "patient": numbers,
            "age": (numbers + shift) % 60 + 20,
            "diagnosis": [5.0 if n % 20 == 0 else (1.0, 2.0, 2.5)[n % 3] for n in numbers],
        }
    )


def series_of(folder: Path, **sections: str) -> Series:
    usual = {
        "columns": '[quasi_identifiers.age]\nkind = "numeric"\n',
        "person": 'id = "patient"\ntype = "text"',
        "protected": 'values = ["5"]',
        "guarantee": 'threshold = "1/2"\nminimum_group_size = 2',
        "strategy": 'name = "constant"\nreleases = 4',
    }
    return new_series(folder, policy_text(**usual | sections))


def on_spark(given: Any, series: Series, **options: Any) -> Any:
    return serigraph.publish(given, series, engine=serigraph.Spark(partition_people=250), **options)


def in_decimals(spark: SparkSession, frame: pl.DataFrame) -> Any:
    """A frame of Spark itself, with decimals of two scales and short floats."""
    return spark.createDataFrame(frame.to_arrow()).selectExpr(
        "cast(patient as decimal(20, 2)) as patient",
        "cast(age as float) as age",
        "cast(diagnosis as decimal(9, 3)) as diagnosis",
    )


def test_people_and_values_are_the_same_in_every_type(spark: SparkSession, tmp_path: Path) -> None:
    series = series_of(tmp_path / "series", protected='except = ["1", "2", "2.5"]')
    serigraph.publish(table(), series, label="local")
    on_spark(in_decimals(spark, table(shift=1)), series, label="decimals")
    kinds = {"patient": pl.Categorical, "age": pl.UInt8, "diagnosis": pl.Decimal(9, 1)}
    on_spark(table(shift=2).cast({"patient": pl.String}).cast(kinds), series, label="categories")
    assert serigraph.status(series).people == PEOPLE
    assert series.protected_names() == ("5",)
    assert len(serigraph.history(series, "20", "5").exposures) == 3


def test_values_that_persist_are_refused_before_anything_is_read(
    spark: SparkSession, tmp_path: Path
) -> None:
    series = series_of(
        tmp_path / "series",
        protected='values = ["5"]\n[protected.persistence]\ndefault = "any"',
    )
    missing = tmp_path / "no such table.csv"
    with pytest.raises(InputRefused, match="with values that persist are made on one machine"):
        on_spark(missing, series)


def with_zeros(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.with_columns(pl.col("patient").cast(pl.String).str.zfill(3))


def test_ids_with_other_zeros_are_refused(spark: SparkSession, tmp_path: Path) -> None:
    series = series_of(tmp_path / "series")
    with pytest.raises(TableError, match="99 ids of the table are numbers that the registry"):
        on_spark(table(), series, registry=with_zeros(table()))
    serigraph.publish(table(), series, label="local")
    with pytest.raises(TableError, match="would become new people") as refused:
        on_spark(with_zeros(table(shift=1)), series)
    assert "99 ids" in str(refused.value)
    assert len(series.releases()) == 1


def test_hardly_anybody_known_is_stopped_until_it_is_meant(
    spark: SparkSession, tmp_path: Path
) -> None:
    series = series_of(tmp_path / "series")
    serigraph.publish(table(), series, label="local")
    later = table(first=1 + PEOPLE - 29)
    with pytest.raises(TableError, match="29 of 600 people are known"):
        on_spark(later, series)
    assert on_spark(later, series, new_people=True).record.newcomers == PEOPLE - 29


def test_a_number_in_another_spelling_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    excepted = 'except = ["1", "2", "2.5", "1.0", "2.0"]'
    series = series_of(tmp_path / "series", protected=excepted)
    serigraph.publish(table(), series, label="local")
    later = table(shift=1).with_columns(pl.format("{}", "diagnosis").alias("diagnosis"))
    with pytest.raises(TableError, match="1 value differs from values of earlier releases"):
        on_spark(later, series)


def test_values_of_an_older_ledger_are_found_again(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def named(form: Literal["NFC", "NFD"], shift: int = 0) -> pl.DataFrame:
        is_rare = pl.col("diagnosis") == 5
        names = pl.when(is_rare).then(pl.lit("Sjögren")).otherwise(pl.lit("flu"))
        return table(shift=shift).with_columns(diagnosis=names.str.normalize(form))

    series = series_of(tmp_path / "series", protected='except = ["flu"]')
    with monkeypatch.context() as before:
        before.setattr(cells, "composed", lambda texts: texts)
        serigraph.publish(named("NFD"), series, label="older")
    on_spark(named("NFC", shift=1), series, label="r2")
    assert len(serigraph.history(series, 20, "Sjögren").exposures) == 2
    frames = LedgerFrames(spark, Layout(series.path), series.releases())
    held = frames.values().collect()
    assert {(row.release, row.value) for row in held} == {(1, "Sjögren"), (2, "Sjögren")}
    assert frames.compositions(["Sjögren"]).count() == len(held)


TIMES: dict[str, Callable[[SparkSession], Any]] = {
    "a frame of Polars": lambda _: table().with_columns(diagnosis=datetime(2024, 1, 31, 10)),
    "lists": lambda _: table().with_columns(diagnosis=pl.lit([datetime(2024, 1, 31, 10)])),
    "a frame of Spark": lambda spark: spark.createDataFrame(table().to_arrow()).selectExpr(
        "patient", "age", "timestamp'2024-01-31 10:00:00' as diagnosis"
    ),
}


@pytest.mark.parametrize("name", TIMES)
def test_times_are_no_values(spark: SparkSession, name: str, tmp_path: Path) -> None:
    form = "list" if name == "lists" else "single"
    sensitive = f'column = "diagnosis"\nform = "{form}"'
    series = series_of(tmp_path / "series", sensitive=sensitive, protected='values = "all"')
    with pytest.raises(TableError, match=r"column 'diagnosis' holds times.*: give dates or text"):
        on_spark(TIMES[name](spark), series)


@pytest.mark.parametrize(
    ("kind", "form"),
    [
        ("single", "generalised"),
        ("rows", "bucketised"),
        pytest.param("single", "bucketised", marks=pytest.mark.thorough),
        pytest.param("rows", "generalised", marks=pytest.mark.thorough),
    ],
)
def test_formulas_and_names_of_ours_are_read_back(
    spark: SparkSession, form: str, kind: str, tmp_path: Path
) -> None:
    names = {5.0: "=HIV", 1.0: "'=flu", 2.0: "a;@b", 2.5: "-5"}
    given = table().select(
        "patient",
        pl.col("age").alias("value"),
        pl.col("diagnosis").replace_strict(names).alias("region"),
    )
    series = series_of(
        tmp_path / "series",
        columns='[quasi_identifiers.value]\nkind = "numeric"\n',
        sensitive=f'column = "region"\nform = "{kind}"',
        protected='values = ["=HIV"]',
        output=f'form = "{form}"\nfiles = ["csv"]',
    )
    release = on_spark(given, series, label="r")
    assert any("2 texts begin like a formula" in note for note in release.notes)
    cells = "\n".join(path.read_text() for path in release.folder.glob("*.csv/*"))
    assert "'=HIV" in cells
    assert "'-5" not in cells
    for engine in (serigraph.Local(), serigraph.Spark()):
        audit = serigraph.audit(series, engine=engine)
        assert audit.is_within
        assert audit.files_agree


def test_too_many_columns_are_refused(spark: SparkSession, tmp_path: Path) -> None:
    names = ",".join(f"{number:x}" for number in range(10_001))
    (tmp_path / "wide.csv").write_text(f"{names}\n")
    with pytest.raises(TableError, match="at most 10,000 can be read"):
        on_spark(str(tmp_path / "wide.csv"), series_of(tmp_path / "series"))


def test_what_folders_name_is_text_as_on_one_machine(spark: SparkSession, tmp_path: Path) -> None:
    coded = table().with_columns(ward=pl.Series([f"{n % 3:03}" for n in range(PEOPLE)]))
    for (ward,), part in coded.partition_by("ward", as_dict=True, include_key=False).items():
        (tmp_path / f"t/ward={ward}").mkdir(parents=True)
        part.write_parquet(tmp_path / f"t/ward={ward}/part-0.parquet")
    columns = '[quasi_identifiers.ward]\nkind = "categorical"\n'
    inference = spark.conf.get("spark.sql.sources.partitionColumnTypeInference.enabled")
    digests = []
    for name, engine in {"spark": serigraph.Spark(), "local": serigraph.Local()}.items():
        series = series_of(tmp_path / name, columns=columns)
        release = serigraph.publish(str(tmp_path / "t"), series, label="r", engine=engine)
        digests.append(release.record.table_digest)
    assert digests[0] == digests[1]
    assert spark.conf.get("spark.sql.sources.partitionColumnTypeInference.enabled") == inference
