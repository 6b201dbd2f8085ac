"""The crowds of an audit are those of its plain twin, and show what comparing releases does."""

from __future__ import annotations

import random
import re
from fractions import Fraction
from pathlib import Path
from typing import Any, cast

import numpy as np
import polars as pl
import pytest

import serigraph
from audit import crowd_oracle, oracle
from audit.series_examples import policy, registry
from cli.running import run
from report.reading_pages import read_page
from serigraph.auditing import (
    CrowdFigures,
    CrowdsAfter,
    HolderFigures,
    alikeness,
    audit_releases,
    audit_series,
)
from serigraph.auditing.crowds import PublishedHolders, crowds_after_releases
from serigraph.auditing.sightings import Sightings
from serigraph.engines.spark.auditor import AuditorOnSpark
from serigraph.errors import InputRefused, TableError
from serigraph.ledger import Series
from serigraph.publishing import publish
from serigraph.runtime.randomness import SeededRandomness

STD = {"chlamydia", "syphilis"}
CASES = [
    (form, adversary, has_registry)
    for form in ("generalised", "bucketised")
    for adversary in ("presence unknown", "presence known")
    for has_registry in (True, False)
]


def series_of(
    folder: Path, form: str, adversary: str, raw: list[pl.DataFrame], known: pl.DataFrame | None
) -> Series:
    text = policy(form=form, adversary=adversary).replace("releases = 4", "releases = 8")
    text = text.replace('kind = "numeric"', 'kind = "numeric"\nunique_values = "publish"')
    made = Series.create(folder, {"policy.toml": text.encode()})
    for number, table in enumerate(raw, 1):
        publish(
            table,
            made,
            registry=known,
            label=f"r{number}",
            randomness=SeededRandomness(number),
            assume_transient=["HIV", "any STD", *STD],
        )
    return made


def held_in(table: pl.DataFrame) -> crowd_oracle.Held:
    return {
        person: {value, "any STD"} if value in STD else {value}
        for person, value in table.select("patient", "diagnosis").iter_rows()
    }


def population(people: int) -> pl.DataFrame:
    """Nobody has the quasi-identifiers of another, so that files tell everybody's group."""
    return registry(people).with_columns(
        age=pl.int_range(people),
        sex=pl.when(pl.int_range(people) % 2 == 0).then(pl.lit("F")).otherwise(pl.lit("M")),
    )


def chronic_tables(releases: int = 4, returning: float = 0.8) -> list[pl.DataFrame]:
    """One population of 500, most of whom come back, and values that stay for life."""
    draw = random.Random(3)
    known = population(500)
    values = draw.choices(("flu", "gout", "chlamydia", "syphilis", "HIV"), (60, 30, 4, 3, 3), k=500)
    return [
        known.with_columns(pl.Series("diagnosis", values)).filter(
            pl.Series([draw.random() < returning for _ in range(500)])
        )
        for _ in range(releases)
    ]


def agree(found: CrowdFigures, expected: crowd_oracle.Expected) -> None:
    assert (found.people, found.crowds, found.alone) == (
        expected.people,
        expected.crowds,
        expected.alone,
    )
    assert found.surely_above == expected.surely_above
    assert found.possibly_above == expected.possibly_above
    assert found.held == HolderFigures(
        holders=expected.holders,
        largest=expected.largest,
        above=expected.above,
        above_if_known=expected.above_if_known,
        certain=expected.certain,
        by_share=tuple(expected.by_share[place] for place in range(20)),
    )


@pytest.mark.parametrize(("form", "adversary", "has_registry"), CASES)
def test_crowds_are_those_of_the_twin_from_the_ledger_and_from_the_files(
    form: str, adversary: str, has_registry: bool, tmp_path: Path
) -> None:
    raw = chronic_tables()
    known = population(560) if has_registry else None
    series = series_of(tmp_path / "clinic", form, adversary, raw, known)
    found = audit_series(series, raw=raw, known_members=2).audit.crowds
    series.export(tmp_path / "ledger")
    ledger = oracle.releases_of(tmp_path / "ledger")
    is_known = adversary == "presence known"
    assert [each.label for each in found] == ["r1", "r2", "r3", "r4"]
    for number, after in enumerate(found, 1):
        assert [each.value for each in after.values] == ["HIV", "any STD", "chlamydia", "syphilis"]
        for each in after.values:
            releases, held = ledger[:number], [held_in(table) for table in raw[:number]]
            crowds = crowd_oracle.crowds(releases, held, each.value, is_known)
            agree(each.figures, crowd_oracle.figures(crowds, Fraction(1, 2), 2))
        check_sums(after)
    assert found[-1].over_all.held is not None
    assert found[-1].over_all.held.above > 0, "the example must be worth an audit"
    files = audit_releases(
        [series.path / "releases" / f"r{number}" for number in range(1, 5)],
        series.path / "policy.toml",
        raw=raw,
        registry=known,
        known_members=2,
    ).audit
    assert files.crowds == found


