"""Where `simulate` and `reproduce` get their people: the options, and what they mean."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from serigraph.errors import InputRefused

if TYPE_CHECKING:
    from serigraph.experiments import Source

Reports = Annotated[
    list[Path] | None,
    typer.Option(
        help="People: Canada Vigilance's reports.txt, VAERSDATA, or any table; repeatable."
    ),
]
Reactions = Annotated[
    list[Path] | None,
    typer.Option(help="Their values: reactions.txt, VAERSSYMPTOMS, or any table; repeatable."),
]
Person = Annotated[str, typer.Option(help="The column with the person's id in both tables.")]
Value = Annotated[str, typer.Option(help="The column with the values.")]
Columns = Annotated[
    list[str] | None, typer.Option("--column", help="A quasi-identifier; repeatable [default: all]")
]
People = Annotated[
    int, typer.Option(min=0, help="Number of people to use; 0 uses all (built-in: 40,478).")
]
Seed = Annotated[int, typer.Option(min=0, help="The same seed gives the same result.")]


def study_source(
    reports: list[Path] | None,
    reactions: list[Path] | None,
    person: str,
    value: str,
    columns: list[str] | None,
    people: int,
    seed: int,
) -> Source:
    """The given files, or the built-in generator if none are given."""
    from serigraph.experiments import built_in_source, read_source

    if bool(reports) != bool(reactions):
        raise InputRefused(
            "people and values come from two tables",
            remedy="give both --reports and --reactions, or neither for the built-in generator",
        )
    if not reports or not reactions:
        return built_in_source(people, seed) if people else built_in_source(seed=seed)
    source = read_source(reports, reactions, person=person, value=value, columns=columns or ())
    return source.sampled(people, seed) if people else source
