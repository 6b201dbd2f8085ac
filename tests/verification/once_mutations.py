"""Releases that show values once and went wrong in one place; None where a mutation does not
apply."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import replace

from verification.cohort_reference import Person, Release
from verification.once_reference import Book, Terms
from verification.once_series import arrange, publish, reduced

Mutation = Callable[[Book, Release, Terms, random.Random], Release | None]


def _pick(rng: random.Random, some: list[int]) -> int | None:
    return rng.choice(sorted(some)) if some else None


def _clean(release: Release) -> list[int]:
    return [who for who in release.shown if release.cohort[who] < 0]


def _joining(release: Release) -> list[int]:
    """The people of groups that show a value."""
    return [who for who in release.shown if release.cohort[who] >= 0]


def _cell_of(release: Release, who: int) -> list[int]:
    return [each for each in release.shown if release.group[each] == release.group[who]]


def _other_cells(release: Release, *people: int) -> list[list[int]]:
    """All cells but those of some people."""
    without = {release.group[who] for who in people}
    cells = defaultdict(list)
    for who, number in release.group.items():
        if number not in without:
            cells[number].append(who)
    return list(cells.values())


def _showing(release: Release, who: int, person: Person) -> Release:
    return replace(release, shown={**release.shown, who: person})


def _without_record(release: Release, who: int) -> Release:
    return _showing(release, who, Person(release.table[who].codes, False, frozenset()))


def _only(release: Release, dropped: set[int]) -> Release:
    shown = {who: each for who, each in release.shown.items() if who not in dropped}
    return replace(
        release,
        shown=shown,
        cohort={who: release.cohort[who] for who in shown},
        group={who: release.group[who] for who in shown},
        retired=release.retired - dropped,
    )


def show_other_record(
    _book: Book, release: Release, terms: Terms, rng: random.Random
) -> Release | None:
    """Somebody who holds nothing has a record beside a holder's, whole or empty."""
    who = _pick(rng, [k for k in _joining(release) if not release.shown[k].is_present])
    if who is None:
        return None
    person = release.table[who]
    return _showing(release, who, rng.choice([person, replace(person, values=frozenset())]))


def show_other_value(
    _book: Book, release: Release, terms: Terms, rng: random.Random
) -> Release | None:
    """A holder's record has a value that is not protected."""
    holders = [k for k in _joining(release) if release.shown[k].is_present]
    who = _pick(rng, [k for k in holders if release.shown[k] != release.table[k]])
    return None if who is None else _showing(release, who, release.table[who])


def show_whole_cell(
    _book: Book, release: Release, _terms: Terms, rng: random.Random
) -> Release | None:
    who = _pick(rng, _joining(release))
    if who is None:
        return None
    whole = {k: release.table[k] for k in _cell_of(release, who)}
    return replace(release, shown={**release.shown, **whole})


def hide_holder(_book: Book, release: Release, _terms: Terms, rng: random.Random) -> Release | None:
    who = _pick(rng, [k for k in _joining(release) if release.shown[k].is_present])
    return None if who is None else _without_record(release, who)


def hide_all_holders(
    _book: Book, release: Release, _terms: Terms, rng: random.Random
) -> Release | None:
    """A cell with a value is published as one without: its holders have no record, and all stay
    free."""
    who = _pick(rng, _joining(release))
    if who is None:
        return None
    cell = _cell_of(release, who)
    shown = dict(release.shown)
    for each in cell:
        person = release.table[each]
        hidden = release.shown[each].is_present
        shown[each] = Person(person.codes, False, frozenset()) if hidden else person
    return replace(
        release,
        shown=shown,
        cohort=release.cohort | dict.fromkeys(cell, -1),
        retired=release.retired - set(cell),
    )


def leave_out_others(
    _book: Book, release: Release, _terms: Terms, rng: random.Random
) -> Release | None:
    """Those who hold nothing are not even members."""
    dropped = {k for k in _joining(release) if not release.shown[k].is_present}
    return _only(release, dropped) if dropped else None


def withhold_clean(
    _book: Book, release: Release, _terms: Terms, rng: random.Random
) -> Release | None:
    """A record is missing from a cell without a value."""
    who = _pick(rng, _clean(release))
    return None if who is None else _without_record(release, who)


def reduce_clean(_book: Book, release: Release, terms: Terms, rng: random.Random) -> Release | None:
    """A cell without a value is published as one with a value."""
    who = _pick(rng, _clean(release))
    if who is None:
        return None
    fewer = {k: reduced(release.table[k], terms) for k in _cell_of(release, who)}
    return replace(release, shown={**release.shown, **fewer})


def show_small_class(
    book: Book, release: Release, terms: Terms, rng: random.Random
) -> Release | None:
    waiting = [
        people for people in book.classes(release.table) if not set(people) & set(release.shown)
    ]
    if not waiting:
        return None
    cells = [*_other_cells(release), rng.choice(waiting)]
    return publish(book, release.table, cells, terms, rng)


