"""The section [strategy]: how the budget is spread over the releases."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any, Literal, Union

from pydantic import Field, PlainValidator

from serigraph.policy.sections import Place, Section
from serigraph.privacy.adaptive import Adaptive
from serigraph.privacy.link_chances import LinkGaps
from serigraph.privacy.strategies import (
    ConstantRatio,
    Geometric,
    OptimalSchedule,
    Strategy,
)
from serigraph.privacy.thresholds import exact_number

MOST_RELEASES = 1000  # limit of a plan: exact powers beyond would take minutes
Releases = Annotated[int, Field(gt=0, le=MOST_RELEASES)]
_UNKNOWN: Mapping[str, float] = MappingProxyType({})  # shares of values, before there is a table


def _exact(value: object) -> Fraction:
    # A strategy only proposes, so a float is read as the number that was written.
    if isinstance(value, bool) or not isinstance(value, int | float | str | Fraction):
        raise ValueError('a number is expected, such as 2, 1.5 or "3/2"')
    try:
        return exact_number(str(value))
    except ValueError as error:
        raise ValueError(f'a number is expected, such as 2, 1.5 or "3/2": {error}') from None


def _factor(value: object) -> Fraction:
    factor = _exact(value)
    Geometric(factor)  # says what is wrong with it
    return factor


def _link_chances(value: object) -> Literal["learned"] | tuple[Fraction, ...]:
    if value == "learned":
        return "learned"
    if not isinstance(value, Sequence) or isinstance(value, str):
        raise ValueError('a list of chances is expected, such as [1, 0.5, 0.2], or "learned"')
    if len(value) > MOST_RELEASES:
        raise ValueError(f"at most {MOST_RELEASES:,} chances can be planned for")
    chances = tuple(_exact(each) for each in value)
    OptimalSchedule(chances)  # says what is wrong with them
    return chances


class StrategyForm(Section):
    """A section [strategy]; its ``name`` says which of ``STRATEGIES`` it is."""

    def strategy(
        self,
        links: Callable[[], LinkGaps] = LinkGaps,
        shares: Mapping[str, float] = _UNKNOWN,
    ) -> Strategy:
        """The strategy that it asks for, given the links of the series so far and the share of
        people who may hold each value, see ``largest_share``."""
        raise NotImplementedError

    def given(self) -> dict[str, object]:
        """What the section says."""
        return dict(self)

    def toml(self) -> str:
        """The section as a policy file has it; read back, it gives the same strategy.

        >>> print(GeometricStrategy(name="geometric", factor=Fraction(7, 3)).toml())
        [strategy]
        name = "geometric"
        factor = "7/3"
        replan = true
        """
        lines = (f"{key} = {_toml(value)}" for key, value in self.given().items())
        return "\n".join(["[strategy]", *lines])


class AdaptiveStrategy(StrategyForm):
    """The share of what is left that suits the links to come, planned anew at every release."""

    name: Literal["adaptive"] = "adaptive"
    releases: Releases | Literal["open"] = 20  # of the whole series

    def strategy(
        self,
        links: Callable[[], LinkGaps] = LinkGaps,
        shares: Mapping[str, float] = _UNKNOWN,
    ) -> Strategy:
        return Adaptive(None if self.releases == "open" else self.releases, links(), shares)


class ConstantStrategy(StrategyForm):
    """The same ratio in each of a number of releases."""

    name: Literal["constant"] = "constant"
    releases: Releases = 20
    replan: bool = True

    def strategy(
        self,
        links: Callable[[], LinkGaps] = LinkGaps,
        shares: Mapping[str, float] = _UNKNOWN,
    ) -> Strategy:
        return ConstantRatio(self.releases, self.replan)


class GeometricStrategy(StrategyForm):
    """Each link leaves part of the budget: an unlimited series with growing ratios."""

    name: Literal["geometric"]
    factor: Annotated[Fraction, PlainValidator(_factor)] = Fraction(2)
    replan: bool = True

    def strategy(
        self,
        links: Callable[[], LinkGaps] = LinkGaps,
        shares: Mapping[str, float] = _UNKNOWN,
    ) -> Strategy:
        return Geometric(self.factor, self.replan)


class ScheduleStrategy(StrategyForm):
    """The ratios that make groups smallest, given the chances that people return."""

    name: Literal["schedule"]
    link_chances: Annotated[
        Literal["learned"] | tuple[Fraction, ...], PlainValidator(_link_chances)
    ] = "learned"
    releases: Releases = 20  # that learned chances are for
    replan: bool = True

    @classmethod
    def contradictions(cls, given: Mapping[str, Any]) -> Iterator[tuple[Place, str]]:
        is_learned = given.get("link_chances", "learned") == "learned"
        if is_learned and given.get("replan") is False:
            yield ("replan",), "learned chances change with every release; they need replan = true"
        if not is_learned and "releases" in given:
            yield (
                ("releases",),
                "the plan has as many links as link_chances has entries; remove releases",
            )

    def strategy(
        self,
        links: Callable[[], LinkGaps] = LinkGaps,
        shares: Mapping[str, float] = _UNKNOWN,
    ) -> Strategy:
        if self.link_chances == "learned":
            return Adaptive(self.releases, links(), shares)  # its name before 0.2.0
        return OptimalSchedule(tuple(self.link_chances), self.replan)

    def given(self) -> dict[str, object]:
        said = super().given()
        if self.link_chances != "learned":
            del said["releases"]
        return said


STRATEGIES: Mapping[str, type[StrategyForm]] = {
    "adaptive": AdaptiveStrategy,
    "constant": ConstantStrategy,
    "geometric": GeometricStrategy,
    "schedule": ScheduleStrategy,
}

if TYPE_CHECKING:
    StrategySection = StrategyForm
else:  # pydantic chooses by the name
    StrategySection = Annotated[Union[tuple(STRATEGIES.values())], Field(discriminator="name")]  # noqa: UP007


def _toml(value: object) -> str:
    if isinstance(value, tuple):
        return f"[{', '.join(_toml(each) for each in value)}]"
    if isinstance(value, Fraction):
        decimal = f"{float(value):.6f}".rstrip("0").rstrip(".")
        return decimal if Fraction(decimal) == value else f'"{value}"'
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if isinstance(value, int) else f'"{value}"'
