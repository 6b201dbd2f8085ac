"""A policy with known members: every figure is the plain recomputation from the export."""

from __future__ import annotations

import json
from collections import defaultdict
from fractions import Fraction
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

import serigraph
from publishing.clinic import new_series
from publishing.oracle import Export, check_guarantee, read_export
from serigraph.cli.app import app
from serigraph.errors import Infeasible, PolicyChanged
from serigraph.ledger import Series
from serigraph.privacy import ConstantRatio
from serigraph.reporting import publish_with_report, report_series, verify_certificate
from serigraph.runtime.randomness import SeededRandomness

PEOPLE = 600
RELEASES = 3
POLICY = """version = 1
[person]
id = "id"
type = "integer"
[quasi_identifiers.age]
kind = "numeric"
[quasi_identifiers.zip]
kind = "numeric"
[sensitive]
column = "diagnosis"
[protected]
values = ["hiv", "flu"]
[guarantee]
threshold = "1/3"
adversary = "{adversary}"
known_members = {known}
[strategy]
name = "constant"
releases = 3
replan = false
[output]
form = "{form}"
method = "{method}"
files = ["csv"]
"""
FORMS = [("generalised", "top-down"), ("generalised", "bottom-up"), ("bucketised", "top-down")]


def registry() -> pl.DataFrame:
    """Everybody at another place, so that other tools find the groups in a bucketised release."""
    place = np.random.default_rng(1).permutation(PEOPLE)
    return pl.DataFrame({"id": np.arange(PEOPLE), "age": place % 30, "zip": place // 30})


def table_of(number: int) -> pl.DataFrame:
    draw = np.random.default_rng(10 + number)
    held = draw.choice(["hiv", "flu", "none"], PEOPLE, p=[0.01, 0.02, 0.97])
    people = registry().with_columns(pl.Series("diagnosis", held))
    return people.filter(pl.Series(draw.random(PEOPLE) < 0.8))


def series_of(
    folder: Path,
    known: int,
    form: str = "generalised",
    method: str = "top-down",
    adversary: str = "presence unknown",
) -> Series:
    text = POLICY.format(known=known, form=form, method=method, adversary=adversary)
    series = new_series(folder, text)
    for number in range(RELEASES):
        publish_with_report(
            table_of(number),
            series,
            registry=registry(),
            label=f"r{number}",
            randomness=SeededRandomness(number),
        )
    return series


def exported(series: Series, folder: Path) -> Export:
    series.export(folder / "exported")
    return read_export(folder / "exported")


def recomputed(export: Export) -> dict[tuple[str, str], Fraction]:
    """p of every pair, from sizes, counts and known members alone."""
    survival: dict[tuple[str, str], Fraction] = defaultdict(lambda: Fraction(1))
    for adversary, known, groups in zip(
        export.adversaries, export.known_members, export.groups, strict=True
    ):
        for group in groups.values():
            people = group.present if adversary == "presence known" else group.size
            for value, count in group.values.items():
                for person in group.members:
                    survival[person, value] *= 1 - Fraction(count, people - known)
    return {pair: 1 - left for pair, left in survival.items()}


@pytest.mark.parametrize("adversary", ["presence unknown", "presence known"])
@pytest.mark.parametrize(("form", "method"), FORMS)
@pytest.mark.parametrize("known", [0, 1, 3])
def test_groups_with_a_value_are_as_large_as_needed(
    tmp_path: Path, known: int, form: str, method: str, adversary: str
) -> None:
    series = series_of(tmp_path / "series", known, form, method, adversary)
    export = exported(series, tmp_path)
    check_guarantee(export)
    ratio = Fraction(ConstantRatio(3, replan=False).ratio(Fraction(1, 3), 0, Fraction(1)))
    smallest = []
    for groups in export.groups:
        for group in groups.values():
            people = group.present if adversary == "presence known" else group.size
            for count in group.values.values():
                assert people - known >= count * ratio * (1 - Fraction(1, 10**9))
                smallest.append(people - known)
    # The smallest group is the smallest that is allowed, if dealt; a region may have to be larger.
    if form == "bucketised":
        assert min(smallest) == -(-ratio // 1)
    assert min(smallest) <= 2 * ratio


@pytest.mark.parametrize("form", ["generalised", "bucketised"])
@pytest.mark.parametrize("known", [0, 2])
def test_every_probability_is_that_of_the_export(tmp_path: Path, known: int, form: str) -> None:
    series = series_of(tmp_path / "series", known, form)
    export = exported(series, tmp_path)
    assert export.known_members == (known,) * RELEASES
    found = recomputed(export)
    largest = max(found.values())
    audit = serigraph.audit(series)
    assert audit.over_all.largest == largest
    assert audit.over_all.mean == pytest.approx(float(sum(found.values()) / len(found)))
    assert audit.over_all.worst is not None
    assert audit.over_all.worst.probability == largest
    status = serigraph.status(series)
    assert status.closest[-1].in_series is not None
    assert status.closest[-1].in_series.probability == largest
    tenths = [0] * 10
    for probability in found.values():
        spent = np.log1p(-float(probability)) / np.log1p(-1 / 3) * 10
        tenths[min(max(int(np.ceil(spent - 1e-9)) - 1, 0), 9)] += 1
    assert list(status.spent) == tenths
    for person, value in [min(found), max(found), max(found, key=found.__getitem__)]:
        assert serigraph.history(series, int(person), value).probability == found[person, value]
    (tmp_path / "policy.toml").write_text((series.path / "policy.toml").read_text())
    tables = [sorted((series.path / "releases" / f"r{n}").glob("*.csv")) for n in range(RELEASES)]
    foreign = serigraph.audit(
        releases=[each[0] if len(each) == 1 else tuple(each) for each in tables],
        policy=tmp_path / "policy.toml",
        raw=[table_of(number) for number in range(RELEASES)],
        registry=registry(),
    )
    assert foreign.over_all.largest == largest
    verified = verify_certificate(series.path / "releases" / "r2" / "certificate.json")
    assert verified.worst is not None
    assert verified.worst.probability == largest
    assert ("knows 2 other members of every group" in verified.conclusion) == (known == 2)


def test_reports_and_certificates_name_the_adversary(tmp_path: Path) -> None:
    series = series_of(tmp_path / "series", 1)
    words = "an adversary who knows 1 other member of every group"
    folder = series.path / "releases" / "r0"
    assert words in (folder / "report.html").read_text()
    assert json.loads((folder / "certificate.json").read_text())["known_members"] == 1
    made = report_series(series, tmp_path / "report")
    assert words in made.report.read_text()
    assert json.loads(made.certificate.read_text())["known_members"] == 1
    assert [each.name for each in made.audit.assumptions][-1] == "2 members of each group known"
    assert any("n_s/(n - 1)" in note for note in made.audit.notes)
    shown = CliRunner().invoke(app, ["status", str(series.path)])
    assert "exposure, besides 1 known:" in shown.output
    pairs = recomputed(exported(series, tmp_path))
    person, value = max(pairs, key=pairs.__getitem__)
    options = ["--person", person, "--value", value]
    shown = CliRunner().invoke(app, ["history", str(series.path), *options])
    assert "1 known)" in shown.output


def test_more_known_members_may_make_a_release_infeasible(tmp_path: Path) -> None:
    """Twelve people, one of whom holds a value, as one group of nine and of twelve."""
    few = pl.DataFrame(
        {"id": range(12), "age": range(12), "zip": range(12), "diagnosis": ["hiv"] + ["none"] * 11}
    )
    for known, fits in ((0, True), (3, True), (4, False)):
        text = POLICY.format(
            known=known, form="generalised", method="top-down", adversary="presence unknown"
        ).replace("1/3", "3/10")
        series = new_series(tmp_path / str(known), text.replace('["hiv", "flu"]', '["hiv"]'))
        if fits:
            serigraph.publish(few, series, label="r")
            ((groups),) = exported(series, tmp_path / f"e{known}").groups
            (linked,) = [group for group in groups.values() if group.values]
            assert 9 + known <= linked.size
        else:
            with pytest.raises(Infeasible, match="does not fit"):
                serigraph.publish(few, series, label="r")


def test_it_cannot_change_in_a_series(tmp_path: Path) -> None:
    series = series_of(tmp_path / "series", 2)
    policy = series.path / "policy.toml"
    policy.write_text(policy.read_text().replace("known_members = 2", "known_members = 1"))
    with pytest.raises(PolicyChanged, match="known_members"):
        serigraph.publish(table_of(7), series, registry=registry(), label="again")


def test_a_plan_counts_known_members(tmp_path: Path) -> None:
    plans = {}
    for known in (0, 5):
        text = POLICY.format(
            known=known, form="bucketised", method="top-down", adversary="presence unknown"
        )
        series = new_series(tmp_path / str(known), text)
        plans[known] = serigraph.plan(table_of(0), series, releases=3, return_rate=1.0)
    of_policy = {known: plan.outlooks[0] for known, plan in plans.items()}
    assert of_policy[5].mean_size >= of_policy[0].mean_size + 4
    people = plans[0].people
    assert of_policy[5].largest_share == pytest.approx(
        of_policy[0].largest_share * (people - 5) / people
    )


@pytest.mark.parametrize(("form", "method"), FORMS)
def test_a_table_of_many_districts(tmp_path: Path, form: str, method: str) -> None:
    """Large tables are cut into districts first, and large cells by a sample of their people."""
    people, known = 17_000, 3
    draw = np.random.default_rng(5)
    table = pl.DataFrame(
        {
            "id": np.arange(people),
            "age": draw.integers(0, 400, people),
            "zip": draw.integers(0, 400, people),
            "diagnosis": draw.choice(["hiv", "flu", "none"], people, p=[0.01, 0.02, 0.97]),
        }
    )
    mean = {}
    for number in (0, known):
        text = POLICY.format(known=number, form=form, method=method, adversary="presence unknown")
        series = new_series(tmp_path / str(number), text)
        made = serigraph.publish(table, series, label="r", randomness=SeededRandomness(1))
        check_guarantee(exported(series, tmp_path / f"e{number}"))
        mean[number] = made.figures["mean_size_with_protected_value"]
    smallest = 8  # for one holder, if nobody is known
    assert mean[0] < mean[known] < 1.1 * mean[0] * (smallest + known) / smallest


@pytest.mark.parametrize("form", ["generalised", "bucketised"])
def test_suppression_is_charged_without_known_members(tmp_path: Path, form: str) -> None:
    """Too many hold a value: the verifier, which finds the gaps itself, must come to the same."""
    draw = np.random.default_rng(3)
    everybody = registry()
    table = everybody.filter(pl.Series(draw.random(PEOPLE) < 0.5))
    held = np.where(draw.random(len(table)) < 0.5, "hiv", "none")
    table = table.with_columns(pl.Series("diagnosis", held))
    left, shown = {}, {}
    for known in (0, 3):
        text = POLICY.format(
            known=known, form=form, method="top-down", adversary="presence unknown"
        ).replace("1/3", "3/5")
        series = new_series(tmp_path / str(known), text.replace('["hiv", "flu"]', '["hiv"]'))
        options = {"registry": everybody, "label": "r", "randomness": SeededRandomness(4)}
        with pytest.raises(Infeasible):
            serigraph.publish(table, series, **options)
        made = serigraph.publish(table, series, allow_suppression=True, **options)
        export = exported(series, tmp_path / f"e{known}")
        exact = pl.read_parquet(tmp_path / f"e{known}" / "exported" / "thresholds.parquet")
        left[known] = Fraction(exact["threshold"][0])
        check_guarantee(export, {"hiv": left[known]})
        missing = made.figures["suppressed"]["hiv"]
        absent = PEOPLE - (len(table) - missing)
        assert left[known] == 1 - (1 - Fraction(3, 5)) / (1 - Fraction(missing, absent - known))
        shown[known] = int((held == "hiv").sum()) - missing
    assert shown[3] < shown[0]
