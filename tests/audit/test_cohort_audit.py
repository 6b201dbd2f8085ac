"""Audits, certificates and figures of series in which values persist, against a plain recount."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any, cast

import polars as pl
import pytest

import serigraph
from audit.cohort_examples import POLICY, Half, Recount, halves, published, recount
from cli.running import run
from serigraph.auditing import audit_series
from serigraph.auditing.cohort_agreement import compare_cohorts
from serigraph.engines.spark.auditor import AuditorOnSpark
from serigraph.errors import InputRefused
from serigraph.ledger import Series
from serigraph.publishing import Published, history, status
from serigraph.reporting import read_certificate, verify_certificate

NAMES = {"HIV", "lupus"}
WAYS = {
    "registry": {"adversary": "presence unknown", "has_registry": True},
    "registry, one known": {"adversary": "presence unknown", "has_registry": True, "known": 1},
    "registry, flu": {"has_registry": True, "own": 'flu = "transient"', "form": "bucketised"},
    "no registry": {"has_registry": False},
    "presence known, permanent": {
        "adversary": "presence known",
        "persistence": "permanent",
        "form": "bucketised",
    },
}
Made = tuple[Series, list[Published], list[Half], int]


@pytest.fixture(scope="module", params=list(WAYS))
def made(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Made:
    options = dict(WAYS[request.param])
    some = halves(flu="flu" in request.param)
    folder = tmp_path_factory.mktemp("series") / "clinic"
    series, releases = published(folder, some, **options)  # type: ignore[arg-type]
    return series, releases, some, int(options.get("known", 0))  # type: ignore[call-overload]


def again(made: Made, tmp_path: Path, upto: int = 1000) -> Recount:
    return recount(made[0], tmp_path / f"exported-{upto}", NAMES, upto)


def test_the_audit_counts_classes(made: Made, tmp_path: Path) -> None:
    series, releases, _, known = made
    audit = audit_series(series).audit
    assert audit.is_within
    assert audit.files_agree
    assert not compare_cohorts(series, series.releases())
    for number, after in enumerate(audit.cohorts, 1):
        expected = again(made, tmp_path, number)
        assert (after.cohorts, after.people, after.retired) == (
            expected.cohorts,
            expected.people,
            expected.retired,
        )
        assert {each.value for each in after.values} == expected.classes.keys()
        for each in after.values:
            classes = expected.classes[each.value]
            assert (each.classes, each.holders) == (len(classes), sum(h for _, h in classes))
            assert each.largest == expected.largest(each.value, known)
            assert each.people_above == 0
    expected = again(made, tmp_path)
    of_classes = sum(size for sizes in expected.classes.values() for size, _ in sizes)
    transient = sum(each.pairs for each in status(series).values)
    assert audit.over_all.pairs == of_classes + transient
    assert sum(audit.over_all.by_probability) == sum(audit.over_all.by_share_of_threshold)
    assert audit.over_all.pairs == sum(audit.over_all.by_probability)
    worst = max(releases[-1].figures["worst_in_series"]["probability"], key=len)
    assert audit.over_all.worst is not None
    assert str(audit.over_all.worst.probability) in (
        releases[-1].figures["worst_in_series"]["probability"],
        worst,
    )


def test_every_certificate_is_true(made: Made) -> None:
    series, releases, _, _ = made
    for each in releases:
        found = verify_certificate(each.folder / "certificate.json")
        assert found.rests_on in found.conclusion
        certificate = read_certificate(each.folder / "certificate.json")
        assert certificate.guarantee.rests_on == found.rests_on
        assert "cohorts" in certificate.figures
        assert "left_out" not in certificate.to_text()
    report = serigraph.report(series)
    assert "whatever values do" in report.report.read_text() or "transient" in report.rests_on
    verify_certificate(report.certificate)


def test_crowds_with_the_tables_show_nobody_above(made: Made) -> None:
    series, _, some, _ = made
    audit = audit_series(series, raw=[half.table for half in some], known_members=0).audit
    held = {
        value.value: value.figures.held
        for after in audit.crowds
        for value in after.values
        if value.value in NAMES
    }
    assert held
    for figures in held.values():
        assert figures is not None
        assert figures.above == figures.certain == 0


def test_status_and_history_speak_of_classes(made: Made, tmp_path: Path) -> None:
    series, _, some, known = made
    stands, expected = status(series), again(made, tmp_path)
    assert {each.name for each in stands.values} <= {"flu"}
    assert stands.cohorts is not None
    assert {each.value: each.largest for each in stands.cohorts.values} == {
        value: expected.largest(value, known) for value in expected.classes
    }
    seen = set()
    for person in some[0].table["patient"]:
        found = history(series, person, "HIV")
        assert found.persistence != "transient"
        if found.alike is not None and found.alike.holders:
            seen.add(found.probability)
            assert found.survival == 1 - found.probability
    assert max(seen) <= expected.largest("HIV", known)
    told = run("status", series.path)
    assert "Values that persist:" in told.out
    told = run("history", series.path, "--person", person, "--value", "HIV")
    assert "exposures do not add up" in told.out
    assert run("status", series.path, "--json").json["cohorts"]["people"] > 0


def test_the_command_says_what_the_promise_rests_on(made: Made) -> None:
    series = made[0]
    told = run("audit", series.path)
    assert told.code == 0, told.err
    assert "suspect one member of a cohort" in told.out.splitlines()[-1]
    assert "secret" not in told.out
    found = run("audit", series.path, "--json").json
    assert found["rests_on"] in told.out
    assert found["audit"]["cohorts"][-1]["people"] > 0


def tampered(series: Series, monkeypatch: pytest.MonkeyPatch, part: str, change: object) -> str:
    """What the audit says if a part of the second release had been written in another way."""
    import serigraph.auditing.cohort_agreement as module

    real = module.read_part

    def read_part(layout: object, release: object, name: str) -> pl.DataFrame:
        rows = real(layout, release, name)  # type: ignore[arg-type]
        if release.number == 2 and name == f"{part}.parquet":  # type: ignore[attr-defined]
            return change(rows)  # type: ignore[operator,no-any-return]
        return rows

    monkeypatch.setattr(module, "read_part", read_part)
    return "; ".join(compare_cohorts(series, series.releases()).get(2, ()))


def test_disagreements_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    series, _ = published(tmp_path / "clinic", halves(3))
    first = pl.read_parquet(series.path / "ledger/0001/cohorts.parquet")
    one = first.head(1)
    cases = {
        "joined a second cohort": ("cohorts", lambda rows: pl.concat([rows, one])),
        "retired twice, or from no cohort": ("retired", lambda rows: pl.concat([rows, rows])),
        "who had retired are members": (
            "retired",
            lambda rows: pl.concat([rows, one.select("person")]),
        ),
        "cohorts are split between groups": (
            "members",
            lambda rows: rows.with_columns(
                group=pl.when(pl.int_range(pl.len()) == 0)
                .then((pl.col("group") + 1).cast(pl.UInt32) % rows["group"].n_unique())
                .otherwise("group")
            ),
        ),
        "members of cohorts are missing": ("members", lambda rows: rows.slice(1)),
        "members are in no cohort": ("cohorts", lambda rows: rows.clear()),
        "counts of holders differ": ("holders", lambda rows: rows.slice(1)),
        "holders differ between people and groups": (
            "values",
            lambda rows: rows.with_columns(pl.col("count") + 1),
        ),
    }
    for words, (part, change) in cases.items():
        with monkeypatch.context() as patched:
            assert words in tampered(series, patched, part, change)
    assert not compare_cohorts(series, series.releases())


def test_disagreements_of_values_shown_once_are_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    series, _ = published(tmp_path / "clinic", halves(3), has_registry=False)
    assert len(pl.read_parquet(series.path / "ledger/0002/retired.parquet"))
    everybody = pl.col("present") | True
    cases = {
        "and did not retire": ("retired", lambda rows: rows.slice(1)),
        "records stand beside a value": ("members", lambda rows: rows.with_columns(everybody)),
    }
    for words, (part, change) in cases.items():
        with monkeypatch.context() as patched:
            assert words in tampered(series, patched, part, change)
    assert not compare_cohorts(series, series.releases())


def test_a_class_above_its_threshold_breaks_the_promise(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every published holder in a class of its own."""
    import serigraph.auditing.cohorts as module

    series, _ = published(tmp_path / "clinic", halves(2))
    real = module.read_part

    def read_part(layout: object, release: object, name: str) -> pl.DataFrame:
        rows = real(layout, release, name)  # type: ignore[arg-type]
        if name == "cohorts.parquet":
            return rows.with_columns(cohort=pl.col("person"))
        return rows

    monkeypatch.setattr(module, "read_part", read_part)
    audit = audit_series(series).audit
    assert not audit.is_within
    assert audit.over_all.largest == Fraction(1)
    assert audit.over_all.people_above == audit.over_all.pairs_above > 0
    assert audit.worst[0].probability == 1


