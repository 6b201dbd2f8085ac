"""The section on values over time in a proposed policy, and what its publisher is told about it."""

from __future__ import annotations

from serigraph.publishing.first_release import ShownOnce
from serigraph.publishing.persistence import names_of
from serigraph.publishing.proposed_persistence import ProposedPersistence
from serigraph.publishing.toml_text import quoted

_HEAD = [
    '# What is assumed of values over time. "transient": they change freely between releases, as',
    '# injuries do; publishing refuses those that the data show to persist. "permanent": kept for',
    '# life. "any": nothing is assumed. Once a release is out no value may become "transient"; one',
    '# may become "any" if another was "any" or "permanent" from the first release on.',
    "[{}.persistence]",
]
_OTHER_VALUES = [
    "# Transient values beside others need a population registry with each release (--registry):",
    '# "a value that passes" = "transient"',
]
_NO_STRATEGY = (
    "no strategy was rehearsed: strategies plan how often a transient value may be shown, and the "
    "policy calls no value transient; what stands in [strategy] does nothing until it does"
)
_OF_RECORDS = 'and records of several columns have values of one kind, so the policy says "any"'
_ONE_WAY = 'and a policy has transient values beside others only with a registry, so it says "any"'


def section(
    proposed: ProposedPersistence, place: str = "protected", *, of_records: bool = False
) -> list[str]:
    """The lines of the section under ``place``, with a reason beside each key. The values of
    records of several columns all persist, or none does."""
    head = [line.format(place) for line in _HEAD]
    lines = [*head, f'default = "{proposed.default}"  # {proposed.reason}']
    if of_records:
        kept = [each for each in proposed.over_time if each.contradicts]
        return [*lines, *(f"# {quoted(each.name)}: {each.words()}" for each in kept), ""]
    if not proposed.over_time:
        lines += _OTHER_VALUES if proposed.persists else ['# "a chronic value" = "any"']
    for each in sorted(
        proposed.over_time, key=lambda each: (not each.contradicts, not each.is_telling)
    ):
        name = quoted(each.name)
        if each.contradicts:
            lines.append(f'{name} = "any"  # {each.words()}')
        elif not each.is_telling:
            lines.append(f"# {name}: {each.words()}: too few to tell")
        elif proposed.persists:
            lines.append(f'# {name} = "transient"  # with a registry: {each.words()}')
        else:
            lines.append(f'{name} = "transient"  # {each.words()}')
    return [*lines, ""]


def notes(
    proposed: ProposedPersistence, cost: ShownOnce | None, *, of_records: bool = False
) -> list[str]:
    """What the publisher should check; ``cost`` is that of the first release without a registry."""
    if not proposed.persists:
        return []
    here = f", {cost.words()}" if cost else ""
    price = (
        "without a registry (--registry), the people of every group that shows a protected value "
        f"are published once and never again{here}"
    )
    if proposed.kept:
        is_mixed = proposed.passing or proposed.stated == "transient"
        why = f", {_OF_RECORDS if of_records else _ONE_WAY} of all" if is_mixed else ""
        kept = f"people keep {names_of(proposed.kept)}{why}, see persistence in the policy"
        return [kept, price, _NO_STRATEGY]
    if proposed.stated:
        return [price, _NO_STRATEGY]
    some = (
        ""
        if of_records
        else "; if only some do, name them in [protected.persistence] and publish with a registry"
    )
    return [
        "nobody has said how long people keep these values, so the policy assumes nothing "
        f'("any"), which is right for chronic diagnoses too and costs much: {price}. If the values '
        "pass, as fractures and infections do, delete the folder and repeat init with "
        f"--persistence transient{some}",
        _NO_STRATEGY,
    ]
