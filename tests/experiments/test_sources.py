"""People and values: built in, and from the layouts in which the real files come."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from serigraph.errors import TableError
from serigraph.experiments import Source, built_in_source, read_source
from serigraph.experiments.built_in import PEOPLE, REACTIONS, VALUES


@pytest.fixture(scope="module")
def built_in() -> Source:
    return built_in_source()


def test_the_built_in_source_has_the_numbers_of_the_paper(built_in: Source) -> None:
    assert built_in.people.height == PEOPLE == 40_478
    assert built_in.reactions.height == REACTIONS == 105_420
    assert built_in.reactions["value"].n_unique() == VALUES == 2_320
    assert list(built_in.kinds) == ["age", "sex", "weight", "height", "province"]
    assert built_in.reactions.is_unique().all()
    assert len(built_in.rarest_values()) == 232


def test_its_values_have_a_long_tail(built_in: Source) -> None:
    times = built_in.reactions["value"].value_counts(sort=True)["count"]
    assert times[0] > 0.02 * REACTIONS
    assert times.tail(232).sum() < 0.01 * REACTIONS  # the paper's: about 0.6 %
    assert times.tail(232).max() < 10


def test_a_smaller_built_in_source_has_the_same_shape_and_is_repeatable() -> None:
    one, again, other = built_in_source(500, 3), built_in_source(500, 3), built_in_source(500, 4)
    assert one.people.equals(again.people)
    assert one.reactions.equals(again.reactions)
    assert not one.reactions.equals(other.reactions)
    assert one.reactions.height == round(REACTIONS * 500 / PEOPLE)


def test_sampling_keeps_people_with_their_reactions(built_in: Source) -> None:
    some = built_in.sampled(300)
    assert some.people.height == 300
    of_them = built_in.reactions.join(some.people, on="person", how="semi")
    assert some.reactions.sort(pl.all()).equals(of_them.sort(pl.all()))
    assert built_in.sampled(10**6) is built_in


def canada_line(cells: dict[int, str], width: int) -> str:
    return "$".join(f'"{cells.get(place, "")}"' for place in range(width)) + "\n"


def report(number: int, sex: str, age: str, weight: str, unit: str, height: str) -> str:
    cells = {0: str(number), 1: f"00000{number}", 10: sex, 11: "Féminin", 12: age, 13: age}
    cells |= {19: weight, 20: unit, 22: height, 23: "Centimetre"}
    return canada_line(cells, 42)


def test_the_canada_vigilance_extract_is_recognised(tmp_path: Path) -> None:
    reports, reactions = tmp_path / "reports.txt", tmp_path / "reactions.txt"
    reports.write_text(
        report(1, "Female", "34.5", "60", "Kilogram", "165")
        + report(2, "Male", "71", "220.5", "Pound", "180")
        + report(3, "Unknown", "20", "60", "Kilogram", "160")
        + report(4, "Male", "", "60", "Kilogram", "160")
        + report(5, "Male", "50", "60", "Stone", "160")
    )
    reactions.write_text(
        "".join(
            canada_line({0: str(n), 1: str(who), 5: term, 6: "en français"}, 10)
            for n, (who, term) in enumerate([(1, "Nausea"), (1, "Rash"), (2, "Rash"), (4, "Rash")])
        ),
        encoding="latin-1",
    )
    source = read_source([reports], [reactions])
    assert source.name == "Canada Vigilance"
    assert source.people.rows() == [("1", 34, "Female", 60, 165), ("2", 71, "Male", 100, 180)]
    assert source.reactions.rows() == [("1", "Nausea"), ("1", "Rash"), ("2", "Rash")]


def test_files_of_the_extract_given_the_wrong_way_round_are_refused(tmp_path: Path) -> None:
    reports, reactions = tmp_path / "reports.txt", tmp_path / "reactions.txt"
    reports.write_text(report(1, "Female", "34", "60", "Kilogram", "165"))
    reactions.write_text(canada_line({0: "1", 1: "1", 5: "Rash"}, 10))
    with pytest.raises(TableError, match="10 columns"):
        read_source([reactions], [reports])


def test_yearly_vaers_files_are_put_together(tmp_path: Path) -> None:
    head = "VAERS_ID,RECVDATE,STATE,AGE_YRS,SEX\n"
    symptoms = "VAERS_ID,SYMPTOM1,SYMPTOMVERSION1,SYMPTOM2,SYMPTOMVERSION2\n"
    (tmp_path / "1990VAERSDATA.csv").write_text(
        head + "025001,07/02/1990,WI,0.2,F\n025003,07/02/1990,,0.8,M\n"
    )
    (tmp_path / "1991VAERSDATA.csv").write_text(head + "025009,01/02/1991,tx,44,M\n")
    (tmp_path / "1990VAERSSYMPTOMS.csv").write_text(symptoms + "025001,Agitation,8.1,Rash,8.1\n")
    (tmp_path / "1991VAERSSYMPTOMS.csv").write_text(symptoms + "025009,Rash,8.1,,\n")
    source = read_source(sorted(tmp_path.glob("*DATA.csv")), sorted(tmp_path.glob("*SYMPTOMS.csv")))
    assert source.name == "VAERS"
    assert source.people.rows() == [("025001", 0.2, "F", "WI"), ("025009", 44.0, "M", "TX")]
    assert sorted(source.reactions.rows()) == [
        ("025001", "Agitation"),
        ("025001", "Rash"),
        ("025009", "Rash"),
    ]


def test_vaers_terms_may_come_one_a_row(tmp_path: Path) -> None:
    pl.DataFrame(
        {"VAERS_ID": ["1", "2"], "STATE": ["WI", "TX"], "AGE_YRS": ["3", "4"], "SEX": ["F", "M"]}
    ).write_parquet(tmp_path / "reports.parquet")
    pl.DataFrame({"VAERS_ID": ["1", "2"], "TERM": ["Rash", "Pain"]}).write_parquet(
        tmp_path / "reactions.parquet"
    )
    source = read_source([tmp_path / "reports.parquet"], [tmp_path / "reactions.parquet"])
    assert source.reactions.height == 2


def test_any_pair_of_tables_will_do(tmp_path: Path) -> None:
    people, values = tmp_path / "people.csv", tmp_path / "values.csv"
    people.write_text("id,born,town\na,1970,Rome\nb,1980,Bonn\nc,,Oslo\n")
    values.write_text("id,diagnosis\na,flu\na,flu\nb,gout\nz,flu\n")
    source = read_source([people], [values])
    assert dict(source.kinds) == {"born": "numeric", "town": "categorical"}
    assert source.people.rows() == [("a", 1970, "Rome"), ("b", 1980, "Bonn")]
    assert source.reactions.rows() == [("a", "flu"), ("b", "gout")]
    assert source.numbered().reactions.rows() == [(0, "flu"), (1, "gout")]
    narrow = read_source([people], [values], person="id", value="diagnosis", columns=["town"])
    assert narrow.people.columns == ["person", "town"]


def test_what_cannot_be_guessed_is_asked_for(tmp_path: Path) -> None:
    people, values = tmp_path / "people.csv", tmp_path / "values.csv"
    people.write_text("id,born\na,1970\n")
    values.write_text("id,diagnosis,ward\na,flu,3\n")
    with pytest.raises(TableError, match="--value"):
        read_source([people], [values])
    with pytest.raises(TableError, match="'born2' is not in the reports"):
        read_source([people], [values], value="ward", columns=["born2"])
    with pytest.raises(TableError, match="the file does not exist"):
        read_source([tmp_path / "nothing.csv"], [values])


def test_tables_without_a_common_person_are_refused(tmp_path: Path) -> None:
    people, values = tmp_path / "people.csv", tmp_path / "values.csv"
    people.write_text("id,born\na,1970\n")
    values.write_text("id,diagnosis\nb,flu\n")
    with pytest.raises(TableError, match="no person"):
        read_source([people], [values])
