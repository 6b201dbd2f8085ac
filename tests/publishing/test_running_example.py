"""The paper's running example (Figures 1, 2 and 4), published through the product."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner

import serigraph
from publishing.clinic import new_series, policy_text
from serigraph.cli.app import app
from serigraph.errors import Infeasible
from serigraph.ledger import Series

FIGURES = Path(__file__).parent.parent / "paper"
COLUMNS = """\
[quasi_identifiers.sex]
kind = "categorical"
[quasi_identifiers.zipcode]
kind = "categorical"
taxonomy = "masks.csv"
"""
ZIP_CODES = ("65001", "65002", "65003", "65010", "65014", "65015")
MASKS = "".join(f"{code};{code[:4]}*;{code[:3]}**;*\n" for code in ZIP_CODES)


def figure(name: str) -> pl.DataFrame:
    return pl.read_csv(FIGURES / f"{name}.csv", infer_schema=False)


def series_at(folder: Path, threshold: str, **sections: str) -> Series:
    text = policy_text(
        person='id = "id"',
        columns=COLUMNS,
        sensitive='column = "disease"',
        protected='values = ["chlamydia"]',
        guarantee=f'threshold = "{threshold}"\nminimum_group_size = 2',
        strategy='name = "constant"\nreleases = 2',
        **sections,
    )
    return new_series(folder, text, {"masks.csv": MASKS.encode()})


def told(series: Series, person: str) -> dict[str, object]:
    options = ["--person", person, "--value", "chlamydia", "--json"]
    run = CliRunner().invoke(app, ["history", str(series.path), *options])
    assert run.exit_code == 0
    found: dict[str, object] = json.loads(run.stdout)
    return found


def test_pairs_give_three_quarters(tmp_path: Path) -> None:
    # Each release of Figure 2 is 2-diverse; only a threshold of 3/4 lets both of them out.
    series = series_at(tmp_path / "clinic", "3/4")
    for name in ("t1", "t2"):
        release = serigraph.publish(FIGURES / f"figure_1_{name}.csv", series)
        published = release.tables["table"]
        assert sorted(published.rows()) == sorted(figure(f"figure_2_{name}").rows())
    history = serigraph.history(series, "o1", "chlamydia")
    assert [(each.size, each.count, each.present) for each in history.exposures] == [
        (2, 1, True),
        (2, 1, True),
    ]
    assert history.survival == Fraction(1, 4)
    assert history.probability == Fraction(3, 4)
    assert told(series, "o1")["probability"] == "3/4"
    assert told(series, "o3") == {
        "value": "chlamydia",
        "threshold": "3/4",
        "exposures": [],
        "survival": "1",
        "probability": "0",
        "was_ever_shown": True,
        "persistence": "transient",
        "caveat": "",
        "alike": None,
    }


@pytest.mark.parametrize("form", ["generalised", "bucketised"])
def test_groups_of_four_give_seven_sixteenths(tmp_path: Path, form: str) -> None:
    series = series_at(tmp_path / "clinic", "1/2", output=f'form = "{form}"')
    for name in ("t1", "t2"):
        release = serigraph.publish(FIGURES / f"figure_1_{name}.csv", series)
        assert release.figures["groups"] == 1
    if form == "generalised":
        raw, printed = release.tables["table"], figure("figure_4_t2")
        assert raw["sex"].to_list() == ["{F, M}"] * 4  # the figure's M/F
        assert raw["zipcode"].to_list() == printed["zipcode"].to_list()
        assert sorted(raw["disease"]) == sorted(printed["disease"])
    for person in ("o1", "o2", "o3"):
        found = told(series, person)
        assert found["probability"] == "7/16"
        assert found["exposures"] == [
            {
                "release": j,
                "label": f"figure_1_t{j}",
                "size": 4,
                "count": 1,
                "present": True,
                "known_members": 0,
                "excluded": 0,
            }
            for j in (1, 2)
        ]
    assert told(series, "o4")["probability"] == told(series, "o5")["probability"] == "1/4"


def test_a_third_release_needs_the_minimum_ratio_of_nine(tmp_path: Path) -> None:
    # Theorem 1 at k = 3: after 4 and 4 the ratio is 9, which uses the budget up exactly.
    series = series_at(tmp_path / "clinic", "1/2")
    for name in ("t1", "t2"):
        serigraph.publish(FIGURES / f"figure_1_{name}.csv", series)

    def third(people: int) -> pl.DataFrame:
        newcomers = [(f"n{i}", "F", "65014", "flu") for i in range(people - 1)]
        rows = [("o1", "M", "65001", "chlamydia"), *newcomers]
        return pl.DataFrame(rows, schema=["id", "sex", "zipcode", "disease"], orient="row")

    with pytest.raises(Infeasible):
        serigraph.publish(third(8), series)
    assert serigraph.publish(third(9), series).figures["groups"] == 1
    assert serigraph.history(series, "o1", "chlamydia").probability == Fraction(1, 2)

    # Used up: o1 may never share a group with it again, however large the group.
    with pytest.raises(Infeasible):
        serigraph.publish(third(200), series, new_people=True)
