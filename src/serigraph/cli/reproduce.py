"""``serigraph reproduce``"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from serigraph.cli.output import Json, print_json, say, stages
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
    rounds: Annotated[int, typer.Option(min=2, help="Releases per series.")] = 20,
    queries: Annotated[int, typer.Option(min=1, help="Queries per release.")] = 5000,
    seed: Seed = 1,
    workers: Annotated[
        int, typer.Option(min=0, help="Number of processes; 0 means one per processor.")
    ] = 0,
    as_json: Json = False,
) -> None:
    """Run the paper's study and its extensions: one CSV file per figure, and an HTML page."""
    from serigraph.experiments import Extent, all_settings, reproduce

    source = study_source(reports, reactions, person, value, columns, people, seed)
    extent = Extent(rounds=rounds, queries=queries)
    total = len(all_settings(extent, seed))
    with stages([_count(done, total) for done in range(total + 1)]) as progress:
        progress(_count(0, total))
        study = reproduce(
            source,
            out,
            seed=seed,
            workers=workers or os.cpu_count() or 1,
            extent=extent,
            advance=lambda done, total, _name: progress(_count(done, total)),
        )
    claims = (*study.claims, *study.claims_of_time)
    if as_json:
        print_json(
            {
                "source": study.source,
                "people": study.people,
                "page": out / "study.html",
                "files": [out / name for name in study.tables],
                "claims": claims,
            }
        )
        return
    seen = sum(claim.is_seen for claim in claims)
    say(f"{total} series from {study.source}, {study.people:,} people")
    say(f"  {seen} of {len(claims)} statements of the paper were confirmed")
    say(f"  {out / 'study.html'}, and {len(study.tables)} CSV files in the same folder")


def _count(done: int, total: int) -> str:
    return f"{done} of {total} series"
