"""Releases that show values once and went wrong in one place; None where a mutation does not
apply."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import replace

from verification.cohort_reference import Person, Release
from verification.once_reference import Book, Terms
from verification.once_series import arrange

Mutation = Callable[[Book, Release, Terms, random.Random], Release | None]


def _pick(rng: random.Random, some: list[int]) -> int | None:
    return rng.choice(sorted(some)) if some else None


def _standing(book: Book, release: Release, *, present: bool) -> list[int]:
    return [
        who
        for who, person in release.shown.items()
        if who in book.cohort and person.is_present == present
    ]


def _free(book: Book, release: Release) -> list[int]:
    return [who for who in release.shown if who not in book.cohort]


def _joining(book: Book, release: Release) -> list[int]:
    return [who for who in _free(book, release) if release.cohort[who] >= 0]


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


def _also(release: Release, people: list[int], cohort: int) -> Release:
    """The release with some people more, in a group of their own."""
    group = max(release.group.values()) + 1
    return replace(
        release,
        shown=dict(sorted({**release.shown, **{k: release.table[k] for k in people}}.items())),
        cohort=release.cohort | dict.fromkeys(people, cohort),
        group=release.group | dict.fromkeys(people, group),
    )


def withhold_one_more(
    book: Book, release: Release, _terms: Terms, rng: random.Random
) -> Release | None:
    who = _pick(rng, _standing(book, release, present=True))
    return None if who is None else _without_record(release, who)


def withhold_one_fewer(
    book: Book, release: Release, terms: Terms, rng: random.Random
) -> Release | None:
    hidden = _standing(book, release, present=False)
    who = _pick(rng, [k for k in hidden if not terms.held(release.table[k].values)])
    return None if who is None else _showing(release, who, release.table[who])


def show_holder_again(
    book: Book, release: Release, terms: Terms, rng: random.Random
) -> Release | None:
    """A holder of a standing cohort has the record of which another is deprived."""
    hidden = _standing(book, release, present=False)
    who = _pick(rng, [k for k in hidden if terms.held(release.table[k].values)])
    others = [
        k
        for k in _standing(book, release, present=True)
        if who is not None and book.cohort[k] == book.cohort[who]
    ]
    other = _pick(rng, others)
    if who is None or other is None:
        return None
    return _without_record(_showing(release, who, release.table[who]), other)


def withhold_free(
    book: Book, release: Release, _terms: Terms, rng: random.Random
) -> Release | None:
    who = _pick(rng, _free(book, release))
    return None if who is None else _without_record(release, who)


def forget_attendance(
    book: Book, release: Release, terms: Terms, rng: random.Random
) -> Release | None:
    """The last release is not recalled."""
    if not book.members or not book.members[-1]:
        return None
    return arrange(replace(book, members=book.members[:-1]), release.table, terms, rng)


def show_small_class(
    book: Book, release: Release, _terms: Terms, rng: random.Random
) -> Release | None:
    waiting = [
        people for people in book.classes(release.table) if not set(people) & set(release.shown)
    ]
    return _also(release, rng.choice(waiting), -1) if waiting else None


def hide_class(book: Book, release: Release, _terms: Terms, rng: random.Random) -> Release | None:
    shown = [people for people in book.classes(release.table) if set(people) & set(release.shown)]
    people = set(rng.choice(shown)) if shown else set()
    return _only(release, people) if people and set(release.shown) - people else None


def cut_further(book: Book, release: Release, _terms: Terms, rng: random.Random) -> Release | None:
    """A cell that shows a value is halved, and the halves are cohorts of their own."""
    who = _pick(rng, _joining(book, release))
    if who is None:
        return None
    cell = [k for k in release.shown if release.group[k] == release.group[who]]
    half = cell[: len(cell) // 2]
    return replace(
        release,
        group=release.group | dict.fromkeys(half, max(release.group.values()) + 1),
        cohort=release.cohort | dict.fromkeys(half, max(release.cohort.values()) + 1),
    )


def cut_less(book: Book, release: Release, _terms: Terms, rng: random.Random) -> Release | None:
    """Two cells without a value are one."""
    clean = {release.group[k] for k in _free(book, release) if release.cohort[k] < 0}
    if len(clean) < 2:
        return None
    one, other = rng.sample(sorted(clean), 2)
    return replace(release, group={k: one if g == other else g for k, g in release.group.items()})


def mix_pasts(book: Book, release: Release, _terms: Terms, rng: random.Random) -> Release | None:
    """Somebody is in a cell of people with another past."""
    free = _free(book, release)
    one = _pick(rng, free)
    others = [k for k in free if one is not None and book.past(k) != book.past(one)]
    other = _pick(rng, others)
    if one is None or other is None:
        return None
    return replace(
        release,
        group={**release.group, one: release.group[other]},
        cohort={**release.cohort, one: release.cohort[other]},
        retired=release.retired | {one} if other in release.retired else release.retired - {one},
    )


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
    cells = defaultdict(list)
    for who in _joining(book, release):
        cells[release.group[who]].append(who)
    for number, cell in sorted(cells.items()):
        parts = _cut_around(release, cell, terms)
        if len(parts) < 2:
            continue
        group, cohort, retired = dict(release.group), dict(release.cohort), set(release.retired)
        for place, part in enumerate(parts):
            held = {name for who in part for name in terms.held(release.table[who].values)}
            new = number if place == 0 else max(group.values()) + 1
            group |= dict.fromkeys(part, new)
            cohort |= dict.fromkeys(part, max(cohort.values()) + 1 if held else -1)
            retired -= set(part)
            retired |= set(part) if held & terms.comes_and_goes else set()
        return replace(release, group=group, cohort=cohort, retired=frozenset(retired))
    return None


def swap_cells(book: Book, release: Release, _terms: Terms, rng: random.Random) -> Release | None:
    """A member of a cell with a value and one of a cell without change places."""
    joining = [k for k in _joining(book, release) if not _terms.held(release.table[k].values)]
    one = _pick(rng, joining)
    other = _pick(rng, [k for k in _free(book, release) if release.cohort[k] < 0])
    if one is None or other is None:
        return None
    group, cohort, retired = dict(release.group), dict(release.cohort), set(release.retired)
    group[one], group[other] = group[other], group[one]
    cohort[one], cohort[other] = cohort[other], cohort[one]
    if one in retired:
        retired = retired - {one} | {other}
    return replace(release, group=group, cohort=cohort, retired=frozenset(retired))


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


def show_retired(book: Book, release: Release, _terms: Terms, rng: random.Random) -> Release | None:
    who = _pick(rng, list(book.retired.keys() & release.table.keys()))
    return None if who is None else _also(release, [who], book.cohort[who])


def reuse_number(book: Book, release: Release, _terms: Terms, rng: random.Random) -> Release | None:
    who = _pick(rng, _joining(book, release))
    if who is None or not book.cohort:
        return None
    cell = [k for k in release.shown if release.group[k] == release.group[who]]
    number = rng.choice(sorted(set(book.cohort.values())))
    return replace(release, cohort=release.cohort | dict.fromkeys(cell, number))


def share_number(book: Book, release: Release, _terms: Terms, rng: random.Random) -> Release | None:
    """Two new cohorts have one number."""
    numbers = sorted({release.cohort[k] for k in _joining(book, release)})
    if len(numbers) < 2:
        return None
    one, other = rng.sample(numbers, 2)
    return replace(
        release, cohort={k: one if each == other else each for k, each in release.cohort.items()}
    )


def forget_to_join(
    book: Book, release: Release, _terms: Terms, rng: random.Random
) -> Release | None:
    who = _pick(rng, _joining(book, release))
    return None if who is None else replace(release, cohort={**release.cohort, who: -1})


def join_without_value(
    book: Book, release: Release, _terms: Terms, rng: random.Random
) -> Release | None:
    who = _pick(rng, [k for k in _free(book, release) if release.cohort[k] < 0])
    if who is None:
        return None
    cell = [k for k in release.shown if release.group[k] == release.group[who]]
    number = max(book.formed, *release.cohort.values()) + 1
    return replace(release, cohort=release.cohort | dict.fromkeys(cell, number))


def forget_person(
    _book: Book, release: Release, _terms: Terms, rng: random.Random
) -> Release | None:
    who = _pick(rng, list(release.shown))
    return None if len(release.shown) < 2 or who is None else _only(release, {who})


def move_member(book: Book, release: Release, _terms: Terms, rng: random.Random) -> Release | None:
    who = _pick(rng, [k for k in release.shown if k in book.cohort])
    others = [
        k for k in release.shown if who is not None and release.group[k] != release.group[who]
    ]
    other = _pick(rng, others)
    if who is None or other is None:
        return None
    return replace(release, group={**release.group, who: release.group[other]})


def split_cohort(book: Book, release: Release, _terms: Terms, rng: random.Random) -> Release | None:
    sizes = Counter(release.cohort[k] for k in release.shown if k in book.cohort)
    who = _pick(rng, [k for k in release.shown if k in book.cohort and sizes[book.cohort[k]] > 1])
    if who is None:
        return None
    return replace(release, group={**release.group, who: max(release.group.values()) + 1})


def rename_cohort(
    book: Book, release: Release, _terms: Terms, rng: random.Random
) -> Release | None:
    who = _pick(rng, [k for k in release.shown if k in book.cohort])
    return None if who is None else replace(release, cohort={**release.cohort, who: -1})


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
    withhold_one_more,
    withhold_one_fewer,
    show_holder_again,
    withhold_free,
    show_small_class,
    hide_class,
    cut_further,
    cut_less,
    mix_pasts,
    cut_around_holders,
    swap_cells,
    forget_to_retire,
    retire_too_many,
    show_retired,
    reuse_number,
    share_number,
    forget_to_join,
    join_without_value,
    forget_person,
    move_member,
    split_cohort,
    rename_cohort,
    drop_value,
    add_value,
    move_house,
]
# Sometimes right by chance: the cells of some people do not change.
DOUBTFUL: list[Mutation] = [forget_attendance, cut_all_at_once]
