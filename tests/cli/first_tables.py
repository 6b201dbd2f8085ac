"""First tables as publishers bring them: small generators with a seed, one for each data set."""

from __future__ import annotations

import csv
import random
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path

import polars as pl

ROOT = Path(__file__).parents[2]
_DIAGNOSES = (
    "hypertension diabetes asthma migraine depression fracture influenza pneumonia gastritis "
    "arthritis epilepsy anaemia psoriasis gout hepatitis chlamydia HIV gonorrhoea tuberculosis "
    "schizophrenia"
)
DIAGNOSES = _DIAGNOSES.split()
_PHRASES = "seen today with pain in the left knee back fever cough no other complaints"
Rows = list[dict[str, object]]


@dataclass(frozen=True)
class FirstTable:
    """How a table is made, and what `init` should find in it."""

    write: Callable[[Path, random.Random], Path]  # into a folder
    person: str
    sensitive: str
    quasi_identifiers: frozenset[str]
    left_out: frozenset[str] = frozenset()
    form: str = "single"


def skewed(draw: random.Random, values: Sequence[str], steepness: float = 1.0) -> str:
    """A value, the first ones more often, as Zipf's law has it."""
    weights = [1 / (place + 1) ** steepness for place in range(len(values))]
    return draw.choices(values, weights)[0]


def day(draw: random.Random, first: int, last: int) -> date:
    return date(first, 1, 1) + timedelta(days=draw.randrange(365 * (last - first)))


def age(draw: random.Random) -> int:
    return min(95, max(0, round(draw.gauss(52, 19))))


def write_csv(path: Path, rows: Rows, delimiter: str = ",", encoding: str = "utf-8") -> Path:
    with path.open("w", newline="", encoding=encoding) as file:
        writer = csv.DictWriter(file, list(rows[0]), delimiter=delimiter)
        writer.writeheader()
        writer.writerows(rows)
    return path


def readme(folder: Path, draw: random.Random) -> Path:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    table = re.search(r"<<'END'\n(patient,.*?)END\n", text, re.DOTALL)
    assert table is not None
    header, *lines = table[1].splitlines()
    draw.shuffle(lines)
    path = folder / "2024H1.csv"
    path.write_text("\n".join([header, *lines]) + "\n", encoding="utf-8")
    return path


def tutorial(folder: Path, draw: random.Random) -> Path:
    header, *lines = (ROOT / "docs/example/2024H1.csv").read_text(encoding="utf-8").splitlines()
    draw.shuffle(lines)
    path = folder / "2024H1.csv"
    path.write_text("\n".join([header, *lines]) + "\n", encoding="utf-8")
    return path


def german(folder: Path, draw: random.Random) -> Path:
    diagnoses = [
        "Bluthochdruck",
        "Diabetes",
        "Grippe",
        "Rückenschmerzen",
        "Asthma",
        "Brüche",
        "HIV",
    ]
    rows: Rows = [
        {
            "Patientennummer": f"{number:06}",
            "Nachname": skewed(draw, ["Müller", "Schmidt", "Weiß", "Köhler", "Jäger"]),
            "Vorname": draw.choice(["Jürgen", "Käthe", "Anna", "Björn", "Søren"]),
            "Geburtsjahr": draw.randint(1930, 2010),
            "Geschlecht": draw.choice("mwd"),
            "PLZ": f"0{draw.randint(1067, 1099)}",
            "Straße": f"Hauptstraße {draw.randint(1, 90)}",
            "Telefonnummer": f"0351 {draw.randint(100000, 999999)}",
            "Gewicht": f"{draw.gauss(75, 12):.0f},5",
            "Diagnose": skewed(draw, diagnoses),
        }
        for number in draw.sample(range(900000), 900)
    ]
    return write_csv(folder / "Patienten.csv", rows, ";", "cp1252")


