"""What an adversary who runs the method in every world learns of a transient value that is
published beside values that persist: never more than is charged for it.

Members of a cohort are alike, so that a world is how many of each cohort hold what, and counts for
as many worlds as there are ways to choose these holders.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from math import comb, prod
from pathlib import Path

import polars as pl
import pytest

import serigraph
from serigraph.engines import local
from serigraph.engines.earlier_releases import ledger_on_disk
from serigraph.errors import GuaranteeExceeded, Infeasible, LedgerDamaged, PolicyChanged
from serigraph.ledger import Series
from serigraph.ledger.encoding import encode_groups
from serigraph.ledger.layout import Layout
from serigraph.ledger.storage import digest_of
from serigraph.publishing import Published
from serigraph.runtime.randomness import SeededRandomness
from serigraph.verification import LedgerOnDisk

POLICY = """version = 1
[person]
id = "id"
[quasi_identifiers.q]
kind = "numeric"
unique_values = "publish"
[sensitive]
column = "d"
form = "{form}"
[protected]
values = {values}
unheld = "allow"
{classes}
[protected.thresholds]
flu = "{flu}"
[protected.persistence]
default = "any"
flu = "transient"
[guarantee]
threshold = "{threshold}"
adversary = "presence unknown"
minimum_group_size = 1
cohort_size = {size}
[strategy]
name = "constant"
releases = 1
[output]
form = "bucketised"
files = ["parquet"]
"""
Counts = tuple[int, ...]  # by cohort
Group = tuple[tuple[int, ...], tuple[tuple[str, int], ...]]  # members, and values with counts
Tables = tuple[Group, ...]


def begin(
    path: Path,
    size: int,
    flu: str,
    *,
    form: str = "single",
    threshold: str = "1/2",
    values: Sequence[str] = ("HIV", "flu"),
    classes: str = "",
) -> Series:
    given = {"size": size, "flu": flu, "form": form, "threshold": threshold, "classes": classes}
    return Series.create(
        path, {"policy.toml": POLICY.format(values=json.dumps(list(values)), **given).encode()}
    )


def publish(
    series: Series,
    size: int,
    held: Sequence[Sequence[str | None]],
    seed: int = 1,
    suppress: bool = False,
) -> Published:
    """``held`` has the values of the first members of each cohort; the rest are away, and so is
    everybody with None."""
    people = size * len(held)
    registry = pl.DataFrame({"id": range(people), "q": range(people)})
    rows = [
        (cohort * size + place, value)
        for cohort, values in enumerate(held)
        for place, value in enumerate(values)
        if value is not None
    ]
    table = pl.DataFrame(rows, schema={"id": pl.Int64, "d": pl.String}, orient="row")
    return serigraph.publish(
        table.join(registry, on="id").select("id", "q", "d"),
        series,
        registry=registry,
        label=f"r{len(series.releases()) + 1}",
        randomness=SeededRandomness(seed),
        allow_suppression=suppress,
    )


def shown(made: Published) -> Tables:
    """The tables, whatever the numbers of groups are."""
    members, held = made.tables["quasi_identifiers"], made.tables["sensitive"]
    return tuple(
        sorted(
            (
                tuple(sorted(members.filter(pl.col("group") == each)["q"])),
                tuple(sorted(held.filter(pl.col("group") == each).drop("group").rows())),
            )
            for each in members["group"].unique()
        )
    )


def compositions(total: int, most: Counts) -> Iterator[Counts]:
    if not most:
        yield from [()] if not total else []
        return
    for first in range(min(total, most[0]) + 1):
        yield from ((first, *rest) for rest in compositions(total - first, most[1:]))


def held_in(size: int, hiv: Counts, flu: Counts, there: Counts | None = None) -> list[list[str]]:
    there = there or (size,) * len(flu)
    return [
        ["HIV"] * h + ["flu"] * f + ["none"] * (n - h - f)
        for h, f, n in zip(hiv, flu, there, strict=True)
    ]


class Tally:
    """How often, over worlds, each publication is made, and who has the flu then."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.ways: Counter[Tables] = Counter()
        self.cases: defaultdict[Tables, Counter[int]] = defaultdict(Counter)

    def add(self, found: Tables, sick: Counts, weight: int) -> None:
        self.ways[found] += weight
        for cohort, number in enumerate(sick):
            self.cases[found][cohort] += weight * number

    def chance(self, found: Tables, cohort: int) -> Fraction:
        """That a member of the cohort has the flu."""
        return Fraction(self.cases[found][cohort], self.ways[found] * self.size)

    def check_claims(self) -> None:
        """Nobody is likelier than the size of the group says."""
        for found in self.ways:
            for members, held in found:
                claimed = Fraction(dict(held).get("flu", 0), len(members))
                for cohort in {each // self.size for each in members}:
                    assert self.chance(found, cohort) == claimed


@pytest.mark.parametrize("flu", ["3/10", "1/3"])
def test_who_holds_a_value_that_persists_gives_no_cover(tmp_path: Path, flu: str) -> None:
    """The first release tells that two of the first cohort have HIV. They cannot have the flu: two
    cases in both cohorts are two of six people, and not of eight."""
    size, hiv, tally = 4, (2, 0), Tally(4)
    refused = 0
    for sick in compositions(2, (2, 4)):
        series = begin(tmp_path / str(sick[0]), size, flu, threshold="3/4")
        publish(series, size, held_in(size, hiv, (0, 0)))
        try:
            found = shown(publish(series, size, held_in(size, hiv, sick)))
        except Infeasible:
            refused += 1
        else:
            assert serigraph.history(series, 7, "flu").probability == Fraction(1, 3)
            tally.add(found, sick, comb(2, sick[0]) * comb(4, sick[1]))
    assert refused == (3 if flu == "3/10" else 0)  # wherever the flu is
    assert len(tally.ways) == (0 if refused else 1)
    for found in tally.ways:
        assert [tally.chance(found, each) for each in range(2)] == [Fraction(1, 6), Fraction(1, 3)]


@pytest.mark.parametrize("trusts", [False, True], ids=["as it is", "an engine that forgets"])
@pytest.mark.parametrize("hiv", [False, True])
def test_who_holds_a_value_that_persists_hides_no_gap(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hiv: bool, trusts: bool
) -> None:
    """Six have the flu, which does not fit, and 18 more are away. If these are the 18 of whom the
    first release told that they have HIV, the six missing records are all of the flu."""
    series = begin(tmp_path / "s", 4, "1/4", threshold="3/4")
    first, others = ["none"] * 4, ["none", "none", "HIV", "HIV"]
    if not hiv:
        first = others = ["flu", "none", "none", "none"]  # which uses up the budget for it
    publish(series, 4, [first] + [others] * 9)
    held = [["flu", "flu", "none", "none"], *[["flu", "none"]] * 4, *[["none", "none"]] * 5]
    if trusts:
        monkeypatch.setattr(local, "excluded_from_gaps", lambda *_: 0)
    if not hiv:
        made = publish(series, 4, held, suppress=True)
        assert "flu" not in made.tables["sensitive"]["value"].to_list()
        return
    refusal = (GuaranteeExceeded, "by their absence") if trusts else (Infeasible, "would tell")
    with pytest.raises(refusal[0], match=refusal[1]):
        publish(series, 4, held, suppress=True)


def test_a_set_excludes_nothing(tmp_path: Path) -> None:
    """Somebody who has HIV may have the flu as well."""
    series = begin(tmp_path / "s", 4, "3/10", form="rows", threshold="3/4")
    release = publish(series, 4, held_in(4, (2, 0), (1, 1)))
    assert release.figures["groups"] == 1


@pytest.mark.parametrize("form", ["single", "rows"])
def test_nobody_of_a_cohort_that_is_full_gives_cover(tmp_path: Path, form: str) -> None:
    """The first release shows as many of the first cohort with HIV as it ever may. Then one case of
    the flu and eleven records of twelve people: the missing one may be a further holder, so that
    members of the first cohort have the flu less often than the others."""
    size, tally = 4, Tally(4)
    away, ill = [None], ["HIV"]
    for number, (missing, where) in enumerate([(away, 0), (ill, 0), (away, 1), (away, 2)]):
        for sick in range(3):
            held: list[list[str | None]] = [["HIV", "HIV"], [], []]
            held[where] += missing
            held[sick] += ["flu"]
            series = begin(tmp_path / f"{number}{sick}", size, "1/8", form=form)
            publish(series, size, held_in(size, (2, 0, 0), (0, 0, 0)))
            free = (2, 4, 4)  # of each cohort, who may be missing or have the flu
            ways = free[where] * (free[sick] - (where == sick))
            held = [[*each, *["none"] * (size - len(each))] for each in held]
            found = shown(publish(series, size, held))
            assert serigraph.history(series, 11, "flu").probability == Fraction(1, 8)
            tally.add(found, tuple(int(sick == each) for each in range(3)), ways)
    (found,) = tally.ways
    chances = [tally.chance(found, each) for each in range(3)]
    assert sum(chances) * size == 1
    # Those who were published with HIV alone are not enough to leave out.
    assert chances[0] < Fraction(1, 10) < chances[1] == chances[2] <= Fraction(1, 8)


def test_every_reader_counts_alike(tmp_path: Path) -> None:
    """Two cases among eight people of whom two, and later three, have been published with HIV."""
    series = begin(tmp_path / "s", 4, "3/4", threshold="3/4")
    publish(series, 4, held_in(4, (2, 0), (1, 1)))
    publish(series, 4, held_in(4, (0, 1), (1, 1)))
    serigraph.export(series, tmp_path / "e")
    groups = pl.read_parquet(tmp_path / "e/groups.parquet")
    values = pl.read_parquet(tmp_path / "e/values.parquet").filter(pl.col("value") == "flu")
    members = pl.read_parquet(tmp_path / "e/members.parquet")
    assert groups.select("release", "size", "excluded").rows() == [(1, 8, 2), (2, 8, 3)]
    left = Fraction(1)
    for count, size, excluded in (
        members.filter(pl.col("person") == "7")
        .join(values, on=["release", "group"])
        .join(groups, on=["release", "group"])
        .select("count", "size", "excluded")
        .iter_rows()
    ):
        left *= 1 - Fraction(count, size - excluded)
    assert 1 - left == 1 - Fraction(4, 6) * Fraction(3, 5) == Fraction(3, 5)
    assert serigraph.history(series, 7, "flu").probability == Fraction(3, 5)
    audit = serigraph.audit(series)
    assert audit.is_within
    assert audit.files_agree
    assert Fraction(3, 5) == max(each.probability for each in audit.worst if each.value == "flu")


def test_the_verifier_counts_again_who_is_excluded(tmp_path: Path) -> None:
    series = begin(tmp_path / "s", 4, "3/4", threshold="3/4")
    publish(series, 4, held_in(4, (2, 0), (1, 1)))
    ledger = ledger_on_disk(Layout(series.path), series.releases())
    ids = pl.Series(range(8))

    def size() -> int:
        (groups,) = ledger.groups_of(ids, ["flu"], lambda _done, _total: None)
        return int(groups.size[0])

    assert size() == 6
    path = series.path / "ledger/0001/groups.parquet"
    rows = pl.read_parquet(path)
    kept = [rows[name].to_numpy() for name in ("group", "size", "present")]
    for excluded, is_right in ((None, True), (rows["excluded"].to_numpy() - 1, False)):
        path.write_bytes(encode_groups(*kept, excluded))
        digests = {**ledger.releases[0].digests, path.name: digest_of(path.read_bytes())}
        ledger = LedgerOnDisk((replace(ledger.releases[0], digests=digests),))
        if is_right:
            assert size() == 6  # counted, whatever the file says
        else:
            with pytest.raises(LedgerDamaged, match="excluded"):
                size()


def test_an_empty_cohort_says_nothing_about_its_neighbours(tmp_path: Path) -> None:
    """Four records, two of them of the flu, anywhere in three cohorts of seven."""
    size, tally = 7, Tally(7)
    for there in compositions(4, (size,) * 3):
        for sick in compositions(2, there):
            series = begin(tmp_path / f"{there}{sick}", size, "1/2")
            found = shown(publish(series, size, held_in(size, (0, 0, 0), sick, there)))
            joined = pl.read_parquet(series.path / "ledger/0001/cohorts.parquet")
            assert joined.height == 3 * size  # nobody is forgotten
            weight = prod(comb(size, n) * comb(n, s) for n, s in zip(there, sick, strict=True))
            tally.add(found, sick, weight)
    tally.check_claims()


@pytest.mark.parametrize("flu", [4, 5, 6])
def test_a_union_tells_no_more_than_its_size(tmp_path: Path, flu: int) -> None:
    """Everybody is there, and some have the flu, anywhere in three cohorts of seven."""
    size, tally = 7, Tally(7)
    for sick in compositions(flu, (size,) * 3):
        series = begin(tmp_path / f"{sick}", size, "1/2")
        found = shown(publish(series, size, held_in(size, (0, 0, 0), sick)))
        tally.add(found, sick, prod(comb(size, s) for s in sick))
    tally.check_claims()


@pytest.mark.parametrize("seed", range(12))
def test_the_same_people_give_way_to_a_value_and_to_its_class(tmp_path: Path, seed: int) -> None:
    """Two of six have HIV, and value and class have room for one: one is shown."""
    series = begin(
        tmp_path / "s",
        6,
        "1/2",
        threshold="1/6",
        values=("HIV", "lupus", "flu"),
        classes='[protected.classes]\nbad = ["HIV", "lupus"]',
    )
    release = publish(series, 6, [["HIV", "HIV", "none", "none", "none", "none"]], seed)
    held = release.tables["sensitive"]
    assert held.filter(pl.col("value") == "HIV")["count"].to_list() == [1]


def say_any(series: Series) -> None:
    policy = series.path / "policy.toml"
    text = policy.read_text()
    assert 'flu = "transient"' in text
    policy.write_text(text.replace('flu = "transient"', 'flu = "any"'))


def test_a_value_may_become_any_where_cohorts_have_stood(tmp_path: Path) -> None:
    """Who was published with it when it was transient counts from then on, for every reader."""
    series = begin(tmp_path / "s", 6, "1/2", values=("HIV", "flu", "cold"))
    policy = series.path / "policy.toml"
    policy.write_text(policy.read_text().replace('flu = "tr', 'cold = "transient"\nflu = "tr'))
    publish(series, 6, held_in(6, (0, 0), (1, 0)))
    say_any(series)
    for away in (0, 1):
        publish(series, 6, [["none", "flu", *["none"] * (4 - away)], ["cold", *["none"] * 5]])
    serigraph.export(series, tmp_path / "e")
    groups = pl.read_parquet(tmp_path / "e/groups.parquet").group_by("release").sum()
    assert groups.sort("release")["excluded"].to_list() == [0, 2, 2]
    assert serigraph.audit(series).is_within


def test_a_value_that_was_shown_too_often_cannot_become_any(tmp_path: Path) -> None:
    series = begin(tmp_path / "s", 4, "1/2")
    publish(series, 4, held_in(4, (0, 0, 0), (3, 0, 0)))
    say_any(series)
    with pytest.raises(GuaranteeExceeded, match="3 of 4 people who are alike"):
        publish(series, 4, held_in(4, (0, 0, 0), (1, 0, 0)))


def test_a_value_with_a_threshold_too_low_for_its_cohorts_cannot_become_any(tmp_path: Path) -> None:
    series = begin(tmp_path / "s", 4, "1/8")
    publish(series, 4, held_in(4, (0, 0), (1, 0)))
    say_any(series)
    with pytest.raises(Infeasible, match="too small for a single holder"):
        publish(series, 4, held_in(4, (1, 0), (0, 1)))


def test_a_series_without_cohorts_cannot_begin_with_them(tmp_path: Path) -> None:
    series = begin(tmp_path / "s", 4, "1/2")
    policy = series.path / "policy.toml"
    anything = policy.read_text()
    policy.write_text(anything.replace('default = "any"', 'default = "transient"'))
    publish(series, 4, held_in(4, (0, 0), (1, 0)))
    policy.write_text(anything)
    with pytest.raises(PolicyChanged, match="were not kept together in earlier releases"):
        publish(series, 4, held_in(4, (0, 0), (0, 1)))
