"""``serigraph publish``"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from serigraph.cli.engine import EngineName, EngineOption, MasterOption, SettingOption, chosen
from serigraph.cli.output import Json, plain, print_json, say, stages
from serigraph.cli.release_options import (
    TABLES,
    After,
    AllowSuppression,
    AssumeTransient,
    Label,
    NewPeople,
    Query,
    Registry,
    SameTable,
    SeriesOption,
    Sign,
    Wait,
    as_one,
)
from serigraph.cli.value_list import value_lines
from serigraph.errors import InputRefused, NotTold
from serigraph.records import WorstPair

if TYPE_CHECKING:
    from serigraph.attacking import Finding
    from serigraph.publishing import Published, Unpublished

_NAMED = 8  # suppressed values to list


def command(  # an option each
    tables: Annotated[list[str] | None, TABLES] = None,
    *,
    series: SeriesOption,
    draft: Annotated[
        str, typer.Option(metavar="NAME", help="Publish this draft, instead of a table.")
    ] = "",
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would be published, and keep nothing.")
    ] = False,
    registry: Registry = None,
    label: Label = "",
    query: Query = "",
    allow_suppression: AllowSuppression = False,
    new_people: NewPeople = False,
    same_table: SameTable = False,
    assume_transient: AssumeTransient = None,
    wait: Wait = 0.0,
    after: After = None,
    sign: Sign = None,
    engine: EngineOption = EngineName.LOCAL,
    master: MasterOption = "",
    spark_setting: SettingOption = None,
    as_json: Json = False,
) -> None:
    """Publish a table as the next release of a series, or the draft of one as it was seen."""
    options: dict[str, Any] = {
        "registry": registry,
        "label": label,
        "query": query,
        "allow_suppression": allow_suppression,
        "new_people": new_people,
        "same_table": same_table,
        "assume_transient": assume_transient or (),
        "sign": sign,
    }
    if draft:
        is_elsewhere = engine is not EngineName.LOCAL
        _refuse_beside_draft(dry_run=dry_run, table=tables, engine=is_elsewhere, **options)
        release = _published_draft(series, draft, wait, after)
        _report(release, as_json)
        return
    if not tables:
        raise InputRefused(
            "there is nothing to publish", remedy="give a table, or a draft with --draft NAME"
        )
    options |= {"wait": wait, "after": after, "engine": chosen(engine, master, spark_setting)}
    if dry_run:
        _try_out(as_one(tables), series, options, as_json)
        return
    from serigraph.publishing import STAGES
    from serigraph.reporting import publish_with_report as publish
    from serigraph.reporting import write_documents

    with stages(STAGES) as progress:
        release = publish(
            as_one(tables),
            series,
            **options,
            progress=progress,
            documents=write_documents if as_json else _show_values_first,
        )
    _report(release, as_json)


def _published_draft(series: Path, name: str, wait: float, after: str | None) -> Published:
    from serigraph.reporting.drafting import PUBLISHING_STAGES, publish_draft

    with stages(PUBLISHING_STAGES) as progress:
        return publish_draft(series, name, wait=wait, after=after, progress=progress)


def _refuse_beside_draft(**options: object) -> None:
    given = [f"--{name.replace('_', '-')}" for name, value in options.items() if value]
    if given:
        raise InputRefused(
            "a draft is published as it was seen",
            where="--draft",
            remedy=f"leave out {', '.join(given).replace('--table', 'the table')}, or make a new "
            "draft with what should be different",
        )


def _try_out(
    table: str | list[str], series: Path, options: Mapping[str, Any], as_json: bool
) -> None:
    from serigraph.cli.draft import preview_json, tell_preview
    from serigraph.reporting.drafting import STAGES, dry_run

    with stages(STAGES) as progress:
        found = dry_run(table, series, **options, progress=progress)
    if as_json:
        print_json(preview_json(found))
        return
    tell_preview(found)
    say("Nothing was published or kept. A draft can be looked at: serigraph draft.")


def _report(release: Published, as_json: bool) -> None:
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
    say(f"Release {record.number}, {record.label}: {figures['present']:,} people published")
    tell_figures(figures)
    _tell_how_close(release)
    _tell_attacks(release.attacks)
    for note in release.notes:
        say(f"  note: {note}")
    if "approved_by" in figures:
        keys = len(figures["approved_by"])
        say(f"  approved with {keys} key{'s' if keys > 1 else ''}")
    say(f"  files: {release.folder}")


def tell_figures(figures: Mapping[str, Any]) -> None:
    """The counts and figures of a release, published or not."""
    absent = figures["people"] - figures["present"]
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


def tell_closest(figures: Mapping[str, Any]) -> None:
    """How close the pairs of a release come to their thresholds."""
    worst = figures["worst_in_release"]
    if worst is None:
        say("  guarantee held: no group in this release has a protected value")
    else:
        say(
            f"  guarantee held: worst probability {WorstPair.from_json(worst)} "
            f"({figures['pairs_checked']:,} pairs checked)"
        )


def tell_series(number: int, figures: Mapping[str, Any]) -> None:
    """The same over all releases up to this one."""
    so_far = figures["worst_in_series"]
    if number > 1 and so_far is not None:
        say(f"  over the whole series: worst probability {WorstPair.from_json(so_far)}")


def _tell_how_close(release: Published) -> None:
    from serigraph.publishing.persistence import assumption_of

    tell_closest(release.figures)
    assumption = assumption_of([release.record])
    if not assumption.is_unstated:
        say(f"  as long as {assumption.rests_on()}")
    tell_series(release.record.number, release.figures)
