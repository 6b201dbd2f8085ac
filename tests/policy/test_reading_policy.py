"""Reading policies: what is understood, and that every problem is reported with its line."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

from policy.examples import FULL, changed
from serigraph.errors import PolicyError
from serigraph.policy import parse_policy, read_policy
from serigraph.privacy.adaptive import Adaptive
from serigraph.privacy.link_chances import LinkGaps
from serigraph.privacy.strategies import ConstantRatio, Geometric, OptimalSchedule

MANY_PROBLEMS = """\
version = 2
[person]
idd = "patient"
[quasi_identifiers.age]
kind = "numerc"
[quasi_identifiers.diagnosis]
kind = "date"
taxonomy = "absent.csv"
[sensitive]
column = "diagnosis"
form = "delimited"
[protected]
values = ["a"]
file = "absent.txt"
rarest = 0.1
[protected.thresholds]
"a" = 0.25
[guarantee]
threshold = 0.5
l = 2
minimum_group_size = 0
[strategy]
name = "constant"
releases = 0
factor = 2
[reeding]
delimiter = ";"
"""


def problems_of(text: str, folder: Path = Path()) -> list[str]:
    with pytest.raises(PolicyError) as caught:
        parse_policy(text, "policy.toml", folder)
    return list(caught.value.problems)


def test_a_full_policy_is_understood(tmp_path: Path) -> None:
    (tmp_path / "policy.toml").write_text(FULL)
    policy = read_policy(tmp_path / "policy.toml")
    assert policy.person.id == "patient"
    assert list(policy.quasi_identifiers) == ["age", "zip code"]
    assert policy.threshold == Fraction(1, 2)
    assert policy.threshold_of("any STD") == Fraction(1, 10)
    assert policy.threshold_of("chlamydia") == Fraction(1, 2)
    assert policy.strategy_for() == ConstantRatio(10)
    assert policy.folder == tmp_path


def test_all_problems_are_reported_at_once_each_with_its_line() -> None:
    lines = {
        int(problem.split(":")[0].removeprefix("line ")) for problem in problems_of(MANY_PROBLEMS)
    }
    assert lines == {1, 2, 3, 5, 6, 8, 11, 14, 15, 17, 19, 20, 21, 24, 25, 26}


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ('id = "patient"', 'idd = "patient"', "line 3: unknown key 'idd'; did you mean 'id'?"),
        ('id = "patient"', "", "line 2: the key 'id' is missing"),
        ('kind = "numeric"', 'kind = "number"', "line 5: quasi_identifiers.age.kind: must be"),
        ('kind = "categorical"', 'kind = "x"', "line 7: quasi_identifiers.zip code.kind"),
        ('threshold = "1/2"', "threshold = 0.5", "floats are not exact"),
        ('threshold = "1/2"', 'threshold = "3/2"', "between 0 and 1"),
        ('threshold = "1/2"', "l = 1", "l must be above 1"),
        ('threshold = "1/2"', "", "line 16: guarantee.threshold: the threshold is missing"),
        ('"any STD" = "1/10"', '"any STD" = 0.1', "line 15: protected.thresholds.any STD"),
        ('values = "all"', 'values = "most"', "line 11: protected.values"),
        ('values = "all"', 'values = ["any STD"]', "has the name of a value"),
        ('values = "all"', 'rarest = "200%"', "line 11: protected.rarest"),
        (
            'name = "constant"',
            'name = "best"',
            "name must be adaptive, constant, geometric or schedule",
        ),
        ('name = "constant"', "", "the key 'name' is missing"),
        ("version = 1", 'version = 1\nfolder = "/"', "unknown key 'folder'; known here: version, "),
        ("releases = 10", "factor = 2", "line 21: unknown key 'factor'"),
        ("[sensitive]", "[sensible]", "[sensitive] is missing; it may have column, form,"),
        ('column = "diagnosis"', 'column = "age"', "is already the sensitive column"),
        ('column = "diagnosis"', 'column = "patient"', "is already the person's id"),
        ('column = "diagnosis"', 'column = "d"\ndelimiter = ";"', "line 10: sensitive.delimiter"),
    ],
)
def test_each_problem_says_what_and_where(old: str, new: str, expected: str) -> None:
    found = problems_of(changed((old, new)))
    assert any(expected in problem for problem in found), found


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (
            'name = "constant"\nreleases = 10',
            'name = "adaptive"\nreleases = 1000000',
            "line 21: strategy.releases: must be less than or equal to 1000, or 'open'",
        ),
        (
            'values = "all"',
            "values = 5",
            "line 11: protected.values: must be 'all', or a list",
        ),
        (
            'values = "all"',
            'values = ["", "x", ""]',
            "line 11: protected.values: must be 'all', or a value cannot be empty",
        ),
    ],
)
def test_a_key_that_may_hold_several_things_has_one_problem(
    old: str, new: str, expected: str
) -> None:
    assert problems_of(changed((old, new))) == [expected]


def test_broken_toml_is_reported_with_its_line() -> None:
    with pytest.raises(PolicyError, match="line 2"):
        parse_policy("version = 1\n[person\n", "policy.toml", Path())


def test_a_policy_that_is_not_there() -> None:
    with pytest.raises(PolicyError, match="does not exist"):
        read_policy("absent/policy.toml")


@pytest.mark.parametrize(
    "written", ["threshold = '1/2'", "l = 2", "l = '2.0'", "threshold = '50%'"]
)
def test_a_threshold_can_be_written_in_several_ways(written: str) -> None:
    policy = parse_policy(changed(('threshold = "1/2"', written)), "policy.toml", Path())
    assert policy.threshold == Fraction(1, 2)


def test_protected_values_may_be_in_a_file(tmp_path: Path) -> None:
    text = changed(('values = "all"', 'file = "protected.txt"'))
    assert "does not exist" in problems_of(text, tmp_path)[0]
    (tmp_path / "protected.txt").write_text("\n")
    assert "lists no values" in problems_of(text, tmp_path)[0]
    (tmp_path / "protected.txt").write_text("gout\n\n hiv \n")
    assert parse_policy(text, "p", tmp_path).listed_in_file == ("gout", "hiv")


def test_nothing_protected_is_refused() -> None:
    without_classes = changed(
        ('values = "all"', "values = []"),
        ('[protected.classes]\n"any STD" = ["chlamydia", "gonorrhoea"]\n', ""),
        ('[protected.thresholds]\n"any STD" = "1/10"\n', ""),
    )
    assert "nothing is protected" in problems_of(without_classes)[0]


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ('name = "geometric"\nfactor = "3/2"', Geometric(Fraction(3, 2))),
        ('name = "geometric"\nfactor = 1.1\nreplan = false', Geometric(Fraction(11, 10), False)),
        (
            'name = "schedule"\nlink_chances = [1, 0.5]',
            OptimalSchedule((Fraction(1), Fraction(1, 2))),
        ),
    ],
)
def test_strategies_are_built_exactly(written: str, expected: object) -> None:
    text = changed(('name = "constant"\nreleases = 10', written))
    assert parse_policy(text, "policy.toml", Path()).strategy_for() == expected


@pytest.mark.parametrize(
    ("planned", "releases"), [("", 20), ("\nreleases = 4", 4), ('\nreleases = "open"', None)]
)
@pytest.mark.parametrize("name", ["adaptive", "schedule"])
def test_the_adaptive_strategy_follows_the_links_so_far(
    name: str, planned: str, releases: int | None
) -> None:
    """A schedule with learned chances is the same under its earlier name."""
    if name == "schedule" and releases is None:
        return
    text = changed(('name = "constant"\nreleases = 10', f'name = "{name}"{planned}'))
    policy = parse_policy(text, "policy.toml", Path())
    assert policy.strategy_for() == Adaptive(releases)
    seen = LinkGaps(again={(1, 1): 490}, waiting={(1, 3): 500}, releases=4, people=2000)
    assert policy.strategy_for(lambda: seen, {"HIV": 0.1}) == Adaptive(releases, seen, {"HIV": 0.1})


@pytest.mark.parametrize(
    "wrong",
    [
        'name = "geometric"\nfactor = 1',
        'name = "schedule"\nlink_chances = [0.5, 1]',
        'name = "schedule"\nlink_chances = "guessed"',
        'name = "schedule"\nreplan = false',
        'name = "schedule"\nreleases = 2\nlink_chances = [1, 0.5]',
        'name = "constant"\nreleases = 0',
    ],
)
def test_impossible_strategies_are_refused(wrong: str) -> None:
    found = problems_of(changed(('name = "constant"\nreleases = 10', wrong)))
    assert len(found) == 1
    assert found[0].startswith("line 21: strategy.")


def test_a_class_of_values_that_persist_persists() -> None:
    section = '[protected.persistence]\ndefault = "transient"\nchlamydia = "any"\n'
    with pytest.raises(PolicyError, match=r"line 13: .*'any STD' holds values that persist"):
        parse_policy(changed(("[guarantee]", f"{section}[guarantee]")), "policy.toml", Path())
    section += '"any STD" = "any"\n'
    with pytest.raises(PolicyError, match=r"line 13: .*persists, and is limited in each cohort"):
        parse_policy(changed(("[guarantee]", f"{section}[guarantee]")), "policy.toml", Path())
    section = section.replace('default = "transient"', 'default = "any"')
    parse_policy(changed(("[guarantee]", f"{section}[guarantee]")), "policy.toml", Path())


@pytest.mark.parametrize("flu", ["flu", " flu "])
def test_a_class_that_persists_shares_no_value_with_a_transient_one(flu: str) -> None:
    """Where one is full its members show no flu, so the other would tell in which cohort it is."""
    classes = f'weak = ["HIV", "flu"]\nairways = ["{flu}", "cold"]\n'
    section = '[protected.persistence]\nHIV = "any"\nweak = "any"\n'
    text = f'version = 1\n[person]\nid = "id"\n[protected]\nvalues = ["HIV"]\n{section}'
    text += f"[protected.classes]\n{classes}"
    with pytest.raises(PolicyError, match=r"'weak' persists and shares values with .* 'airways'"):
        parse_policy(text, "policy.toml", Path())


@pytest.mark.parametrize("wrong", ["7", '"flu"', '[["flu"]]', "[{ flu = 1 }]"])
def test_classes_that_are_no_lists_of_texts_are_refused(wrong: str) -> None:
    text = changed(('["chlamydia", "gonorrhoea"]', wrong))
    with pytest.raises(PolicyError, match="any STD"):
        parse_policy(text, "policy.toml", Path())
