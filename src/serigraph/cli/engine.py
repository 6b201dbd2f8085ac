"""The engine options that several commands share."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from serigraph.errors import InputRefused

if TYPE_CHECKING:
    from serigraph.engines import Engine


class EngineName(StrEnum):
    """The available engines."""

    LOCAL = "local"
    SPARK = "spark"


EngineOption = Annotated[
    EngineName, typer.Option("--engine", help="Where to run: on this machine or on Spark.")
]
MasterOption = Annotated[
    str,
    typer.Option(
        help="With --engine spark: the master, such as spark://host:7077 [default: this machine]",
        show_default=False,
    ),
]
SettingOption = Annotated[
    list[str] | None,
    typer.Option(
        "--spark-setting",
        metavar="KEY=VALUE",
        help="With --engine spark: a Spark setting; repeatable.",
    ),
]


def chosen(engine: EngineName, master: str, settings: Sequence[str] | None) -> Engine:
    """The engine that the options ask for; ``InputRefused`` if they contradict each other."""
    if engine == EngineName.LOCAL and (master or settings):
        raise InputRefused(
            "--master and --spark-setting are for the Spark engine", remedy="add --engine spark"
        )
    pairs = [setting.partition("=") for setting in settings or ()]
    if not all(key and equals for key, equals, _ in pairs):
        raise InputRefused(
            "a Spark setting is not of the form KEY=VALUE",
            remedy="write it like --spark-setting spark.executor.memory=4g",
        )
    from serigraph.engines import Local, Spark

    if engine == EngineName.LOCAL:
        return Local()
    return Spark(master=master, settings={key: value for key, _, value in pairs})
