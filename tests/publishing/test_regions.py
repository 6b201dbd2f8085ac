"""Bucketised releases whose groups are regions: exact quasi-identifiers, groups as generalised."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import serigraph
from grouping.releases import generated, history_of, plan
from publishing.checking import check_series, exported, publish_all
from publishing.clinic import Clinic, clinic, new_series, policy_text
from report.reading_pages import read_page
from serigraph.engines import make_release
from serigraph.engines.compiling import remembered
from serigraph.errors import PolicyError
from serigraph.grouping import Method
from serigraph.model import Past
from serigraph.policy import parse_policy
from serigraph.reporting import publish_with_report
from serigraph.runtime.randomness import SeededRandomness

ADVERSARIES = {"presence unknown": True, "presence known": False}  # with a registry
NUMBERS = """\
[quasi_identifiers.age]
kind = "numeric"
"""


@pytest.fixture(scope="module")
def hospital() -> Clinic:
    return clinic(releases=3, people=600, registered=1000, seed=8, protected_share=0.08)


def text_of(groups: str, adversary: str = "presence unknown", columns: str = "") -> str:
    return policy_text(
        **({"columns": columns} if columns else {}),
        guarantee=f'threshold = "1/2"\nadversary = "{adversary}"',
        strategy='name = "constant"\nreleases = 3',
        output=f'form = "bucketised"\ngroups = "{groups}"',
    )


@pytest.mark.parametrize("adversary", ADVERSARIES)
def test_the_guarantee_holds_and_quasi_identifiers_are_exact(
    hospital: Clinic, tmp_path: Path, adversary: str
) -> None:
    series = new_series(tmp_path / "series", text_of("regions", adversary))
    registry = hospital.registry if ADVERSARIES[adversary] else None
    published = publish_all(series, hospital.tables, registry)
    exports = exported(series, tmp_path / "export")
    check_series(series, hospital.tables, registry, exported=exports)
    audit = serigraph.audit(series)
    assert audit.is_within
    assert audit.files_agree
    for release, table in zip(published, hospital.tables, strict=True):
        shown = release.tables["quasi_identifiers"].drop("group")
        members = Counter((table if registry is None else registry).select(shown.columns).rows())
        assert Counter(shown.rows()) <= members  # groups without a present member are not shown
        assert shown.height >= table.height
        assert release.figures["form_of_groups"] == "regions"
        assert release.figures["groups_with_protected_value"] > 1


def overlaps(rows: pl.DataFrame) -> bool:
    """Whether the ages of two groups overlap, in a release with no other quasi-identifier."""
    ends = rows.group_by("group").agg(low=pl.col("age").min(), high=pl.col("age").max()).sort("low")
    return any(a["high"] >= b["low"] for a, b in pairwise(ends.iter_rows(named=True)))


@pytest.mark.parametrize("groups", ["regions", "interleaved"])
def test_regions_do_not_overlap_and_interleaved_groups_do(
    hospital: Clinic, tmp_path: Path, groups: str
) -> None:
    series = new_series(tmp_path / "series", text_of(groups, columns=NUMBERS))
    tables = [table.select("patient", "age", "diagnosis") for table in hospital.tables]
    for release in publish_all(series, tables, hospital.registry.select("patient", "age")):
        rows = release.tables["quasi_identifiers"].drop_nulls()
        rows = rows.with_columns(pl.col("age").cast(pl.Int64))
        assert rows["group"].n_unique() > 3
        assert overlaps(rows) == (groups == "interleaved")


@pytest.mark.parametrize("method", ["top-down", "bottom-up"])
def test_groups_are_those_of_the_generalised_form(method: Method) -> None:
    """What tests say of who sits in a generalised group holds here too."""
    population = generated("clustered", "rare", 3000, np.random.default_rng(2))
    past = Past.none(population.size)
    generalised = plan("generalised", method)
    for _ in range(2):
        earlier = remembered(population.ids, population.protected_names, past)
        made = [
            make_release(population, past, earlier, each, SeededRandomness(5))
            for each in (generalised, replace(generalised, form="bucketised", groups="regions"))
        ]
        first, second = (each.proof.group for each in made)
        assert first.tolist() == second.tolist()
        assert [*made[0].tables] == ["table"]
        assert [*made[1].tables] == ["quasi_identifiers", "sensitive"]
        past = history_of(made[0])


def test_persons_in_cohorts_are_grouped_by_cohorts_in_any_case(tmp_path: Path) -> None:
    tables = clinic(releases=2, people=400, registered=400, seed=5, changing=0.0)
    groups = []
    for name in ("regions", "interleaved"):
        text = text_of(name).replace('default = "transient"', 'default = "any"')
        series = new_series(tmp_path / name, text)
        published = publish_all(series, tables.tables, tables.registry)
        groups.append([release.figures["groups"] for release in published])
        audit = serigraph.audit(series)
        assert audit.is_within
        assert audit.files_agree
    assert groups[0] == groups[1]


def test_report_and_evaluation_know_the_form(hospital: Clinic, tmp_path: Path) -> None:
    forms = {}
    for groups in ("regions", "interleaved"):
        series = new_series(tmp_path / groups, text_of(groups))
        release = publish_with_report(
            hospital.tables[0], series, registry=hospital.registry, label="r1"
        )
        page = read_page((release.folder / "report.html").read_text(encoding="utf-8"))
        forms[groups] = page.facts["Form"]
        evaluation = serigraph.evaluate(series, hospital.tables[:1], registry=hospital.registry)
        assert [each.label for each in evaluation.releases] == ["r1"]
    assert forms == {
        "regions": "bucketised, groups: regions, top-down",
        "interleaved": "bucketised, groups: interleaved, top-down",
    }


def test_generalised_groups_cannot_interleave(tmp_path: Path) -> None:
    text = text_of("interleaved").replace("bucketised", "generalised")
    with pytest.raises(PolicyError, match="generalised groups are regions"):
        parse_policy(text, "policy.toml", tmp_path)
    text = text_of("regions", columns=NUMBERS).replace("bucketised", "generalised")
    assert parse_policy(text, "policy.toml", tmp_path).output.groups == "regions"