def hospital(folder: Path, draw: random.Random) -> Path:
    streets = ["Oak Street", "Mill Lane", "High Road", "Station Road"]
    rows: Rows = []
    for number in range(1200):
        ssn = draw.randint(10**8, 10**9 - 1)
        first, last = draw.choice(["Ann", "Bob", "Carl", "Dora"]), f"Person{draw.randrange(400)}"
        rows.append(
            {
                "mrn": f"MRN{100000 + number}",
                "first_name": first,
                "last_name": last,
                "e-mail": f"{first}.{last}{number}@example.org".lower(),
                "cell": f"+1 555 {draw.randint(1000000, 9999999)}",
                "home address": f"{draw.randint(1, 400)} {draw.choice(streets)}",
                "SSN": f"{ssn // 10**6}-{ssn // 10**4 % 100:02}-{ssn % 10**4:04}",
                "insurance account": draw.randint(10**8, 10**9),
                "sex": draw.choice("MF"),
                "age": age(draw),
                "zip": f"{draw.randint(65100, 65180)}",
                "ward": draw.choice(["surgery", "medicine", "neurology"]),
                "diagnosis": skewed(draw, DIAGNOSES),
            }
        )
    return write_csv(folder / "admissions 2024.csv", rows)


def several_ids(folder: Path, draw: random.Random) -> Path:
    rows: Rows = [
        {
            "hospital_id": draw.randint(1, 9),
            "doctor_id": draw.randint(1, 60),
            "household_id": draw.randint(1, 450),
            "case_id": f"C{number}",
            "person_id": person,
            "gender": draw.choice(["male", "female"]),
            "birth_year": draw.randint(1930, 2015),
            "illness": skewed(draw, DIAGNOSES[:12], 0.7),
        }
        for number, person in enumerate(draw.sample(range(10**6), 800))
    ]
    return write_csv(folder / "cases.csv", rows)


def numeric_code(folder: Path, draw: random.Random) -> Path:
    codes = [str(code) for code in draw.sample(range(1, 999), 60)]
    rows: Rows = [
        {
            "id": number,
            "sex": draw.randint(1, 2),
            "age": age(draw),
            "region": draw.randint(1, 16),
            "icd9": skewed(draw, codes, 0.8),
        }
        for number in range(1500)
    ]
    return write_csv(folder / "codes.csv", rows)


def survey(folder: Path, draw: random.Random) -> Path:
    religions = ["none", "catholic", "protestant", "muslim", "jewish", "buddhist", "hindu", "other"]
    rows: Rows = []
    for number in range(1000):
        row: dict[str, object] = {
            "respondent": number + 1,
            "age": age(draw),
            "gender": draw.choice(["m", "f", "x"]),
            "region": draw.choice(["north", "south", "east", "west"]),
            "education": skewed(draw, ["secondary", "vocational", "bachelor", "master", "doctor"]),
        }
        row |= {f"q{item}": draw.choice(["1", "2", "3", "4", "5", "NA"]) for item in range(1, 55)}
        rows.append(row | {"religion": skewed(draw, religions, 1.3)})
    return write_csv(folder / "survey.csv", rows)


def dates(folder: Path, draw: random.Random) -> Path:
    rows: Rows = []
    for number in range(700):
        admitted = day(draw, 2024, 2025)
        rows.append(
            {
                "Patient ID": f"{number:05}",
                "date of birth": f"{day(draw, 1930, 2010):%d.%m.%Y}",
                "admitted": f"{admitted:%Y-%m-%d} 10:{draw.randint(10, 59)}:00",
                "discharged": f"{admitted + timedelta(days=draw.randint(0, 20)):%d.%m.%Y}",
                "sex": draw.choice("MF"),
                "diagnosis": skewed(draw, DIAGNOSES[:14], 0.5),
            }
        )
    return write_csv(folder / "stays.csv", rows)


def free_text(folder: Path, draw: random.Random) -> Path:
    words = _PHRASES.split()
    rows: Rows = [
        {
            "subject": f"S-{number:04}",
            "age": age(draw),
            "sex": draw.choice("MF"),
            "smoker": draw.choice(["yes", "no"]),
            "notes": " ".join(draw.choices(words, k=draw.randint(3, 25))),
            "history": " ".join(draw.choices(words, k=12)),
            "diagnosis text": f"{draw.choice(DIAGNOSES)}, {' '.join(draw.choices(words, k=4))}",
            "diagnosis code": skewed(draw, [f"{letter}{n}" for letter in "ABC" for n in range(9)]),
        }
        for number in range(600)
    ]
    return write_csv(folder / "letters.csv", rows)


def visits(folder: Path, draw: random.Random) -> Path:
    rows: Rows = []
    for person in range(500):
        born, sex, town = draw.randint(1930, 2010), draw.choice("MF"), draw.choice("ABCDEF")
        for _ in range(draw.choice([1, 1, 1, 2, 2, 3, 5])):
            rows.append(
                {
                    "visit_id": len(rows) + 1,
                    "patient_id": 7000 + person,
                    "visit_date": str(day(draw, 2024, 2025)),
                    "birth_year": born,
                    "sex": sex,
                    "town": town,
                    "diagnosis": skewed(draw, DIAGNOSES, 0.6),
                }
            )
    draw.shuffle(rows)
    return write_csv(folder / "visits.csv", rows)