def check_sums(after: CrowdsAfter) -> None:
    held = [each.figures.held for each in after.values if each.figures.held is not None]
    assert after.over_all.people == sum(each.figures.people for each in after.values)
    assert after.over_all.crowds == sum(each.figures.crowds for each in after.values)
    assert after.over_all.held is not None
    assert after.over_all.held.holders == sum(each.holders for each in held)
    assert after.over_all.held.largest == max(each.largest for each in held)
    assert sum(after.over_all.held.by_share) == after.over_all.held.holders


def test_without_tables_counts_bound_what_the_tables_say(tmp_path: Path) -> None:
    raw = chronic_tables()
    series = series_of(tmp_path / "clinic", "bucketised", "presence known", raw, None)
    with_tables, without = audit_series(series, raw=raw).audit, audit_series(series).audit
    for one, other in zip(with_tables.crowds, without.crowds, strict=True):
        assert other.over_all.held is None
        assert (one.over_all.crowds, one.over_all.alone) == (
            other.over_all.crowds,
            other.over_all.alone,
        )
        assert one.over_all.held is not None
        assert one.over_all.surely_above <= one.over_all.possibly_above
        assert one.over_all.held.above <= other.over_all.possibly_above


def test_a_chronic_value_is_found_out_by_comparing_releases(tmp_path: Path) -> None:
    raw = chronic_tables(5)
    series = series_of(tmp_path / "clinic", "bucketised", "presence known", raw, None)
    audit = serigraph.audit(series, raw=raw)
    assert audit.is_within, "the promise is about values that change freely"
    held = [each.over_all.held for each in audit.crowds]
    assert held[0] is not None
    assert held[-1] is not None
    assert held[0].above == held[0].certain == 0
    assert held[-1].certain > 0.9 * held[-1].holders


def test_the_curve_is_told_and_drawn(tmp_path: Path) -> None:
    raw = chronic_tables(3)
    series = series_of(tmp_path / "clinic", "bucketised", "presence known", raw, None)
    files = []
    for number, table in enumerate(raw):
        files.append(tmp_path / f"{number}.csv")
        table.write_csv(files[-1])
    given = [word for path in files for word in ("--raw", str(path))]
    found = audit_series(series, raw=raw).audit.crowds
    done = run("audit", series.path, *given)
    assert done.code == 0, done.err
    _, _, told = done.out.partition("If values persist")
    for each in found:
        held = each.over_all.held
        assert held is not None
        above, certain = (f"{part / held.holders:.1%}" for part in (held.above, held.certain))
        (line,) = re.findall(rf"^  {each.label} +([\d,]+ .*)$", told, re.M)
        assert line.split()[:5] == [
            f"{each.over_all.crowds:,}",
            f"{held.holders:,}",
            f"{float(held.largest):.4f}",
            above,
            certain,
        ]
    assert "--raw" in run("audit", series.path).out
    run("report", series.path, "--out", tmp_path / "report", *given)
    page = read_page((tmp_path / "report" / "report.html").read_text(encoding="utf-8"))
    last = found[-1].over_all.held
    assert last is not None
    tooltips = page.charts["Holders in crowds above the threshold"].tooltips
    above, certain = (f"{100 * part / last.holders:.3g}" for part in (last.above, last.certain))
    assert tooltips[2] == f"release 3 above the threshold: {above} certain: {certain}"
    assert any(
        row[:3] == ["r3", f"{found[-1].over_all.crowds:,}", f"{last.holders:,}"]
        for row in page.rows
    )
    assert "do not publish them" in " ".join(page.sentences)


def test_tables_are_not_taken_on_spark(tmp_path: Path) -> None:
    series = series_of(
        tmp_path / "clinic", "bucketised", "presence known", raw := chronic_tables(1), None
    )
    auditor = AuditorOnSpark(cast(Any, None), series)
    with pytest.raises(InputRefused, match="on one machine"):
        auditor.tally(series.releases(), raw, known_members=1, worst=1, progress=lambda _: None)