def test_releases_of_other_tools_are_judged_by_crowds(tmp_path: Path) -> None:
    """Somebody publishes exact rows again and again: each holder is alone after one release."""
    text = POLICY.format(
        form="generalised", adversary="presence known", persistence="any", own="", known=0
    )
    (tmp_path / "policy.toml").write_text(text)
    some = halves(2, 60)
    raw = [half.table for half in some]
    releases = [table.drop("patient") for table in raw]
    broken = serigraph.audit(releases=releases, policy=tmp_path / "policy.toml", raw=raw)
    assert broken.over_all.pairs == 0, "p says nothing of values that persist"
    assert broken.above_in_crowds
    assert not broken.is_within
    healthy = [table.with_columns(diagnosis=pl.lit("none")) for table in raw]
    clean = [table.drop("patient") for table in healthy]
    assert serigraph.audit(releases=clean, policy=tmp_path / "policy.toml", raw=healthy).is_within


def test_without_tables_the_audit_does_not_say_that_the_promise_holds(tmp_path: Path) -> None:
    some = halves(2, flu=True)
    series, made = published(tmp_path / "clinic", some)
    some[-1].registry.write_csv(tmp_path / "registry.csv")
    told = run(
        *("audit", "--releases", *(each.folder for each in made)),
        *("--policy", series.path / "policy.toml", "--registry", tmp_path / "registry.csv"),
        *("--tolerate", "overlaps", "--tolerate", "missing-people", "--tolerate", "empty-regions"),
    )
    assert "The promise holds" not in told.out, told.err
    assert "cannot be told without the tables" in told.out or "BROKEN" in told.out