def list_column(folder: Path, draw: random.Random) -> Path:
    people = 800
    table = pl.DataFrame(
        {
            "pid": list(range(people)),
            "age": [age(draw) for _ in range(people)],
            "sex": [draw.choice("MF") for _ in range(people)],
            "county": [skewed(draw, list("ABCDEFGH")) for _ in range(people)],
            "conditions": [
                sorted({skewed(draw, DIAGNOSES, 0.9) for _ in range(draw.randint(0, 4))})
                for _ in range(people)
            ],
        }
    )
    table.write_parquet(folder / "patients.parquet")
    return folder / "patients.parquet"


def stata(folder: Path, draw: random.Random) -> Path:
    import pandas
    import pyreadstat

    people = 900
    table = pandas.DataFrame(
        {
            "persnr": [float(1000 + number) for number in range(people)],
            "sex": [float(draw.randint(1, 2)) for _ in range(people)],
            "birthyear": [float(draw.randint(1930, 2005)) for _ in range(people)],
            "weight": [round(draw.gauss(75, 12), 1) for _ in range(people)],
            "interviewed": [day(draw, 2020, 2021) for _ in range(people)],
            "disease": [skewed(draw, DIAGNOSES[:15]) for _ in range(people)],
        }
    )
    pyreadstat.write_dta(table, str(folder / "panel.dta"))
    return folder / "panel.dta"


def nothing_sensitive(folder: Path, draw: random.Random) -> Path:
    rows: Rows = [
        {
            "member": f"M{number:05}",
            "age": age(draw),
            "city": skewed(draw, ["Ulm", "Bonn", "Kiel", "Jena"]),
            "party": skewed(draw, [f"party {letter}" for letter in "ABCDEFGHIJ"], 0.5),
            "plan": skewed(draw, ["basic", "plus", "family"]),
            "channel": draw.choice(["web", "shop"]),
        }
        for number in range(700)
    ]
    return write_csv(folder / "members.csv", rows)


def columns(names: str) -> frozenset[str]:
    return frozenset(filter(None, names.split(",")))


TABLES = {
    "readme": FirstTable(readme, "patient", "diagnosis", columns("age,zip")),
    "tutorial": FirstTable(
        tutorial, "patient", "diagnosis", columns("born,sex,zip"), columns("occupation")
    ),
    "german": FirstTable(
        german,
        "Patientennummer",
        "Diagnose",
        columns("Geburtsjahr,Geschlecht,PLZ,Gewicht"),
        columns("Nachname,Vorname,Straße,Telefonnummer"),
    ),
    "hospital": FirstTable(
        hospital,
        "mrn",
        "diagnosis",
        columns("sex,age,zip,ward"),
        columns("first_name,last_name,e-mail,cell,home address,SSN,insurance account"),
    ),
    "several ids": FirstTable(
        several_ids,
        "person_id",
        "illness",
        columns("hospital_id,doctor_id,gender,birth_year"),
        columns("household_id,case_id"),
    ),
    "numeric code": FirstTable(numeric_code, "id", "icd9", columns("sex,age,region")),
    "survey": FirstTable(
        survey,
        "respondent",
        "religion",
        columns("age,gender,region,education"),
        frozenset(f"q{item}" for item in range(1, 55)),
    ),
    "dates": FirstTable(
        dates,
        "Patient ID",
        "diagnosis",
        columns("admitted,discharged,sex"),
        columns("date of birth"),
    ),
    "free text": FirstTable(
        free_text,
        "subject",
        "diagnosis code",
        columns("age,sex,smoker"),
        columns("notes,history,diagnosis text"),
    ),
    "visits": FirstTable(
        visits,
        "patient_id",
        "diagnosis",
        columns("birth_year,sex,town"),
        columns("visit_id,visit_date"),
        form="rows",
    ),
    "list column": FirstTable(
        list_column, "pid", "conditions", columns("age,sex,county"), form="list"
    ),
    "stata": FirstTable(stata, "persnr", "disease", columns("sex,birthyear,weight,interviewed")),
    "nothing sensitive": FirstTable(
        nothing_sensitive, "member", "party", columns("age,city,plan,channel")
    ),
}
