"""Standard streams that never fail: a full disk or a closed pipe must not make a command look as if
it had failed."""

from __future__ import annotations

import io
import mmap
import os
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from typing import TextIO

from serigraph.runtime.unforeseen import SHOW_ALL


class Writing:
    """Whether output is being written, which may take as long as its reader likes; in memory shared
    with forked processes. Use it as ``with writing:``."""

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
    """A stream that goes on after a failed write, and remembers it."""

    def __init__(self, stream: TextIO | None, writing: Writing | None = None) -> None:
        self._stream = stream  # None if it was closed before the program began
        self._writing: AbstractContextManager[None] = writing or nullcontext()
        self.has_failed = False
        if isinstance(stream, io.TextIOWrapper):
            # A path may be text that the terminal cannot show, or no text at all.
            stream.reconfigure(errors="backslashreplace")

    @property
    def encoding(self) -> str:  # type: ignore[override]  # the stream below has it
        return getattr(self._stream, "encoding", None) or "utf-8"

    def write(self, text: str) -> int:
        try:
            if self._stream is None:
                raise OSError
            with self._writing:
                self._stream.write(text)
        except (OSError, ValueError):  # ValueError: closed in the meantime
            self._give_up()
        return len(text)

    def flush(self) -> None:
        try:
            if self._stream is not None:
                with self._writing:
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
        """Discard what is still buffered, or the interpreter tries to write it at exit."""
        self.has_failed = True
        with suppress(OSError, ValueError, AttributeError):
            number = self.fileno()
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, number)
            os.close(nowhere)


class WithoutTracebacks(Outlet):
    """A stream that drops tracebacks: when memory runs out, libraries print exceptions that they do
    not raise, bypassing ``sys.excepthook``."""

    _line = ""  # not yet complete
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
def standard_streams(writing: Writing | None = None) -> Iterator[Outlet]:
    """Make output never fail; yields standard output, which knows whether a write did. A supervised
    process (with ``writing``) shows no traceback unless asked to."""
    _occupy()
    before = sys.stdout, sys.stderr
    out = Outlet(sys.stdout, writing)
    hides_tracebacks = writing is not None and not os.environ.get(SHOW_ALL)
    error_stream = WithoutTracebacks if hides_tracebacks else Outlet
    sys.stdout, sys.stderr = out, error_stream(sys.stderr, writing)
    try:
        yield out
    finally:
        sys.stderr.flush()
        sys.stdout, sys.stderr = before


def _occupy() -> None:
    """Open /dev/null for closed standard streams: otherwise the next file opened would take the
    number, and receive the output of a library or a child process."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest free number
