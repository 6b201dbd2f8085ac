"""Ten releases of one clinic: each anonymised on its own, and as one series of Serigraph.

``make picture`` draws ``ten-releases.svg`` beside this file. The figures are computed: the same
engine publishes the same ten tables twice with the same threshold, once into ten series that know
nothing of each other, once into one series. What a patient has been exposed to is then read from
the exported ledgers. Most patients come back, and every diagnosis is drawn anew in each release.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import numpy as np
import polars as pl

import serigraph
from serigraph.charts import CHART_STYLE, Line, line_chart
from serigraph.runtime.randomness import SeededRandomness

PICTURE = Path(__file__).with_name("ten-releases.svg")
RELEASES = 10
PATIENTS = 2_000
RETURNING = 0.9  # of the patients are in the next release, too
SHARES = {"chlamydia": 0.02, "influenza": 0.5, "fracture": 0.3, "bronchitis": 0.18}
THRESHOLD = Fraction(1, 3)
POLICY = """\
version = 1

[person]
id = "patient"

[quasi_identifiers.age]
kind = "numeric"

[quasi_identifiers.district]
kind = "numeric"

[sensitive]
column = "diagnosis"

[protected]
values = ["chlamydia"]

[guarantee]
threshold = "{threshold}"
minimum_group_size = 3

[strategy]
name = "constant"
releases = {releases}
"""
# A white card with dark ink: legible on light and on dark pages.
FRAME = """\
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="500" role="img">
<style>{style}svg.chart {{ max-width: none; }}</style>
<rect width="{width}" height="{height}" rx="8" fill="#ffffff"/>
<svg x="12" y="10" width="360" height="{inner}">{chart}</svg>
</svg>
"""


@dataclass(frozen=True)
class Outcome:
    """What became of the patients who are in all ten releases."""

    largest: tuple[float, ...]  # probability of a link so far, of the worst-off patient, by release
    above: int  # patients who end above the threshold
    patients: int


def tables() -> list[pl.DataFrame]:
    """The clinic's ten tables."""
    chance = np.random.default_rng(10)
    people = 2 * PATIENTS
    age, district = chance.integers(16, 90, people), chance.integers(1, 60, people)
    patients = np.arange(PATIENTS)
    made = []
    for _ in range(RELEASES):
        columns = {"patient": patients, "age": age[patients], "district": district[patients]}
        diagnoses = chance.choice(list(SHARES), PATIENTS, p=list(SHARES.values()))
        made.append(pl.DataFrame(columns | {"diagnosis": diagnoses}))
        back = chance.choice(patients, int(RETURNING * PATIENTS), replace=False)
        others = np.setdiff1d(np.arange(people), patients)
        new = chance.choice(others, PATIENTS - len(back), replace=False)
        patients = np.concatenate([back, new])
    return made


def exposures(tables: Sequence[pl.DataFrame], folder: Path) -> Iterator[pl.DataFrame]:
    """Publish tables as one series; for each, who shared a group with chlamydia: n and n_s."""
    policy = POLICY.format(threshold=THRESHOLD, releases=len(tables)).encode()
    series = serigraph.Series.create(folder / "series", {"policy.toml": policy})
    for number, table in enumerate(tables):
        serigraph.publish(table, series, randomness=SeededRandomness(number))
    serigraph.export(series, folder / "ledger")
    members, groups, values = (
        pl.read_parquet(folder / "ledger" / f"{part}.parquet")
        for part in ("members", "groups", "values")
    )
    shared = members.join(values, on=["release", "group"]).join(groups, on=["release", "group"])
    for number in range(1, len(tables) + 1):
        yield shared.filter(release=number).select("person", n="size", n_s="count")


def outcome(releases: Sequence[pl.DataFrame], tables: Sequence[pl.DataFrame]) -> Outcome:
    """Multiply what each release leaves of every patient: p = 1 - product of (1 - n_s / n)."""
    always = set.intersection(*(set(table["patient"].cast(str)) for table in tables))
    survival = dict.fromkeys(always, Fraction(1))
    largest = []
    for release in releases:
        for person, n, n_s in release.iter_rows():
            if person in always:
                survival[person] *= 1 - Fraction(n_s, n)
        largest.append(float(1 - min(survival.values())))
    above = sum(1 - each > THRESHOLD for each in survival.values())
    return Outcome(tuple(largest), above, len(always))


def outcomes() -> tuple[Outcome, Outcome]:
    """Each release on its own, and the same tables as one series."""
    published = tables()
    with tempfile.TemporaryDirectory() as folder:
        alone = [
            release
            for number, table in enumerate(published)
            for release in exposures([table], Path(folder, f"alone-{number}"))
        ]
        together = list(exposures(published, Path(folder, "together")))
    return outcome(alone, published), outcome(together, published)


def picture(alone: Outcome, together: Outcome) -> str:
    """The chart as an SVG file that stands by itself."""
    lines = [
        Line("one series with Serigraph", list(enumerate(together.largest, 1))),
        Line("each release anonymised on its own", list(enumerate(alone.largest, 1))),
    ]
    chart = line_chart(
        "The worst-off patient's chance of a link",
        lines,
        x="release",
        y="probability so far",
        limit=float(THRESHOLD),
        limit_name="threshold 1/3 =",
    )
    inner = 244 + 16 * len(lines)
    return FRAME.format(width=384, height=inner + 20, inner=inner, style=CHART_STYLE, chart=chart)


def main() -> None:
    alone, together = outcomes()
    PICTURE.write_text(picture(alone, together), encoding="utf-8")
    for name, each in (("each on its own", alone), ("one series", together)):
        curve = " ".join(f"{p:.2f}" for p in each.largest)
        print(f"{name}: {curve}; {each.above} of {each.patients} patients end above {THRESHOLD}")


if __name__ == "__main__":
    main()
