"""A change of types between releases: people and values stay the same, or are refused."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

import serigraph
from publishing.clinic import new_series, policy_text
from serigraph.auditing.from_ledger import evidence_of
from serigraph.errors import LedgerDamaged, PolicyError, TableError
from serigraph.ledger import Series
from serigraph.policy import check_unchanged, read_policy
from serigraph.tables import cells

pytestmark = pytest.mark.usefixtures("values_may_stay")

PEOPLE = 600
DISTINCT = '[reading]\nlook_alikes = "distinct"\n'
AGE = '[quasi_identifiers.age]\nkind = "numeric"\n'


def table(people: int = PEOPLE, first: int = 1) -> pl.DataFrame:
    """Everybody has a number; one in twenty has the diagnosis 5, the others 1, 2 or 2.5."""
    numbers = pl.int_range(first, first + people, eager=True)
    return pl.DataFrame(
        {
            "patient": numbers,
            "age": numbers % 60 + 20,
            "diagnosis": [5.0 if n % 20 == 0 else (1.0, 2.0, 2.5)[n % 3] for n in numbers],
        }
    )


def series_of(folder: Path, *, id_type: str = "text", rest: str = "", **sections: str) -> Series:
    text = policy_text(
        columns=sections.pop("columns", AGE),
        person=f'id = "patient"\ntype = "{id_type}"',
        protected=sections.pop("protected", 'values = ["5"]'),
        guarantee='threshold = "1/2"\nminimum_group_size = 2',
        strategy='name = "constant"\nreleases = 4',
        rest=rest,
        **sections,
    )
    return new_series(folder, text)


def publish(series: Series, *tables: pl.DataFrame, registry: pl.DataFrame | None = None) -> None:
    for number, each in enumerate(tables, 1 + len(series.releases())):
        serigraph.publish(each, series, registry=registry, label=f"r{number}")


def changed(column: str, kind: pl.DataType | type[pl.DataType]) -> pl.DataFrame:
    later = table().with_columns(age=pl.col("age") + 1)  # another table
    if kind == pl.String and column == "diagnosis":
        return later.with_columns(pl.format("{}", column).str.strip_suffix(".0").alias(column))
    return later.cast({column: kind})


ID_TYPES = [pl.Int16, pl.Int64, pl.UInt32, pl.Float32, pl.Float64, pl.Decimal(9, 0), pl.String]


@pytest.mark.parametrize("id_type", ["text", "integer", "detected"])
@pytest.mark.parametrize("kind", [*ID_TYPES, pl.Decimal(20, 2), pl.Decimal(38, 6)], ids=str)
def test_nobody_becomes_two_people(kind: pl.DataType, id_type: str, tmp_path: Path) -> None:
    series = series_of(tmp_path / "series", id_type=id_type)
    publish(series, changed("patient", kind), table())
    assert serigraph.status(series).people == PEOPLE
    assert len(serigraph.history(series, 20, "5").exposures) == 2


def test_a_registry_of_another_type_lists_the_same_people(tmp_path: Path) -> None:
    registry = table(PEOPLE * 2).drop("diagnosis").cast({"patient": pl.Decimal(20, 2)})
    series = series_of(tmp_path / "series")
    release = serigraph.publish(table(), series, registry=registry)
    assert release.figures["people_outside_registry"] == 0
    assert serigraph.status(series).people == 2 * PEOPLE


VALUE_TYPES = [pl.Float32, pl.Float64, pl.Decimal(9, 1), pl.Decimal(20, 2), pl.String]


@pytest.mark.parametrize("kind", VALUE_TYPES, ids=str)
@pytest.mark.parametrize("protected", ['values = ["5"]', 'except = ["1", "2", "2.5"]'])
def test_a_protected_number_is_protected_in_every_type(
    kind: pl.DataType, protected: str, tmp_path: Path
) -> None:
    series = series_of(tmp_path / "series", protected=protected)
    publish(series, table(), changed("diagnosis", kind))
    assert series.protected_names() == ("5",)
    assert len(serigraph.history(series, 20, "5").exposures) == 2
    assert serigraph.audit(series).is_within


def test_unicode_forms_are_one_person_and_one_value(tmp_path: Path) -> None:
    def named(form: str) -> pl.DataFrame:
        return (
            table()
            .with_columns(
                pl.format("Ménière {}", "patient").alias("patient"),
                age=pl.col("age") + (form == "NFD"),
                diagnosis=pl.when(pl.col("diagnosis") == 5)
                .then(pl.lit("Sjögren"))
                .otherwise(pl.lit("flu")),
            )
            .with_columns(pl.col(pl.String).str.normalize(form))  # type: ignore[arg-type]  # a form
        )

    listed = unicodedata.normalize("NFD", "Sjögren")
    series = series_of(tmp_path / "series", protected=f'values = ["{listed}"]')
    publish(series, named("NFC"), named("NFD"))
    assert serigraph.status(series).people == PEOPLE
    assert series.protected_names() == ("Sjögren",)


def with_zeros(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.with_columns(pl.col("patient").cast(pl.String).str.zfill(3))


def with_point(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.with_columns(pl.format("{}.0", "patient").alias("patient"))


@pytest.mark.parametrize("change", [with_zeros, with_point])
@pytest.mark.parametrize("is_first", [True, False])
def test_ids_with_other_zeros_are_refused(
    change: Callable[[pl.DataFrame], pl.DataFrame], is_first: bool, tmp_path: Path
) -> None:
    """Of 600 ids 501 have three digits, so that the share of known people says nothing."""
    later = table().with_columns(age=pl.col("age") + 1)
    pair = (change(table()), later) if is_first else (table(), change(later))
    series = series_of(tmp_path / "series")
    publish(series, pair[0])
    with pytest.raises(TableError, match="would become new people") as refused:
        publish(series, pair[1])
    assert "99 ids" in str(refused.value) or "600 ids" in str(refused.value)
    assert len(series.releases()) == 1


def test_ids_with_other_zeros_in_the_registry_are_refused(tmp_path: Path) -> None:
    series = series_of(tmp_path / "series")
    with pytest.raises(TableError, match="99 ids of the table are numbers that the registry"):
        publish(series, table(), registry=with_zeros(table()))


def test_ids_with_other_zeros_are_distinct_if_the_policy_says_so(tmp_path: Path) -> None:
    series = series_of(tmp_path / "series", rest=DISTINCT)
    publish(series, table(), with_zeros(table()))
    assert serigraph.status(series).people == PEOPLE + 99


def as_text(frame: pl.DataFrame, **replaced: str) -> pl.DataFrame:
    """The diagnoses as text, with a point in all of them or some written in another way."""
    text = pl.format("{}", "diagnosis")
    return frame.with_columns(diagnosis=text.replace(replaced) if replaced else text)


def test_a_protected_number_in_another_spelling_is_refused(tmp_path: Path) -> None:
    series = series_of(tmp_path / "series")
    publish(series, table())
    with pytest.raises(TableError, match="'5' is protected, and 1 value that differs from it"):
        publish(series, as_text(table()))
    assert len(series.releases()) == 1


def test_a_number_that_earlier_releases_wrote_otherwise_is_refused(tmp_path: Path) -> None:
    series = series_of(tmp_path / "series", protected='except = ["1", "2", "2.5", "1.0", "2.0"]')
    publish(series, table())
    with pytest.raises(TableError, match="1 value differs from values of earlier releases"):
        publish(series, as_text(table()))


def test_capitals_do_not_undo_protection(tmp_path: Path) -> None:
    illnesses = {"5.0": "HIV", "1.0": "flu", "2.0": "gout", "2.5": "asthma"}
    series = series_of(tmp_path / "series", protected='values = ["HIV"]')
    publish(series, as_text(table(), **illnesses))
    with pytest.raises(TableError, match="'HIV' is protected, and 1 value that differs") as refused:
        publish(series, as_text(table(), **illnesses | {"2.0": "hiv"}))
    assert "'hiv'" not in str(refused.value)


def test_codes_that_differ_in_zeros_are_published_side_by_side(tmp_path: Path) -> None:
    """ICD-9 has 0389 and 389, and both are there in every release."""
    codes = {"5.0": "0389", "1.0": "389", "2.0": "25000", "2.5": "4019"}
    series = series_of(tmp_path / "series", protected='except = ["25000", "4019", "389"]')
    publish(series, as_text(table(), **codes))
    publish(series, as_text(table(), **codes).with_columns(age=pl.col("age") + 1))
    assert series.protected_names() == ("0389",)


def test_a_misspelt_number_is_found_in_the_first_release(tmp_path: Path) -> None:
    series = series_of(tmp_path / "series", protected='values = ["5.00"]')
    with pytest.raises(PolicyError, match=r"'5.00': the table has '5'"):
        publish(series, table())


ZIP = AGE + '[quasi_identifiers.zip]\nkind = "categorical"\n'


def test_categories_that_the_registry_writes_otherwise_are_refused(tmp_path: Path) -> None:
    zipped = table().with_columns(zip=(pl.col("patient") % 7 * 100 + 2000))
    as_code = zipped.with_columns(pl.col("zip").cast(pl.String).str.zfill(5))
    series = series_of(tmp_path / "series", columns=ZIP)
    with pytest.raises(TableError, match="7 values of column 'zip' are numbers that the registry"):
        publish(series, as_code, registry=zipped)
    publish(series, as_code, registry=as_code)


def older_series(
    folder: Path, monkeypatch: pytest.MonkeyPatch, *, twice: bool = False
) -> tuple[Series, pl.DataFrame]:
    """A series whose first release keeps a value in the form in which an older version read it, and
    a table in the form of today."""
    names = {"5.0": "Sjögren", "1.0": "flu", "2.0": "gout", "2.5": "asthma"}
    later = as_text(table(), **names).with_columns(age=pl.col("age") + 1)
    is_older = pl.col("patient") % (40 if twice else 20) == 0
    older = as_text(table(), **names).with_columns(
        diagnosis=pl.when(is_older)
        .then(pl.col("diagnosis").str.normalize("NFD"))
        .otherwise("diagnosis")
    )
    series = series_of(folder, protected='except = ["flu", "gout", "asthma"]', rest=DISTINCT)
    with monkeypatch.context() as before:
        before.setattr(cells, "composed", lambda texts: texts)
        publish(series, older)
    return series, later


def test_values_of_an_older_ledger_are_found_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    series, later = older_series(tmp_path / "series", monkeypatch)
    publish(series, later)
    assert series.protected_names() == ("Sjögren",)
    assert len(serigraph.history(series, 20, "Sjögren").exposures) == 2
    history = series.history(pl.Series(["20"]), ["Sjögren"])
    assert (history.group >= 0).all()
    assert evidence_of(series, series.releases()).values == ("Sjögren",)
    assert serigraph.audit(series).is_within


def test_a_value_in_two_forms_of_one_release_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    series, later = older_series(tmp_path / "series", monkeypatch, twice=True)
    with pytest.raises(LedgerDamaged, match="one value twice, in two Unicode forms"):
        publish(series, later)


def test_a_policy_of_an_older_version_is_the_same_policy(tmp_path: Path) -> None:
    def listed(*names: str) -> str:
        return f"values = {list(names)}\nclasses = {{ 'Ménière' = {list(names)} }}".replace(
            "'", '"'
        )

    series = series_of(tmp_path / "series", protected=listed("é", "f", "5") + '\nunheld = "allow"')
    publish(series, table())
    record = series.releases()[0]
    plain = json.dumps(record.policy, ensure_ascii=False)
    older = replace(record, policy_json=unicodedata.normalize("NFD", plain))
    assert older.policy_json != plain
    policy = series.path / "policy.toml"
    check_unchanged(older.policy, read_policy(policy), policy.read_text(), "policy.toml")


ILLNESSES = {"5.0": "HIV", "1.0": "flu", "2.0": "gout", "2.5": "asthma"}
BUT_COMMON = 'except = ["flu", "gout", "asthma", "1", "2", "2.5"]'


def with_second_spelling(spelling: str, **names: str) -> pl.DataFrame:
    """Every second holder of the rare value has it in another spelling."""
    is_second = pl.col("patient") % 40 == 0
    return as_text(table(), **names).with_columns(
        age=pl.col("age") + 1,
        diagnosis=pl.when(is_second).then(pl.lit(spelling)).otherwise("diagnosis"),
    )


def test_a_second_spelling_beside_the_first_is_refused(tmp_path: Path) -> None:
    whole = {"5.0": "5", "1.0": "1", "2.0": "2"}
    series = series_of(tmp_path / "series", protected=BUT_COMMON)
    publish(series, as_text(table(), **whole))
    with pytest.raises(TableError, match="1 value differs from values of earlier releases"):
        publish(series, with_second_spelling("5.00", **whole))


def test_capitals_do_not_give_a_second_budget(tmp_path: Path) -> None:
    series = series_of(tmp_path / "series", protected=BUT_COMMON)
    publish(series, as_text(table(), **ILLNESSES))
    with pytest.raises(
        TableError, match="1 value differs from values of earlier releases"
    ) as refused:
        publish(series, as_text(table(), **ILLNESSES | {"5.0": "hiv"}))
    assert "hiv" not in str(refused.value)


def test_two_spellings_in_a_first_table_are_refused_unless_they_are_named(tmp_path: Path) -> None:
    both = with_second_spelling("hiv", **ILLNESSES)
    series = series_of(tmp_path / "series", protected=BUT_COMMON)
    with pytest.raises(TableError, match="2 values differ from each other only in capitals"):
        publish(series, both)
    named = series_of(tmp_path / "named", protected='values = ["HIV", "hiv"]')
    publish(named, both)


def test_numbers_may_stand_side_by_side(tmp_path: Path) -> None:
    whole = {"5.0": "0389", "1.0": "1", "2.0": "2"}
    series = series_of(tmp_path / "series", protected=BUT_COMMON)
    publish(series, with_second_spelling("389", **whole))
    assert series.protected_names() == ("0389", "389")


def test_the_rarest_spelling_is_refused_without_naming_it(tmp_path: Path) -> None:
    both = with_second_spelling("FLU", **ILLNESSES)
    series = series_of(tmp_path / "series", protected='rarest = "20%"')
    with pytest.raises(TableError, match="a value is protected, and 1 value that diff") as refused:
        publish(series, both)
    assert "flu" not in str(refused.value).lower()


@pytest.mark.parametrize("spelling", ["COVID\u201119", "CO\u200bVID-19", "COVID-19\ufe0f"])
def test_marks_that_nobody_sees_do_not_undo_protection(spelling: str, tmp_path: Path) -> None:
    names = ILLNESSES | {"5.0": "COVID-19"}
    series = series_of(tmp_path / "series", protected='values = ["COVID-19"]')
    with pytest.raises(TableError, match="'COVID-19' is protected, and 1 value that differs"):
        publish(series, with_second_spelling(spelling, **names))


def test_marks_around_a_value_of_the_policy_do_not_count(tmp_path: Path) -> None:
    series = series_of(tmp_path / "series", protected='values = ["\u200bHIV\u2060"]')
    publish(series, as_text(table(), **ILLNESSES))
    assert series.protected_names() == ("HIV",)
