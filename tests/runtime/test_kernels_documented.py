"""Every parameter of every kernel is documented, constants come from modules with kernels, and long
functions give a reason."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import serigraph

PACKAGE = Path(serigraph.__file__).parent
DECORATORS = {"kernel", "kernel_helper", "allocating_helper"}
LONGEST, MOST = 60, 8


def modules() -> list[Path]:
    marker = "serigraph.runtime.compiled import"
    return [path for path in sorted(PACKAGE.rglob("*.py")) if marker in path.read_text()]


def kernels_of(module: Path) -> Iterator[ast.FunctionDef]:
    for node in ast.parse(module.read_text()).body:
        if isinstance(node, ast.FunctionDef) and any(
            isinstance(each, ast.Name) and each.id in DECORATORS for each in node.decorator_list
        ):
            yield node


def words_in(docstring: str | None) -> set[str]:
    """The names between double backticks, with what is indexed by what."""
    quoted = re.findall(r"``([^`]*)``", docstring or "")
    return {word for each in quoted for word in re.findall(r"\w+", each)}


def shared_words(module: Path) -> set[str]:
    """What the module, or the layout of its package, says of parameters that recur."""
    found = words_in(ast.get_docstring(ast.parse(module.read_text())))
    layout = module.with_name("layout.py")
    if layout.exists():
        found |= words_in(ast.get_docstring(ast.parse(layout.read_text())))
    return found


@pytest.mark.parametrize("module", modules(), ids=lambda path: path.relative_to(PACKAGE).as_posix())
def test_every_parameter_is_documented(module: Path) -> None:
    shared = shared_words(module)
    for kernel in kernels_of(module):
        known = shared | words_in(ast.get_docstring(kernel))
        missing = [each.arg for each in kernel.args.args if each.arg not in known]
        assert not missing, (kernel.name, missing)


@pytest.mark.parametrize(
    "package", sorted({path.parent for path in PACKAGE.rglob("*.py")}), ids=str
)
def test_long_functions_give_a_reason(package: Path) -> None:
    """On the line of their ``def``. A docstring does not count, nor do ``self`` and ``cls``."""
    for module in package.glob("*.py"):
        text = module.read_text(encoding="utf-8")
        lines = text.splitlines()
        assert len(lines) <= 500, module.name
        for node in ast.walk(ast.parse(text)):
            if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                continue
            first = node.body[ast.get_docstring(node) is not None :][:1] or node.body
            body = (node.end_lineno or 0) - first[0].lineno + 1
            given = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
            parameters = [each for each in given if each.arg not in ("self", "cls")]
            if body > LONGEST or len(parameters) > MOST:
                assert "#" in lines[node.lineno - 1], (module.name, node.name)


@pytest.mark.parametrize("module", modules(), ids=lambda path: path.relative_to(PACKAGE).as_posix())
def test_constants_come_from_modules_with_kernels(module: Path) -> None:
    """Numba takes them in when it compiles, and only these modules name the cache's folder."""
    named = {".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts) for path in modules()}
    for node in ast.walk(ast.parse(module.read_text())):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("serigraph."):
            for alias in node.names:
                if alias.name.isupper() and "runtime.threads" not in (node.module or ""):
                    assert node.module in named, (module.name, alias.name)