def cut_further(book: Book, release: Release, terms: Terms, rng: random.Random) -> Release | None:
    """A cell that shows a value is halved."""
    who = _pick(rng, _joining(release))
    if who is None:
        return None
    cell = sorted(_cell_of(release, who), key=lambda k: (release.table[k].codes[0], k))
    half = len(cell) // 2
    cells = [*_other_cells(release, who), cell[:half], cell[half:]]
    return publish(book, release.table, cells, terms, rng)


def cut_less(book: Book, release: Release, terms: Terms, rng: random.Random) -> Release | None:
    """Two cells without a value are one."""
    one = _pick(rng, _clean(release))
    others = [k for k in _clean(release) if one is None or release.group[k] != release.group[one]]
    other = _pick(rng, others)
    if one is None or other is None:
        return None
    both = _cell_of(release, one) + _cell_of(release, other)
    cells = [*_other_cells(release, one, other), both]
    return publish(book, release.table, cells, terms, rng)


def _two_pasts(book: Book, release: Release, rng: random.Random) -> tuple[int, int] | None:
    one = _pick(rng, list(release.shown))
    others = [k for k in release.shown if one is not None and book.past(k) != book.past(one)]
    other = _pick(rng, others)
    return None if one is None or other is None else (one, other)


def mix_pasts(book: Book, release: Release, terms: Terms, rng: random.Random) -> Release | None:
    """Somebody is in a cell of people with another past."""
    pair = _two_pasts(book, release, rng)
    if pair is None:
        return None
    one, other = pair
    rest = [k for k in _cell_of(release, one) if k != one]
    cells = [*_other_cells(release, one, other), [*_cell_of(release, other), one]]
    return publish(book, release.table, [*cells, rest] if rest else cells, terms, rng)


def unite_pasts(book: Book, release: Release, terms: Terms, rng: random.Random) -> Release | None:
    """People with two pasts are in one cell."""
    pair = _two_pasts(book, release, rng)
    if pair is None:
        return None
    both = _cell_of(release, pair[0]) + _cell_of(release, pair[1])
    return publish(book, release.table, [*_other_cells(release, *pair), both], terms, rng)


def forget_attendance(
    book: Book, release: Release, terms: Terms, rng: random.Random
) -> Release | None:
    """The last release is not recalled."""
    if not book.members or not book.members[-1]:
        return None
    return arrange(replace(book, members=book.members[:-1]), release.table, terms, rng)


def hide_class(book: Book, release: Release, _terms: Terms, rng: random.Random) -> Release | None:
    shown = [people for people in book.classes(release.table) if set(people) & set(release.shown)]
    people = set(rng.choice(shown)) if shown else set()
    return _only(release, people) if people and set(release.shown) - people else None


def _cut_around(release: Release, people: list[int], terms: Terms) -> list[list[int]]:
    """Cells that need only bear their own holders."""
    column = sorted(people, key=lambda who: (release.table[who].codes[0], who))
    half = len(people) // 2
    parts = [column[:half], column[half:]]
    held = [
        Counter(name for who in part for name in terms.held(release.table[who].values))
        for part in parts
    ]
    if half < max(terms.minimum, 1) or not all(
        terms.bears(len(part), name, count)
        for part, counts in zip(parts, held, strict=True)
        for name, count in counts.items()
    ):
        return [people]
    return [cell for part in parts for cell in _cut_around(release, sorted(part), terms)]


def cut_around_holders(
    book: Book, release: Release, terms: Terms, rng: random.Random
) -> Release | None:
    """A cell is cut because of where in it the holder is."""
    for who in _joining(release):
        parts = _cut_around(release, sorted(_cell_of(release, who)), terms)
        if len(parts) > 1:
            cells = [*_other_cells(release, who), *parts]
            return publish(book, release.table, cells, terms, rng)
    return None


def swap_cells(book: Book, release: Release, terms: Terms, rng: random.Random) -> Release | None:
    """A member of a cell with a value and one of a cell without change places."""
    one = _pick(rng, [k for k in _joining(release) if not release.shown[k].is_present])
    other = _pick(rng, _clean(release))
    if one is None or other is None:
        return None
    changed = [
        [other if k == one else k for k in _cell_of(release, one)],
        [one if k == other else k for k in _cell_of(release, other)],
    ]
    cells = [*_other_cells(release, one, other), *changed]
    return publish(book, release.table, cells, terms, rng)


def forget_to_retire_anybody(
    _book: Book, release: Release, _terms: Terms, _rng: random.Random
) -> Release | None:
    """Cohorts stand, as if permanent values allowed it."""
    return replace(release, retired=frozenset()) if release.retired else None


