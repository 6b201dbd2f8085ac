"""The data contradict a policy that calls a chronic value transient, and publish refuses."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import serigraph
from cli.running import run
from serigraph.errors import InputRefused, NotTransient, PromiseError, TableError
from serigraph.ledger import Series
from serigraph.policy import Persistence, read_policy
from serigraph.runtime.progress import no_progress
from serigraph.web import tasks

PEOPLE = 500
POLICY = """version = 1
[person]
id = "id"
[quasi_identifiers.age]
kind = "numeric"
[quasi_identifiers.zip]
kind = "numeric"
[sensitive]
column = "diagnosis"
form = "delimited"
delimiter = ";"
[protected]
values = ["flu", "HIV", "gout"]
{more}
[guarantee]
threshold = "1/2"
[strategy]
name = "constant"
releases = 4
[output]
form = "bucketised"
files = ["csv"]
"""
STATED = '[protected.persistence]\ndefault = "transient"'


def tables(*chronic: str, seed: int = 1, releases: int = 3) -> Iterator[pl.DataFrame]:
    """Four in five of the same people in each; everybody draws anew what is not chronic."""
    draw = np.random.default_rng(seed)
    age, area = draw.integers(0, 90, PEOPLE), draw.integers(0, 500, PEOPLE)
    held = {name: draw.random(PEOPLE) < 0.03 for name in ("flu", "HIV", "gout")}
    for _ in range(releases):
        sets = [
            ";".join(name for name in held if held[name][person]) or "none"
            for person in range(PEOPLE)
        ]
        people = pl.DataFrame({"id": np.arange(PEOPLE) + 70_000, "age": age, "zip": area})
        yield people.with_columns(diagnosis=pl.Series(sets)).filter(
            pl.Series(draw.random(PEOPLE) < 0.8)
        )
        held |= {name: draw.random(PEOPLE) < 0.03 for name in held if name not in chronic}


def begun(path: Path, more: str = STATED) -> Path:
    Series.create(path, {"policy.toml": POLICY.format(more=more).encode()})
    return path


def headline(page: Path) -> tuple[str, str]:
    """How the headline of a report is marked, and its text."""
    (found,) = re.findall(r'<p class="verdict ?(\w*)">(.*?)</p>', page.read_text(encoding="utf-8"))
    return found[0], found[1].replace("&#39;", "'")


def test_an_acute_panel_is_published(tmp_path: Path) -> None:
    series = begun(tmp_path / "series")
    for table in tables():
        release = serigraph.publish(table, series)
    assert not any("transient" in note for note in release.notes)
    mark, text = headline(release.folder / "report.html")
    assert mark == "holds"
    assert text.startswith("The promise holds if values change freely between releases: over all 3")
    assert all(
        each.returned > 5 and not each.contradicts for each in serigraph.status(series).over_time
    )


def test_a_chronic_value_is_refused_by_name_and_no_person_is_named(tmp_path: Path) -> None:
    series = begun(tmp_path / "series")
    first, second, third = tables("HIV")
    serigraph.publish(first, series, label="r1")
    with pytest.raises(NotTransient) as refused:
        serigraph.publish(second, series, label="r2")
    assert isinstance(refused.value, PromiseError)
    assert refused.value.exit_code == 4
    assert len(refused.value.problems) == 1
    both = {
        person
        for table in (first, second)
        for person in table.filter(pl.col("diagnosis").str.contains("HIV"))["id"]
    }
    back = set(first["id"]) & set(second["id"]) & both
    kept = (
        f"value 'HIV': of {len(back)} who came back {len(back)} hold it again (100.0 %, by chance "
    )
    assert refused.value.problems[0].startswith(kept)
    assert not re.search(r"7\d{4}", str(refused.value))
    assert len(serigraph.status(series).releases) == 1

    with pytest.raises(NotTransient):
        serigraph.publish(third, series, label="r3")
    without = second.with_columns(
        pl.col("diagnosis").str.split(";").list.set_difference(["HIV"]).list.join(";")
    )
    assert serigraph.publish(without, series, label="r2").record.number == 2


def test_an_override_is_in_every_document_and_figures_are_in_none(tmp_path: Path) -> None:
    series = begun(tmp_path / "series")
    first, second, third = tables("HIV")
    serigraph.publish(first, series, label="r1")
    release = serigraph.publish(second, series, label="r2", assume_transient=["HIV"])
    (figures,) = [note for note in release.notes if note.startswith("value 'HIV' is not transient")]
    assert re.search(r"of \d+ who came back \d+ hold it again", figures)
    assert any("overridden for 'HIV'" in note for note in release.notes)

    with pytest.raises(NotTransient):  # an override is for one release
        serigraph.publish(third, series, label="r3")
    without = third.with_columns(diagnosis=pl.lit("none"))
    last = serigraph.publish(without, series, label="r3")
    report = serigraph.report(series)
    for folder in (release.folder, last.folder, report.report.parent):
        mark, text = headline(folder / "report.html")
        assert mark == "broken"
        assert "The promise is not kept for values that persist" in text
        assert "overridden the check of this for 'HIV'" in text
        for document in ("report.html", "certificate.json"):
            words = (folder / document).read_text(encoding="utf-8")
            assert "came back" not in words
    own = json.loads((release.folder / "certificate.json").read_text(encoding="utf-8"))
    assert own["figures"]["assumed_transient"] == ["HIV"]
    whole = json.loads(report.certificate.read_text(encoding="utf-8"))
    assert whole["figures"]["assumed_transient"] == ["HIV"]
    assert serigraph.verify(report.certificate).worst is not None
    caveat = (
        "The promise is not kept for values that persist, and the publisher has overridden the "
        "check of this for 'HIV'."
    )
    only = f"{caveat} The promise holds only if values change freely between releases."
    assert run("audit", series).out.splitlines()[-1] == only
    assert run("audit", series, "--json").json["caveat"] == caveat
    told = run("verify", report.certificate).out
    assert told.splitlines()[-1].startswith("The certificate is true (not checked: publisher")
    assert f". {caveat} Over the whole" in told.splitlines()[-1]
    assert ", only if values change freely" in told
    assert run("verify", report.certificate, "--json").json["caveat"] == caveat
    said = run("report", series, "--out", tmp_path / "made").out.splitlines()
    assert (said[0], said[1][:43]) == (caveat, "The promise holds over 3 releases only if v")
    person = second["id"][0]
    of_value = [
        run("history", series, "--person", person, "--value", v).out for v in ("HIV", "flu")
    ]
    assert ["has overridden the check" in each for each in of_value] == [True, False]
    shown = tasks.audit(no_progress, series=str(series))
    assert (shown["holds"], shown["verdict"].endswith(only)) == (False, True)
    made = tasks.report(no_progress, series=str(series), out=str(tmp_path / "made"))
    assert (made["holds"], made["verdict"].endswith(only)) == (False, True)
    shown = tasks.verify(no_progress, certificate=str(report.certificate))
    assert (shown["holds"], caveat in shown["verdict"]) == (None, True)
    of_person = tasks.person(no_progress, series=str(series), person=str(person), value="HIV")
    assert "has overridden the check" in str(of_person)
    notes = serigraph.status(series).notes
    assert any(note.startswith("value 'HIV' is not transient") for note in notes)
    assert report.notes


def test_a_class_is_measured_as_a_value_of_its_own(tmp_path: Path) -> None:
    """Everybody keeps one of the two, and changes between them."""
    more = f'[protected.classes]\n"either" = ["flu", "gout"]\n{STATED}'
    series = begun(tmp_path / "series", more)
    first, second, _ = tables("flu", "gout")
    swapped = pl.col("diagnosis").str.replace_many({"flu": "gout", "gout": "flu"})
    serigraph.publish(first, series, label="r1")
    with pytest.raises(NotTransient) as refused:
        serigraph.publish(second.with_columns(swapped), series, label="r2")
    assert [each.split(":")[0] for each in refused.value.problems] == ["value 'either'"]


def test_a_policy_that_states_nothing_says_so_loudly(tmp_path: Path) -> None:
    series = begun(tmp_path / "series", more="")
    for table in tables():
        release = serigraph.publish(table, series)
        assert any("does not say whether values persist" in note for note in release.notes)
        mark, text = headline(release.folder / "report.html")
        assert mark == ""
        assert text.startswith(
            "This report assumes that values change freely between releases, and"
        )
    assert any("does not say" in note for note in serigraph.status(series).notes)
    made = serigraph.report(series)
    mark, text = headline(made.report)
    assert (mark, text[:19]) == ("", "This report assumes")
    unsaid = "The policy does not say whether values persist."
    only = f"{unsaid} The promise holds only if values change freely between releases."
    assert run("audit", series).out.splitlines()[-1] == only
    assert tasks.audit(no_progress, series=str(series))["holds"] is None
    assert unsaid in serigraph.verify(made.certificate).conclusion
    assert unsaid in serigraph.history(series, table["id"][0], "HIV").caveat
    policy = series / "policy.toml"
    policy.write_text(POLICY.format(more=STATED), encoding="utf-8")
    *_, another = tables(releases=4)
    assert not any("does not say" in note for note in serigraph.publish(another, series).notes)


def test_releases_that_did_not_record_holders_are_not_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    series = begun(tmp_path / "series")
    first, second, third = tables("HIV")
    with monkeypatch.context() as as_before:
        from serigraph.ledger import encoding

        encode = encoding.encode_parts

        def without_holders(*given: object) -> encoding.EncodedParts:
            from dataclasses import replace

            made = encode(*given)  # type: ignore[arg-type]
            contents = {name: each for name, each in made.contents.items() if "holders" not in name}
            digests = tuple(each for each in made.digests if each.name in contents)
            return replace(made, contents=contents, digests=digests)

        as_before.setattr("serigraph.ledger.writer.encode_parts", without_holders)
        serigraph.publish(first, series, label="r1")
    release = serigraph.publish(second, series, label="r2")
    assert any("1 earlier release of version 0.1 or of Spark" in note for note in release.notes)
    with pytest.raises(NotTransient, match="2 releases and this table"):
        serigraph.publish(third, series, label="r3")


@pytest.mark.parametrize("name", ["none", "measles"])
def test_only_a_transient_protected_value_can_be_overridden(name: str, tmp_path: Path) -> None:
    series = begun(tmp_path / "series")
    with pytest.raises(InputRefused, match=f"'{name}' cannot be assumed to be transient"):
        serigraph.publish(next(tables()), series, assume_transient=[name])


def test_the_command_takes_overrides_and_shows_values_over_time(tmp_path: Path) -> None:
    series = begun(tmp_path / "series")
    files = []
    for number, table in enumerate(tables("HIV", "gout")):
        files.append(tmp_path / f"r{number}.csv")
        table.write_csv(files[-1])
    publish = ["publish", "--series", str(series)]
    assert run(*publish, str(files[0])).code == 0
    refused = run(*publish, str(files[1]))
    assert refused.code == 4
    assert "NotTransient" in refused.err
    planned = run("plan", str(files[1]), "--series", str(series))
    assert "  flu: transient; of " in planned.out
    assert planned.out.count("CONTRADICTS the policy") == 2
    one = ["--assume-transient", "HIV"]
    assert run(*publish, str(files[1]), *one).code == 4
    assert run(*publish, str(files[1]), *one, "--assume-transient", "gout").code == 0
    told = run("status", str(series))
    assert told.out.count("CONTRADICTS the policy") == 2
    machines = run("status", series, "--json").json
    over_time = {each["name"]: each for each in machines["values_over_time"]}
    assert over_time["HIV"]["kept"] == over_time["HIV"]["returned"] > 5
    assert [each["contradicts"] for each in over_time.values()] == [True, False, True]


def first_tables(*chronic: str) -> list[pl.DataFrame]:
    """Tables in which everybody has one value, for `init`."""
    last = pl.col("diagnosis").str.split(";").list.last()
    return [table.with_columns(last) for table in tables(*chronic)]


def proposed(begun: serigraph.NewSeries) -> dict[str, str]:
    text = begun.policy.read_text(encoding="utf-8")
    section: dict[str, str] = tomllib.loads(text)["protected"]["persistence"]
    return section


def test_init_assumes_nothing_that_nobody_has_said_or_measured(tmp_path: Path) -> None:
    first, *_ = first_tables("gout")
    begun = serigraph.init(tmp_path / "one", first, sensitive="diagnosis")
    assert proposed(begun) == {"default": "any"}
    assert any("--persistence transient" in note for note in begun.notes)


@pytest.mark.parametrize("stated", ["transient", "permanent", "any"])
def test_init_writes_what_the_publisher_states(tmp_path: Path, stated: Persistence) -> None:
    first, *_ = first_tables("gout")
    begun = serigraph.init(tmp_path / "one", first, sensitive="diagnosis", persistence=stated)
    assert proposed(begun) == {"default": stated}
    text = begun.policy.read_text(encoding="utf-8")
    assert f'default = "{stated}"  # stated by the publisher\n' in text
    assert any("never again" in note for note in begun.notes) == (stated != "transient")
    serigraph.publish(first, begun.path)


def test_init_refuses_a_statement_that_it_does_not_know(tmp_path: Path) -> None:
    first, *_ = first_tables()
    with pytest.raises(InputRefused, match="persistence"):
        serigraph.init(tmp_path / "one", first, sensitive="diagnosis", persistence="chronic")  # type: ignore[arg-type]
    assert not (tmp_path / "one").exists()


@pytest.mark.parametrize("stated", [None, "transient"])
def test_init_measures_what_further_tables_tell(tmp_path: Path, stated: Persistence | None) -> None:
    first, *others = first_tables("gout")
    made = serigraph.init(
        tmp_path / "two", first, sensitive="diagnosis", also=others, persistence=stated
    )
    text = made.policy.read_text(encoding="utf-8")
    assert re.search(
        r'^"gout" = "any"  # of \d+ who came back \d+ hold it again \(100.0 %', text, re.M
    )
    assert read_policy(made.policy).persistence_of("gout") == "any"
    assert any("people keep 'gout'" in note for note in made.notes)
    # Without a registry, nothing may be transient beside it.
    assert set(proposed(made).values()) == {"any"}
    serigraph.publish(first, made.path)


def test_init_calls_transient_what_all_tables_show_to_pass(tmp_path: Path) -> None:
    # Twenty tables show of every value that it passes.
    last = pl.col("diagnosis").str.split(";").list.last()
    first, *others = (table.with_columns(last) for table in tables(releases=20))
    made = serigraph.init(tmp_path / "passing", first, sensitive="diagnosis", also=others)
    assert set(proposed(made).values()) == {"transient"}
    assert {"default", "flu", "gout", "HIV"} <= set(proposed(made))
    serigraph.publish(first, made.path)


def test_init_refuses_tables_that_cannot_be_compared(tmp_path: Path) -> None:
    first, second, _ = first_tables("gout")
    with pytest.raises(TableError, match="table 2: column 'diagnosis' is missing"):
        serigraph.init(
            tmp_path / "three", first, sensitive="diagnosis", also=[second.drop("diagnosis")]
        )
