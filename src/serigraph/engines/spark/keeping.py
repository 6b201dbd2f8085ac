"""Frames that Spark persists, so that they are computed once, and always releases."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class PersistedFrames:
    """Use as ``with PersistedFrames() as kept``: nothing stays in memory after the block."""

    def __init__(self) -> None:
        self._frames: list[DataFrame] = []

    def keep(self, frame: DataFrame) -> DataFrame:
        self._frames.append(frame.persist())
        return self._frames[-1]

    def release(self, frame: DataFrame) -> None:
        frame.unpersist()
        self._frames = [each for each in self._frames if each is not frame]

    def __enter__(self) -> PersistedFrames:
        return self

    def __exit__(self, *_: object) -> None:
        for frame in self._frames:
            with suppress(Exception):  # a lost cluster keeps nothing; a release may be published
                frame.unpersist()
