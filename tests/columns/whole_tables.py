"""Seeded tables as hospitals, insurers and statistical offices have them: every release shows other
people of one population, with other values, of which each is equally frequent in all tables."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any

import polars as pl

from publishing import oracle

POPULATION, PEOPLE, RELEASES = 260, 160, 5


@dataclass(frozen=True)
class WholeTable:
    """A kind of table, and what a publisher would say of its columns."""

    person: str
    sensitive: tuple[str, ...]
    plain: tuple[str, ...]
    make: Callable[[int], pl.DataFrame]  # of a release
    unprotected: str  # a value that is too common
    holds: dict[str, oracle.Holds]  # of each quasi-identifier
    width: int  # columns of the table


def _sample(release: int) -> tuple[list[int], random.Random]:
    """Who is in a release, and what draws everything that is new in it."""
    draw = random.Random(1000 + release)
    return draw.sample(range(POPULATION), PEOPLE), draw


def _kept(name: str, options: Sequence[Any]) -> list[Any]:
    """What each person of the population keeps."""
    draw = random.Random(name)
    return [draw.choice(options) for _ in range(POPULATION)]


def _dealt(draw: random.Random, counts: dict[str, int]) -> list[str]:
    """These values so many times, and others that nobody else has, dealt to the people."""
    cells = [name for name, number in counts.items() for _ in range(number)]
    cells += [f"rare {number}" for number in range(PEOPLE - len(cells))]
    return draw.sample(cells, PEOPLE)


def stays(release: int) -> pl.DataFrame:
    """Fifty columns, with three diagnoses a stay and "?" for what is missing."""
    who, draw = _sample(release)
    codes = {"428": 28, "414": 14, "786": 12, "250.83": 10, "V57": 8, "038": 6, "?": 20}
    codes |= {str(code): 4 for code in range(710, 725)}
    columns: dict[str, list[Any]] = {
        "encounter_id": [release * POPULATION + person for person in who],
        "patient_nbr": who,
        "race": [_kept("race", ["Caucasian", "AfricanAmerican", "?", "Asian"])[p] for p in who],
        "gender": [_kept("gender", ["Female", "Male"])[p] for p in who],
        "age": [_kept("age", [f"[{low}-{low + 10})" for low in range(20, 90, 10)])[p] for p in who],
        "weight": [_kept("weight", ["?", "?", "?", "[75-100)"])[p] for p in who],
    }
    for name, most in {"admission_type_id": 8, "discharge_disposition_id": 28}.items():
        columns[name] = [draw.randint(1, most) for _ in who]
    columns["admission_source_id"] = [draw.randint(1, 25) for _ in who]
    columns["time_in_hospital"] = [draw.randint(1, 14) for _ in who]
    columns["payer_code"] = [draw.choice(["?", "MC", "HM", "SP"]) for _ in who]
    columns["medical_specialty"] = [draw.choice(["?", "Cardiology", "Surgery"]) for _ in who]
    for name in ("num_lab_procedures", "num_procedures", "num_medications"):
        columns[name] = [draw.randint(0, 60) for _ in who]
    for name in ("number_outpatient", "number_emergency", "number_inpatient"):
        columns[name] = [draw.choice([0, 0, 0, 1, 2]) for _ in who]
    for name in ("diag_1", "diag_2", "diag_3"):
        columns[name] = _dealt(draw, codes)
    columns["number_diagnoses"] = [draw.randint(1, 9) for _ in who]
    columns["max_glu_serum"] = [draw.choice(["None", "Norm", ">200"]) for _ in who]
    columns["A1Cresult"] = [draw.choice(["None", "Norm", ">8"]) for _ in who]
    for number in range(23):
        columns[f"medicine {number}"] = [draw.choice(["No", "No", "Steady", "Up"]) for _ in who]
    columns["change"] = [draw.choice(["No", "Ch"]) for _ in who]
    columns["diabetesMed"] = [draw.choice(["No", "Yes"]) for _ in who]
    columns["readmitted"] = [draw.choice(["NO", "<30", ">30"]) for _ in who]
    return pl.DataFrame(columns).cast(pl.String)


def claims(release: int) -> pl.DataFrame:
    """Amounts with decimal commas, dates as in Germany, and counts of units."""
    who, draw = _sample(release)
    born = _kept("born", [date(1930, 1, 1) + timedelta(days) for days in range(0, 25_000, 365)])
    paid = [date(2024, 1, 1) + timedelta(draw.randrange(0, 360, 6)) for _ in who]
    amounts = [f"{20 * draw.randint(5, 80)},{draw.choice(['00', '50'])}" for _ in who]
    return pl.DataFrame(
        {
            "member_id": [f"M{person:04}" for person in who],
            "birth_date": [born[person].strftime("%d.%m.%Y") for person in who],
            "sex": [_kept("sex", "FM")[person] for person in who],
            "amount": ["" if draw.random() < 0.1 else each for each in amounts],
            "service_date": [day.strftime("%d.%m.%Y") for day in paid],
            "copay": _dealt(draw, {"0": 100, "5": 14, "10": 12, "15,5": 10, "20": 24}),
            "units": [str(draw.randint(1, 9)) for _ in who],
            "charged_on": [(day + timedelta(9)).strftime("%d.%m.%Y") for day in paid],
        }
    )


def adult(release: int) -> pl.DataFrame:
    """Adults with an occupation and one of two classes of salary."""
    who, draw = _sample(release)
    common = {"Craft-repair": 26, "Sales": 24}
    common |= {f"occupation {number}": 9 for number in range(11)}
    return pl.DataFrame(
        {
            "id": who,
            "age": [_kept("years", range(17, 91))[person] for person in who],
            "sex": [_kept("sex", ["Female", "Male"])[person] for person in who],
            "race": [_kept("race", ["White", "Black", "Other"])[person] for person in who],
            "occupation": _dealt(draw, {**common, "Armed-Forces": 1}),
            "salary-class": draw.sample([*["<=50K"] * 120, *[">50K"] * 40], PEOPLE),
            "hours-per-week": [draw.choice([20, 40, 40, 60]) for _ in who],
        }
    )


TABLES = {
    "stays": WholeTable(
        "patient_nbr",
        ("diag_1", "diag_2", "diag_3"),
        ("time_in_hospital", "num_medications", "readmitted", "medical_specialty"),
        stays,
        "diag_2: 428",
        dict.fromkeys(("race", "gender", "age", "weight"), oracle.in_set),
        50,
    ),
    "claims": WholeTable(
        "member_id",
        ("amount", "service_date", "copay"),
        ("units", "charged_on"),
        claims,
        "copay: 0",
        {"birth_date": oracle.in_range, "sex": oracle.in_set},
        8,
    ),
    "adult": WholeTable(
        "id",
        ("occupation", "salary-class"),
        ("hours-per-week",),
        adult,
        "salary-class: >50K",
        {"age": oracle.in_range, "sex": oracle.in_set, "race": oracle.in_set},
        7,
    ),
}
