"""Every number that a publisher or a reader is shown, recomputed from the ledger and the files.

A page is read as text. Whatever has a digit in it must be what plain code makes of the exported
ledger, the tables, and the policy as it is written here; anything else fails.
"""

from __future__ import annotations

import csv
import hashlib
import json
import math
import random
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from fractions import Fraction
from itertools import accumulate, product
from pathlib import Path
from typing import Any

import pytest

from audit import crowd_oracle
from cli.running import run
from report import recount
from report.reading_pages import Chart, Read, has_number, read_page
from serigraph import __version__
from serigraph.ledger import Series as Ledger

COLUMNS = ("age", "sex", "area")
NUMERIC = {"age"}
UNPROTECTED = {"flu", "gout", "asthma"}
PUBLISHER = """
[publisher]
name = "General Hospital"
contact = "privacy@hospital.example"
[publisher.roles]
"data-protection officer" = "Jo Doe"
"""


@dataclass(frozen=True)
class Case:
    """A series: its policy, and how it is published."""

    form: str
    adversary: str = "presence unknown"
    has_registry: bool = False
    own: dict[str, Fraction] = field(default_factory=dict)
    classes: dict[str, list[str]] = field(default_factory=dict)
    common: bool = False  # a protected value that does not fit
    threshold: Fraction = Fraction(1, 2)
    releases: int = 4  # that the strategy plans for
    minimum: int = 2
    publisher: str = ""

    def policy(self) -> str:
        lines = [
            "version = 1",
            '[person]\nid = "patient"',
            '[quasi_identifiers.age]\nkind = "numeric"',
            '[quasi_identifiers.sex]\nkind = "categorical"',
            '[quasi_identifiers.area]\nkind = "categorical"',
            '[sensitive]\ncolumn = "diagnosis"',
            f"[protected]\nexcept = {json.dumps(sorted(UNPROTECTED))}",
            "[protected.classes]",
            *(
                f"{json.dumps(name)} = {json.dumps(values)}"
                for name, values in self.classes.items()
            ),
            "[protected.thresholds]",
            *(f'{json.dumps(name)} = "{own}"' for name, own in self.own.items()),
            '[protected.persistence]\ndefault = "transient"',
            f'[guarantee]\nthreshold = "{self.threshold}"\nadversary = "{self.adversary}"',
            f"minimum_group_size = {self.minimum}",
            f'[strategy]\nname = "constant"\nreleases = {self.releases}',
            f'[output]\nform = "{self.form}"',
        ]
        return "\n".join(lines) + self.publisher


STD = {"any STD": ["chlamydia", "syphilis"]}
CASES = {
    "generalised": Case("generalised"),
    "generalised, groups of one": Case("generalised", minimum=1),
    "bucketised, registry, own thresholds": Case(
        "bucketised",
        has_registry=True,
        own={"HIV": Fraction(1, 5), "any STD": Fraction(2, 3)},
        classes=STD,
        publisher=PUBLISHER,
    ),
    "generalised, registry, suppression": Case("generalised", has_registry=True, common=True),
    "bucketised, presence known, own thresholds": Case(
        "bucketised", "presence known", own={"HIV": Fraction(1, 4)}, classes=STD
    ),
    "generalised, registry, presence known": Case(
        "generalised", "presence known", has_registry=True, own={"any STD": Fraction(2, 5)},
        classes=STD, minimum=5,
    ),
}  # fmt: skip


@dataclass(frozen=True)
class Made:
    """A series that was published, and what the commands printed."""

    case: Case
    path: Path
    tables: list[Path]
    printed: list[str]
    series: recount.Series


