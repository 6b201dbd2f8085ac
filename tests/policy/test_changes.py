"""What may change in a policy after a release, and how a forbidden change is reported."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from policy.examples import FULL, changed
from serigraph.errors import PolicyChanged
from serigraph.policy import check_unchanged, parse_policy

PUBLISHED = json.loads(json.dumps(parse_policy(FULL, "policy.toml", Path()).frozen()))


def check(text: str, folder: Path = Path()) -> None:
    check_unchanged(PUBLISHED, parse_policy(text, "policy.toml", folder), text, "policy.toml")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("releases = 10", "releases = 5"),
        ('threshold = "1/2"', "l = 2"),
        ('threshold = "1/2"', 'threshold = "0.50"'),
        ("minimum_group_size = 3", "minimum_group_size = 4"),
        ("minimum_group_size = 3", 'minimum_group_size = 3\ncuts = "counts"'),
        ("minimum_group_size = 3", 'minimum_group_size = 3\ncuts = "blind"'),
        ("[strategy]", '[output]\nform = "bucketised"\n[reading]\ndecimal = ","\n[strategy]'),
        ('["chlamydia", "gonorrhoea"]', '["gonorrhoea", "chlamydia"]'),
        ('id = "patient"', 'id = "patient"\ntype = "text"'),
        ("[protected]", "# a comment\n[protected]"),
    ],
)
def test_what_the_promise_does_not_depend_on_may_change(old: str, new: str) -> None:
    check(changed((old, new)))


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ('threshold = "1/2"', "l = 3", "line 17, guarantee.threshold was '1/2', is '1/3'"),
        ('id = "patient"', 'id = "person"', "line 3, person.id was 'patient', is 'person'"),
        ("minimum_group_size = 3", "", "guarantee.minimum_group_size was 3, is 1"),
        ('values = "all"', 'except = ["flu"]', "line 11, protected.except was absent, is 'flu'"),
        ('"gonorrhoea"]', '"gout"]', "line 13, protected.classes.any STD lost 'gonorrhoea' and"),
        ('"1/10"', '"1/9"', "line 15, protected.thresholds.any STD was '1/10', is '1/9'"),
        ('kind = "numeric"', 'kind = "date"', "line 5, quasi_identifiers.age.kind"),
        ("[sensitive]", '[sensitive]\nform = "rows"', "line 9, sensitive.form was 'single'"),
        ("[sensitive]", '[missing]\nquasi_identifiers = "error"\n[sensitive]', "line 9, missing"),
        (
            "[sensitive]",
            '[quasi_identifiers.sex]\nkind = "categorical"\n[sensitive]',
            "line 9, quasi_identifiers.sex.kind was absent, is 'categorical'",
        ),
        (
            "[guarantee]",
            '[guarantee]\nadversary = "presence known"',
            "line 17, guarantee.adversary",
        ),
    ],
)
def test_what_the_promise_depends_on_is_fixed(old: str, new: str, expected: str) -> None:
    with pytest.raises(PolicyChanged) as caught:
        check(changed((old, new)))
    assert expected in str(caught.value)
    assert "start a new series" in caught.value.remedy


def test_cuts_stay_blind_once_they_are() -> None:
    size = "minimum_group_size = 3"
    blind = changed((size, f'{size}\ncuts = "blind"'))
    published = parse_policy(blind, "policy.toml", Path()).frozen()
    check_unchanged(published, parse_policy(blind, "p", Path()), blind, "p")
    for after in (FULL, changed((size, f'{size}\ncuts = "counts"'))):
        with pytest.raises(PolicyChanged, match=r"guarantee\.cuts was 'blind'"):
            check_unchanged(published, parse_policy(after, "p", Path()), after, "p")


def test_every_change_is_named() -> None:
    with pytest.raises(PolicyChanged) as caught:
        check(changed(('"1/2"', '"1/3"'), ('"1/10"', '"1/9"'), ('id = "patient"', 'id = "p"')))
    assert str(caught.value).count("line ") == 3


def test_the_content_of_a_protected_file_is_fixed(tmp_path: Path) -> None:
    text = changed(('values = "all"', 'file = "protected.txt"'))
    listed = tmp_path / "protected.txt"
    listed.write_text("gout\nhiv\n")
    published = parse_policy(text, "policy.toml", tmp_path).frozen()
    listed.write_text("hiv\n\ngout\n")
    check_unchanged(published, parse_policy(text, "p", tmp_path), text, "p")
    listed.write_text("hiv\n")
    with pytest.raises(PolicyChanged, match=r"line 11, protected\.values lost 'gout'"):
        check_unchanged(published, parse_policy(text, "p", tmp_path), text, "p")
    as_list = changed(('values = "all"', 'values = ["gout", "hiv"]'))
    check_unchanged(published, parse_policy(as_list, "p", tmp_path), as_list, "p")


def persisting(**stated: str) -> str:
    lines = "\n".join(f'{name} = "{kind}"' for name, kind in stated.items())
    return changed(("[guarantee]", f"[protected.persistence]\n{lines}\n[guarantee]"))


def test_persistence_may_become_any_and_nothing_else() -> None:
    def check_from(before: str, after: str) -> None:
        published = parse_policy(before, "p", Path()).frozen()
        check_unchanged(published, parse_policy(after, "p", Path()), after, "p")

    check_from(FULL, persisting(default="any"))
    check_from(FULL, persisting(default="transient", flu="any"))
    check_from(persisting(default="permanent"), persisting(default="permanent", flu="any"))
    check_from(persisting(default="any"), persisting(default="any", flu="any"))
    for before, after, expected in (
        (persisting(default="any"), FULL, "persistence.default was 'any', is 'transient'"),
        (FULL, persisting(default="permanent"), "persistence.default was 'transient'"),
        (persisting(default="any"), persisting(default="any", flu="permanent"), "persistence.flu"),
        (persisting(flu="any"), persisting(default="transient"), "persistence.flu was 'any'"),
    ):
        with pytest.raises(PolicyChanged, match=expected):
            check_from(before, after)
