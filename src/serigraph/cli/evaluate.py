"""``serigraph evaluate``"""

from __future__ import annotations

import math
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from serigraph.cli.output import Json, plain, print_json, say, stages

if TYPE_CHECKING:
    from serigraph.utility import Evaluation, QueryErrors


def command(
    series: Annotated[Path, typer.Argument(help="Folder of the series.")],
    tables: Annotated[
        list[Path] | None, typer.Argument(help="The tables that the releases were made from.")
    ] = None,
    registry: Annotated[
        Path | None, typer.Option(help="The population list that was used, if any.")
    ] = None,
    queries: Annotated[int, typer.Option(min=1, help="Queries per release and workload.")] = 5000,
    columns: Annotated[int, typer.Option(min=1, help="Quasi-identifiers per query.")] = 2,
    selectivity: Annotated[
        float,
        typer.Option(min=0.0001, max=1, help="Expected share of the records that a query matches."),
    ] = 0.05,
    seed: Annotated[int, typer.Option(min=0, help="The same seed gives the same queries.")] = 1,
    as_json: Json = False,
) -> None:
    """Measure the utility of published releases: query errors, widths and group sizes.

    A series does not keep its tables, so give them again; each is recognised by its content. A
    release without its table shows the figures recorded when it was published.
    """
    from serigraph.utility import QueryPlan, evaluate
    from serigraph.utility.evaluation import STAGES

    with stages(STAGES) as progress:
        found = evaluate(
            series,
            tables or (),
            registry=registry,
            plan=QueryPlan(queries, columns, selectivity, seed),
            progress=progress,
        )
    if as_json:
        print_json(_as_plain(found))
    else:
        _tell(found)


def _as_plain(found: Evaluation) -> dict[str, Any]:
    """For JSON: figures only, without the errors of single queries; null where there is none."""
    releases = []
    for each in found.releases:
        row = {field.name: getattr(each, field.name) for field in fields(each)}
        row["errors"] = _figures(each.errors)
        row["errors_protected"] = _figures(each.errors_protected)
        releases.append(plain(row))
    others = [
        {"release": each.number, "label": each.label, "figures": each.summary}
        for each in found.without_table
    ]
    return {"releases": releases, "without_table": others}


def _figures(errors: QueryErrors) -> dict[str, float | int | None]:
    return {
        "mean": None if math.isnan(errors.mean) else errors.mean,
        "median": None if math.isnan(errors.median) else errors.median,
        "percentile_95": None if math.isnan(errors.percentile_95) else errors.percentile_95,
        "queries": errors.queries,
        "redrawn_share": errors.redrawn_share,
    }


def _tell(found: Evaluation) -> None:
    for each in found.releases:
        say(f"Release {each.release}, {each.label}: {each.people:,} people, {each.form}")
        say(f"  query error, any value:        {_errors(each.errors)}")
        say(f"  query error, protected values: {_errors(each.errors_protected)}")
        say(
            f"  {each.groups:,} groups of {each.mean_size:.1f} people on average, largest "
            f"{each.largest_size:,}; {each.groups_with_protected_value:,} with a protected value, "
            f"{each.mean_size_with_protected_value:.1f} people on average"
        )
        say(
            f"  NCP {each.normalised_certainty_penalty:.4f}, discernibility "
            f"{each.discernibility:,}, C_avg {each.normalised_group_size:.3f}, KL divergence "
            f"{each.kl_divergence:.3f}, suppressed {each.suppressed_share:.2%}"
        )
    for record in found.without_table:
        figures = record.summary
        say(f"Release {record.number}, {record.label}: {figures['present']:,} people, no table")
        say(
            f"  {figures['groups']:,} groups of {figures['mean_size']:.1f} people on average, "
            f"largest {figures['largest_size']:,}; {figures['groups_with_protected_value']:,} with "
            f"a protected value, {figures['mean_size_with_protected_value']:.1f} people on average"
        )
    if found.without_table:
        say("Give the tables of these releases to measure query errors.")


def _errors(errors: QueryErrors) -> str:
    if not errors.queries:
        return "no query matched a record"
    return (
        f"mean {errors.mean:.4f}, median {errors.median:.4f}, 95th percentile "
        f"{errors.percentile_95:.4f} ({errors.queries:,} queries; {errors.redrawn_share:.1%} of "
        "those drawn matched nothing)"
    )