@pytest.fixture(scope="module", params=CASES)
def made(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Made:
    case = CASES[request.param]
    folder = tmp_path_factory.mktemp("numbers")
    tables, registries = write_tables(folder, case)
    path = folder / "clinic"
    printed = []
    Ledger.create(path, {"policy.toml": case.policy().encode()})
    for table, registry in zip(tables, registries, strict=True):
        options: list[object] = ["--new-people"]
        options += [] if registry is None else ["--registry", registry]
        options += ["--allow-suppression"] if case.common else []
        done = run("publish", table, "--series", path, *options)
        assert done.code == 0, done.err
        printed.append(done.out)
    assert run("export", path, folder / "exported").code == 0
    releases = recount.read_releases(folder / "exported", tables, registries, COLUMNS)
    series = recount.Series(tuple(releases), case.threshold, case.own)
    return Made(case, path, tables, printed, series)


def write_tables(folder: Path, case: Case) -> tuple[list[Path], list[Path | None]]:
    """Three tables, with their registries; nobody of the first two is in the third."""
    draw, draw_more = random.Random(5), random.Random(6)
    people = {}
    for number in range(1020):  # the last 600 are in registries only
        of = draw if number < 420 else draw_more
        cells = str(of.randint(20, 79)), of.choice("FM"), of.choice("NESW")
        people[f"p{number:04}"] = cells
    ids = sorted(people)
    values = ["flu", "gout", "asthma", "chlamydia", "syphilis", "HIV", "malaria"]
    weights = [40, 30, 22, 3, 2, 2, 90 if case.common else 2]
    tables: list[Path] = []
    registries: list[Path | None] = []
    for label, chosen, listed in (
        ("r1", ids[:190], [*ids[1:200], *(ids[420:720] if case.common else ())]),
        ("r2", ids[:170], [*ids[1:200], *(ids[420:720] if case.common else ())]),
        ("r3", ids[200:380], [*ids[200:420], *(ids[720:] if case.common else ())]),
    ):
        rows = [(each, *people[each], draw.choices(values, weights)[0]) for each in chosen]
        tables.append(write_rows(folder / f"{label}.csv", (*COLUMNS, "diagnosis"), rows))
        known = [(each, *people[each]) for each in listed]
        registry = write_rows(folder / f"registry-{label}.csv", COLUMNS, known)
        registries.append(registry if case.has_registry else None)
    return tables, registries


def write_rows(path: Path, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> Path:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["patient", *columns])
        writer.writerows(rows)
    return path


# How numbers are written.


def exact(number: Fraction) -> str:
    spelt = f" ({number})" if len(str(number)) <= 12 and number.denominator > 1 else ""
    return f"{float(number):.4f}{spelt}"


def percent(share: float) -> str:
    return f"{100 * share:.1f} %" if share >= 0.001 or share == 0 else f"{100 * share:.2g} %"


def short(number: float) -> str:
    """As an axis and a tooltip have it."""
    if number != 0 and (abs(number) >= 1e9 or abs(number) < 1e-3):
        return f"{number:.0e}"
    return f"{number:,.0f}" if float(number).is_integer() else f"{number:.3g}"


def digits(number: float) -> float:
    return float(f"{number:.3g}")


Shown = str | set[str]  # a text, or those of which it may be one


def nearby(shown: Callable[[float], str], number: float) -> set[str]:
    """How a number is shown that floats may have rounded either way."""
    return {shown(number * (1 + error)) for error in (0, 1e-9, -1e-9)}


def four(number: float) -> str:
    return f"{number:.4f}"


def tooltip(name: str, number: float) -> set[str]:
    return {f"{name}: {each}" for each in nearby(lambda near: short(digits(near)), number)}


def at_release(number: int, *lines: set[str]) -> set[str]:
    """What a chart says of a release, one line below the other."""
    return {" ".join([f"release {number}", *told]) for told in product(*lines)}


def is_one_of(text: str, allowed: Shown) -> bool:
    return text == allowed if isinstance(allowed, str) else text in allowed


def closest(worst: dict[str, recount.Closest]) -> set[str]:
    """How close a series or a release came, in the words of the page; equals may be named each."""
    if not worst:
        return {"nobody is exposed to a protected value"}
    return {
        f"{exact(p)} for {value}; its threshold: {exact(threshold)}"
        for value, (p, threshold) in worst.items()
    }


def in_short(worst: dict[str, recount.Closest], joint: str) -> set[str]:
    return {f"{float(p):.4f}{joint}{threshold}" for p, threshold in worst.values()} or {"none"}


# What is expected.


def target(threshold: Fraction, releases: int) -> float:
    return 1 / (1 - (1 - float(threshold)) ** (1 / releases))


def planned(case: Case) -> str:
    return f"constant ratio for {case.releases} releases, re-planned"


def figures(made: Made, number: int) -> dict[str, Any]:
    """The summary of a release."""
    series, case = made.series.until(number), made.case
    release = series.latest
    touched = series.touched()
    linked = release.linked_sizes()
    spread = recount.widths(release, COLUMNS, NUMERIC)
    near = Fraction(1, 10**9)
    outside = int(case.has_registry and "p0000" in release.values)
    rows = published_rows(made, number)
    return {
        "people": len(release.group),
        "present": sum(release.present.values()),
        "people_alone": sum(size == 1 for size in release.size.values()),
        "rows": rows.total(),
        "unique_rows": sum(count == 1 for count in rows.values()),
        "groups": len(release.size),
        "mean_size": len(release.group) / len(release.size),
        "groups_with_protected_value": len(linked),
        "mean_size_with_protected_value": sum(linked) / max(len(linked), 1),
        "smallest_size": min(release.size.values()),
        "largest_size": max(release.size.values()),
        "protected_values": len(release.holders()),
        "pairs_checked": len(touched),
        "pairs_decided_in_fractions": sum(
            p > series.threshold_of(value) - near for (_, value), p in touched.items()
        ),
        "largest_probability": str(max(touched.values(), default=Fraction(0))),
        "suppressed": dict(release.missing()),
        "suppressed_values": release.missing().total(),
        "normalised_widths": pytest.approx(spread),
        "mean_normalised_width": pytest.approx(sum(spread.values()) / len(spread)),
        "people_in_registry": len(release.cells) - outside if case.has_registry else None,
        "people_outside_registry": outside,
        "people_differing_from_registry": 0,
        "has_registry": case.has_registry,
        "form": case.form,
        "form_of_groups": "regions" if case.form == "generalised" else "interleaved",
        "method": "top-down",
        "strategy": planned(case),
        "is_dated_back": any(
            datetime.fromisoformat(before.published_at)
            > datetime.fromisoformat(release.published_at)
            for before in series.releases[-2:-1]
        ),
    }


def published_rows(made: Made, number: int) -> Counter[tuple[str, ...]]:
    """The quasi-identifiers as the public gets them, and how often each combination occurs."""
    name = "table" if made.case.form == "generalised" else "quasi_identifiers"
    path = made.path / "releases" / f"r{number}" / f"{name}.csv"
    with path.open(encoding="utf-8", newline="") as file:
        return Counter(tuple(row[column] for column in COLUMNS) for row in csv.DictReader(file))


def singled_out(told: Sequence[dict[str, Any]]) -> list[str]:
    """What is said of people alone and of unique rows, over some releases."""
    alone, unique, rows = (
        sum(each[name] for each in told) for name in ("people_alone", "unique_rows", "rows")
    )
    said = []
    if alone:
        assert alone > 1
        said.append(
            f"{alone:,} people are alone in their group: anyone who knows their "
            "quasi-identifiers learns what their records hold"
        )
    if unique:
        said.append(
            f"{unique:,} of {rows:,} rows are unique on the quasi-identifiers "
            f"({100 * unique / rows:.1f} %): anyone who knows that the person is in the table "
            "finds the row"
        )
    return said


def unique_fact(told: dict[str, Any]) -> str:
    share = percent(told["unique_rows"] / told["rows"])
    return f"{told['unique_rows']:,} of {told['rows']:,} ({share})"


def check_summary(found: dict[str, Any], made: Made, number: int) -> None:
    """A summary has these figures, the two worst pairs, and nothing else."""
    series = made.series.until(number)
    expected = figures(made, number)
    rest = {name: each for name, each in found.items() if name not in expected}
    assert {name: found[name] for name in expected} == expected
    assert set(rest) == {"worst_in_release", "worst_in_series"}
    check_pair(rest["worst_in_release"], series.worst(series.touched()))
    check_pair(rest["worst_in_series"], series.worst(series.probabilities()))


def check_pair(found: dict[str, str] | None, worst: dict[str, recount.Closest]) -> None:
    if found is None:
        assert not worst
        return
    probability, threshold = worst[found["value"]]
    assert Fraction(found["probability"]) == probability
    assert Fraction(found["threshold"]) == threshold


# Pages.


def check_facts(page: Read, expected: dict[str, Shown]) -> None:
    """Facts with a number are those that are expected, no more and no fewer."""
    shown = {name: fact for name, fact in page.facts.items() if has_number(fact)}
    assert set(shown) == set(expected)
    for name, fact in shown.items():
        assert is_one_of(fact, expected[name]), name


def check_sentences(page: Read, expected: set[str]) -> None:
    assert {each for each in page.sentences if has_number(each)} == expected


def check_chart(chart: Chart, tooltips: Sequence[Shown], words: set[str], description: str) -> None:
    """Tooltips are as expected, marks of an axis are evenly spaced, and no other word has a
    number."""
    for text, allowed in zip(chart.tooltips, tooltips, strict=True):
        assert is_one_of(text, allowed)
    marks: dict[str, list[tuple[float, float]]] = {}
    for given, text in chart.words:
        if given["tag"] == "desc":
            assert text == description
        elif given.get("class") not in ("heading", "limit-label") and re.fullmatch(
            r"[\d.,]+", text
        ):
            along = "x" if given["text-anchor"] == "middle" else "y"
            marks.setdefault(along, []).append((float(given[along]), float(text.replace(",", ""))))
        elif has_number(text):
            assert text in words, text
    for points in marks.values():
        (first, low), (last, high) = points[0], points[-1]
        for at, number in points:
            along = first + (last - first) * (number - low) / ((high - low) or 1)
            assert at == pytest.approx(along, abs=0.2)


def closeness_chart(page: Read, made: Made, number: int, *, now: bool) -> None:
    """By what was left of the thresholds after each release, or by what is left of them now."""
    shares = []
    for each in range(1, number + 1):
        series = made.series.until(each)
        worst = (made.series if now else series).worst(series.probabilities())
        shares.append(max((p / threshold for p, threshold in worst.values()), default=Fraction(0)))
    assert shares == list(accumulate(shares, max)), "what is so far does not fall"
    check_chart(
        page.charts.pop("Largest share of a threshold reached so far"),
        [f"r{n} any pair of the series: {short(float(p))}" for n, p in enumerate(shares, 1)],
        {"release (1 = r1)", "threshold = 1"},
        "Lines: any pair of the series",
    )


def distribution_chart(page: Read, series: recount.Series, pairs: dict[Any, Fraction]) -> None:
    names = [*(f"{10 * tenth} %" for tenth in range(1, 11)), "above"]
    counts = series.by_share(pairs)
    tallest = names[counts.index(max(counts))]
    check_chart(
        page.charts.pop("Pairs by probability, as a share of the threshold"),
        [f"{name}: {short(count)}" for name, count in zip(names, counts, strict=True)],
        set(names),
        f"11 columns, the tallest at {tallest}",
    )


def width_chart(page: Read, form: str, spread: dict[str, float]) -> None:
    title = "Width of a group per column" if form == "bucketised" else "Information lost per column"
    lengths = {name: digits(width) for name, width in spread.items()}
    tallest = max(lengths, key=lambda name: lengths[name])
    scale = "share of the column's range (0: exact, 1: all lost)"
    check_chart(
        page.charts.pop(title),
        [tooltip(name, width) for name, width in spread.items()],
        {scale} if form == "generalised" else set(),
        f"3 columns, the tallest at {tallest}",
    )


def size_chart(page: Read, release: recount.Release) -> None:
    powers = Counter(size.bit_length() - 1 for size in release.linked_sizes())
    bins = range(min(powers), max(powers) + 1)
    names = {each: f"{2**each}-{2 ** (each + 1) - 1}" if each else "1" for each in bins}
    tallest = max(bins, key=lambda each: powers[each])
    check_chart(
        page.charts.pop("Groups with a protected value, by size"),
        [f"{names[each]}: {short(powers[each])}" for each in bins],
        set(names.values()),
        f"{len(bins)} columns, the tallest at {names[tallest]}",
    )


def value_chart(page: Read, case: Case, series: recount.Series) -> None:
    release = series.latest
    holders = release.holders()
    words = {f"{count / len(release.group):.2%}" for count in holders.values()}
    for value in holders:
        asked = target(series.threshold_of(value), case.releases)
        words.add(f"{value} (target {asked:.1f})")
    chart = page.charts.pop("Share of people with each protected value")
    check_chart(chart, [], words, f"{len(holders)} shares")
    assert words <= {text for _, text in chart.words}


def verdict(releases: int, worst: dict[str, recount.Closest]) -> set[str]:
    over = "in this release" if releases == 1 else f"over all {releases} releases"
    return {
        f"The promise holds if values change freely between releases: {over} nobody can be linked "
        f"to a protected value with a probability above its threshold. Worst case: {each}."
        for each in closest(worst)
    }


def chosen(page: Read, allowed: set[str]) -> str:
    """The one of these that the page says."""
    (found,) = allowed & set(page.sentences)
    return found


@pytest.mark.parametrize("number", [1, 2, 3])
def test_the_page_of_a_release(made: Made, number: int) -> None:
    series, case = made.series.until(number), made.case
    release, told = series.latest, figures(made, number)
    folder = made.path / "releases" / f"r{number}"
    page = read_page((folder / "report.html").read_text(encoding="utf-8"))
    whole, touched = series.probabilities(), series.touched()
    alone, known = release.risks(), release.risks(only_present=True)
    spread = recount.widths(release, COLUMNS, NUMERIC)
    facts: dict[str, Shown] = {
        "People with a record": f"{told['present']:,}",
        "Members without a record": f"{told['people'] - told['present']:,}",
        "Protected values in this release": f"{told['protected_values']}",
        "Releases in the series so far": f"{number}",
        "Worst in the whole series": closest(series.worst(whole)),
        "Worst of the pairs here": closest(series.worst(touched)),
        "Mean of the pairs here": nearby(four, float(sum(touched.values()) / len(touched))),
        "Largest in this release alone": exact(max(alone.values())),
        "Pairs checked": f"{len(touched):,}",
        "Decided in exact fractions": f"{told['pairs_decided_in_fractions']:,}",
        "Strategy": planned(case),
        "Groups": f"{told['groups']:,}",
        "Groups with a protected value": f"{told['groups_with_protected_value']:,}",
        "Mean size of these": f"{told['mean_size_with_protected_value']:.1f} people",
        "Smallest group allowed": f"{case.minimum}",
        "Holders left out": f"{told['suppressed_values']:,}",
        "Largest, if presence were known": exact(max(known.values())),
        "Largest, if one member of each group were known": exact(
            max(release.risks(known=1).values())
        ),
        "People alone in their group": f"{told['people_alone']:,}",
        "Unique rows": unique_fact(told),
        "Budget": f"planned for {case.releases} exposures of a person to a value",
        "Attacked before publication": "deFinetti; downcoding, middle; downcoding, edge: on "
        "everybody and at most 4 values",
    }
    if case.has_registry:
        facts["People not in the registry"] = f"{told['people_outside_registry']}"
    if case.form == "generalised":
        facts["Precision lost, mean of the columns"] = nearby(percent, sum(spread.values()) / 3)
    check_facts(page, facts)
    day = datetime.fromisoformat(release.published_at)
    left_out = ", ".join(f"{name} {number:,}" for name, number in told["suppressed"].items())
    check_sentences(
        page,
        {
            f"Release r{number}",
            f"Release {number} of a series, published {day:%d %B %Y}",
            chosen(page, verdict(number, series.worst(whole))),
            f"The promise is per value, with a threshold of {case.threshold}. That a person holds "
            "one of several protected values may be more probable, unless they are protected as a "
            "class.",
            *(f"{each}." for each in singled_out([told])),
            f"Made by serigraph {__version__}.",
        }
        | (
            {
                f"Holders left out, by value: {left_out}. These values were too frequent for "
                "the guarantee. The holders were drawn at random, by counts alone, and what their "
                "absence reveals is charged to everybody."
            }
            if left_out
            else set()
        ),
    )
    assert [each for each in page.headings if has_number(each)] == [f"Release r{number}"]
    shown = {**series.worst(whole), **series.worst(touched)}
    is_lower = any(t < case.own.get(value, case.threshold) for value, (_, t) in shown.items())
    assert is_lower == any("lower than in the policy" in each for each in page.sentences)
    closeness_chart(page, made, number, now=False)
    distribution_chart(page, series, touched)
    size_chart(page, release)
    width_chart(page, case.form, spread)
    value_chart(page, case, series)
    assert not page.charts
    over_time: list[list[Shown]] = [
        [value, "transient", thresholds_of(value, case, series)]
        for value in sorted(series.latest.holders())
    ]
    check_rows(page.rows, [*over_time, *file_rows(folder, "")])


def thresholds_of(value: str, case: Case, series: recount.Series) -> set[str]:
    """What groups could spend of a threshold before the release, or can spend after it."""
    before = recount.Series(series.releases[:-1], series.threshold, series.own)
    return {str(each.threshold_of(value)) for each in (before, series)}


def file_rows(folder: Path, prefix: str) -> list[list[str]]:
    return [
        [prefix + path.name, hashlib.sha256(path.read_bytes()).hexdigest()]
        for path in sorted(folder.iterdir())
        if prefix or path.name not in ("report.html", "certificate.json")
    ]


def check_rows(rows: list[list[str]], expected: Sequence[Sequence[Shown]]) -> None:
    shown = [row for row in rows if row != ["File", "SHA-256"]]
    for row, cells in zip(filter(has_numbers, shown), expected, strict=True):
        assert all(map(is_one_of, row, cells)), row


def has_numbers(row: list[str]) -> bool:
    return any(map(has_number, row))


@pytest.mark.parametrize("number", [1, 2, 3])
def test_the_certificate_of_a_release(made: Made, number: int) -> None:
    series = made.series.until(number)
    folder = made.path / "releases" / f"r{number}"
    certificate = json.loads((folder / "certificate.json").read_text(encoding="utf-8"))
    check_summary(certificate["figures"], made, number)
    guarantee = certificate["guarantee"]
    touched = series.touched()
    assert set(guarantee) == {
        *("largest_probability", "pairs", "pairs_above_threshold", "rests_on"),
        *("worst_in_release", "worst_in_series"),
    }
    assert guarantee["rests_on"] == "values change freely between releases"
    assert Fraction(guarantee["largest_probability"]) == max(touched.values())
    assert guarantee["pairs"] == len(touched)
    assert guarantee["pairs_above_threshold"] == len(series.above(series.probabilities())) == 0
    check_pair(guarantee["worst_in_release"], series.worst(touched))
    check_pair(guarantee["worst_in_series"], series.worst(series.probabilities()))
    assert Fraction(certificate["threshold"]) == made.case.threshold
    assert (certificate["release"], certificate["label"]) == (number, f"r{number}")
    assert certificate["published_at"] == series.latest.published_at
    attacks = certificate["attacks"]
    assert (attacks["share_of_people"], attacks["highest_lift"]) == ("1", None)
    stated = certificate["publisher"]["name"]
    assert stated == ("General Hospital" if made.case.publisher else None)


def test_what_publish_prints(made: Made) -> None:
    for number, printed in enumerate(made.printed, 1):
        lines = printed.splitlines()
        assert lines[-1] == f"  files: {made.path / 'releases' / f'r{number}'}"
        first = lines.index(next(line for line in lines if line.startswith("Release ")))
        assert " ".join(" ".join(lines[:first]).split()) == value_list(made, number)
        shown = [line for line in lines[first:-1] if not line.startswith("  note: ")]
        for line, allowed in zip(shown, published_lines(made, number), strict=True):
            assert line in allowed
        lost = figures(made, number)["mean_normalised_width"]
        notes = [line for line in lines if line.startswith("  note: ") and has_number(line)]
        if number > 1:
            assert notes.pop(0) == note_on_people(made, number)
        for note in notes:
            assert made.case.form == "generalised"
            share = re.match(r"  note: (\d+)% of the precision is lost", note)
            assert share is not None, note
            assert int(share[1]) / 100 == pytest.approx(lost.expected, abs=0.0051)


def note_on_people(made: Made, number: int) -> str:
    """How many people of the table were members of an earlier release."""
    *earlier, now = made.series.releases[:number]
    known = {person for release in earlier for person in release.group}
    people, new = len(now.values), len(now.values.keys() - known)
    was, are = ("was" if people - new == 1 else "were"), ("is" if new == 1 else "are")
    return (
        f"  note: of {people:,} people in the table, {people - new:,} {was} in the series before, "
        f"and {new:,} {are} new"
    )


def value_list(made: Made, number: int) -> str:
    """What the table holds, which is shown before anything is committed."""
    held = Counter(made.series.releases[number - 1].values.values())

    def counted(values: Iterable[str]) -> str:
        ordered = sorted(values, key=lambda value: (-held[value], value))
        return ", ".join(f"{value} ({held[value]:,})" for value in ordered)

    parts = ["Values, with the number of people who hold each:"]
    parts.append(f"protected: {counted(held.keys() - UNPROTECTED)}")
    for name, members in made.case.classes.items():
        parts.append(f"protected as class {name}: {counted(members)}")
    return " ".join([*parts, f"not protected: {counted(UNPROTECTED)}"])


def published_lines(made: Made, number: int) -> Iterator[set[str]]:
    series, told = made.series.until(number), figures(made, number)
    absent = told["people"] - told["present"]
    yield {f"Release {number}, r{number}: {told['present']:,} people published"}
    if absent:
        yield {f"  with {absent:,} absent members"}
    if told["people_outside_registry"]:
        yield {f"  {told['people_outside_registry']:,} of them are not in the registry"}
    yield {
        f"  {told['groups']:,} groups; with a protected value: "
        f"{told['groups_with_protected_value']:,}, "
        f"{told['mean_size_with_protected_value']:.1f} people each on average"
    }
    words = ("  quasi-identifiers lost ", " of their precision")
    if made.case.form == "bucketised":
        words = (
            "  quasi-identifiers are published as they are; a group spans ",
            " of their ranges",
        )
    width = told["mean_normalised_width"].expected
    yield {each.join(words) for each in nearby(lambda near: f"{near:.1%}", width)}
    for said in singled_out([told]) or ["nobody is alone in a group, and no row is unique"]:
        yield {f"  {said}"}
    if told["suppressed_values"]:
        left_out = [f"{number:,} of {name}" for name, number in told["suppressed"].items()]
        yield {f"  holders left out at random: {', '.join(left_out)}"}
    worst = in_short(series.worst(series.touched()), ", threshold ")
    pairs = f"({told['pairs_checked']:,} pairs checked)"
    yield {f"  guarantee held: worst probability {each} {pairs}" for each in worst}
    yield {"  as long as values change freely between releases"}
    if number > 1:
        so_far = in_short(series.worst(series.probabilities()), ", threshold ")
        yield {f"  over the whole series: worst probability {each}" for each in so_far}
    yield {"  attacks on the draft: too few bets to measure"}


def test_status(made: Made) -> None:
    lines = run("status", made.path).out.splitlines()
    for line, allowed in zip(lines, status_lines(made), strict=True):
        assert line in allowed
    found = run("status", made.path, "--json").json
    series = made.series
    assert found["notes"] == []
    for number, each in enumerate(found["releases"], 1):
        check_summary(each["figures"], made, number)
        check_pair(
            each["worst_in_release"], series.until(number).worst(series.until(number).touched())
        )
        check_pair(
            each["worst_in_series"],
            series.until(number).worst(series.until(number).probabilities()),
        )
    check_pair(found["worst_in_series"], series.worst(series.probabilities()))


def over_time_lines(made: Made) -> Iterator[set[str]]:
    """How many people who held a value when they were last seen hold it again."""
    last: dict[str, set[str]] = {}
    returned, kept, by_chance = Counter[str](), Counter[str](), Counter[str]()
    for release in made.series.releases:
        now = {
            person: {
                release.values[person],
                *(name for name, of in made.case.classes.items() if release.values[person] in of),
            }
            - UNPROTECTED
            for person, is_here in release.present.items()
            if is_here
        }
        back = last.keys() & now.keys()
        before = Counter(value for person in back for value in last[person])
        holders = Counter(value for person in back for value in now[person])
        returned += before
        kept += Counter(value for person in back for value in last[person] & now[person])
        for value in before:
            by_chance[value] += Fraction(before[value] * holders[value], len(back))  # type: ignore[assignment]
        last |= now
    yield {"Values over time, by the policy and by the people who came back:"}
    for value in sorted(returned, key=lambda each: (-returned[each], each))[:12]:
        share, chance = kept[value] / returned[value], by_chance[value] / returned[value]
        yield {
            f"  {value}: transient; of {returned[value]:,} who came back {kept[value]:,} "
            f"{'holds' if kept[value] == 1 else 'hold'} it again ({100 * share:.1f} %, by chance "
            f"{100 * float(chance):.1f} %)"
        }
    if len(returned) > 12:
        yield {f"  and {len(returned) - 12} more"}


def status_lines(made: Made) -> Iterator[set[str]]:
    series, case = made.series, made.case
    yield {f"Series clinic: threshold {case.threshold}, {planned(case)}"}
    for number, release in enumerate(series.releases, 1):
        upto, told = series.until(number), figures(made, number)
        here = in_short(upto.worst(upto.touched()), " of ")
        so_far = in_short(upto.worst(upto.probabilities()), " of ")
        yield {
            f"  {number:>3}  {release.label:<20} {release.published_at[:10]}  "
            f"{told['present']:>10,} people  {told['groups']:>9,} groups  "
            f"worst p {one}, so far {other}  alone {told['people_alone']:,}, unique "
            f"{told['unique_rows'] / told['rows']:.1%}"
            for one in here
            for other in so_far
        }
    latest = max(
        (number for number in (1, 2, 3) if singled_out([figures(made, number)])), default=None
    )
    if latest is not None:
        for said in singled_out([figures(made, latest)]):
            yield {f"In r{latest} {said}."}
    pairs = series.probabilities()
    largest = in_short(series.worst(pairs), ", threshold ")
    yield {f"Over the whole series: worst probability {each}" for each in largest}
    yield from over_time_lines(made)
    ratio = ", ".join([f"{target(case.threshold, case.releases):.1f}"] * case.releases)
    asked = "Members required per holder at the 1st, 2nd, ... exposure"
    yield {f"{asked}: {ratio}; then the budget is used up"}
    people = {person for release in series.releases for person in release.group}
    exposed = {person for person, _ in pairs}
    yield {
        f"{len(exposed):,} of {len(people):,} people were ever in a group with a protected value "
        f"({len(pairs):,} pairs)."
    }
    yield {"Pairs by share of their budget spent:"}
    spent: dict[str, Counter[int]] = {}
    for (_, value), p in pairs.items():
        budget = math.log(1 - float(p)) / math.log(1 - float(series.threshold_of(value)))
        tenth = min(max(math.ceil(10 * budget - 1e-9) - 1, 0), 9)
        spent.setdefault(value, Counter())[tenth] += 1
    total = [sum(each[tenth] for each in spent.values()) for tenth in range(10)]
    for tenth, count in enumerate(total):
        bar = "#" * round(40 * count / max(total))
        yield {f"  up to {10 * (tenth + 1):>3} %  {count:>12,}  {bar}".rstrip()}
    near = {value: each for value, each in spent.items() if each[9]}
    if near:
        yield {"Values with pairs that have spent more than 90 %:"}
        for value, each in sorted(
            near.items(), key=lambda each: (-each[1][9], -each[1].total(), each[0])
        ):
            yield {f"  {value}: {each[9]:,} of {each.total():,} pairs"}


def test_the_report_and_the_certificate_of_the_series(made: Made, tmp_path: Path) -> None:
    series, case = made.series, made.case
    done = run("report", made.path, "--out", tmp_path)
    pairs = series.probabilities()
    worst = series.worst(pairs)
    assert done.out.splitlines()[0] in {
        "The promise holds over 3 releases if values change freely between releases: "
        f"worst probability {each}"
        for each in in_short(worst, ", threshold ")
    }
    page = read_page((tmp_path / "report.html").read_text(encoding="utf-8"))
    told = [figures(made, number) for number in (1, 2, 3)]
    spreads = [recount.widths(release, COLUMNS, NUMERIC) for release in series.releases]
    mean_spread = {name: sum(each[name] for each in spreads) / 3 for name in COLUMNS}
    people = {person for release in series.releases for person in release.group}
    mean = float(sum(pairs.values()) / len(pairs))
    alone = [release.risks() for release in series.releases]
    facts: dict[str, Shown] = {
        "People ever in a release": f"{len(people):,}",
        "Ever exposed to a protected value": f"{len({person for person, _ in pairs}):,}",
        "Worst over all releases": closest(worst),
        "Mean over all releases": nearby(four, mean),
        "Largest in one release alone": exact(max(max(each.values()) for each in alone)),
        "Pairs of a person and a value": f"{len(pairs):,}",
        "Pairs above their threshold": "0",
        "Strategy": planned(case),
        "Holders left out": f"{sum(each['suppressed_values'] for each in told):,}",
    }
    if case.form == "generalised":
        facts["Precision lost, mean of the columns"] = nearby(
            percent, sum(mean_spread.values()) / 3
        )
    check_facts(page, facts)
    days = [release.published_at[:10] for release in series.releases]
    check_sentences(
        page,
        {
            f"3 releases, {days[0]} to {days[-1]}",
            chosen(page, verdict(3, worst)),
            *(f"Summed over the releases: {each}." for each in singled_out(told)),
            f"Made by serigraph {__version__}.",
        },
    )
    closeness_chart(page, made, 3, now=True)
    distribution_chart(page, series, pairs)
    width_chart(page, case.form, dict(sorted(mean_spread.items())))  # as the catalog has them
    means = []
    for number in (1, 2, 3):
        so_far = series.until(number).probabilities()
        means.append(float(sum(so_far.values()) / len(so_far)))
    by_itself = [float(sum(each.values()) / len(each)) for each in alone]
    of_all, of_one = (
        "over all releases so far, of all pairs so far",
        "in each release alone, of its pairs",
    )
    check_chart(
        page.charts.pop("Mean probability of a link"),
        [
            at_release(number, tooltip(of_all, every), tooltip(of_one, own))
            for number, (every, own) in enumerate(zip(means, by_itself, strict=True), 1)
        ],
        set(),
        f"Lines: {of_all}, {of_one}",
    )
    sizes = [each["mean_size_with_protected_value"] for each in told]
    check_chart(
        page.charts.pop("Mean size of the groups with a protected value"),
        [at_release(n, {f"people: {short(size)}"}) for n, size in enumerate(sizes, 1)],
        set(),
        "Lines: people",
    )
    crowds = [crowds_of(series, number) for number in (1, 2, 3)]
    check_chart(
        page.charts.pop("People alone in their crowd"),
        [
            at_release(number, tooltip("of all pairs so far", 100 * each[2] / each[1]))
            for number, each in enumerate(crowds, 1)
        ],
        set(),
        "Lines: of all pairs so far",
    )
    assert not page.charts
    releases = [
        [
            f"r{number}",
            days[number - 1],
            f"{each['present']:,}",
            f"{each['people'] - each['present']:,}",
            f"{each['groups']:,}",
            f"{each['people_alone']:,}",
            percent(each["unique_rows"] / each["rows"]),
            f"{each['suppressed_values']:,}",
        ]
        for number, each in enumerate(told, 1)
    ]
    assumptions = {
        "presence known": series.probabilities(only_present=True),
        "probabilities added up": series.probabilities(adds=True),
        "1 member of each group known": series.probabilities(known=1),
    }
    others = [
        [
            name,
            exact(max(found.values())),
            nearby(four, float(sum(found.values()) / len(found))),
            f"{len(series.above(found)):,}",
            f"{len({person for person, _ in series.above(found)}):,}",
        ]
        for name, found in assumptions.items()
    ]
    files = [
        row
        for number in (1, 2, 3)
        for row in file_rows(made.path / "releases" / f"r{number}", f"r{number}/")
    ]
    alike = [
        [f"r{number}", *(f"{each:,}" for each in found)] for number, found in enumerate(crowds, 1)
    ]
    check_rows(page.rows, [*releases, *others, *alike, *files])
    certificate = json.loads((tmp_path / "certificate.json").read_text(encoding="utf-8"))
    check_pair(certificate["guarantee"]["worst_in_series"], worst)
    assert certificate["guarantee"]["worst_in_release"] is None
    assert Fraction(certificate["guarantee"]["largest_probability"]) == max(pairs.values())
    assert certificate["guarantee"]["pairs"] == len(pairs)
    assert certificate["figures"] == {
        "people": len(people),
        "releases": 3,
        "mean_probability": pytest.approx(mean),
        **{
            name: sum(each[name] for each in told)
            for name in ("people_alone", "rows", "unique_rows")
        },
    }


def crowds_of(series: recount.Series, number: int) -> tuple[int, ...]:
    """Crowds, pairs, those alone, and those above at least and at most, of the first releases."""
    releases = series.releases[:number]
    found: list[crowd_oracle.Expected] = []
    for value in {name for each in series.releases for name in each.holders()}:
        nobody: list[crowd_oracle.Held] = [{} for _ in releases]
        crowds = crowd_oracle.crowds(releases, nobody, value, releases[0].is_presence_known)
        found.append(crowd_oracle.figures(crowds, series.threshold_of(value), 0))
    return tuple(
        sum(getattr(each, name) for each in found)
        for name in ("crowds", "people", "alone", "surely_above", "possibly_above")
    )


def test_the_series_is_worse_than_its_last_release(made: Made) -> None:
    """Otherwise the tests above could not tell the two apart."""
    series = made.series
    (here,) = {p / t for p, t in series.worst(series.touched()).values()}
    (whole,) = {p / t for p, t in series.worst(series.probabilities()).values()}
    assert here < whole
    assert any(release.missing() for release in series.releases) == made.case.common
