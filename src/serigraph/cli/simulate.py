"""``serigraph simulate``"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from serigraph.cli.output import Json, print_json, say
from serigraph.cli.study_source import (
    Columns,
    People,
    Person,
    Reactions,
    Reports,
    Seed,
    Value,
    study_source,
)


def command(  # an option each
    out: Annotated[Path, typer.Option(help="Folder to write to.")],
    reports: Reports = None,
    reactions: Reactions = None,
    person: Person = "",
    value: Value = "",
    columns: Columns = None,
    people: People = 0,
    rounds: Annotated[int, typer.Option(min=1, help="How many tables to make.")] = 20,
    return_rate: Annotated[
        float, typer.Option(min=0, max=1, help="Share of people who return in the next table.")
    ] = 0.2,
    change_rate: Annotated[
        float, typer.Option(min=0, max=1, help="Share of people whose value changes.")
    ] = 0.2,
    seed: Seed = 1,
    file_format: Annotated[
        Literal["csv", "parquet"], typer.Option("--format", help="File format of the tables.")
    ] = "csv",
    as_json: Json = False,
) -> None:
    """Simulate the paper's series of tables, from real or generated people."""
    from serigraph.experiments import Simulation, write_simulation

    source = study_source(reports, reactions, person, value, columns, people, seed)
    simulation = Simulation(rounds, return_rate, change_rate, seed)
    written = write_simulation(source, simulation, out, file_format)
    values = source.reactions["value"].n_unique()
    if as_json:
        print_json(
            {
                "source": source.name,
                "people": source.people.height,
                "reactions": source.reactions.height,
                "values": values,
                "files": written,
            }
        )
        return
    say(
        f"{rounds} tables from {source.name}: {source.people.height:,} people, "
        f"{source.reactions.height:,} reactions, {values:,} values"
    )
    say(f"  {written[0]}, {written[1].name} ... {written[rounds].name}")
    say(f"  {written[-1]}: a matching policy; {written[-2].name}: the values that it protects")
