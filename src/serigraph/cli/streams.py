"""Standard output and standard error that never fail: a full disk or a reader that is gone must not
look like a command that failed."""

from __future__ import annotations

import io
import mmap
import os
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from typing import TextIO

from serigraph.cli.unforeseen import SHOW_ALL


class Telling:
    """Whether something is being written, which may take as long as the reader likes: in memory
    that a process has in common with those forked from it. Use it as ``with telling:``."""

    def __init__(self) -> None:
        self._shared = mmap.mmap(-1, 1)

    @property
    def is_under_way(self) -> bool:
        return bool(self._shared[0])

    def __enter__(self) -> None:
        self._shared[0] = 1

    def __exit__(self, *_: object) -> None:
        self._shared[0] = 0


class Outlet(io.TextIOBase):
    """A stream that remembers that something could not be written, and goes on."""

    def __init__(self, stream: TextIO | None, telling: Telling | None = None) -> None:
        self._stream = stream  # None if it was closed before the program began
        self._telling: AbstractContextManager[None] = telling or nullcontext()
        self.has_failed = False
        if isinstance(stream, io.TextIOWrapper):
            # A path need not be text that the terminal can show, nor text at all.
            stream.reconfigure(errors="backslashreplace")

    @property
    def encoding(self) -> str:  # type: ignore[override]  # the stream below has it
        return getattr(self._stream, "encoding", None) or "utf-8"

    def write(self, text: str) -> int:
        try:
            if self._stream is None:
                raise OSError
            with self._telling:
                self._stream.write(text)
        except (OSError, ValueError):  # ValueError: it was closed since
            self._give_up()
        return len(text)

    def flush(self) -> None:
        try:
            if self._stream is not None:
                with self._telling:
                    self._stream.flush()
        except (OSError, ValueError):
            self._give_up()

    def isatty(self) -> bool:
        try:
            return self._stream is not None and self._stream.isatty()
        except ValueError:
            return False

    def fileno(self) -> int:
        if self._stream is None:
            raise io.UnsupportedOperation("fileno")
        return self._stream.fileno()

    def _give_up(self) -> None:
        """Throw away what is still to be written, or else the interpreter tries it at its end."""
        self.has_failed = True
        with suppress(OSError, ValueError, AttributeError):
            number = self.fileno()
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, number)
            os.close(nowhere)


class WithoutTracebacks(Outlet):
    """A stream that leaves out tracebacks: where there is no memory, libraries print exceptions
    that they do not raise, and do not ask ``sys.excepthook`` whether they may."""

    _line = ""  # its end is still to come
    _is_traceback = False

    def write(self, text: str) -> int:
        *lines, self._line = (self._line + text).split("\n")
        for line in lines:
            if self._is_traceback:
                self._is_traceback = line.startswith(" ")  # the exception itself ends it
            elif line.startswith("Traceback (most recent call last):"):
                self._is_traceback = True
            else:
                super().write(line + "\n")
        return len(text)

    def flush(self) -> None:
        if self._line and not self._is_traceback:
            super().write(self._line)
            self._line = ""
        super().flush()


@contextmanager
def standard_streams(telling: Telling | None = None) -> Iterator[Outlet]:
    """Let nothing that is said fail; gives standard output, which knows whether it was told. A
    process that is supervised (its ``telling`` is given) shows no traceback, unless asked to."""
    _occupy()
    before = sys.stdout, sys.stderr
    out = Outlet(sys.stdout, telling)
    hides_tracebacks = telling is not None and not os.environ.get(SHOW_ALL)
    error_stream = WithoutTracebacks if hides_tracebacks else Outlet
    sys.stdout, sys.stderr = out, error_stream(sys.stderr, telling)
    try:
        yield out
    finally:
        sys.stderr.flush()
        sys.stdout, sys.stderr = before


def _occupy() -> None:
    """Give closed standard streams a file: the next one that is opened would take the number, and
    get what a library or a child process says."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest number that is free
