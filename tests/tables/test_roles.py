"""What columns are taken for: ids of people, what names people, what is sensitive."""

from __future__ import annotations

import random

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from model.settings import about
from serigraph.errors import TableError
from serigraph.tables.roles import guess_roles

PEOPLE = 300
PERSON_IDS = ["patient_id", "Patient", "person", "MRN", "pid", "Patientennummer", "id_patient"]
PERSON_IDS += ["num_paciente", "Versichertennummer", "respondent", "ssn", "subject no", "id"]
ROW_IDS = ["visit_id", "encounter no", "Besuchsnummer", "id_visita", "row id", "sejour_id"]
GROUP_IDS = ["hospital_id", "household_id", "doctor_no", "Haushaltsnummer", "family id"]


def table(people: int = PEOPLE, seed: int = 1, **columns: object) -> pl.DataFrame:
    draw = random.Random(seed)
    basic: dict[str, object] = {
        "age": [draw.randint(0, 90) for _ in range(people)],
        "sex": [draw.choice("MF") for _ in range(people)],
        "diagnosis": [
            draw.choice(["flu", "gout", "hiv", "mumps", "asthma"]) for _ in range(people)
        ],
    }
    return pl.DataFrame({**columns, **basic})


def unique(number: int = PEOPLE, seed: int = 5) -> list[int]:
    return random.Random(seed).sample(range(10**6), number)


