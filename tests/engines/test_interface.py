"""One interface for engines: publishing and audits walk it, and know no engine."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

import serigraph
from publishing.clinic import clinic, new_series, policy_text
from serigraph.errors import InputRefused
from serigraph.ledger import Series

SOURCE = Path(serigraph.__path__[0])


class Noted:
    """Something that an engine gave, and a list of what is asked of it."""

    def __init__(self, given: Any, asked: list[str]) -> None:
        self._given, self._asked = given, asked

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._given, name)
        if not callable(found):
            return found

        def call(*arguments: Any, **options: Any) -> Any:
            self._asked.append(name)
            result = found(*arguments, **options)
            return Noted(result, self._asked) if name in STEPS[:-2] else result

        return call


STEPS = ["read", "prepare", "recall", "make", "write", "commit", "tables"]


@dataclass(frozen=True)
class NotedEngine:
    """The local engine, which notes what is asked of it; to publishing it is one like any other."""

    asked: list[str] = field(default_factory=list)

    @contextmanager
    def workplace(self, series: Series, table: Any, **options: Any) -> Iterator[Any]:
        with serigraph.Local().workplace(series, table, **options) as work:
            yield Noted(work, self.asked)

    @contextmanager
    def auditor(self, series: Series) -> Iterator[Any]:
        with serigraph.Local().auditor(series) as auditor:
            yield Noted(auditor, self.asked)


@pytest.fixture
def series(tmp_path: Path) -> Series:
    return new_series(tmp_path / "clinic", policy_text())


def test_releases_and_audits_go_one_way_on_any_engine(series: Series) -> None:
    table = clinic(releases=1, people=200, registered=400, seed=5, protected_share=0.1).tables[0]
    engine = NotedEngine()
    release = serigraph.publish(table, series, engine=engine)
    assert [step for step in engine.asked if step in STEPS] == STEPS
    assert release.tables["table"].height == table.height
    engine.asked.clear()
    assert serigraph.audit(series, engine=engine).is_within
    assert engine.asked == ["check", "compare", "tally"]


@pytest.mark.parametrize("package", ["publishing", "auditing", "reporting"])
def test_no_engine_is_known_by_name(package: str) -> None:
    for path in sorted((SOURCE / package).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom):
                assert "spark" not in (node.module or ""), path
                assert "Spark" not in [each.name for each in node.names], path


def test_an_engine_is_no_name(series: Series, tmp_path: Path) -> None:
    named: Any = "spark"
    for ask in (
        lambda: serigraph.publish(tmp_path / "table.csv", series, engine=named),
        lambda: serigraph.audit(series, engine=named),
        lambda: serigraph.export(series, tmp_path / "export", engine=named),
    ):
        with pytest.raises(InputRefused, match="the engine must be an object"):
            ask()


def test_the_package_shows_what_there_is() -> None:
    shown = {name for name in dir(serigraph) if not name.startswith("__")}
    assert shown == set(serigraph.__all__) - {"__version__"}
