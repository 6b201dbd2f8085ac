"""The audit of a series says what the exported ledger says, worked out in plain Python."""

from __future__ import annotations

import shutil
from fractions import Fraction
from itertools import accumulate
from pathlib import Path

import polars as pl
import pytest

import serigraph
from audit import oracle
from audit.series_examples import policy, published, registry, tables
from serigraph.auditing import Figures, audit_series
from serigraph.errors import LedgerDamaged, SeriesError
from serigraph.ledger import Series
from serigraph.publishing import Unpublished, publish

FORMS = [
    (form, adversary)
    for form in ("generalised", "bucketised")
    for adversary in ("presence unknown", "presence known")
]


@pytest.fixture(scope="module", params=FORMS, ids=", ".join)
def series(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Series:
    form, adversary = request.param
    return published(tmp_path_factory.mktemp("series") / "clinic", form=form, adversary=adversary)


@pytest.fixture(scope="module")
def ledger(series: Series, tmp_path_factory: pytest.TempPathFactory) -> list[oracle.Membership]:
    folder = tmp_path_factory.mktemp("export") / "ledger"
    series.export(folder)
    return oracle.releases_of(folder)


def agree(found: Figures, expected: oracle.Expected) -> None:
    assert found.pairs == expected.pairs
    assert found.people == expected.people
    assert found.largest == expected.largest
    assert found.mean == pytest.approx(expected.mean)
    assert found.pairs_above == expected.pairs_above
    assert found.people_above == expected.people_above
    assert sum(found.by_probability) == sum(found.by_share_of_threshold) == expected.pairs


def test_figures_of_every_release(series: Series, ledger: list[oracle.Membership]) -> None:
    found = audit_series(series).audit
    known = series.releases()[0].is_presence_known
    alone = [
        {
            (person, value): Fraction(
                count, release.present_size[group] if known else release.size[group]
            )
            for person, group in release.group.items()
            for value, count in release.held.get(group, {}).items()
        }
        for release in ledger
    ]
    for number, each in enumerate(found.releases, 1):
        agree(each.localised, oracle.figures(alone[number - 1], Fraction(1, 2)))
        so_far = oracle.combined(alone[:number])
        agree(each.so_far, oracle.figures(so_far, Fraction(1, 2)))
    assert found.over_all == found.releases[-1].so_far
    assert found.is_within
    assert found.over_all.pairs > 100, "the example must be worth an audit"


def test_figures_under_other_assumptions(series: Series, ledger: list[oracle.Membership]) -> None:
    found = audit_series(series, known_members=2).audit
    others = {each.name: each.figures for each in found.assumptions}
    threshold = Fraction(1, 2)
    present = [oracle.risks(release, only_present=True) for release in ledger]
    agree(others["presence known"], oracle.figures(oracle.combined(present), threshold))
    if not series.releases()[0].is_presence_known:
        alone = [oracle.risks(release) for release in ledger]
        boole = oracle.combined(alone, adds=True)
        agree(others["probabilities added up"], oracle.figures(boole, threshold))
        two = [oracle.risks(release, known=2) for release in ledger]
        agree(
            others["2 members of each group known"], oracle.figures(oracle.combined(two), threshold)
        )


def test_worst_cases_have_pseudonyms_only(series: Series) -> None:
    examined = audit_series(series, worst=5)
    cases = examined.audit.worst
    assert [case.probability for case in cases] == sorted(
        (case.probability for case in cases), reverse=True
    )
    assert cases[0].probability == examined.audit.over_all.largest
    assert "secret" not in repr(examined.audit)
    for case in cases:
        history = serigraph.history(series, examined.pseudonyms[case.pseudonym], case.value)
        assert history.probability == case.probability
    again = audit_series(series, worst=5)
    assert {case.pseudonym for case in again.audit.worst}.isdisjoint(examined.pseudonyms)


def test_files_and_ledger_agree(series: Series) -> None:
    found = audit_series(series).audit
    assert found.files_agree
    assert [each.label for each in found.agreement] == ["r1", "r2", "r3", "r4"]
    assert all(each.records == 300 for each in found.agreement) or "known" in (
        series.releases()[0].adversary
    )


def test_a_ledger_part_changed_by_one_byte(series: Series, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(series.path, copy)
    part = copy / "ledger" / "0002" / "members.parquet"
    content = bytearray(part.read_bytes())
    content[len(content) // 2] ^= 1
    part.write_bytes(bytes(content))
    with pytest.raises(LedgerDamaged) as caught:
        audit_series(copy)
    assert "ledger/0002/members.parquet" in caught.value.where


def test_a_public_file_changed(series: Series, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(series.path, copy)
    (copy / "releases" / "r3" / "report.html").write_text("nothing to see here")
    with pytest.raises(LedgerDamaged) as caught:
        audit_series(copy)
    assert "releases/r3/report.html" in caught.value.where


@pytest.mark.parametrize(("form", "name"), [("generalised", "table"), ("bucketised", "sensitive")])
def test_files_that_say_something_else_than_the_ledger(
    tmp_path: Path, form: str, name: str
) -> None:
    """Whoever replaces a table before the commit gets digests that fit; the groups do not."""
    series = Series.create(tmp_path / "clinic", {"policy.toml": policy(form=form).encode()})
    known = registry(500)

    def swap_values(release: Unpublished) -> None:
        path = release.folder / f"{name}.parquet"
        table = pl.read_parquet(path)
        column = "diagnosis" if form == "generalised" else "value"
        path.unlink()
        table.with_columns(pl.col(column).shift(1, fill_value=table[column][-1])).write_parquet(
            path
        )

    publish(tables(known, 1, 300)[0], series, registry=known, label="r1", documents=swap_values)
    found = audit_series(series).audit
    assert not found.files_agree
    assert found.agreement[0].differences
    assert found.is_within, "the ledger itself is sound"


def test_sets_of_values_and_a_class(tmp_path: Path) -> None:
    """People with several values count once in a class; the CSV file alone is enough."""
    text = policy(sensitive="delimited").replace(
        'form = "delimited"', 'form = "delimited"\ndelimiter = ";"'
    )
    text = text.replace('form = "generalised"', 'form = "generalised"\nfiles = ["csv"]')
    series = Series.create(tmp_path / "clinic", {"policy.toml": text.encode()})
    known = registry(500)
    first, second = tables(known, 2, 300)
    both = first.with_columns(first["diagnosis"] + ";" + second["diagnosis"])
    publish(both, series, registry=known, label="r1", allow_suppression=True)
    found = audit_series(series).audit
    assert found.files_agree
    assert found.over_all.pairs > 0


def test_a_single_value_with_a_semicolon_in_a_csv_file(tmp_path: Path) -> None:
    text = policy().replace('form = "generalised"', 'form = "generalised"\nfiles = ["csv"]')
    series = Series.create(tmp_path / "clinic", {"policy.toml": text.encode()})
    known = registry(500)
    table = tables(known, 1, 300)[0].with_columns(
        pl.col("diagnosis").replace({"HIV": "HIV; stage 2"})
    )
    publish(table, series, registry=known, label="r1", allow_suppression=True)
    assert audit_series(series).audit.files_agree


def test_the_probability_never_falls(series: Series) -> None:
    largest = [each.so_far.largest for each in audit_series(series).audit.releases]
    assert largest == list(accumulate(largest, max))


def test_nothing_to_audit(tmp_path: Path) -> None:
    series = Series.create(tmp_path / "clinic", {"policy.toml": policy().encode()})
    with pytest.raises(SeriesError, match="no release is out"):
        audit_series(series)


@pytest.mark.parametrize("form", ["generalised", "bucketised"])
def test_tables_that_no_release_has_are_not_taken_for_its_own(tmp_path: Path, form: str) -> None:
    series = published(tmp_path / "clinic", form=form, releases=1)
    for name in ("table", "quasi_identifiers", "sensitive"):
        for ending in (".csv", ".parquet"):
            path = series.path / "releases" / "r1" / f"{name}{ending}"
            if not path.exists():
                path.write_text("age,sex,diagnosis\n")
    audited = serigraph.audit(series)
    assert audited.files_agree
    assert len(audited.notes) == (4 if form == "generalised" else 2)