def test_nobody_is_above_in_a_series_of_standing_cohorts(tmp_path: Path) -> None:
    """Cohorts of eight that stay together for ever, at most two of each with a chronic value."""
    (tmp_path / "policy.toml").write_text(policy(adversary="presence known"), encoding="utf-8")
    people = registry(80).with_columns(group=pl.Series(np.arange(80) // 8))
    holds = [number % 8 in (1, 6) and number < 40 for number in range(80)]
    table = people.with_columns(diagnosis=pl.Series(["HIV" if each else "flu" for each in holds]))
    sensitive = table.group_by("group", pl.col("diagnosis").alias("value")).len("count")
    members = people.select("patient", "group", "age", "sex")
    found = serigraph.audit(
        releases=[(members, sensitive)] * 6, policy=tmp_path / "policy.toml", raw=[table] * 6
    )
    assert not found.is_within, "by the formula of independent releases it would be refused"
    for after in found.crowds:
        held = after.over_all.held
        assert held is not None
        assert (held.largest, held.above, held.certain) == (Fraction(1, 4), 0, 0)
        assert held.holders == 10
        assert after.over_all.surely_above == 0
        assert after.over_all.crowds == 5


def test_overlapping_regions_leave_people_alike_who_may_be_in_the_same_groups(
    tmp_path: Path,
) -> None:
    (tmp_path / "policy.toml").write_text(policy(adversary="presence known"), encoding="utf-8")
    table = pl.DataFrame(
        {
            "patient": list("abcdef"),
            "age": [20, 20, 30, 30, 40, 40],
            "sex": ["F"] * 6,
            "diagnosis": ["HIV", "flu", "flu", "flu", "flu", "flu"],
        }
    )
    release = pl.DataFrame(
        {
            "age": ["[20, 30]"] * 3 + ["[30, 40]"] * 3,
            "sex": ["F"] * 6,
            "diagnosis": ["HIV", "flu", "flu", "flu", "flu", "flu"],
        }
    )
    found = audit_releases(
        [release], tmp_path / "policy.toml", raw=[table], tolerate=["overlaps"]
    ).audit
    (after,) = found.crowds
    assert (after.over_all.people, after.over_all.crowds) == (4, 2)  # those of 20, those of 30
    assert after.over_all.held is not None
    assert after.over_all.held.largest == Fraction(1, 2)


@pytest.mark.parametrize("denominator", [100, 2**40])
def test_thresholds_are_compared_exactly(denominator: int) -> None:
    """One holder of three, and thresholds just below, at and above 1/3."""
    release = Sightings(
        person=np.arange(3),
        group=np.zeros(3, dtype=np.int64),
        present=np.ones(3, dtype=np.bool_),
        members=np.array([3]),
        records=np.array([3]),
        shown_group=np.array([0]),
        shown_value=np.array([0]),
        shown_count=np.array([1]),
    )
    holders = PublishedHolders(np.array([1]), np.array([0]))
    step = Fraction(1, denominator)
    for threshold, above in ((Fraction(1, 3) - step, 1), (Fraction(1, 3), 0)):
        (after,) = crowds_after_releases(3, ["r"], [("s", threshold)], [release], [holders], 1)
        assert after.over_all.held is not None
        assert after.over_all.held.above == above
        assert after.over_all.held.above_if_known == 1
        assert (after.over_all.surely_above, after.over_all.possibly_above) == (3 * above,) * 2


def test_values_that_were_left_out_do_not_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """More people hold a value than the release shows. The ledger says who was published; without
    that, all of them may be those that the release shows."""
    raw = chronic_tables(1)
    series = series_of(tmp_path / "clinic", "generalised", "presence known", raw, None)
    more = raw[0].with_columns(pl.col("diagnosis").replace("flu", "HIV"))
    exact, recorded = (audit_series(series, raw=[each]).audit for each in (raw[0], more))
    assert exact.notes == recorded.notes == ()
    assert exact.crowds == recorded.crowds
    monkeypatch.setattr(alikeness, "recorded_holders", lambda *_: [None])
    found = audit_series(series, raw=[more]).audit
    (note,) = found.notes
    assert "left out of the release" in note
    assert found.crowds[0].over_all.held is not None
    assert exact.crowds[0].over_all.held is not None
    assert found.crowds[0].over_all.held.holders > exact.crowds[0].over_all.held.holders


def test_other_tables_are_refused(tmp_path: Path) -> None:
    raw = chronic_tables(2)
    series = series_of(tmp_path / "clinic", "generalised", "presence known", raw, None)
    with pytest.raises(InputRefused, match="1 raw table given for 2 releases"):
        audit_series(series, raw=raw[:1])
    with pytest.raises(TableError) as caught:
        audit_series(series, raw=raw[::-1])
    assert "secret" not in str(caught.value)
    cured = raw[0].with_columns(diagnosis=pl.lit("flu"))
    with pytest.raises(TableError) as caught:
        audit_series(series, raw=[cured, raw[1]])
    assert "fewer than the release shows" in " ".join(caught.value.problems)
    with pytest.raises(TableError, match="cannot be read"):
        audit_series(series, raw=[raw[0].drop("diagnosis"), raw[1]])
