"""Running the command line in this process, as a user's shell would."""

from __future__ import annotations

import contextlib
import io
import json
import sys
from dataclasses import dataclass
from typing import Any

from serigraph.cli import main


@dataclass(frozen=True)
class Ran:
    """How a command ended, and what it printed."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out, parse_constant=_refuse)


def run(*arguments: object) -> Ran:
    """Run ``serigraph`` with these arguments; nothing is a terminal here."""
    out, err = io.StringIO(), io.StringIO()
    code: object = None
    before, sys.argv = sys.argv, ["serigraph", *map(str, arguments)]
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            main()
    except SystemExit as end:
        code = end.code
    finally:
        sys.argv = before
    return Ran(code if isinstance(code, int) else int(bool(code)), out.getvalue(), err.getvalue())


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is no JSON")
