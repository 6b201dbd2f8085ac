"""Values that do not fit: refused with what would help, or left out without a trace."""

from __future__ import annotations

import math
import random
from fractions import Fraction
from pathlib import Path

import polars as pl
import pytest

import serigraph
from publishing.checking import Meaning, check_series, exported, publish_all
from publishing.clinic import COMMON, ZIP_CODES, new_series, policy_text
from serigraph.errors import Infeasible, PromiseError
from serigraph.ledger import Series

FORMS = ("generalised", "bucketised")
ADVERSARIES = ("presence unknown", "presence known")


def table_of(values: list[list[str]], seed: int = 1, first: int = 0) -> pl.DataFrame:
    """People with these sets of values, in random places."""
    draw = random.Random(seed)
    rows = [
        (f"P{number:04}", draw.randint(20, 89), draw.choice("FM"), draw.choice(ZIP_CODES), held)
        for number, held in enumerate(values, first)
    ]
    names = ["patient", "age", "sex", "zip", "diagnosis"]
    return pl.DataFrame(rows, schema=names, orient="row")


def single(holders: dict[str, int], people: int) -> pl.DataFrame:
    values = [value for value, number in holders.items() for _ in range(number)]
    table = table_of([[value] for value in [*values, *["flu"] * (people - len(values))]])
    return table.with_columns(pl.col("diagnosis").list.first())


def series_of(
    folder: Path, output: str = "generalised", adversary: str = "presence unknown", **sections: str
) -> Series:
    return new_series(
        folder,
        policy_text(
            output=f'form = "{output}"',
            guarantee=f'threshold = "1/2"\nadversary = "{adversary}"',
            **sections,
        ),
    )


def test_the_refusal_says_what_does_not_fit_and_what_would_help(tmp_path: Path) -> None:
    series = series_of(tmp_path / "clinic")
    with pytest.raises(Infeasible) as refused:
        serigraph.publish(single({"hiv": 51}, 1000), series, label="2024H1")
    assert str(refused.value) == (
        "1 protected value does not fit under the guarantee - release 2024H1 - plan for fewer "
        "releases (releases in [strategy]), add a registry, protect fewer values, or raise the "
        "threshold; suppression would tell who was left out without a larger registry\n"
        "  - value 'hiv' is held by 51 of 1,000 people; the target 29.36 allows 34"
    )
    assert series.releases() == ()


FROZEN = ("threshold", "protect")


@pytest.mark.parametrize("adversary", ADVERSARIES)
@pytest.mark.parametrize(
    ("strategy", "change"),
    [
        ('name = "constant"', "plan for fewer releases (releases in [strategy])"),
        ('name = "geometric"\nfactor = 30', "lower the factor in [strategy]"),
        (
            f'name = "schedule"\nlink_chances = {[1.0] * 20}',
            "plan for fewer links (link_chances in [strategy])",
        ),
    ],
)
def test_after_a_release_nothing_is_advised_that_it_froze(
    tmp_path: Path, adversary: str, strategy: str, change: str
) -> None:
    series = series_of(tmp_path / "clinic", adversary=adversary, strategy=strategy)
    publish_all(series, [single({"hiv": 10}, 1000)])
    table = table_of([["hiv"]] * 51 + [["flu"]] * 949, seed=3, first=1000)
    with pytest.raises(Infeasible) as refused:
        serigraph.publish(
            table.with_columns(pl.col("diagnosis").list.first()),
            series,
            label="r",
            new_people=True,
        )
    remedy = refused.value.remedy
    assert remedy.startswith(change)
    assert not any(word in remedy for word in FROZEN)
    assert ("registry" in remedy) == (adversary == "presence unknown")


def test_no_strategy_is_advised_where_none_helps(tmp_path: Path) -> None:
    series = series_of(tmp_path / "clinic")
    with pytest.raises(Infeasible) as refused:
        serigraph.publish(single({"hiv": 501}, 1000), series, label="r")
    assert "[strategy]" not in refused.value.remedy
    assert "raise the threshold" in refused.value.remedy


