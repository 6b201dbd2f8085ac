"""What missing values reveal, and what it costs.

Where values are suppressed, holders are chosen at random, by counts alone. Let S of a value's
holders be missing. Some of them have no record at all: s1 of the G people without one. The others
have a record that does not show the value: s2 of M such records. An adversary who knows all of
these numbers, and even who has a record, finds a person among the missing holders with a
probability of at most the larger of s1/G and s2/M, whatever its group shows:

    P(missing holder) = P(no record) s1/G + P(record that does not show it) s2/M.

That holds for everybody at once, and a person is a holder of the value in the release, shown or
missing, with probability 1 - (1 - n_s/n)(1 - risk) at most. So the risk multiplies everybody's
survival by the same factor, and it is charged to everybody by lowering the threshold of the value
for good: the product of (1 - n_s/n) must stay at 1 - threshold divided by that factor.

A value that the release does not show at all is neither named nor counted in it. If people are
absent for other reasons, too, then nothing says that anything is missing, and nothing is charged;
the risk must still be within the threshold, should somebody come to know S in another way. If
nobody else is absent, the missing records speak for themselves, and the risk is charged.

An adversary who knows c other members of a group knows that they are not missing holders either, so
that it has c people fewer to choose from: s1/(G - c) and s2/(M - c).
"""

from __future__ import annotations

from fractions import Fraction


def gap_risk(
    *,
    without_record: int,
    missing_without_record: int,
    silent: int,
    missing_silently: int,
    known: int = 0,
) -> Fraction:
    """The largest chance that somebody is a holder whose value was suppressed.

    ``without_record`` people have no record, ``silent`` ones have a record that does not show the
    value; the other two say how many of these are missing holders. The adversary knows
    ``known`` others.

    >>> gap_risk(without_record=800, missing_without_record=2, silent=100, missing_silently=1)
    Fraction(1, 100)
    >>> gap_risk(without_record=3, missing_without_record=3, silent=97, missing_silently=0)
    Fraction(1, 1)
    >>> gap_risk(
    ...     without_record=800, missing_without_record=2, silent=100, missing_silently=1, known=1
    ... )
    Fraction(1, 99)
    """
    return max(
        Fraction(missing, max(among - known, missing)) if missing else Fraction(0)
        for missing, among in (
            (missing_without_record, without_record),
            (missing_silently, silent),
        )
    )


def threshold_left(threshold: Fraction, gap_survival: Fraction) -> Fraction:
    """What groups may still spend of a threshold after gaps were charged; 0 or less: nothing.

    >>> threshold_left(Fraction(1, 2), Fraction(1)), threshold_left(Fraction(1, 2), Fraction(3, 4))
    (Fraction(1, 2), Fraction(1, 3))
    >>> threshold_left(Fraction(1, 2), Fraction(0))
    Fraction(0, 1)
    """
    if gap_survival == 0:
        return Fraction(0)
    return 1 - (1 - threshold) / gap_survival
