"""The reference pages are complete: commands, public names of the package, errors."""

from __future__ import annotations

import dataclasses
import inspect
import re
import runpy
from collections.abc import Iterator

import pytest
from typer.testing import CliRunner

import serigraph
from docs.pages import ROOT
from serigraph import errors
from serigraph.attacking import Attacked, Finding
from serigraph.auditing import Audit
from serigraph.cli import app as command_line
from serigraph.ledger import PastExposure, ReleaseRecord
from serigraph.planning import SeriesPlan
from serigraph.publishing import NewSeries, PersonHistory, Published, Status
from serigraph.publishing.differences import Differences
from serigraph.publishing.standing import ValueStanding
from serigraph.reporting import Draft
from serigraph.reporting.series_report import SeriesReport
from serigraph.reporting.verifying import Verified
from serigraph.signing import KeyPair

REFERENCE = ROOT / "docs/reference"
RESULTS = [
    Attacked,
    Audit,
    Differences,
    Draft,
    Finding,
    NewSeries,
    KeyPair,
    PastExposure,
    PersonHistory,
    Published,
    ReleaseRecord,
    SeriesPlan,
    SeriesReport,
    Status,
    ValueStanding,
    Verified,
]


def sections(name: str, level: str = "## ") -> dict[str, str]:
    text = (REFERENCE / name).read_text(encoding="utf-8")
    parts = re.split(rf"^{level}", text, flags=re.MULTILINE)[1:]
    return {part.partition("\n")[0].strip("`"): part for part in parts}


def test_the_command_line_reference_is_what_the_commands_say() -> None:
    generated = runpy.run_path(str(ROOT / "docs/generate_cli_reference.py"))["page"]()
    page = (REFERENCE / "cli.md").read_text(encoding="utf-8")
    assert page == generated, "run: python docs/generate_cli_reference.py"


def test_every_command_is_in_the_reference_and_speaks_json() -> None:
    commands = [command.name for command in command_line.app.registered_commands]
    described = sections("cli.md")
    assert {f"serigraph {name}" for name in commands} == set(described)
    assert all("`--json`" in text for text in described.values())


def test_help_of_every_command_fits_in() -> None:
    for command in command_line.app.registered_commands:
        result = CliRunner().invoke(command_line.app, [str(command.name), "--help"])
        assert result.exit_code == 0


def test_every_public_name_is_in_the_reference() -> None:
    described = sections("python.md")
    functions = {name for name in serigraph.__all__ if inspect.isfunction(getattr(serigraph, name))}
    assert functions | {"Local", "Series", "Spark", "__version__"} == set(serigraph.__all__)
    assert set(serigraph.__all__) <= set(described)
    for name in functions:
        for parameter in inspect.signature(getattr(serigraph, name)).parameters:
            assert f"`{parameter}`" in described[name], (name, parameter)


def test_every_method_of_a_series_is_in_the_reference() -> None:
    methods = {name for name, _ in inspect.getmembers(serigraph.Series) if name[0] != "_"}
    assert {name for name in methods if f"`{name}" not in sections("python.md")["Series"]} == set()


@pytest.mark.parametrize("result", RESULTS, ids=lambda result: result.__name__)
def test_every_field_of_a_result_is_in_the_reference(result: type) -> None:
    described = sections("python.md", "### ")[result.__name__].partition("\n## ")[0]
    properties = {n for n, each in vars(result).items() if isinstance(each, property)}
    fields = {field.name for field in dataclasses.fields(result)} | properties
    assert fields == set(re.findall(r"^\| `(\w+)` \|", described, flags=re.MULTILINE))


def tree(error: type[errors.SerigraphError]) -> Iterator[type[errors.SerigraphError]]:
    yield error
    for child in error.__subclasses__():
        yield from tree(child)


def test_every_error_is_in_the_reference_with_its_exit_code() -> None:
    rows = re.findall(
        r"^\| `(\w+)` \| `(\w+)` \| (\d+) \|",
        (REFERENCE / "errors.md").read_text(encoding="utf-8"),
        flags=re.MULTILINE,
    )
    known = [
        (error.__name__, error.__mro__[1].__name__, str(error.exit_code))
        for error in tree(errors.SerigraphError)
        if error is not errors.SerigraphError and error.__module__ == errors.__name__
    ]
    assert sorted(rows) == sorted(known)


def test_every_exit_code_is_in_the_reference() -> None:
    documented = re.findall(r"^\| (\d+) \|", sections("errors.md")["Exit codes"], re.MULTILINE)
    raised = {error.exit_code for error in tree(errors.SerigraphError)}
    assert {0, 1, 2, 130, 143} | raised == {int(code) for code in documented}