def test_spark_refuses(tmp_path: Path) -> None:
    series, _ = published(tmp_path / "clinic", halves(1))
    auditor = AuditorOnSpark(cast(Any, None), series)
    with pytest.raises(InputRefused, match="on one machine"):
        auditor.tally(series.releases(), (), known_members=1, worst=1, progress=lambda _: None)


def test_what_a_cohort_may_not_show_is_for_the_publisher_alone(tmp_path: Path) -> None:
    """Five of the eight people of the only cohort hold the value, and four may be shown."""
    registry = pl.DataFrame(
        {"patient": [f"p{n}" for n in range(8)], "age": range(8), "zip": range(8)}
    )
    sick = ["HIV"] * 5 + ["none"] * 3
    table = registry.with_columns(pl.Series("diagnosis", sick))
    series, (made,) = published(tmp_path / "clinic", [Half(registry, table)])
    (note,) = [note for note in made.notes if "left out" in note]
    assert "values of 1 person are left out" in note
    assert made.figures["worst_in_release"]["probability"] == "1/2"
    for path in made.folder.iterdir():
        assert "left out" not in path.read_text().replace("left out for good", "")
    assert {name for name in made.figures if "suppress" in name} == {
        "suppressed",
        "suppressed_values",
    }
    assert not made.figures["suppressed_values"]
    audit = serigraph.audit(
        releases=[made.folder],
        policy=series.path / "policy.toml",
        raw=[table],
        registry=registry,
        tolerate=["missing-people"],
    )
    (note,) = [note for note in audit.notes if "left out" in note]
    assert "1 value was left out" in note, "the public files do not say whose"


def test_people_who_wait_and_who_retired_are_counted(tmp_path: Path) -> None:
    some = halves(3)
    _, made = published(tmp_path / "clinic", some)
    assert made[0].figures["people_waiting"] == made[0].figures["people_retired"] == 0
    assert any(each.figures["people_retired"] for each in made)
    new = some[1].registry.tail(3).with_columns(patient="x" + pl.col("patient"))
    few = Half(pl.concat([some[0].registry, new]), some[0].table.slice(1))
    _, waiting = published(tmp_path / "waiting", [some[0], few])
    assert waiting[1].figures["people_waiting"] == 3
    assert any("3 people wait" in note for note in waiting[1].notes)
