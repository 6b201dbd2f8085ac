"""A clinic of 40,000 people publishes ten releases: what `make demo` runs.

The population list is the registry; every half-year some 8,000 of its people are patients, and most
of them were there before. Twelve stigmatising diagnoses are protected, and two classes of them
besides. Six of the twelve pass: who comes back has another diagnosis. Six are for life.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import time
from fractions import Fraction
from pathlib import Path

import numpy as np
import polars as pl

import serigraph

PEOPLE = 40_000
PATIENTS = 8_000
RELEASES = 10
COMMON = [f"diagnosis {letter}{number}" for letter in "ABCDEFGHJK" for number in range(10, 22)]
PASSING = {
    "chlamydia": 0.004,
    "gonorrhoea": 0.003,
    "syphilis": 0.002,
    "self-harm": 0.004,
    "miscarriage": 0.005,
    "termination of pregnancy": 0.003,
}
FOR_LIFE = {
    "HIV": 0.003,
    "hepatitis C": 0.003,
    "alcohol dependence": 0.008,
    "opioid dependence": 0.004,
    "schizophrenia": 0.003,
    "bipolar disorder": 0.004,
}
POLICY = """\
version = 1

[person]
id = "patient"

[quasi_identifiers.birth]
kind = "date"

[quasi_identifiers.sex]
kind = "categorical"

[quasi_identifiers.zip]
kind = "categorical"
taxonomy = "taxonomies/zip.csv"

[quasi_identifiers.height]
kind = "numeric"

[sensitive]
column = "diagnosis"

[protected]
values = [{values}]

[protected.classes]
"any curable sexually transmitted disease" = ["chlamydia", "gonorrhoea", "syphilis"]
"any dependence" = ["alcohol dependence", "opioid dependence"]

[protected.persistence]
{persistence}

[guarantee]
threshold = "1/3"
adversary = "presence unknown"
minimum_group_size = 5

[strategy]
name = "adaptive"
releases = {releases}
"""


def registry(chance: np.random.Generator) -> pl.DataFrame:
    """Everybody who may come to the clinic."""
    born = np.datetime64("1930-01-01") + chance.integers(0, 90 * 365, PEOPLE).astype(
        "timedelta64[D]"
    )
    sex = chance.choice(["F", "M"], PEOPLE)
    height = np.round(chance.normal(np.where(sex == "F", 165, 178), 7)).astype(np.int64)
    zip_codes = 65_000 + (chance.beta(2, 3, PEOPLE) * 400).astype(np.int64)
    return pl.DataFrame(
        {
            "patient": [f"P{number:05d}" for number in range(PEOPLE)],
            "birth": born,
            "sex": sex,
            "zip": zip_codes.astype(str),
            "height": height,
        }
    )


def zip_taxonomy(everybody: pl.DataFrame) -> bytes:
    """A tree over the zip codes, by masking digits from the right, in ARX's format."""
    lines = [
        ";".join([code, *(code[: 5 - masked] + "*" * masked for masked in range(1, 4)), "*"])
        for code in everybody["zip"].unique().sort()
    ]
    return ("\n".join(lines) + "\n").encode()


def half_years(everybody: pl.DataFrame, chance: np.random.Generator) -> list[pl.DataFrame]:
    """The tables of all half-years: 60 % of the patients come back. Diagnoses for life stay, all
    others are drawn anew."""
    names = [*PASSING, *COMMON]
    rest = 1 / np.arange(1, len(COMMON) + 1) ** 0.7
    rest *= (1 - sum(PASSING.values())) / rest.sum()
    shares = np.array([*PASSING.values(), *rest])
    other = 1 - sum(FOR_LIFE.values())
    for_life = chance.choice(["", *FOR_LIFE], PEOPLE, p=[other, *FOR_LIFE.values()])
    patients = chance.choice(PEOPLE, PATIENTS, replace=False)
    tables = []
    for _ in range(RELEASES):
        drawn = chance.choice(names, len(patients), p=shares / shares.sum())
        stays = for_life[patients]
        tables.append(
            everybody[patients].with_columns(
                diagnosis=pl.Series(np.where(stays == "", drawn, stays))
            )
        )
        others = np.setdiff1d(np.arange(PEOPLE), patients)
        returning = chance.choice(patients, int(0.6 * PATIENTS), replace=False)
        patients = np.concatenate(
            [returning, chance.choice(others, PATIENTS - len(returning), replace=False)]
        )
    return tables


