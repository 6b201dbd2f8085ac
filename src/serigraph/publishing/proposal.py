"""A first policy for a table: what the columns seem to be, with a reason beside each key."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import polars as pl

from serigraph.errors import TableError
from serigraph.policy import Persistence, Policy, Reading
from serigraph.publishing import persistence_section, strategy_section
from serigraph.publishing.first_plan import (
    MOST_RELEASES,
    THRESHOLD,
    FirstPlan,
)
from serigraph.publishing.first_release import shown_once, strategies
from serigraph.publishing.proposed_numbers import (
    Nearby,
    SensitiveKind,
    kind_line,
    kind_of,
    nearby,
)
from serigraph.publishing.proposed_plans import plan_of_nearby, planned, planned_of_several
from serigraph.publishing.proposed_records import (
    FORMS,
    check_records,
    check_rows_agree,
    classes_across,
    column_sections,
    guesses_of,
    known_to_outsiders,
    plain_section,
)
from serigraph.publishing.toml_text import key, one_line, quoted
from serigraph.recoding.output import like_formulas
from serigraph.runtime.progress import Progress, no_progress
from serigraph.tables.cells import counted, read_text
from serigraph.tables.column_guesses import ColumnGuess, masked_digits
from serigraph.tables.people import read_ids, read_values, repeated_people
from serigraph.tables.roles import Roles, guess_roles
from serigraph.tables.value_list import ValueList, list_values
from serigraph.texts import qualifier

if TYPE_CHECKING:
    from serigraph.planning import Outlook

MINIMUM_GROUP_SIZE = 5
COHORT_SIZE = 8  # where a policy with this threshold does not say it


@dataclass(frozen=True)
class Proposal:
    """The text of a policy, the files it refers to by relative path, and what was found."""

    policy_text: str
    files: dict[str, bytes]
    roles: Roles
    sensitive: tuple[str, ...]  # the columns
    value_list: ValueList  # protected and unprotected values of the table
    strategies: tuple[Outlook, ...]  # rehearsed, the best first; none where values persist
    notes: tuple[str, ...]  # what the publisher should check


def propose_policy(  # one keyword per option of init
    table: pl.DataFrame,
    source: str,
    *,
    person: str = "",
    sensitive: str | Sequence[str] = "",
    plain: Sequence[str] = (),
    also: Sequence[pl.DataFrame] = (),
    persistence: Persistence | None = None,
    releases: int = 0,
    progress: Progress = no_progress,
) -> Proposal:
    """A policy under which the table can be published, made from guesses to be checked.

    ``source`` names the table in the text. ``person`` and ``sensitive`` name the id column and the
    sensitive columns if the guess is wrong, ``plain`` the plain ones. From ``also``, tables of the
    same people at other times, it is measured which values persist; ``persistence`` is what the
    publisher states. The plan is for so many ``releases``; for 0, for as many as protect most.
    Raises ``TableError`` if no column fits a role, or if it is not clear which one does.
    """
    sensitive = tuple(filter(None, [sensitive] if isinstance(sensitive, str) else sensitive))
    check_records(table, person, sensitive, plain)
    others = [*sensitive[1:], *plain]
    roles = guess_roles(
        table.drop(others),
        person=person,
        sensitive=next(iter(sensitive), ""),
        others=guesses_of(table, others),
    )
    roles = replace(roles, notes=(*roles.notes, *known_to_outsiders(plain)))
    _refuse_formulas([*roles.quasi_identifiers, roles.sensitive, *others])
    check_rows_agree(table, plain, roles.person)
    kinds = {name: kind_of(table[name]) for name in (roles.sensitive, *sensitive[1:])}
    paths = _taxonomy_paths(roles)
    described = [*_head(source), *_person(roles), *_quasi_identifiers(roles, paths)]
    around = (described, [*plain_section(table, plain), *_rest(roles)])
    if len(kinds) > 1:
        asked = (persistence, releases)
        return _of_several([table, *also], kinds, roles, paths, around, asked, progress)
    tables = [table, *also] if also else []
    return _of_one(table, kinds, roles, paths, around, (tables, persistence, releases), progress)


def _of_one(
    table: pl.DataFrame,
    kinds: Mapping[str, SensitiveKind],
    roles: Roles,
    paths: dict[str, str],
    around: tuple[list[str], list[str]],
    asked: tuple[Sequence[pl.DataFrame], Persistence | None, int],
    progress: Progress,
) -> Proposal:
    """A policy on the only sensitive column, ``around`` which its other lines are; ``asked`` are
    the tables to measure persistence in, what is stated of it, and the number of releases."""
    described, rest = around
    tables, persistence, releases = asked
    head = [*described, *_sensitive(roles, kinds[roles.sensitive])]
    read = _parsed([*head, *_guarantee(), *rest])
    holders, people = _holders(table, read)
    plan, over_time = planned(tables, read, holders, people, persistence, releases)
    near = nearby(holders, people, kinds[roles.sensitive])
    is_close = bool(near and near.width) and not (over_time.persists or over_time.over_time)
    if near and is_close:
        plan = plan_of_nearby(near, roles.sensitive, releases)
    of_records = read.shows_records
    protected = [
        *_protected(plan, near, is_close=is_close),
        *persistence_section.section(over_time, of_records=of_records),
    ]
    lines = [*head, *protected, *_guarantee(plan)]
    files = _taxonomy_files(table, roles, paths)
    text, outlooks = _with_strategy(table, files, (lines, rest), plan, progress)
    cost = shown_once(table, text, files) if over_time.persists else None
    return Proposal(
        policy_text=text,
        files=files,
        roles=roles,
        sensitive=(roles.sensitive,),
        value_list=list_values(_parsed(lines), holders),
        strategies=outlooks,
        notes=(
            *roles.notes,
            *_few_people(people),
            *_notes(plan),
            *persistence_section.notes(over_time, cost, of_records=of_records),
        ),
    )


def _refuse_formulas(columns: Sequence[str]) -> None:
    """Names go into CSV files as they are, so ``publish`` refuses these."""
    if wrong := like_formulas(columns):
        raise TableError(
            "a spreadsheet would run the name of a column as a formula",
            remedy="rename these columns",
            problems=[f"column {name!r}" for name in wrong],
        )


def _of_several(
    tables: Sequence[pl.DataFrame],
    kinds: Mapping[str, SensitiveKind],
    roles: Roles,
    paths: dict[str, str],
    around: tuple[list[str], list[str]],
    asked: tuple[Persistence | None, int],
    progress: Progress,
) -> Proposal:
    """A policy with a section for each sensitive column, ``around`` which its other lines are."""
    (described, rest), table = around, tables[0]
    sections = column_sections(table, kinds, roles.person)
    head = [*described, *(line for each in sections.values() for line in each)]
    read = _parsed([*head, *_guarantee(), *rest])
    found = {name: _holders(table, read.of_column(name)) for name in kinds}
    near = {name: nearby(*found[name], kind) for name, kind in kinds.items()}
    plans, over_time, close = planned_of_several(tables, read, found, near, asked)
    tightest = max(plans.values(), key=lambda plan: plan.commonest / plan.people)
    lines = list(described)
    for name in kinds:
        section = f"sensitive.{key(name)}.protected"
        lines += sections[name]
        lines += _protected(plans[name], near[name], section, is_close=name in close)
        lines += persistence_section.section(over_time, section, of_records=True)
    lines += [*classes_across(near), *_guarantee(tightest)]
    files = _taxonomy_files(table, roles, paths)
    text, outlooks = _with_strategy(table, files, (lines, rest), tightest, progress)
    cost = shown_once(table, text, files) if over_time.persists else None
    holders = pl.concat(
        holders.with_columns((pl.lit(qualifier(name)) + pl.col("value")).alias("value"))
        for name, (holders, _) in found.items()
    )
    return Proposal(
        policy_text=text,
        files=files,
        roles=roles,
        sensitive=tuple(kinds),
        value_list=list_values(_parsed(lines), holders),
        strategies=outlooks,
        notes=(
            *roles.notes,
            *_few_people(tightest.people),
            *(
                f"{name}: {note}"
                for name, plan in plans.items()
                for note in _notes(
                    plan, f"sensitive.{key(name)}.protected", is_tightest=plan is tightest
                )
            ),
            *persistence_section.notes(over_time, cost, of_records=True),
        ),
    )


def _taxonomy_files(table: pl.DataFrame, roles: Roles, paths: dict[str, str]) -> dict[str, bytes]:
    return {
        path: masked_digits(read_text(table[name], Reading(null_values=roles.missing_texts))[0])
        for name, path in paths.items()
    }


def _parsed(lines: list[str]) -> Policy:
    return Policy.model_validate(tomllib.loads("\n".join(lines)))


def _holders(table: pl.DataFrame, policy: Policy) -> tuple[pl.DataFrame, int]:
    """How many ``people`` hold each ``value``, and how many people there are."""
    source = "the table"
    by_source, problems = read_ids({source: table[policy.person.id]}, policy)
    ids = by_source[source]
    values, wrong = read_values(table[policy.only_column.column], policy)
    problems += [*wrong, *repeated_people(ids, source, policy)]
    if problems:
        raise TableError(
            f"column {policy.person.id!r} cannot be the id, or {policy.only_column.column!r} "
            "cannot be the sensitive column",
            remedy="correct the table, or choose others with --person COLUMN, --sensitive COLUMN",
            problems=problems,
        )
    held = values.with_columns(pl.col("value").cast(pl.String), person=ids.gather(values["row"]))
    holders = held.group_by("value").agg(pl.col("person").n_unique().alias("people"))
    return holders, ids.n_unique()


def _few_people(people: int) -> list[str]:
    if people >= MINIMUM_GROUP_SIZE:
        return []
    return [
        f"the table has {counted(people, 'person', 'people')}, too few for a group of "
        f"{MINIMUM_GROUP_SIZE}"
    ]


def _notes(plan: FirstPlan, section: str = "protected", *, is_tightest: bool = True) -> list[str]:
    """What the publisher should check; the number of releases is due to the tightest plan."""
    notes = []
    is_short = plan.releases < MOST_RELEASES and not plan.persists and not plan.is_asked
    if is_short and is_tightest:
        notes.append(
            f"the plan is for {counted(plan.releases, 'release')}, because "
            f"{plan.commonest / plan.people:.1%} of the people hold the commonest protected value; "
            "a population registry with each release (--registry) makes room for more"
        )
    if not plan.commonest:
        notes.append(
            "nothing of this column is protected, because each of its values is held by too many "
            f"people, even for {counted(plan.fewest, 'release')}; to protect it, use a registry "
            "and correct except, and otherwise leave the column out, or publish it as a plain one"
        )
    elif plan.excepted:
        are, them = ("is", "it") if len(plan.excepted) == 1 else ("are", "them")
        fits_once = max(plan.excepted.values()) * 2 <= plan.people
        notes.append(
            f"{counted(len(plan.excepted), 'value')} {are} held by too many people to be "
            f"protected, even for {counted(plan.fewest, 'release')}; to protect {them}, use a "
            "registry"
            + " or plan a single release" * (fits_once and plan.releases > 1 and not plan.persists)
            + f", and remove {them} from except in [{section}]"
        )
    return notes


def _head(source: str) -> list[str]:
    return [
        f"# A policy proposed from {one_line(source)}. Check it before the first release:",
        "# afterwards, what the promise depends on cannot be changed.",
        "version = 1",
        "",
    ]


def _person(roles: Roles) -> list[str]:
    return [
        "[person]",
        f"id = {quoted(roles.person)}  # the same for a person in every release; never published",
        f'type = "{roles.person_type}"  # of the ids: "integer" or "text"',
        "",
    ]


def _quasi_identifiers(roles: Roles, paths: dict[str, str]) -> list[str]:
    lines = [
        "# Columns that an outsider may know about a person. Columns not named in this file are",
        '# not published. kind: "numeric", "date" or "categorical".',
    ]
    for name, guess in roles.quasi_identifiers.items():
        lines += [f"[quasi_identifiers.{key(name)}]", f'kind = "{guess.kind}"{_reason(guess)}']
        if name in paths:
            lines += [
                f"taxonomy = {quoted(paths[name])}  # digits masked from the right; editable",
                'new_values = "branch"  # each new value gets its own branch; or "error"',
            ]
        lines.append("")
    return lines


def _reason(guess: ColumnGuess) -> str:
    if guess.is_digit_code:
        return "  # a code, not a quantity"
    return "  # you may add a taxonomy file: one line per leaf, leaf;...;root" * (
        guess.kind == "categorical"
    )


def _sensitive(roles: Roles, kind: SensitiveKind) -> list[str]:
    lines = [
        "[sensitive]",
        f"column = {quoted(roles.sensitive)}",
        *kind_line(kind),
        f'form = "{roles.form}"  # {FORMS[roles.form]}; or single, rows, list, delimited',
    ]
    if roles.delimiter:
        lines.append(f"delimiter = {quoted(roles.delimiter)}")
    return [*lines, 'missing = "no value"  # meaning of an empty cell; or "error": refuse it', ""]


def _protected(
    plan: FirstPlan, near: Nearby | None, section: str = "protected", *, is_close: bool
) -> list[str]:
    lines = [f"[{section}]"]
    if near and is_close:
        lines += near.values()
    else:
        lines += [
            'values = "all"  # including values that appear later; or a list of values; or',
            '                # instead: file = "protected.txt" or rarest = "10%"',
            *(near.closeness_if_transient() if near else ()),
        ]
    if plan.excepted:
        fewest = counted(plan.fewest, "release")
        lines += [
            f"# Not protected: too many people hold them, even for {fewest}. If each",
            "# release comes with a population registry, remove the values that then fit.",
            "except = [",
            *(
                f"    {quoted(name)},  # {held:,} of {plan.people:,} people"
                for name, held in plan.excepted.items()
            ),
            "]",
        ]
    if near:
        return [
            *lines,
            "# An interval may also be protected as a class of values:",
            f"# [{section}.classes]",
            f'# "any of them" = [{quoted(near.example)}]{near.reason}',
            "",
        ]
    return [
        *lines,
        "# A class of values is protected like a value, and may have its own threshold:",
        f"# [{section}.classes]",
        '# "any of them" = ["one value", "another value"]',
        f"# [{section}.thresholds]",
        '# "any of them" = "1/10"',
        "",
    ]


def _guarantee(plan: FirstPlan | None = None) -> list[str]:
    lines = [
        "[guarantee]",
        f'threshold = "{THRESHOLD}"  # largest probability of a link over all releases; exact text',
        'adversary = "presence unknown"  # or "presence known": outsiders know who is in the table',
        f"minimum_group_size = {MINIMUM_GROUP_SIZE}  # of every group, whatever it holds; may "
        "rise later",
    ]
    if plan and plan.persists and MINIMUM_GROUP_SIZE <= plan.people < COHORT_SIZE:
        lines.append(f"cohort_size = {plan.people}  # the table has no more people")
    return [*lines, ""]


def _with_strategy(
    table: pl.DataFrame,
    files: dict[str, bytes],
    around: tuple[list[str], list[str]],
    plan: FirstPlan,
    progress: Progress,
) -> tuple[str, tuple[Outlook, ...]]:
    """The policy with the strategy that was best in a rehearsal; values that persist need none."""
    before, after = around
    text = "\n".join([*before, *strategy_section.section(plan), *after])
    if plan.persists:
        return text, ()
    outlooks = strategies(table, text, files, plan.releases, progress)
    return "\n".join([*before, *strategy_section.section(plan, outlooks), *after]), outlooks


def _rest(roles: Roles) -> list[str]:
    lines = [
        "[output]",
        'form = "generalised"  # or "bucketised": two tables, linked by groups',
        'method = "top-down"  # or "bottom-up"',
        'files = ["parquet", "csv"]',
        "",
        "[missing]",
        'quasi_identifiers = "value"  # missing counts as a value; or "error": refuse it',
        "",
    ]
    reading = []
    if roles.missing_texts:
        names = ", ".join(map(quoted, roles.missing_texts))
        reading.append(f"null_values = [{names}]  # texts that mean a missing cell")
    if roles.date_format:
        reading.append(f"date_format = {quoted(roles.date_format)}")
    if reading:
        lines += ["[reading]", *reading, ""]
    return [*lines, *_publisher()]


def _publisher() -> list[str]:
    return [
        "# Shown in every report and certificate, which are public; may change at any time.",
        "# [publisher]",
        '# name = "General Hospital"',
        '# contact = "data-protection@hospital.example"',
        '# recipients = "researchers who signed the terms of use"',
        '# re_evaluation = "before every release, and every January"',
        '# incidents = "are reported to the contact; the next release is put on hold"',
        "# [publisher.roles]",
        '# "controller" = "General Hospital"',
        '# "data-protection officer" = "Jo Doe"',
        "",
    ]


def _taxonomy_paths(roles: Roles) -> dict[str, str]:
    paths: dict[str, str] = {}
    for name, guess in roles.quasi_identifiers.items():
        if guess.is_digit_code:
            plain = re.sub(r"[^\w-]+", "_", name)
            taken = set(paths.values())
            path = f"taxonomies/{plain}.csv"
            paths[name] = path if path not in taken else f"taxonomies/{plain}_{len(paths)}.csv"
    return paths
