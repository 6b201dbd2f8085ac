"""From tables and registries to populations."""

from __future__ import annotations

from datetime import date

import polars as pl
import pytest

from serigraph.tables import prepare
from tables.examples import clinic_policy, clinic_table, registry_of

ROWS = ('column = "diagnosis"', 'column = "diagnosis"\nform = "rows"')
LIST = ('column = "diagnosis"', 'column = "diagnosis"\nform = "list"')
DELIMITED = ('column = "diagnosis"', 'column = "diagnosis"\nform = "delimited"\ndelimiter = ";"')


def test_a_population_without_a_registry() -> None:
    population = prepare(clinic_table(), clinic_policy()).population
    assert population.ids.to_list() == [1, 2, 3, 4, 5]
    assert population.present.all()
    age, born, zip_code = population.domains
    assert age.values.to_list() == [None, 31, 47, 60]
    assert born.values.to_list() == [
        None,
        date(1961, 1, 1),
        date(1985, 5, 30),
        date(1990, 1, 2),
        date(1990, 3, 4),
    ]
    assert zip_code.values.to_list() == [None, "02139", "02140", "65001"]
    assert population.codes.tolist() == [[1, 3, 0, 2, 1], [4, 1, 2, 0, 3], [0, 2, 3, 3, 1]]
    assert [value.name for value in population.protected] == ["flu", "gout", "hiv"]
    assert population.held_start.tolist() == [0, 1, 1, 2, 3, 4]
    assert population.held.tolist() == [2, 1, 0, 0]
    assert population.values.to_list() == [["hiv"], [], ["gout"], ["flu"], ["flu"]]


def test_a_registry_adds_absent_people_and_widens_the_domains() -> None:
    registry = registry_of([9, 2, 1], age=[20, 60, 31], zip=["65002", "02140", None])
    registry = registry.with_columns(born=pl.Series(["1970-01-01", "1961-01-01", "1990-03-04"]))
    prepared = prepare(clinic_table(), clinic_policy(), registry)
    population = prepared.population
    assert population.ids.to_list() == [1, 2, 3, 4, 5, 9]
    assert population.present.tolist() == [True] * 5 + [False]
    assert population.domains[0].values.to_list() == [None, 20, 31, 47, 60]
    assert population.codes[0].tolist() == [2, 4, 0, 3, 2, 1]
    assert population.values.to_list() == [["hiv"], [], ["gout"], ["flu"], ["flu"]]
    assert population.held_start.tolist() == [0, 1, 1, 2, 3, 4, 4]
    assert population.outside_registry == 3
    assert prepared.differing_from_registry == 0
    assert population.digest == prepare(clinic_table(), clinic_policy()).population.digest


def test_the_tables_values_win_over_the_registrys() -> None:
    prepared = prepare(clinic_table(), clinic_policy(), registry_of([1, 2, 9]))
    assert prepared.differing_from_registry == 2
    age = prepared.population.domains[0].values
    assert [age[int(code)] for code in prepared.population.codes[0][:2]] == [31, 60]


def test_numbers_of_table_and_registry_meet_in_one_type() -> None:
    prepared = prepare(clinic_table(), clinic_policy(), registry_of([9], age=[30.5]))
    assert prepared.population.domains[0].values.to_list() == [None, 30.5, 31.0, 47.0, 60.0]


@pytest.mark.parametrize("kinds", [(pl.Int8, pl.Int64), (pl.UInt32, pl.Int16), (pl.Int64, pl.Int8)])
def test_integers_of_any_size_are_the_same_numbers(kinds: tuple[type, type]) -> None:
    table = clinic_table().with_columns(age=pl.Series([60, 31, -100, 47, 31]))
    of_table, of_registry = kinds
    if of_table == pl.UInt32:
        table = table.with_columns(pl.col("age").abs())
    registry = registry_of([9, 2], age=[20, 33])
    expected = prepare(table, clinic_policy(), registry)
    prepared = prepare(
        table.with_columns(pl.col("age").cast(of_table)),
        clinic_policy(),
        registry.with_columns(pl.col("age").cast(of_registry)),
    )
    assert prepared.population.digest == expected.population.digest
    assert prepared.differing_from_registry == expected.differing_from_registry == 1
    ages = prepared.population.domains[0].values
    assert ages.equals(expected.population.domains[0].values)
    assert ages.dtype == pl.Int64
    assert (prepared.population.codes == expected.population.codes).all()


