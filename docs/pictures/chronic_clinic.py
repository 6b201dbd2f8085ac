"""A chronic diagnosis over eight releases: called transient, and kept by cohorts.

``make picture`` draws ``chronic-clinic.svg`` beside this file. The same tables are published twice
in the bucketised form, with the same registry and the same threshold. The audit then finds the
crowds that holders are left to hide in: people whom all releases so far treat alike.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import numpy as np
import polars as pl

import serigraph
from serigraph.charts import CHART_STYLE, Line, line_chart
from serigraph.runtime.randomness import SeededRandomness

PICTURE = Path(__file__).with_name("chronic-clinic.svg")
RELEASES = 8
PEOPLE = 3_000
PRESENT = 0.7  # of the people have a record in a release
HOLDERS = 0.03  # of the people have diabetes, for life
THRESHOLD = Fraction(1, 2)
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
values = ["diabetes"]

[protected.persistence]
default = "{persistence}"

[guarantee]
threshold = "{threshold}"

[strategy]
name = "constant"
releases = {releases}

[output]
form = "bucketised"
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
    """What became of the people who have diabetes."""

    above: tuple[float, ...]  # share of the holders in crowds above the threshold, by release
    certain: float  # share of the holders in crowds of holders only, at the end
    mean_size: float  # of the groups with diabetes in the last release


def tables() -> tuple[pl.DataFrame, list[pl.DataFrame]]:
    """The registry, and the tables of the clinic."""
    chance = np.random.default_rng(22)
    registry = pl.DataFrame(
        {
            "patient": np.arange(PEOPLE),
            "age": chance.integers(16, 90, PEOPLE),
            "district": chance.integers(1, 60, PEOPLE),
        }
    )
    has_diabetes = chance.random(PEOPLE) < HOLDERS
    made = []
    for _ in range(RELEASES):
        other = chance.choice(["influenza", "fracture", "bronchitis"], PEOPLE)
        diagnosis = pl.Series("diagnosis", np.where(has_diabetes, "diabetes", other))
        present = pl.Series(chance.random(PEOPLE) < PRESENT)
        made.append(registry.with_columns(diagnosis).filter(present))
    return registry, made


def outcome(
    registry: pl.DataFrame, tables: Sequence[pl.DataFrame], persistence: str, folder: Path
) -> Outcome:
    """Publish the tables as one series, and audit it with them."""
    policy = POLICY.format(persistence=persistence, threshold=THRESHOLD, releases=len(tables))
    series = serigraph.Series.create(folder, {"policy.toml": policy.encode()})
    for number, table in enumerate(tables):
        made = serigraph.publish(
            table,
            series,
            registry=registry,
            assume_transient=["diabetes"] if persistence == "transient" else (),
            randomness=SeededRandomness(number),
        )
    crowds = serigraph.audit(series, raw=list(tables)).crowds
    held = [after.over_all.held for after in crowds]
    return Outcome(
        above=tuple(each.above / each.holders for each in held),
        certain=held[-1].certain / held[-1].holders,
        mean_size=made.figures["mean_size_with_protected_value"],
    )


def outcomes() -> tuple[Outcome, Outcome]:
    """The value called transient, and the same tables with cohorts."""
    registry, published = tables()
    with tempfile.TemporaryDirectory() as folder:
        called_transient, kept_together = (
            outcome(registry, published, kind, Path(folder, kind)) for kind in ("transient", "any")
        )
    return called_transient, kept_together


def picture(called_transient: Outcome, kept_together: Outcome) -> str:
    """The chart as an SVG file that stands by itself."""
    lines = [
        Line('persistence = "any"', list(enumerate(kept_together.above, 1))),
        Line('persistence = "transient"', list(enumerate(called_transient.above, 1))),
    ]
    chart = line_chart(
        "Holders of a chronic value who are found out", lines, x="release", y="share of the holders"
    )
    inner = 244 + 16 * len(lines)
    return FRAME.format(width=384, height=inner + 20, inner=inner, style=CHART_STYLE, chart=chart)


def main() -> None:
    called_transient, kept_together = outcomes()
    PICTURE.write_text(picture(called_transient, kept_together), encoding="utf-8")
    for name, each in (("transient", called_transient), ("any", kept_together)):
        curve = " ".join(f"{share:.3f}" for share in each.above)
        print(f"{name}: {curve}; certain {each.certain:.3f}; groups of {each.mean_size:.1f}")


if __name__ == "__main__":
    main()
