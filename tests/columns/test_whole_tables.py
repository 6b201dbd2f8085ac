"""Whole tables, from the first look to the fifth release, under the policy that ``init`` proposes:
what an outsider works out from export, public files and tables agrees for every column."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection
from datetime import datetime
from fractions import Fraction
from pathlib import Path

import polars as pl
import pytest

import serigraph
from cli.running import run
from columns.whole_tables import RELEASES, TABLES, WholeTable
from publishing import oracle
from serigraph.ledger import Series
from serigraph.policy import Policy, read_policy
from serigraph.utility import QueryPlan

FORMS = ["generalised", "bucketised"]
_INTERVAL = re.compile(r"from (\S+) to below (\S+)")


def cell(text: str | None, kind: str) -> str | int | None:
    """A cell as it is published: a number or a date in one form, and None where it is missing."""
    if text in (None, "", "?"):
        return None
    if kind == "numeric":
        number = float(str(text).replace(",", "."))
        return str(int(number) if number == int(number) else number)
    is_german = kind == "date" and "." in str(text)
    return datetime.strptime(str(text), "%d.%m.%Y").date().isoformat() if is_german else text


def place(text: str) -> Fraction:
    is_date = text.count("-") == 2
    return Fraction(datetime.fromisoformat(text).toordinal()) if is_date else Fraction(text)


def counted_as(policy: Policy, column: str, listed: set[str]) -> Callable[[str], Collection[str]]:
    """What a value is protected as: itself unless it is excepted, or each interval it lies in."""
    protected = policy.sensitive_columns[column].protected
    bounds = {
        name: tuple(place(bound) for bound in found.groups())
        for name in listed
        if (found := _INTERVAL.fullmatch(name))
    }
    known: dict[str, Collection[str]] = {}

    def names(value: str) -> Collection[str]:
        if value not in known:
            if protected.closeness is None:
                known[value] = () if value in protected.excepted else (value,)
            elif value in bounds:
                known[value] = ()
            else:
                here = place(value)
                known[value] = [each for each, (low, end) in bounds.items() if low <= here < end]
                assert known[value], "a value is in no interval"
        return known[value]

    return names


def check_columns(series: Series, tables: list[pl.DataFrame], of: WholeTable, at: Path) -> Fraction:
    """That the export, the files and the tables agree on every column; the largest probability."""
    policy, largest = read_policy(series.path / "policy.toml"), Fraction(0)
    kinds = {name: each.kind for name, each in policy.quasi_identifiers.items()}
    assert list(kinds) == list(of.holds)
    for column, section in policy.sensitive_columns.items():
        export = oracle.read_export(at, column)
        largest = max(largest, *oracle.check_guarantee(export))
        listed = {
            name for groups in export.groups for each in groups.values() for name in each.values
        }
        names = counted_as(policy, column, listed)
        for record, groups, table in zip(series.releases(), export.groups, tables, strict=True):
            people = table[of.person].cast(pl.String).to_list()
            cells = {
                who: tuple(
                    float(each) if kind == "numeric" else cell(each, kind)
                    for each, kind in zip(row, kinds.values(), strict=True)
                )
                for who, row in zip(people, table.select(*kinds).rows(), strict=True)
            }
            held = [cell(each, section.kind) for each in table[column]]
            sets = {
                who: set() if each is None else {str(each)}
                for who, each in zip(people, held, strict=True)
            }
            files = series.path / "releases" / record.label
            if record.summary["form"] == "generalised":
                shown = pl.read_parquet(files / "table.parquet").select(*kinds, column)
                oracle.check_generalised(groups, shown, cells, list(of.holds.values()), names)
            else:
                shown = pl.read_parquet(files / "sensitive.parquet")
                counts = (
                    shown.select("group", pl.col(column).alias("value"))
                    .drop_nulls()
                    .group_by("group", "value")
                    .len("count")
                )
                oracle.check_bucketised(
                    groups,
                    pl.read_parquet(files / "quasi_identifiers.parquet").with_columns(
                        pl.col(pl.Date).cast(pl.String)
                    ),
                    counts,
                    cells,
                    record.is_presence_known,
                    names,
                )
            oracle.check_holders(groups, sets, names, {})
    return largest


def check_records(series: Series, tables: list[pl.DataFrame], of: WholeTable) -> None:
    """That every record of a table is published with all that belongs to it, and no other."""
    policy = read_policy(series.path / "policy.toml")
    kinds = {name: each.kind for name, each in policy.sensitive_columns.items()} | policy.plain
    for record, table in zip(series.releases(), tables, strict=True):
        files = series.path / "releases" / record.label
        shown = pl.read_parquet(next(files.glob("table.parquet"), files / "sensitive.parquet"))
        published = Counter(
            tuple(
                cell(None if each is None else str(each), kinds[name]) for name, each in row.items()
            )
            for row in shown.select(*kinds).iter_rows(named=True)
        )
        own = Counter(
            tuple(
                cell(None if each is None else str(each), kinds[name]) for name, each in row.items()
            )
            for row in table.select(*kinds).iter_rows(named=True)
        )
        assert published == own


def proposed(form: str, policy: Path) -> None:
    """The policy as ``init`` wrote it, with another form."""
    text = policy.read_text(encoding="utf-8")
    assert 'form = "generalised"' in text
    policy.write_text(text.replace('form = "generalised"', f'form = "{form}"'), encoding="utf-8")


def by_python(of: WholeTable, form: str, tables: list[Path], at: Path) -> None:
    begun = serigraph.init(
        at / "series",
        tables[0],
        person=of.person,
        sensitive=of.sensitive,
        plain=of.plain,
        persistence="transient",
        releases=RELEASES,
    )
    assert of.unprotected in {each.name for each in begun.value_list.unprotected}
    proposed(form, begun.policy)
    for number, table in enumerate(tables, 1):
        made = serigraph.draft(table, begun.path, label=number)
        assert made.figures["suppressed_values"] == 0
        found = serigraph.publish_draft(begun.path, made.name)
        assert found.record.number == number
    audit = serigraph.audit(begun.path, raw=tables)
    assert audit.files_agree
    assert audit.over_all.pairs_above == 0
    worth = serigraph.evaluate(begun.path, tables, plan=QueryPlan(queries=50)).releases
    assert [each.suppressed_share for each in worth] == [0] * RELEASES
    serigraph.export(begun.path, at / "export")


def by_command(of: WholeTable, form: str, tables: list[Path], at: Path) -> None:
    series = at / "series"
    named = [f"--sensitive={name}" for name in of.sensitive]
    named += [f"--plain={name}" for name in of.plain]
    more = ["--person", of.person, "--persistence", "transient", "--releases", RELEASES]
    made = run("init", series, "--from", tables[0], *named, *more, "--json")
    assert made.code == 0, made.err
    listed = made.json["value_list"]["unprotected"]
    assert of.unprotected in {each["name"] for each in listed}
    proposed(form, series / "policy.toml")
    for number, table in enumerate(tables, 1):
        drafted = run("draft", table, "--series", series, "--label", number, "--json")
        assert drafted.code == 0, drafted.err
        name = drafted.json["name"]
        assert run("drafts", series, "show", name).code == 0
        released = run("publish", "--draft", name, "--series", series)
        assert released.code == 0, released.err
    raw = [f"--raw={table}" for table in tables]
    audited = run("audit", series, *raw)
    assert audited.code == 0, audited.err
    assert "agree, group by group" in audited.out
    measured = run("evaluate", series, *tables, "--queries", 50, "--json")
    assert [each["suppressed_share"] for each in measured.json["releases"]] == [0] * RELEASES
    assert run("export", series, at / "export").code == 0


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", TABLES)
def test_five_releases_of_a_whole_table(name: str, form: str, tmp_path: Path) -> None:
    of = TABLES[name]
    tables = [of.make(release) for release in range(RELEASES)]
    assert tables[0].width == of.width
    paths = [tmp_path / f"{name} {number}.csv" for number in range(RELEASES)]
    for table, path in zip(tables, paths, strict=True):
        table.write_csv(path)
    go = by_command if name == "claims" else by_python
    go(of, form, paths, tmp_path)
    series = Series.open(tmp_path / "series")
    largest = check_columns(series, tables, of, tmp_path / "export")
    assert serigraph.audit(series).over_all.largest == largest
    check_records(series, tables, of)