def test_one_holder_too_many_shows_in_the_figures(tmp_path: Path) -> None:
    series = series_of(tmp_path / "clinic")
    with pytest.raises(Infeasible) as refused:
        serigraph.publish(single({"hiv": 103}, 3000), series, label="r")
    (problem,) = refused.value.problems
    assert "held by 103 of 3,000 people; the target 29.36 allows 102" in problem


def test_a_registry_dilutes_what_did_not_fit(tmp_path: Path) -> None:
    series = series_of(tmp_path / "clinic")
    table = single({"hiv": 51}, 1000)
    others = table_of([[] for _ in range(600)], seed=2, first=1000)
    registry = pl.concat([table.drop("diagnosis"), others.drop("diagnosis")])
    release = serigraph.publish(table, series, registry=registry)
    assert release.figures["suppressed_values"] == 0


def with_others(table: pl.DataFrame, others: int) -> pl.DataFrame:
    """A registry: the people of the table, and others."""
    absent = table_of([[] for _ in range(others)], seed=2, first=table.height)
    return pl.concat([table.drop("diagnosis"), absent.drop("diagnosis")])


@pytest.mark.parametrize("output", FORMS)
@pytest.mark.parametrize("adversary", ADVERSARIES)
def test_nobody_is_left_out_where_the_missing_record_tells(
    tmp_path: Path, output: str, adversary: str
) -> None:
    """Without a registry, or where presence is known, a record can be missing for one reason."""
    table = single({"hiv": 51, "tbc": 34, "flu B": 33}, 1000)
    series = series_of(tmp_path / "clinic", output, adversary)
    for registry in [None] if adversary == "presence unknown" else [None, with_others(table, 400)]:
        with pytest.raises(Infeasible, match="suppression would tell who was left out"):
            publish_all(series, [table], registry, allow_suppression=True)
    assert series.releases() == ()


@pytest.mark.parametrize("output", FORMS)
@pytest.mark.parametrize("clearance", ["1/4", "1/2"])
def test_what_is_left_out_is_counted_said_and_charged(
    tmp_path: Path, output: str, clearance: str
) -> None:
    table = single({"hiv": 100, "tbc": 5}, 1000)
    registry = with_others(table, 1000)
    series = series_of(
        tmp_path / "clinic",
        output,
        sensitive=f'''column = "diagnosis"
[suppression]
clearance = "{clearance}"''',
    )
    with pytest.raises(Infeasible, match="--allow-suppression"):
        publish_all(series, [table], registry)
    (release,) = publish_all(series, [table], registry, allow_suppression=True)
    kept = math.floor(2000 / 29.3568 * float(1 - Fraction(clearance)))
    left_out = 100 - kept
    assert release.figures["suppressed"] == {"hiv": left_out}
    assert release.figures["suppressed_values"] == left_out
    shown = release.tables["table" if output == "generalised" else "sensitive"]
    if output == "generalised":
        assert shown.filter(diagnosis="hiv").height == kept
    else:
        assert shown.filter(value="hiv")["count"].sum() == kept
    # 1,000 people were absent, and those left out are lost among them: the risk is charged to all.
    risk = Fraction(left_out, 1000 + left_out)
    (hiv, tbc) = sorted(serigraph.status(series).values, key=lambda value: value.name)
    assert hiv.threshold == 1 - Fraction(1, 2) / (1 - risk)
    assert tbc.threshold == Fraction(1, 2)
    audit = serigraph.audit(series)
    assert audit.over_all.is_within
    thresholds = {"hiv": hiv.threshold, "tbc": tbc.threshold}
    check_series(
        series,
        [table],
        registry,
        exported=exported(series, tmp_path / "export"),
        meaning=Meaning(thresholds=thresholds),
    )


def test_people_left_out_are_charged_as_absent_members(tmp_path: Path) -> None:
    table = single({"hiv": 100}, 1000)
    registry = with_others(table, 1000)
    series = series_of(tmp_path / "clinic")
    publish_all(series, [table], registry, allow_suppression=True)
    folder = exported(series, tmp_path / "export")
    members = pl.read_parquet(folder / "members.parquet")
    values = pl.read_parquet(folder / "values.parquet")
    sizes = pl.read_parquet(folder / "groups.parquet")
    absent = members.filter(~pl.col("present")).join(
        table.filter(diagnosis="hiv"), left_on="person", right_on="patient"
    )
    assert absent.height > 20
    linked = absent.join(values, on=["release", "group"]).join(sizes, on=["release", "group"])
    for row in linked.iter_rows(named=True):
        (exposure,) = serigraph.history(series, row["person"], "hiv").exposures
        assert (exposure.size, exposure.count) == (row["size"], row["count"])
        assert not exposure.present


