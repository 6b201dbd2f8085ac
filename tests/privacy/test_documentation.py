"""Every function of the mathematics says where it comes from, and shows itself at work."""

from __future__ import annotations

import ast
import doctest
import importlib
import pkgutil
import re
import sys
from pathlib import Path

import pytest

import serigraph.privacy

MODULES = [
    importlib.import_module(f"serigraph.privacy.{found.name}")
    for found in pkgutil.iter_modules(serigraph.privacy.__path__)
]
SOURCES = [Path(str(module.__file__)) for module in MODULES]
CITATION = re.compile(r"Lemma|Theorem|Corollary|Section|Problem|Principle|Differs from the paper:")


def public_functions(source: Path) -> list[ast.FunctionDef]:
    tree = ast.parse(source.read_text(encoding="utf-8"))
    return [node for node in tree.body if isinstance(node, ast.FunctionDef) if node.name[0] != "_"]


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__)
def test_doctests(module) -> None:  # type: ignore[no-untyped-def]
    result = doctest.testmod(module)
    assert result.attempted > 0
    assert result.failed == 0


@pytest.mark.parametrize("source", SOURCES, ids=lambda source: source.stem)
def test_every_public_function_has_a_doctest(source: Path) -> None:
    for function in public_functions(source):
        assert ">>>" in (ast.get_docstring(function) or ""), function.name


@pytest.mark.parametrize("name", ["breach", "ratios", "schedules", "worlds"])
def test_every_formula_cites_the_paper_or_says_how_it_differs(name: str) -> None:
    plain_arithmetic = {"rounded_up", "log_of"}
    source = next(source for source in SOURCES if source.stem == name)
    formulas = [f for f in public_functions(source) if f.name not in plain_arithmetic]
    assert formulas
    for function in formulas:
        assert CITATION.search(ast.get_docstring(function) or ""), function.name


@pytest.mark.parametrize("source", SOURCES, ids=lambda source: source.stem)
def test_only_the_standard_library_is_imported(source: Path) -> None:
    tree = ast.parse(source.read_text(encoding="utf-8"))
    imported = {
        name.split(".")[0]
        for node in ast.walk(tree)
        for name in (
            [alias.name for alias in node.names]
            if isinstance(node, ast.Import)
            else [str(node.module)]
            if isinstance(node, ast.ImportFrom)
            else []
        )
    }
    assert imported <= set(sys.stdlib_module_names) | {"serigraph"}
