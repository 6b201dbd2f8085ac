"""Proposed policies: they parse, they fit their table, and they say what was guessed."""

from __future__ import annotations

import random
import re
import tomllib
from collections.abc import Sequence
from pathlib import Path

import polars as pl
import pytest

import serigraph
from serigraph.errors import InputRefused, TableError
from serigraph.policy import Policy, parse_policy, read_policy
from serigraph.privacy.strategies import ConstantRatio
from serigraph.publishing.beginning import NewSeries
from serigraph.publishing.first_plan import SPARE, THRESHOLD
from serigraph.publishing.proposal import Proposal, propose_policy
from serigraph.tables import Prepared, prepare, read_table

PEOPLE = 120


def clinic(**changes: object) -> pl.DataFrame:
    """A table with a column of every sort, as text, such as a CSV file gives it."""
    draw = random.Random(7)
    columns: dict[str, object] = {
        "patient_id": [f"P{i:04}" for i in range(PEOPLE)],
        "surname": [f"Name{i}" for i in range(PEOPLE)],
        "age": [draw.choice(["31", "47", "60", "NA"]) for _ in range(PEOPLE)],
        "sex": [draw.choice("MF") for _ in range(PEOPLE)],
        "zip": [draw.choice(["02139", "65001", "65002"]) for _ in range(PEOPLE)],
        "born": [f"{draw.randint(13, 28)}/0{draw.randint(1, 9)}/1980" for _ in range(PEOPLE)],
        "weight": [f"{draw.uniform(50, 90):.1f}" for _ in range(PEOPLE)],
        "remark": [f"seen on day {i}" for i in range(PEOPLE)],
        "diagnosis": [draw.choice(["flu", "gout", "hiv"]) for _ in range(PEOPLE)],
    }
    return pl.DataFrame({**columns, **changes})


def accepted(table: pl.DataFrame, proposal: Proposal, folder: Path) -> tuple[Policy, Prepared]:
    """The policy as a series would read it, and the table prepared with it."""
    for path, data in proposal.files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(data)
    policy = parse_policy(proposal.policy_text, "policy.toml", folder)
    return policy, prepare(table, policy)


def test_every_column_gets_a_role_or_a_note(tmp_path: Path) -> None:
    table = clinic()
    proposal = propose_policy(table, "2024H1.csv")
    policy, prepared = accepted(table, proposal, tmp_path)
    assert (policy.person.id, policy.person.type) == ("patient_id", "text")
    assert (policy.sensitive.column, policy.sensitive.form) == ("diagnosis", "single")
    assert {name: column.kind for name, column in policy.quasi_identifiers.items()} == {
        "age": "numeric",
        "sex": "categorical",
        "zip": "categorical",
        "born": "date",
        "weight": "numeric",
    }
    assert policy.reading.null_values == ("NA",)
    assert policy.reading.date_format == "%d/%m/%Y"
    assert policy.protected.values == "all"
    assert prepared.population.domains[0].has_missing
    assert list(proposal.roles.left_out) == ["surname", "remark"]
    assert "2024H1.csv" in proposal.policy_text


def test_a_question_mark_is_a_missing_cell_in_every_column(tmp_path: Path) -> None:
    """As in files of hospitals in the United States, whose ids are called patient_nbr, and where
    a count of diagnoses is no diagnosis."""
    draw = random.Random(8)
    marked = {
        name: [draw.choice([*cells, "?"]) for _ in range(PEOPLE)]
        for name, cells in {"sex": "MF", "diag_1": ["250", "401", "042"], "cost": "123456"}.items()
    }
    table = clinic(number_diagnoses=[draw.randint(1, 9) for _ in range(PEOPLE)], **marked)
    table = table.rename({"patient_id": "patient_nbr"}).drop("diagnosis", "age")
    proposal = propose_policy(table, "t.csv", plain=["cost"], persistence="transient")
    policy, prepared = accepted(table, proposal, tmp_path)
    assert (policy.person.id, policy.sensitive.column) == ("patient_nbr", "diag_1")
    assert policy.reading.null_values == ("?",)
    assert "?" not in {each.name for each in prepared.value_list.all_held}
    assert policy.plain == {"cost": "numeric"}
    assert prepared.population.plain["cost"].null_count() == marked["cost"].count("?")


