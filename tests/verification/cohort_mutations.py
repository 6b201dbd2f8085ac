"""Releases with cohorts that went wrong in one place; None where a mutation does not apply."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace

from verification.cohort_reference import Book, Person, Release, Terms, right_retirements
from verification.cohort_series import without

Mutation = Callable[[Book, Release, Terms, random.Random], Release | None]


def _with(people: Mapping[int, Person], who: int, person: Person) -> dict[int, Person]:
    return {**people, who: person}


def _only(release: Release, dropped: set[int]) -> Release:
    """The release without some people, who are not retired either."""
    kept = {who for who in release.shown if who not in dropped}
    return replace(
        release,
        shown={who: release.shown[who] for who in sorted(kept)},
        cohort={who: release.cohort[who] for who in kept},
        group={who: release.group[who] for who in kept},
    )


def _also(release: Release, who: int, cohort: int) -> Release:
    """The release with somebody more, in the group of the cohort."""
    group = next((release.group[k] for k in release.shown if release.cohort[k] == cohort), 0)
    shown = _with(release.shown, who, release.table[who])
    return replace(
        release,
        shown=dict(sorted(shown.items())),
        cohort={**release.cohort, who: cohort},
        group={**release.group, who: group},
    )


def _large(release: Release) -> list[int]:
    """The people of cohorts of two or more."""
    sizes = Counter(release.cohort[who] for who in release.shown)
    return [who for who in release.shown if sizes[release.cohort[who]] > 1]


def _pick(rng: random.Random, some: list[int]) -> int | None:
    return rng.choice(some) if some else None


def split_cohort(
    _book: Book, release: Release, _terms: Terms, rng: random.Random
) -> Release | None:
    who = _pick(rng, _large(release))
    if who is None:
        return None
    return replace(release, group={**release.group, who: (release.group[who] + 1) % 4})


def move_member(book: Book, release: Release, _terms: Terms, rng: random.Random) -> Release | None:
    who = _pick(rng, [each for each in release.shown if each in book.cohort])
    others = sorted({*release.cohort.values()} - {release.cohort.get(who, -1)})
    if who is None or not others:
        return None
    other = rng.choice(others)
    group = next(release.group[k] for k in release.shown if release.cohort[k] == other)
    return replace(
        release,
        cohort={**release.cohort, who: other},
        group={**release.group, who: group},
    )


def forget_leaver(
    book: Book, release: Release, _terms: Terms, rng: random.Random
) -> Release | None:
    who = _pick(rng, sorted(release.retired - set(release.table)))
    return None if who is None else replace(release, retired=release.retired - {who})


def forget_companion(
    book: Book, release: Release, _terms: Terms, rng: random.Random
) -> Release | None:
    """Somebody who should retire with a leaver stays."""
    who = _pick(rng, sorted(release.retired & set(release.table)))
    if who is None:
        return None
    stays = _also(release, who, book.cohort[who])
    return replace(stays, retired=release.retired - {who})


def one_companion_more(
    book: Book, release: Release, terms: Terms, rng: random.Random
) -> Release | None:
    who = _pick(rng, [each for each in release.shown if each in book.cohort])
    if who is None:
        return None
    return replace(_only(release, {who}), retired=release.retired | {who})


def show_retired_now(
    book: Book, release: Release, _terms: Terms, rng: random.Random
) -> Release | None:
    who = _pick(rng, sorted(release.retired & set(release.table)))
    return None if who is None else _also(release, who, book.cohort[who])


def show_retired_before(
    book: Book, release: Release, _terms: Terms, rng: random.Random
) -> Release | None:
    who = _pick(rng, sorted(set(book.retired) & set(release.table)))
    return None if who is None else _also(release, who, book.cohort[who])


def slip_newcomer_in(
    book: Book, release: Release, terms: Terms, rng: random.Random
) -> Release | None:
    old = sorted({release.cohort[who] for who in release.shown if who in book.cohort})
    who = _pick(rng, sorted(set(release.table) - set(book.cohort)))
    if who is None or not old:
        return None
    return _also(release, who, rng.choice(old))


def show_few_newcomers(
    book: Book, release: Release, _terms: Terms, _rng: random.Random
) -> Release | None:
    """Newcomers who have to wait make a cohort."""
    waiting = sorted(set(release.table) - set(book.cohort) - set(release.shown))
    for who in waiting:
        release = _also(release, who, max(book.formed, 10_000))
    return release if waiting else None


def forget_newcomer(
    book: Book, release: Release, _terms: Terms, rng: random.Random
) -> Release | None:
    who = _pick(rng, [each for each in release.shown if each not in book.cohort])
    return None if who is None else _only(release, {who})


def forget_member(
    book: Book, release: Release, _terms: Terms, rng: random.Random
) -> Release | None:
    who = _pick(rng, [each for each in release.shown if each in book.cohort])
    return None if who is None else _only(release, {who})


def cut_by_values(
    book: Book, release: Release, _terms: Terms, _rng: random.Random
) -> Release | None:
    """Two people of different new cohorts change places, so that holders are together."""
    new = [who for who in release.shown if who not in book.cohort]
    for one in new:
        for other in new:
            if (
                release.cohort[one] != release.cohort[other]
                and release.table[one].values != release.table[other].values
            ):
                cohort, group = dict(release.cohort), dict(release.group)
                cohort[one], cohort[other] = cohort[other], cohort[one]
                group[one], group[other] = group[other], group[one]
                return replace(release, cohort=cohort, group=group)
    return None


def unite_new_cohorts(
    book: Book, release: Release, _terms: Terms, _rng: random.Random
) -> Release | None:
    new = [who for who in release.shown if who not in book.cohort]
    if len({release.cohort[who] for who in new}) < 2:
        return None
    group = release.group[new[0]]
    return replace(
        release,
        cohort=release.cohort | dict.fromkeys(new, book.formed),
        group=release.group | dict.fromkeys(new, group),
    )


def show_too_much(
    _book: Book, release: Release, terms: Terms, rng: random.Random
) -> Release | None:
    """Somebody whose value was taken out has it again."""
    who = _pick(rng, [k for k in release.shown if release.shown[k] != release.table[k]])
    return (
        None
        if who is None
        else replace(release, shown=_with(release.shown, who, release.table[who]))
    )


def _drop(release: Release, who: int, value: str) -> Release:
    person = without(release.shown[who], frozenset([value]))
    return replace(release, shown=_with(release.shown, who, person))


def drop_transient(
    _book: Book, release: Release, _terms: Terms, rng: random.Random
) -> Release | None:
    who = _pick(rng, [k for k, each in release.shown.items() if "u" in each.values])
    return None if who is None else _drop(release, who, "u")


def drop_unprotected(
    _book: Book, release: Release, _terms: Terms, rng: random.Random
) -> Release | None:
    who = _pick(rng, [k for k, each in release.shown.items() if "none" in each.values])
    return None if who is None else _drop(release, who, "none")


def drop_shown_before(
    book: Book, release: Release, terms: Terms, rng: random.Random
) -> Release | None:
    """A value that persists goes although its holder was published with it."""
    known = [
        (who, name)
        for who, each in release.shown.items()
        for name in sorted(each.values & terms.persisting)
        if (who, name) in book.pairs and not terms.is_tangled(name)
    ]
    return _drop(release, *rng.choice(known)) if known else None


def drop_persisting(
    _book: Book, release: Release, terms: Terms, rng: random.Random
) -> Release | None:
    """A value that persists goes; whether it may depends on the others."""
    known = [
        (who, name)
        for who, each in release.shown.items()
        for name in sorted(each.values & terms.persisting)
    ]
    return _drop(release, *rng.choice(known)) if known else None


def add_value(_book: Book, release: Release, _terms: Terms, rng: random.Random) -> Release | None:
    who = _pick(rng, [k for k, p in release.shown.items() if p.is_present and "r" not in p.values])
    if who is None or not any("r" in each.values for each in release.table.values()):
        return None
    person = release.shown[who]
    return replace(
        release,
        shown=_with(release.shown, who, replace(person, values=person.values | {"r"})),
    )


def add_record(_book: Book, release: Release, _terms: Terms, rng: random.Random) -> Release | None:
    who = _pick(rng, [k for k, each in release.shown.items() if not each.is_present])
    if who is None:
        return None
    return replace(
        release, shown=_with(release.shown, who, replace(release.shown[who], is_present=True))
    )


def drop_record(_book: Book, release: Release, _terms: Terms, rng: random.Random) -> Release | None:
    """A record without values goes."""
    who = _pick(rng, [k for k, p in release.shown.items() if p.is_present and not p.values])
    if who is None:
        return None
    return replace(
        release, shown=_with(release.shown, who, replace(release.shown[who], is_present=False))
    )


def move_house(_book: Book, release: Release, _terms: Terms, rng: random.Random) -> Release | None:
    """Quasi-identifiers that are not those of the table."""
    who = _pick(rng, list(release.shown))
    if who is None:
        return None
    person = release.shown[who]
    codes = ((person.codes[0] + 1) % 9, *person.codes[1:])
    return replace(release, shown=_with(release.shown, who, replace(person, codes=codes)))


def retire_stranger(
    book: Book, release: Release, _terms: Terms, rng: random.Random
) -> Release | None:
    who = _pick(rng, sorted(set(release.table) - set(book.cohort) - set(release.shown)))
    return None if who is None else replace(release, retired=release.retired | {who})


def retire_again(book: Book, release: Release, _terms: Terms, rng: random.Random) -> Release | None:
    who = _pick(rng, sorted(book.retired))
    return None if who is None else replace(release, retired=release.retired | {who})


def swap_companion(
    book: Book, release: Release, _terms: Terms, rng: random.Random
) -> Release | None:
    """Another member retires with the leaver: nobody can tell that from a lot, so it is right."""
    who = _pick(rng, sorted(release.retired & set(release.table)))
    if who is None:
        return None
    others = [k for k in release.shown if release.cohort[k] == book.cohort[who]]
    other = _pick(rng, others)
    if other is None:
        return None
    stays = _only(_also(release, who, book.cohort[who]), {other})
    return replace(stays, retired=release.retired - {who} | {other})


def leave_whole_cohort(
    book: Book, release: Release, terms: Terms, _rng: random.Random
) -> Release | None:
    """All of a cohort retire where a few would do."""
    for number, many in right_retirements(book, release.table, terms).items():
        live = {who for who in book.live() if book.cohort[who] == number}
        if many < len(live):
            return replace(_only(release, live), retired=release.retired | live)
    return None


# Wrong wherever they apply.
WRONG: list[Mutation] = [
    split_cohort,
    move_member,
    forget_leaver,
    forget_companion,
    one_companion_more,
    show_retired_now,
    show_retired_before,
    slip_newcomer_in,
    show_few_newcomers,
    forget_newcomer,
    forget_member,
    cut_by_values,
    unite_new_cohorts,
    drop_transient,
    drop_unprotected,
    drop_shown_before,
    add_record,
    drop_record,
    move_house,
    retire_stranger,
    retire_again,
    leave_whole_cohort,
]
# Sometimes right, by chance or by what others hold.
DOUBTFUL: list[Mutation] = [show_too_much, drop_persisting, add_value, swap_companion]