def test_gaps_add_up_over_releases_until_nothing_is_left(tmp_path: Path) -> None:
    """Each release spends a part of the threshold; in the end, suppression is refused."""
    series = series_of(tmp_path / "clinic", strategy='name = "constant"\nreleases = 4')
    left = [Fraction(1, 2)]
    for number in range(12):
        table = table_of([["hiv"]] * 240 + [["flu"]] * 760, seed=number)
        table = table.with_columns(pl.col("diagnosis").list.first())
        try:
            release = serigraph.publish(
                table,
                series,
                registry=with_others(table, 300),
                label=f"r{number}",
                allow_suppression=True,
            )
        except PromiseError:
            break
        missing = release.figures["suppressed"]["hiv"]
        left.append(1 - (1 - left[-1]) / (1 - Fraction(missing, 300 + missing)))
        (hiv,) = serigraph.status(series).values
        assert hiv.threshold == left[-1] < left[-2]
        assert serigraph.audit(series).over_all.is_within
    else:
        pytest.fail("suppression went on for ever")
    assert len(left) > 1


@pytest.mark.parametrize("output", FORMS)
def test_a_value_that_fits_nobody_appears_nowhere(tmp_path: Path, output: str) -> None:
    table = single({"hiv": 1}, 15)
    series = series_of(tmp_path / "clinic", output)
    registry = with_others(table, 10)  # one of 25 is more than one of 29.36
    (release,) = publish_all(series, [table], registry, allow_suppression=True)
    assert release.figures["suppressed"] == {}
    assert release.figures["suppressed_values"] == release.figures["protected_values"] == 0
    assert any("'hiv' is left out of this release entirely" in note for note in release.notes)
    for path in sorted(series.path.glob("releases/*/*")):
        assert b"hiv" not in path.read_bytes()
    folder = exported(series, tmp_path / "export")
    assert pl.read_parquet(folder / "values.parquet").height == 0


def test_no_record_shows_that_something_is_missing(tmp_path: Path) -> None:
    # Of people with two values the other one stays; people who never had a value stay as well.
    sets = [["flu", "hiv"]] * 60 + [["hiv"]] * 20 + [["flu"]] * 880 + [[]] * 40
    table = table_of(sets)
    series = series_of(tmp_path / "clinic", sensitive='column = "diagnosis"\nform = "list"')
    registry = with_others(table, 200)
    (release,) = publish_all(series, [table], registry, allow_suppression=True)
    shown = release.tables["table"]
    kinds = {
        tuple(row["diagnosis"]): row["len"]
        for row in shown.group_by("diagnosis").len().iter_rows(named=True)
    }
    assert set(kinds) == {("flu", "hiv"), ("hiv",), ("flu",), ()}
    kept = kinds[("flu", "hiv")] + kinds[("hiv",)]
    assert kept == math.floor(1200 / 29.3568 * 0.75)
    assert release.figures["suppressed"] == {"hiv": 80 - kept}
    assert kinds[()] == 40  # nobody became a record without a value
    assert shown["diagnosis"].null_count() == 0
    assert kinds[("flu",)] + kinds[("flu", "hiv")] == 940
    assert 1000 - shown.height == 20 - kinds[("hiv",)]
    # The larger of both risks: among people without a record, and among records without the value.
    risk = max(
        Fraction(20 - kinds[("hiv",)], 200 + 20 - kinds[("hiv",)]),
        Fraction(60 - kinds[("flu", "hiv")], shown.height - kept),
    )
    (hiv,) = serigraph.status(series).values
    assert hiv.threshold == 1 - Fraction(1, 2) / (1 - risk)


