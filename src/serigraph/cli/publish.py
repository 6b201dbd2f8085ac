"""``serigraph publish``"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from serigraph.cli.engine import EngineName, EngineOption, MasterOption, SettingOption, chosen
from serigraph.cli.output import Json, plain, print_json, say, stages
from serigraph.cli.value_list import value_lines
from serigraph.errors import NotTold
from serigraph.records import WorstPair

if TYPE_CHECKING:
    from serigraph.attacking import Finding
    from serigraph.publishing import Published, Unpublished

_NAMED = 8  # suppressed values to list


def command(
    table: Annotated[str, typer.Argument(help="The table: CSV, Parquet, Arrow, DuckDB, ...")],
    series: Annotated[Path, typer.Option(help="Folder of the series.")],
    registry: Annotated[
        str | None, typer.Option(help="The population list, if there is one.")
    ] = None,
    label: Annotated[str, typer.Option(help="Release name [default: file name]")] = "",
    query: Annotated[str, typer.Option(help="SQL, if the table is a DuckDB database.")] = "",
    allow_suppression: Annotated[
        bool, typer.Option("--allow-suppression", help="Leave out values that do not fit.")
    ] = False,
    new_people: Annotated[
        bool,
        typer.Option("--new-people", help="Confirm that most people are new to the series."),
    ] = False,
    same_table: Annotated[
        bool,
        typer.Option("--same-table", help="Confirm that nothing has changed since a release."),
    ] = False,
    assume_transient: Annotated[
        list[str] | None,
        typer.Option(
            metavar="VALUE",
            help="Publish though the data say that this value persists; repeatable.",
        ),
    ] = None,
    wait: Annotated[
        float, typer.Option(help="Seconds to wait if another process is publishing.")
    ] = 0.0,
    after: Annotated[
        str | None,
        typer.Option(
            metavar="CHAIN",
            help="Refuse unless the latest release has this chain digest; '': no release yet.",
        ),
    ] = None,
    sign: Annotated[
        Path | None, typer.Option(metavar="KEY", help="Sign the certificate with this key.")
    ] = None,
    engine: EngineOption = EngineName.LOCAL,
    master: MasterOption = "",
    spark_setting: SettingOption = None,
    as_json: Json = False,
) -> None:
    """Publish a table as the next release of a series."""
    from serigraph.publishing import STAGES
    from serigraph.reporting import publish_with_report as publish
    from serigraph.reporting import write_documents

    with stages(STAGES) as progress:
        release = publish(
            table,
            series,
            registry=registry,
            label=label,
            query=query,
            allow_suppression=allow_suppression,
            new_people=new_people,
            same_table=same_table,
            assume_transient=assume_transient or (),
            wait=wait,
            after=after,
            sign=sign,
            progress=progress,
            documents=write_documents if as_json else _show_values_first,
            engine=chosen(engine, master, spark_setting),
        )
    try:
        if as_json:
            _tell_machines(release)
        else:
            _tell(release)
    except Exception as error:  # whatever went wrong, the release is out
        raise NotTold(
            f"the release is out, but its figures cannot be shown ({type(error).__name__})",
            where=str(release.folder),
            remedy="see the release's report",
        ) from error


def _tell_machines(release: Published) -> None:
    record = release.record
    print_json(
        {
            "release": record.number,
            "label": record.label,
            "published_at": record.published_at,
            "threshold": record.threshold,
            "adversary": record.adversary,
            "known_members": record.known_members,
            "chain": record.chain,
            "folder": release.folder,
            "figures": plain(release.figures),
            "values": plain(release.value_list),
            "notes": release.notes,
            "attacks": release.attacks,
        }
    )


def _show_values_first(release: Unpublished) -> tuple[Finding, ...]:
    """Show the values and their holders before anything is committed; then write the documents."""
    from serigraph.reporting import write_documents

    for line in value_lines(release.value_list):
        say(line)
    return write_documents(release)


def _tell(release: Published) -> None:
    figures, record = release.figures, release.record
    absent = figures["people"] - figures["present"]
    say(f"Release {record.number}, {record.label}: {figures['present']:,} people published")
    if absent:
        say(f"  with {absent:,} absent members")
    if figures["people_outside_registry"]:
        say(f"  {figures['people_outside_registry']:,} of them are not in the registry")
    say(
        f"  {figures['groups']:,} groups; with a protected value: "
        f"{figures['groups_with_protected_value']:,}, "
        f"{figures['mean_size_with_protected_value']:.1f} people each on average"
    )
    width = f"{figures['mean_normalised_width']:.1%}"
    if figures["form"] == "bucketised":
        say(f"  quasi-identifiers are published as they are; a group spans {width} of their ranges")
    else:
        say(f"  quasi-identifiers lost {width} of their precision")
    _tell_singled_out(figures)
    if figures["suppressed_values"]:
        left_out = [f"{number:,} of {name}" for name, number in figures["suppressed"].items()]
        more = f" and {len(left_out) - _NAMED:,} more values" if len(left_out) > _NAMED else ""
        say(f"  holders left out at random: {', '.join(left_out[:_NAMED])}{more}")
    _tell_how_close(release)
    _tell_attacks(release.attacks)
    for note in release.notes:
        say(f"  note: {note}")
    say(f"  files: {release.folder}")


def _tell_attacks(findings: Sequence[Finding]) -> None:
    """How far the attack came that is surely the best: only the publisher may see it."""
    telling = [each for each in findings if each.is_telling]
    if telling:
        best = max(telling, key=lambda each: each.lowest)
        say(
            f"  attacks on the draft, for you alone: right {best.lift:.2f} times as often as "
            f"claimed ({best.lowest:.2f} to {best.highest:.2f})"
        )
    elif findings:
        say("  attacks on the draft: too few bets to measure")


def _tell_singled_out(figures: Mapping[str, Any]) -> None:
    from serigraph.publishing.published import SingledOut

    singled = SingledOut.of(figures)
    if singled is not None:
        for words in singled.words() or ("nobody is alone in a group, and no row is unique",):
            say(f"  {words}")


def _tell_how_close(release: Published) -> None:
    from serigraph.publishing.persistence import assumption_of

    figures = release.figures
    worst, so_far = figures["worst_in_release"], figures["worst_in_series"]
    if worst is None:
        say("  guarantee held: no group in this release has a protected value")
    else:
        say(
            f"  guarantee held: worst probability {WorstPair.from_json(worst)} "
            f"({figures['pairs_checked']:,} pairs checked)"
        )
    assumption = assumption_of([release.record])
    if not assumption.is_unstated:
        say(f"  as long as {assumption.rests_on()}")
    if release.record.number > 1 and so_far is not None:
        say(f"  over the whole series: worst probability {WorstPair.from_json(so_far)}")