def test_plain_columns_that_differ_between_rows_are_refused_at_once() -> None:
    twice = pl.concat([clinic(cost=list(range(PEOPLE))), clinic(cost=[7] * PEOPLE)])
    with pytest.raises(TableError) as refused:
        propose_policy(twice, "t.csv", plain=["cost", "sex"], persistence="transient")
    assert "one record" in refused.value.what
    assert len(refused.value.problems) == 1
    assert "column 'cost' differs" in refused.value.problems[0]


def test_digit_codes_get_a_taxonomy_of_masks() -> None:
    files = propose_policy(clinic(), "t.csv").files
    assert list(files) == ["taxonomies/zip.csv"]
    assert files["taxonomies/zip.csv"].decode().splitlines() == [
        "02139;0213*;021**;02***;0****;*",
        "65001;6500*;650**;65***;6****;*",
        "65002;6500*;650**;65***;6****;*",
    ]


def test_codes_that_lost_their_zero_still_make_a_tree(tmp_path: Path) -> None:
    table = clinic(zip=[2139, 65001, 65002] * (PEOPLE // 3))
    proposal = propose_policy(table, "t.csv")
    assert b"2139;213*;21**;2***;*;*\n" in proposal.files["taxonomies/zip.csv"]
    assert accepted(table, proposal, tmp_path)[1].population.domains[2].size == 3


def test_repeated_people_make_rows_and_what_varies_is_left_out(tmp_path: Path) -> None:
    visits = clinic().with_columns(visit=pl.lit("a"))
    table = pl.concat([visits, visits.with_columns(visit=pl.lit("b"), diagnosis=pl.lit("mumps"))])
    proposal = propose_policy(table, "t.csv")
    policy, prepared = accepted(table, proposal, tmp_path)
    assert policy.sensitive.form == "rows"
    assert "visit" not in policy.quasi_identifiers
    assert "differs between the rows" in proposal.roles.left_out["visit"]
    assert prepared.population.size == PEOPLE
    assert prepared.population.values.list.len().to_list() == [2] * PEOPLE


def test_delimited_and_list_columns_are_recognised(tmp_path: Path) -> None:
    draw = random.Random(3)
    sets = [draw.sample(["flu", "gout", "hiv", "mumps"], draw.randint(1, 3)) for _ in range(PEOPLE)]
    for delimiter in (";", "|", ","):
        table = clinic(diagnosis=[delimiter.join(each) for each in sets])
        policy, _ = accepted(table, propose_policy(table, "t.csv"), tmp_path)
        assert (policy.sensitive.form, policy.sensitive.delimiter) == ("delimited", delimiter)
    table = clinic(diagnosis=sets)
    policy, prepared = accepted(table, propose_policy(table, "t.csv"), tmp_path)
    assert policy.sensitive.form == "list"
    assert {value.name for value in prepared.population.protected} == {"flu", "gout", "hiv"}
    assert policy.protected.excepted == ("mumps",)  # more than half of the people hold it


def test_a_comma_in_a_name_makes_no_list(tmp_path: Path) -> None:
    table = clinic(diagnosis=["fracture, open", "fracture, closed", "flu"] * (PEOPLE // 3))
    assert accepted(table, propose_policy(table, "t.csv"), tmp_path)[0].sensitive.form == "single"


def test_dates_that_may_have_the_month_first_get_a_note(tmp_path: Path) -> None:
    table = clinic(born=["01/02/1980", "03/04/1981"] * (PEOPLE // 2))
    proposal = propose_policy(table, "t.csv")
    assert accepted(table, proposal, tmp_path)[0].reading.date_format == "%d/%m/%Y"
    assert any("dates fit" in note for note in proposal.notes)


def test_values_that_are_too_common_are_excepted_with_their_counts(tmp_path: Path) -> None:
    many = clinic(diagnosis=[f"d{i}" for i in range(60)] * 2)
    assert "except" not in tomllib.loads(propose_policy(many, "t.csv").policy_text)["protected"]
    table = clinic(diagnosis=["flu"] * 100 + ["gout", "hiv"] * 10)
    proposal = propose_policy(table, "t.csv")
    policy, prepared = accepted(table, proposal, tmp_path)
    assert policy.protected.excepted == ("flu",)
    assert '"flu",  # 100 of 120 people' in proposal.policy_text
    assert {value.name for value in prepared.population.protected} == {"gout", "hiv"}
    assert [(each.name, each.people) for each in proposal.value_list.protected] == [
        ("gout", 10),
        ("hiv", 10),
    ]
    assert [(each.name, each.people) for each in proposal.value_list.unprotected] == [("flu", 100)]


def test_nobody_is_alone_in_a_group_by_default(tmp_path: Path) -> None:
    policy, _ = accepted(clinic(), propose_policy(clinic(), "t.csv"), tmp_path)
    assert policy.guarantee.minimum_group_size == 5


def test_three_people_with_nothing_in_common_get_a_policy(tmp_path: Path) -> None:
    table = pl.DataFrame({"id": [0, 1, 2], "q0": [7, 8, 9], "diagnosis": ["none", "hiv", "none"]})
    proposal = propose_policy(table, "a data frame", person="id", sensitive="diagnosis")
    policy, _ = accepted(table, proposal, tmp_path)
    assert list(policy.quasi_identifiers) == ["q0"]
    assert any("3 people, too few for a group of 5" in note for note in proposal.notes)


def test_known_columns_override_the_guess(tmp_path: Path) -> None:
    table = clinic().rename({"patient_id": "who", "diagnosis": "what"})
    proposal = propose_policy(table, "t.csv", person="who", sensitive="sex")
    policy, _ = accepted(table, proposal, tmp_path)
    assert (policy.person.id, policy.sensitive.column) == ("who", "sex")
    assert "what" in policy.quasi_identifiers


def test_an_id_without_a_telling_name_is_known_by_its_cells(tmp_path: Path) -> None:
    table = clinic().rename({"patient_id": "k"}).drop("surname", "remark")
    proposal = propose_policy(table, "t.csv")
    assert accepted(table, proposal, tmp_path)[0].person.id == "k"
    assert "'k' is taken as the person's id" in proposal.notes[0]


def test_names_of_columns_are_quoted_where_they_must_be(tmp_path: Path) -> None:
    table = clinic().rename({"zip": 'zip "code"/x', "age": "age [years]", "sex": "größe.1"})
    policy, _ = accepted(table, propose_policy(table, "a\nb = 1"), tmp_path)
    assert {'zip "code"/x', "age [years]", "größe.1"} <= set(policy.quasi_identifiers)


def test_typed_tables_work_as_csv_files_do(tmp_path: Path) -> None:
    typed = clinic().with_columns(
        pl.col("weight").cast(pl.Float64),
        pl.col("born").str.to_date("%d/%m/%Y"),
        patient_id=pl.int_range(pl.len()),
    )
    policy, _ = accepted(typed, propose_policy(typed, "t.parquet"), tmp_path)
    assert policy.person.type == "integer"
    assert policy.quasi_identifiers["born"].kind == "date"
    typed.write_csv(tmp_path / "t.csv")
    text = read_table(tmp_path / "t.csv")
    again, _ = accepted(text, propose_policy(text, "t.csv"), tmp_path)
    assert again.frozen() == policy.frozen()


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (clinic().clear(), "empty"),
        (clinic().select("sex", "diagnosis"), "person's id"),
        (clinic().select("patient_id", "age"), "which column is sensitive"),
        (clinic().select("patient_id", "diagnosis"), "quasi-identifier"),
    ],
)
def test_a_role_without_a_column_is_refused(table: pl.DataFrame, message: str) -> None:
    with pytest.raises(TableError, match=message):
        propose_policy(table, "t.csv")


def test_a_column_that_is_not_there_is_refused() -> None:
    with pytest.raises(TableError, match="no column 'absent'"):
        propose_policy(clinic(), "t.csv", sensitive="absent")


@pytest.mark.parametrize(
    ("table", "named"),
    [
        (clinic(patient_id=[None, *range(PEOPLE - 1)]), {"person": "patient_id"}),
        (clinic(x=[i + 0.5 for i in range(PEOPLE)]), {"person": "x"}),
        (clinic(patient_id=[*range(60), *range(60)], diagnosis=[["flu"], ["hiv"]] * 60), {}),
        (clinic(x=[{"a": 1}] * PEOPLE), {"sensitive": "x"}),
        (clinic(), {"person": "sex", "sensitive": "sex"}),
        (clinic(diagnosis=["flu"] * PEOPLE), {}),
    ],
)
def test_what_could_not_be_published_is_refused_at_once(
    table: pl.DataFrame, named: dict[str, str]
) -> None:
    with pytest.raises(TableError) as refused:
        propose_policy(table, "t.csv", **named)
    assert refused.value.remedy


def test_free_text_may_be_named_as_sensitive_but_gets_a_note(tmp_path: Path) -> None:
    proposal = propose_policy(clinic(), "t.csv", sensitive="remark")
    assert accepted(clinic(), proposal, tmp_path)[0].sensitive.column == "remark"
    assert any("'remark' would be published unchanged" in note for note in proposal.notes)


def claims(seed: int, people: int = 400) -> pl.DataFrame:
    """A table with amounts and dates, other ones for each seed; nobody keeps any."""
    who, draw = random.Random(1), random.Random(seed)
    days = [f"{draw.randint(1, 28)}.{draw.randint(1, 12)}.2024" for _ in range(people)]
    amounts = [f"{draw.lognormvariate(6, 1):.2f}".replace(".", ",") for _ in range(people)]
    return pl.DataFrame(
        {
            "id": list(range(people)),
            "age": [str(who.randint(18, 90)) for _ in range(people)],
            "sex": [who.choice("FM") for _ in range(people)],
            "amount": [draw.choice(["?", "", each, each, each]) for each in amounts],
            "paid on": days,
            "visits": [str(draw.choice([0, 0, 0, 0, 0, 0, 1, 2, 3, 4])) for _ in range(people)],
            "drg_code": [str(draw.randint(100, 120)) for _ in range(people)],
        }
    )


def publish_all(begun: NewSeries, tables: Sequence[pl.DataFrame]) -> None:
    for number, table in enumerate(tables, 1):
        found = serigraph.publish(table, begun.path, label=f"r{number}", progress=None)
        assert found.figures["suppressed_values"] == 0


@pytest.mark.parametrize(
    ("column", "kind", "width"),
    [
        ("amount", "numeric", "[1-9]0?"),
        ("paid on", "date", "[0-9]+ days"),
        ("visits", "numeric", ""),
    ],
)
def test_near_numbers_and_dates_are_protected_together(
    column: str, kind: str, width: str, tmp_path: Path
) -> None:
    tables = [claims(seed) for seed in range(3)]
    begun = serigraph.init(
        tmp_path / "s", tables[0], sensitive=column, persistence="transient", releases=3
    )
    policy = read_policy(begun.policy)
    assert policy.only_column.kind == kind
    assert policy.only_column.form == "single"
    assert re.fullmatch(width, policy.protected.closeness or "")
    assert (policy.protected.values == ()) == bool(width)
    assert policy.protected.excepted == (() if width else ("0",))
    widest = begun.value_list.classes if width else {}
    assert all(sum(each.people for each in held) <= 20 for held in widest.values())
    publish_all(begun, tables)


def test_the_proposed_interval_is_a_class_that_can_be_published(tmp_path: Path) -> None:
    table = claims(0)
    begun = serigraph.init(tmp_path / "s", table, sensitive="amount", persistence="transient")
    text = begun.policy.read_text(encoding="utf-8")
    text = re.sub(r'^# (\[protected\.classes\]|"any of them".*)$', r"\1", text, flags=re.M)
    begun.policy.write_text(text, encoding="utf-8")
    publish_all(begun, [table])
    (held,) = read_policy(begun.policy).protected.classes["any of them"]
    amounts = (float(each.replace(",", ".")) for each in table["amount"] if each not in ("?", ""))
    high = sum(each >= float(held.removeprefix(">= ")) for each in amounts)
    assert f'"any of them" = ["{held}"]  # {high} of 400 people' in text


def test_numbers_that_may_persist_are_protected_one_by_one(tmp_path: Path) -> None:
    begun = serigraph.init(tmp_path / "s", claims(1), sensitive="amount")
    policy = read_policy(begun.policy)
    assert (policy.only_column.kind, policy.protected.values) == ("numeric", "all")
    assert policy.protected.closeness is None
    assert "\n# closeness = " in begun.policy.read_text(encoding="utf-8")
    publish_all(begun, [claims(1)])


def test_columns_of_every_kind_are_proposed_together(tmp_path: Path) -> None:
    tables = [claims(seed) for seed in range(3)]
    named = ["amount", "paid on", "visits", "drg_code"]
    begun = serigraph.init(tmp_path / "s", tables[0], sensitive=named, persistence="transient")
    columns = read_policy(begun.policy).sensitive_columns
    assert [columns[name].kind for name in named] == ["numeric", "date", "numeric", "text"]
    publish_all(begun, tables)


def test_dates_that_are_sensitive_or_plain_have_the_format_of_all(tmp_path: Path) -> None:
    both = claims(1).with_columns(
        pl.col("paid on").str.to_date("%d.%m.%Y").dt.strftime("%d/%m/%Y").alias("paid on"),
        pl.lit("03/04/2024").alias("sent"),
    )
    how = {"sensitive": "paid on", "plain": ["sent"], "persistence": "transient"}
    publish_all(begun := serigraph.init(tmp_path / "s", both, **how), [both])
    assert read_policy(begun.policy).reading.date_format == "%d/%m/%Y"
    unclear = both.with_columns(pl.lit("2024-02-01").alias("paid on"))
    with pytest.raises(TableError) as refused:
        serigraph.init(tmp_path / "t", unclear, **how)
    assert "'sent'" in refused.value.problems[0]


def adult(seed: int, people: int = 300) -> pl.DataFrame:
    """People with an occupation, of which some are common, and one of two classes of salary: as
    many hold each of them in every table, and others."""
    who, draw = random.Random(1), random.Random(seed)
    held = [f"occupation {number}" for number in [*range(14), *range(4), *range(3)]] * people
    classes = ["<=50K", "<=50K", "<=50K", ">50K"] * people
    return pl.DataFrame(
        {
            "id": list(range(people)),
            "age": [who.randint(18, 90) for _ in range(people)],
            "sex": [who.choice("FM") for _ in range(people)],
            "occupation": draw.sample(held[:people], people),
            "salary-class": draw.sample(classes[:people], people),
        }
    )


@pytest.mark.parametrize("releases", [0, 5])
def test_a_column_too_common_to_protect_does_not_shorten_the_plan(
    releases: int, tmp_path: Path
) -> None:
    tables = [adult(seed) for seed in range(releases or 3)]
    begun = serigraph.init(
        tmp_path / "s",
        tables[0],
        sensitive=["occupation", "salary-class"],
        persistence="transient",
        releases=releases,
    )
    policy = read_policy(begun.policy)
    assert policy.strategy.given()["releases"] == (releases or 3)
    columns = policy.sensitive_columns
    assert set(columns["salary-class"].protected.excepted) == {"<=50K", ">50K"}
    assert any("salary-class: nothing of this column is protected" in x for x in begun.notes)
    counts = dict(tables[0]["occupation"].value_counts().rows())
    most = 300 * (1 - SPARE) / ConstantRatio(releases or 3).preview(THRESHOLD, 1)[0]
    common = {name for name, held in counts.items() if held > most}
    assert set(columns["occupation"].protected.excepted) == common
    assert bool(common) == bool(releases)
    publish_all(begun, tables)


def test_releases_are_planned_for_where_tables_show_that_values_pass(tmp_path: Path) -> None:
    first, second = (adult(seed, people=6000) for seed in range(2))
    begun = serigraph.init(
        tmp_path / "s", first, sensitive="occupation", also=second, releases=5, plain=()
    )
    policy = read_policy(begun.policy)
    assert policy.persistence_of("another") == "transient"
    assert policy.strategy.given()["releases"] == 5
    assert len(policy.protected.excepted) == 3  # one in seven people each


def test_a_known_column_may_be_plain_but_gets_a_note(tmp_path: Path) -> None:
    how = {"person": "id", "sensitive": "drg_code", "persistence": "transient"}
    noted = [
        propose_policy(claims(1), "t.csv", **how, plain=[name]).notes for name in ("age", "amount")
    ]
    told = ["outsiders usually do" in "".join(notes) for notes in noted]
    assert told == [True, False]
    with pytest.raises(InputRefused, match="both the person's id and a plain column"):
        propose_policy(claims(1), "t.csv", **how, plain=["id"])
