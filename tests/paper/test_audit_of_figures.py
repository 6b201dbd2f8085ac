"""The paper's Figures 1 to 4 as releases of another tool: 1/2 in each release, 3/4 and 7/16 over
both."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import polars as pl
import pytest

from serigraph.auditing import Audit, audit_releases
from serigraph.policy import Policy, parse_policy

HERE = Path(__file__).parent


def policy(*protected: str) -> Policy:
    values = ", ".join(f'"{value}"' for value in protected)
    text = f"""version = 1
[person]
id = "id"
[quasi_identifiers.sex]
kind = "categorical"
[quasi_identifiers.zipcode]
kind = "categorical"
[sensitive]
column = "disease"
[protected]
values = [{values}]
[guarantee]
l = 2
"""
    return parse_policy(text, "the paper", HERE)


def audited(figure: int, *protected: str) -> Audit:
    return audit_releases(
        [HERE / f"figure_{figure}_t1.csv", HERE / f"figure_{figure}_t2.csv"],
        policy(*protected),
        raw=[HERE / "figure_1_t1.csv", HERE / "figure_1_t2.csv"],
    ).audit


def test_figure_2_gives_one_half_alone_and_three_quarters_together() -> None:
    found = audited(2, "chlamydia")
    assert [each.localised.largest for each in found.releases] == [Fraction(1, 2)] * 2
    assert [each.so_far.largest for each in found.releases] == [Fraction(1, 2), Fraction(3, 4)]
    assert (found.over_all.pairs_above, found.over_all.people_above) == (2, 2)
    assert not found.is_within


def test_figure_4_gives_seven_sixteenths() -> None:
    found = audited(4, "chlamydia")
    assert [each.localised.largest for each in found.releases] == [Fraction(1, 4)] * 2
    assert found.over_all.largest == Fraction(7, 16)
    assert found.is_within
    # o1, o2 and o3 are in both releases, o4 and o5 in one.
    probabilities = sorted(case.probability for case in found.worst)
    assert probabilities == [Fraction(1, 4)] * 2 + [Fraction(7, 16)] * 3


def test_every_disease_of_figure_2() -> None:
    found = audited(2, "flu", "chlamydia", "fever")
    assert found.over_all.largest == Fraction(3, 4)
    assert found.over_all.people_above == 3, "o4 and o5 were in one release each"


def test_figure_3_lists_the_worlds_that_the_audit_counts() -> None:
    """Of the four worlds three link o2 to chlamydia in some release: what the audit says."""
    worlds = pl.read_csv(HERE / "figure_3_worlds.csv", schema_overrides={"zipcode": pl.String})
    of_o2 = worlds.filter(pl.col("zipcode") == "65002")
    linked = of_o2.filter(pl.col("disease") == "chlamydia")["world"].n_unique()
    assert Fraction(linked, of_o2["world"].n_unique()) == audited(2, "chlamydia").over_all.largest


@pytest.mark.parametrize("figure", [2, 4])
def test_a_registration_list_instead_of_the_tables(figure: int, tmp_path: Path) -> None:
    """With everybody as the list, o5 counts in the first release, too, and hides the others."""
    tables = [
        pl.read_csv(HERE / f"figure_1_{name}.csv", infer_schema=False) for name in ("t1", "t2")
    ]
    registry = pl.concat(tables).unique("id").select("id", "sex", "zipcode")
    found = audit_releases(
        [HERE / f"figure_{figure}_t1.csv", HERE / f"figure_{figure}_t2.csv"],
        policy("chlamydia"),
        registry=registry,
    ).audit
    expected = {2: Fraction(3, 4), 4: 1 - Fraction(4, 5) ** 2}
    assert found.over_all.largest == expected[figure]
