"""Terms of the doctor's rules: numbers, and figures of what a rule is asked about.

A term is a number, or a list of a word and what it is about: `["*", 2, ["total", "commitTimeMs"]]`
is twice the total. The plugin's page evaluates the same terms in Scala; docs/internals/python.md
has the words.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

Term = Any
"""A number or a list, as JSON has it."""

Lookup = Callable[..., float | None]
"""A figure, given the names that stand behind its word; None where there is none."""

_ARITHMETIC: Mapping[str, Callable[[float, float], float]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "larger": max,
}
_COMPARISONS: Mapping[str, Callable[[float, float], bool]] = {
    ">": operator.gt,
    ">=": operator.ge,
    "<": operator.lt,
    "=": operator.eq,
}


def value(term: Term, figures: Mapping[str, Lookup]) -> float | None:
    """What a term comes to; None where a figure in it is not there.

    Raises KeyError for a word that is not known.
    """
    if not isinstance(term, list):
        return float(term)
    word, *rest = term
    if word not in _ARITHMETIC:
        return figures[word](*rest)
    left, right = (value(one, figures) for one in rest)
    return None if left is None or right is None else _ARITHMETIC[word](left, right)


def holds(conditions: Sequence[Term], figures: Mapping[str, Lookup]) -> bool:
    """Whether all of them hold; one about a figure that is not there does not."""
    return all(_holds(one, figures) for one in conditions)


def _holds(condition: Term, figures: Mapping[str, Lookup]) -> bool:
    word, *rest = condition
    left, right = (value(one, figures) for one in rest)
    return left is not None and right is not None and _COMPARISONS[word](left, right)
