"""The doctor's rules, which are data: `rules.json`.

The plugin's page in Spark's web UI evaluates the same file over what a query reports as it runs, so
that both say the same. Words and thresholds have one home there.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from bucketstate.doctor.advice import Advice
from bucketstate.doctor.terms import Lookup, Term, holds, value


@dataclass(frozen=True)
class Rule:
    """What is slow or at risk, when, and what helps."""

    name: str
    what: str
    when: tuple[Term, ...]
    figures: tuple[tuple[str, Term], ...]
    help: str
    settings: tuple[str, ...] = ()
    leaves_out_zeros: bool = False
    """Figures that are 0 are not shown."""

    worst: Term | None = None
    """A rule about one store: that of which this is largest."""

    by_name: bool = False
    """Whether the stores of each name have a worst one."""

    def advice(self, about: str, lookups: Mapping[str, Lookup]) -> Advice | None:
        """What the rule says of these figures; None where it has nothing to say."""
        if not holds(self.when, lookups):
            return None
        shown = [(name, value(term, lookups)) for name, term in self.figures]
        figures = tuple(
            (name, number)
            for name, number in shown
            if number is not None and (number or not self.leaves_out_zeros)
        )
        return Advice(about, self.what, figures, self.help, self.settings)


@dataclass(frozen=True)
class Rules:
    """All of them, in the order in which they speak."""

    least_batches: int
    """Fewer, after the first of each run, say nothing."""

    operators: tuple[Rule, ...]
    """About the batches of one operator."""

    stores: tuple[Rule, ...]
    """About the stores of one operator."""


@cache
def rules() -> Rules:
    text = files("bucketstate.doctor").joinpath("rules.json").read_text(encoding="utf-8")
    found = json.loads(text)
    return Rules(found["leastBatches"], _all(found["operators"]), _all(found["stores"]))


def _all(found: Sequence[Mapping[str, Any]]) -> tuple[Rule, ...]:
    return tuple(
        Rule(
            one["name"],
            one["what"],
            tuple(one["when"]),
            tuple((name, term) for name, term in one["figures"]),
            one["help"],
            tuple(one.get("settings", ())),
            one.get("leavesOutZeros", False),
            one.get("worst"),
            one.get("byName", False),
        )
        for one in found
    )