def show_retired(book: Book, release: Release, terms: Terms, rng: random.Random) -> Release | None:
    """Somebody who retired is in a cell of its own, or with others."""
    who = _pick(rng, list(book.retired.keys() & release.table.keys()))
    if who is None:
        return None
    with_others = _pick(rng, list(release.shown))
    if with_others is None or rng.random() < 0.5:
        cells = [*_other_cells(release), [who]]
    else:
        cells = [*_other_cells(release, with_others), [*_cell_of(release, with_others), who]]
    return publish(book, release.table, cells, terms, rng)


def reuse_number(book: Book, release: Release, _terms: Terms, rng: random.Random) -> Release | None:
    who = _pick(rng, _joining(release))
    if who is None or not book.cohort:
        return None
    number = rng.choice(sorted(set(book.cohort.values())))
    return replace(release, cohort=release.cohort | dict.fromkeys(_cell_of(release, who), number))


def share_number(
    _book: Book, release: Release, _terms: Terms, rng: random.Random
) -> Release | None:
    """Two new cohorts have one number."""
    numbers = sorted({release.cohort[k] for k in _joining(release)})
    if len(numbers) < 2:
        return None
    one, other = rng.sample(numbers, 2)
    return replace(
        release, cohort={k: one if each == other else each for k, each in release.cohort.items()}
    )


def forget_to_join(
    _book: Book, release: Release, _terms: Terms, rng: random.Random
) -> Release | None:
    who = _pick(rng, _joining(release))
    return None if who is None else replace(release, cohort={**release.cohort, who: -1})


def join_without_value(
    book: Book, release: Release, _terms: Terms, rng: random.Random
) -> Release | None:
    who = _pick(rng, _clean(release))
    if who is None:
        return None
    number = max(book.formed, *release.cohort.values()) + 1
    return replace(release, cohort=release.cohort | dict.fromkeys(_cell_of(release, who), number))


def forget_to_retire(
    _book: Book, release: Release, _terms: Terms, rng: random.Random
) -> Release | None:
    who = _pick(rng, list(release.retired))
    if who is None:
        return None
    cell = {k for k in release.shown if release.group[k] == release.group[who]}
    return replace(release, retired=release.retired - rng.choice([cell, {who}]))


def retire_too_many(
    _book: Book, release: Release, _terms: Terms, rng: random.Random
) -> Release | None:
    who = _pick(rng, list(release.shown.keys() - release.retired))
    return None if who is None else replace(release, retired=release.retired | {who})


def forget_person(
    _book: Book, release: Release, _terms: Terms, rng: random.Random
) -> Release | None:
    who = _pick(rng, list(release.shown))
    return None if len(release.shown) < 2 or who is None else _only(release, {who})


def drop_value(_book: Book, release: Release, _terms: Terms, rng: random.Random) -> Release | None:
    who = _pick(rng, [k for k, each in release.shown.items() if each.values])
    if who is None:
        return None
    person = release.shown[who]
    fewer = person.values - {rng.choice(sorted(person.values))}
    return _showing(release, who, replace(person, values=fewer))


def add_value(_book: Book, release: Release, _terms: Terms, rng: random.Random) -> Release | None:
    values = ["r", "s", "flu"]
    who = _pick(rng, [k for k, p in release.shown.items() if p.is_present and "r" not in p.values])
    if who is None:
        return None
    person = release.shown[who]
    more = person.values | {next(each for each in values if each not in person.values)}
    return _showing(release, who, replace(person, values=more))


def move_house(_book: Book, release: Release, _terms: Terms, rng: random.Random) -> Release | None:
    who = _pick(rng, list(release.shown))
    if who is None:
        return None
    person = release.shown[who]
    codes = ((person.codes[0] + 1) % 9, *person.codes[1:])
    return _showing(release, who, replace(person, codes=codes))


def cut_all_at_once(
    book: Book, release: Release, terms: Terms, rng: random.Random
) -> Release | None:
    """Free people are cut without regard to their pasts, the retired left out."""
    if len(book.classes(release.table)) < 2:
        return None
    forgetful = replace(book, members=[])
    return arrange(forgetful, release.table, terms, rng)


# Wrong wherever they apply.
WRONG: list[Mutation] = [
    show_other_record,
    show_other_value,
    show_whole_cell,
    hide_holder,
    hide_all_holders,
    leave_out_others,
    withhold_clean,
    reduce_clean,
    show_small_class,
    hide_class,
    cut_further,
    cut_less,
    mix_pasts,
    unite_pasts,
    cut_around_holders,
    swap_cells,
    forget_to_retire,
    forget_to_retire_anybody,
    retire_too_many,
    show_retired,
    reuse_number,
    share_number,
    forget_to_join,
    join_without_value,
    forget_person,
    drop_value,
    add_value,
    move_house,
]
# Sometimes right by chance: the cells of some people do not change.
DOUBTFUL: list[Mutation] = [forget_attendance, cut_all_at_once]