def repeated(number: int = PEOPLE, seed: int = 6) -> list[int]:
    return random.Random(seed).choices(range(number // 3), k=number)


def visits(seed: int = 2, **columns: object) -> pl.DataFrame:
    """Each person twice, with the same sex and another diagnosis."""
    people = table(seed=seed, patient_id=unique())
    again = people.with_columns(pl.col("diagnosis").shuffle(seed=1))
    return pl.concat([people, again]).with_columns(**columns)


@about(30)
@given(
    st.sampled_from(PERSON_IDS),
    st.lists(st.sampled_from([*PERSON_IDS, *GROUP_IDS]), max_size=3, unique=True),
    st.integers(0, 2**32),
    st.randoms(use_true_random=False),
)
def test_where_rows_are_people_no_repeated_id_is_preferred_to_a_unique_one(
    name: str, others: list[str], seed: int, draw: random.Random
) -> None:
    ids = {name: unique(seed=seed)}
    ids |= {other: repeated(seed=seed + 1) for other in others if other != name}
    names = list(ids)
    draw.shuffle(names)
    rows = table(seed=seed, **{each: ids[each] for each in names})
    assert guess_roles(rows).person == name


@pytest.mark.parametrize("name", PERSON_IDS)
@pytest.mark.parametrize("other", GROUP_IDS)
def test_a_clear_id_is_found_beside_ids_of_other_things(name: str, other: str) -> None:
    rows = table(**{other: repeated(), "case_id": unique(seed=9), name: unique()})
    if name != "id":
        assert guess_roles(rows).person == name
    assert guess_roles(rows.drop("case_id")).person == name


@pytest.mark.parametrize("name", ROW_IDS)
def test_rows_of_visits_are_people_s_rows(name: str) -> None:
    rows = visits(**{name: pl.Series(unique(2 * PEOPLE))})
    roles = guess_roles(rows)
    assert (roles.person, roles.form) == ("patient_id", "rows")
    assert name in roles.left_out


def test_a_unique_id_without_a_name_for_it_does_not_outweigh_rows_of_the_same_people() -> None:
    assert guess_roles(visits(id=pl.Series(unique(2 * PEOPLE)))).person == "patient_id"


def test_it_is_asked_whose_rows_they_are_where_nothing_says_so() -> None:
    rows = visits(id=pl.Series(unique(2 * PEOPLE))).drop("sex")
    with pytest.raises(TableError, match="not clear") as asked:
        guess_roles(rows)
    assert asked.value.remedy.endswith("--person COLUMN")
    assert asked.value.problems == (
        "column 'patient_id': repeated; its name is that of a person's id; it is not known "
        "whether rows with the same one belong to one person",
        "column 'id': different in every row; its name is that of an id",
    )


def test_two_ids_of_one_kind_are_asked_about() -> None:
    with pytest.raises(TableError, match="not clear"):
        guess_roles(table(id=unique(), uuid=unique(seed=8)))


def test_numbers_that_are_no_ids_are_not_taken_for_them() -> None:
    with pytest.raises(TableError, match="not clear"):
        guess_roles(table(cost=unique(), phone=[f"0{n}" for n in unique(seed=8)]))


NAMING = {
    "first name": ["Ann", "Bob", "Cem", "Dora", "Eva"],
    "Nachname": ["Maier", "Huber", "Weiß", "Groß", "Ott"],
    "prénom": ["Luc", "Zoé", "Guy", "Léa", "Eve"],
    "apellidos": ["Ruiz", "Gil", "Vega", "Sanz", "Mora"],
    "Patient Name": ["Ann Li", "Bob Ray", "Cem Uz", "Dora Oz", "Eva Au"],
    "nom": ["Luc L", "Zoé Z", "Guy G", "Léa L", "Eve E"],
    "E-Mail": ["a@b.org", "c@d.org", "e@f.org", "g@h.org", "i@j.org"],
    "Straße": ["Weg 1", "Weg 2", "Weg 3", "Weg 4", "Weg 5"],
    "dirección": ["Sol 1", "Sol 2", "Sol 3", "Sol 4", "Sol 5"],
    "adresse_domicile": ["rue 1", "rue 2", "rue 3", "rue 4", "rue 5"],
    "téléphone": ["0123", "0124", "0125", "0126", "0127"],
    "social security number": ["1-2", "1-3", "1-4", "1-5", "1-6"],
    "Krankenversichertennummer": ["A1", "A2", "A3", "A4", "A5"],
    "passport_no": ["P1", "P2", "P3", "P4", "P5"],
    "DNI": ["1X", "2X", "3X", "4X", "5X"],
    "LAST": ["Li", "Ray", "Uz", "Oz", "Au"],
    "nombre completo": ["A B", "C D", "E F", "G H", "I J"],
    "national insurance number": ["QQ1", "QQ2", "QQ3", "QQ4", "QQ5"],
}


@pytest.mark.parametrize("name", NAMING)
def test_columns_that_name_people_are_known_by_their_names(name: str) -> None:
    cells = random.Random(1).choices(NAMING[name], k=PEOPLE)
    roles = guess_roles(table(patient=unique(), **{name: cells}))
    assert set(roles.quasi_identifiers) == {"age", "sex"}
    assert list(roles.left_out) == [name]


DRAW = random.Random(4)
WORDS = ["knee", "pain", "since", "monday", "fever", "no", "cough", "seen"]
CONTENT = {
    "it is different for most people": [f"A/5 {n % 240}" for n in range(PEOPLE)],
    "e-mail addresses": [f"user{n % 90}@mail.example" for n in range(PEOPLE)],
    "phone numbers": [f"0351 / {4500000 + n % 90}" for n in range(PEOPLE)],
    "free text": [" ".join(DRAW.choices(WORDS, k=12)) for _ in range(PEOPLE)],
    "different for everybody": [f"#{n:x}" for n in unique()],
    "different for most people": [f"#{n:x}" for n in [*unique()[:-9], *range(3), *range(6)]],
    "different for most": [n if n > 20 else n % 3 for n in range(PEOPLE)],
    "a coarser column, such as the year": [
        f"{DRAW.randint(1930, 2010)}-{DRAW.randint(1, 12):02}-{DRAW.randint(1, 28):02}"
        for _ in range(PEOPLE)
    ],
    "different": [f"{n / 1000:.3f}" for n in unique()],
}


@pytest.mark.parametrize("reason", CONTENT)
def test_columns_that_name_people_are_known_by_their_content(reason: str) -> None:
    roles = guess_roles(table(patient=unique(), x=CONTENT[reason]))
    assert set(roles.quasi_identifiers) == {"age", "sex"}
    assert reason in roles.left_out["x"]


def test_columns_that_name_nobody_stay() -> None:
    draw = random.Random(3)
    rows = table(
        patient=unique(),
        hospital_name=draw.choices(["North", "South", "St. Mary"], k=PEOPLE),
        has_email=draw.choices(["yes", "no"], k=PEOPLE),
        postcode=[f"{draw.randint(10, 60)}001" for _ in range(PEOPLE)],
        weight=[f"{draw.randint(50, 110)}.5" for _ in range(PEOPLE)],
        covid=draw.choices(["none", "mild", "severe", "long"], k=PEOPLE),
        nombre_enfants=draw.choices("0123456", k=PEOPLE),
    )
    roles = guess_roles(rows)
    assert not roles.left_out
    assert roles.quasi_identifiers["postcode"].is_digit_code


def test_phone_numbers_are_no_codes_with_a_taxonomy() -> None:
    roles = guess_roles(table(patient=unique(), contact=[f"0171{n:06}" for n in unique()]))
    assert "contact" in roles.left_out


def test_a_small_table_keeps_its_ages_and_dates() -> None:
    rows = table(
        people=30,
        patient=list(range(30)),
        born=[f"19{n + 40}-01-{n % 28 + 1:02}" for n in range(30)],
    ).with_columns(age=pl.int_range(30))
    assert set(guess_roles(rows).quasi_identifiers) == {"age", "sex", "born"}


def test_free_text_is_never_the_sensitive_column() -> None:
    texts = [" ".join(DRAW.choices(WORDS, k=9)) for _ in range(PEOPLE)]
    rows = table(patient=unique()).drop("diagnosis")
    rows = rows.with_columns(diagnosis=pl.Series(texts), status=pl.Series(["a", "b", "c"] * 100))
    with pytest.raises(TableError, match="sensitive") as asked:
        guess_roles(rows)
    assert asked.value.problems == ("column 'status': 3 values, texts",)


def test_ids_are_not_proposed_as_sensitive() -> None:
    rows = table(patient=unique(), **{"hospital no": ["a", "b", "c"] * 100}).drop("diagnosis")
    with pytest.raises(TableError, match="sensitive") as asked:
        guess_roles(rows.with_columns(colour=pl.Series(["red", "green", "blue"] * 100)))
    assert asked.value.problems == ("column 'colour': 3 values, texts",)


def test_the_only_list_is_sensitive_whatever_its_name() -> None:
    rows = table(patient=unique()).rename({"diagnosis": "w"})
    roles = guess_roles(rows.with_columns(z=pl.col("w").str.split("u")).drop("w"))
    assert (roles.sensitive, roles.form) == ("z", "list")


@pytest.mark.parametrize(
    ("names", "chosen"),
    [
        (["occupation", "diagnosis"], "diagnosis"),
        (["Nebendiagnose", "Beruf"], "Nebendiagnose"),
        (["diagnosis", "secondary diagnosis"], "diagnosis"),
        (["maladie", "profession"], "maladie"),
        (["enfermedad", "tratamiento"], "enfermedad"),
        (["diag1", "diag2"], ""),
        (["colour", "shape"], ""),
        (["colour"], ""),
    ],
)
def test_the_sensitive_column_is_known_by_its_name_or_asked_for(
    names: list[str], chosen: str
) -> None:
    draw = random.Random(2)
    values = {name: pl.Series(draw.choices(list("abcdefgh"), k=PEOPLE)) for name in names}
    rows = table(patient=unique()).drop("diagnosis").with_columns(**values)
    if chosen:
        assert guess_roles(rows).sensitive == chosen
        return
    with pytest.raises(TableError, match="sensitive") as asked:
        guess_roles(rows)
    assert asked.value.remedy.endswith("--sensitive COLUMN")
    assert [each.split("'")[1] for each in asked.value.problems] == names


def test_no_question_shows_a_cell() -> None:
    rows = table(cost=unique(), phone=[f"0{n}" for n in unique(seed=8)])
    with pytest.raises(TableError) as asked:
        guess_roles(rows)
    assert not [cell for cell in rows["phone"] if cell in str(asked.value)]