def policy() -> str:
    """The policy of the clinic, which says of every protected value whether it persists."""
    persistence = dict.fromkeys(PASSING, "transient") | dict.fromkeys(FOR_LIFE, "permanent")
    persistence |= {
        "any curable sexually transmitted disease": "transient",
        "any dependence": "permanent",
    }
    return POLICY.format(
        values=", ".join(f'"{name}"' for name in [*PASSING, *FOR_LIFE]),
        persistence="\n".join(f'"{name}" = "{kind}"' for name, kind in persistence.items()),
        releases=RELEASES,
    )


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--out", type=Path, default=Path("demo-out"))
    out = arguments.parse_args().out
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    chance = np.random.default_rng(2024)
    everybody = registry(chance)
    everybody.write_parquet(out / "registry.parquet")
    series = serigraph.Series.create(
        out / "clinic",
        {"policy.toml": policy().encode(), "taxonomies/zip.csv": zip_taxonomy(everybody)},
    )
    print(f"A clinic: {PEOPLE:,} people in the registry, {PATIENTS:,} patients in each half-year.")
    print("Compiling the kernels at the first use takes a while, once per installation.\n")
    print(
        "release  patients  groups with a    mean size  people  unique  precision  largest p"
        "    seconds"
    )
    print("                   protected value             alone   rows    lost       (limit 1/3)")
    largest = Fraction(0)
    for number, table in enumerate(half_years(everybody, chance)):
        label = f"{2024 + number // 2}H{number % 2 + 1}"
        path = out / f"{label}.csv"
        table.write_csv(path)
        began = time.perf_counter()
        release = serigraph.publish(path, series, registry=out / "registry.parquet")
        figures = release.figures
        largest = max(largest, Fraction(figures["largest_probability"]))
        print(
            f"{label:<8} {figures['present']:>8,}  {figures['groups_with_protected_value']:>15,}"
            f"  {figures['mean_size_with_protected_value']:>9.1f}"
            f"  {figures['people_alone']:>6,}"
            f"  {figures['unique_rows'] / figures['rows']:>6.1%}"
            f"  {figures['mean_normalised_width']:>9.1%}"
            f"  {float(Fraction(figures['largest_probability'])):>11.4f}"
            f"  {time.perf_counter() - began:>7.1f}"
        )
    stands = serigraph.status(series)
    assert stands.cohorts is not None
    alike = max(stands.cohorts.values, key=lambda value: value.largest)
    print(
        f"\nThe guarantee held over all {RELEASES} releases: the largest probability is "
        f"{float(largest):.4f} of at most 1/3."
        f"\n  transient (pass):  {', '.join(PASSING)}"
        f"\n    {stands.pairs:,} pairs of a person and a value, in groups large enough for all "
        "links together"
        f"\n  permanent (stay):  {', '.join(FOR_LIFE)}"
        f"\n    people stay together in {stands.cohorts.cohorts:,} cohorts of "
        f"{stands.cohorts.mean_size:.1f}; at most {alike.largest} of one ever held {alike.value}"
    )
    print(f"\nReleases:  {series.path / 'releases'}")
    print(f"Ledger:    {series.path / 'ledger'}  (as confidential as the data)")
    command = os.path.relpath(Path(sys.executable).with_name("serigraph"))
    print(f"Next:      {command} status {series.path}")


if __name__ == "__main__":
    main()