def test_a_registry_may_repeat_a_person_that_it_describes_once() -> None:
    prepared = prepare(clinic_table(), clinic_policy(), registry_of([9, 9]))
    assert prepared.population.size == 6


def test_all_forms_of_value_sets_agree() -> None:
    others = ["patient", "age", "born", "zip"]
    sets = [["gout", "flu", "gout"], ["flu"], None, ["hiv", "flu"], [None]]
    lists = clinic_table().with_columns(diagnosis=pl.Series(sets))
    rows = lists.explode("diagnosis").select(pl.all().shuffle(seed=1).over("patient"))
    joined = lists.with_columns(pl.col("diagnosis").list.join(" ;"))
    expected = prepare(lists, clinic_policy(LIST)).population
    assert expected.values.to_list() == [["flu", "hiv"], [], ["flu"], [], ["flu", "gout"]]
    assert expected.held.tolist() == [0, 2, 0, 0, 1]
    for table, change in ((rows, ROWS), (joined, DELIMITED)):
        assert table.select(others).unique().height == 5
        found = prepare(table, clinic_policy(change)).population
        assert found.digest == expected.digest
        assert found.values.to_list() == expected.values.to_list()
        assert found.held.tolist() == expected.held.tolist()


@pytest.mark.parametrize(
    ("ids", "expected"),
    [
        (["1", "2", "10"], [1, 2, 10]),
        (["01", "2", "10"], ["01", "10", "2"]),
        (["P1", " P2 ", "P10"], ["P1", "P10", "P2"]),
        ([1.0, 2.0, 10.0], [1, 2, 10]),
        ([1, 2, 10], [1, 2, 10]),
        (["1", "2", "9" * 30], ["1", "2", "9" * 30]),
    ],
)
def test_ids_are_integers_or_text(ids: list[object], expected: list[object]) -> None:
    table = clinic_table().head(3).with_columns(patient=pl.Series(ids))
    assert prepare(table, clinic_policy()).population.ids.to_list() == expected


def test_the_policy_may_name_the_type_of_the_ids() -> None:
    text = ('id = "patient"', 'id = "patient"\ntype = "text"')
    assert prepare(clinic_table(), clinic_policy(text)).population.ids.dtype == pl.String


def test_text_ids_of_a_registry_make_all_ids_text_where_cells_are_text() -> None:
    table = clinic_table().cast({"patient": pl.String})
    population = prepare(table, clinic_policy(), registry_of(["A7", "1"])).population
    assert population.ids.to_list() == ["1", "2", "3", "4", "5", "A7"]
    assert population.outside_registry == 4


def test_columns_may_have_names_that_are_used_inside() -> None:
    table = clinic_table().rename({"patient": "values", "age": "id", "zip": "present"})
    policy = clinic_policy(
        ('id = "patient"', 'id = "values"'),
        ("quasi_identifiers.age", "quasi_identifiers.id"),
        ("quasi_identifiers.zip", "quasi_identifiers.present"),
    )
    population = prepare(table, policy, table.drop("diagnosis")).population
    assert [domain.name for domain in population.domains] == ["id", "born", "present"]
    assert population.outside_registry == 0


def test_a_column_that_is_missing_throughout() -> None:
    table = clinic_table().with_columns(zip=pl.lit(None), age=pl.lit(None))
    population = prepare(table, clinic_policy()).population
    assert population.domains[0].values.to_list() == [None]
    assert population.codes[2].tolist() == [0] * 5


def test_preparing_changes_nothing_in_the_registry() -> None:
    registry = registry_of([1, 2, 3, 4, 5])  # describes people otherwise, and lacks nobody
    before = registry.clone().rows()
    assert prepare(clinic_table(), clinic_policy(), registry).differing_from_registry > 0
    assert registry.rows() == before


def test_preparing_changes_nothing_in_the_table() -> None:
    table = clinic_table()
    prepare(table, clinic_policy(), registry_of([9]))
    assert table.equals(clinic_table())