def test_values_of_a_class_are_counted_once(tmp_path: Path) -> None:
    table = single({"hiv": 60, "hepatitis": 40}, 1000)
    protected = f'except = {list(COMMON)}\n[protected.classes]\n"blood" = ["hiv", "hepatitis"]'
    series = series_of(tmp_path / "clinic", protected=protected)
    registry = with_others(table, 1000)
    with pytest.raises(Infeasible) as refused:
        publish_all(series, [table], registry)
    assert "value 'blood' is held by 100 of 2,000 people" in refused.value.problems[0]
    (release,) = publish_all(series, [table], registry, allow_suppression=True)
    published = release.tables["table"]
    kept = published["diagnosis"].is_in(["hiv", "hepatitis"]).sum()
    assert kept == math.floor(2000 / 29.3568 * 0.75)
    suppressed = release.figures["suppressed"]
    assert suppressed["blood"] == suppressed["hiv"] + suppressed["hepatitis"] == 100 - kept
    assert release.figures["suppressed_values"] == 100 - kept


def test_a_class_that_is_shown_tells_of_a_value_that_is_not(tmp_path: Path) -> None:
    """What is missing of the class, and not of its other values, is what the value lost."""
    protected = (
        f'except = {list(COMMON)}\n[protected.classes]\n"blood" = ["hiv", "hepatitis"]\n'
        '[protected.thresholds]\n"hepatitis" = "1/20"'
    )
    series = series_of(tmp_path / "clinic", protected=protected)
    table = single({"hiv": 5, "hepatitis": 2}, 100)
    (release,) = publish_all(series, [table], with_others(table, 200), allow_suppression=True)
    assert release.figures["suppressed"] == {"blood": 2}
    (record,) = series.releases()
    risk = Fraction(2, 202)
    assert record.protected["gap_survival"]["hepatitis"] == str(1 - risk)


def test_where_a_budget_is_used_up_no_number_is_told(tmp_path: Path) -> None:
    series = series_of(tmp_path / "clinic", strategy='name = "constant"\nreleases = 1')
    table = single({"hiv": 300}, 400)
    registry = with_others(table, 400)
    serigraph.publish(table, series, registry=registry, label="r0")
    crowded = table_of([["hiv"]] * 450 + [["flu"]] * 50, seed=4)
    crowded = crowded.with_columns(pl.col("diagnosis").list.first())
    registry = with_others(crowded, 300)  # 450 of 800 are too many
    with pytest.raises(Infeasible) as refused:
        serigraph.publish(crowded, series, registry=registry, label="r1")
    assert "--allow-suppression" not in str(refused.value)
    with pytest.raises(Infeasible, match=r"leaving .hiv. out would tell too much|would tell who"):
        serigraph.publish(crowded, series, registry=registry, label="r1", allow_suppression=True)
    assert len(series.releases()) == 1


@pytest.mark.usefixtures("values_may_stay")
def test_a_value_that_some_group_does_not_bear_is_withdrawn_entirely(tmp_path: Path) -> None:
    """To leave it out of that group alone would tell where it was."""
    series = series_of(tmp_path / "clinic", strategy='name = "geometric"\nfactor = 2')
    for number in range(12):
        table = table_of([["hiv"]] * 30 + [["flu"]] * 570, seed=number)
        table = table.with_columns(pl.col("diagnosis").list.first())
        registry = with_others(table, 200)
        try:
            serigraph.publish(table, series, registry=registry, label=f"r{number}")
        except Infeasible as refused:
            reason = str(refused)
            break
    assert "'hiv' does not fit: somebody has so little left" in reason
    assert "--allow-suppression" in reason
    release = serigraph.publish(
        table, series, registry=registry, label="last", allow_suppression=True
    )
    assert release.figures["suppressed"] == {}
    assert not release.tables["table"].filter(diagnosis="hiv").height
    assert serigraph.audit(series).over_all.is_within


@pytest.mark.parametrize("adversary", ADVERSARIES)
@pytest.mark.parametrize("output", FORMS)
def test_nobody_left_is_no_release(tmp_path: Path, output: str, adversary: str) -> None:
    series = series_of(tmp_path / "clinic", output, adversary)
    with pytest.raises(Infeasible, match="suppression would"):
        serigraph.publish(single({"hiv": 12}, 12), series, allow_suppression=True)
    assert series.releases() == ()
