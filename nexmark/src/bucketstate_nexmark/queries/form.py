"""What a query in one of its forms is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from bucketstate_nexmark.events.model import Model

Kind = Literal["dataframe", "typed", "columns", "transformWithState"]
Mode = Literal["append", "update"]
Rows = Callable[["DataFrame", "Model"], "DataFrame"]

_SUFFIX: dict[Kind, str] = {
    "dataframe": "",
    "typed": "-typed",
    "columns": "-columns",
    "transformWithState": "-tws",
}

FEWEST_BATCHES = 4
"""A form that is given a part of the events has so many batches of them."""


@dataclass(frozen=True)
class Form:
    """A query of Nexmark in one form.

    What it has put out in all is its answer; in update mode, of the rows with the same `keys` the
    last one is.
    """

    query: str
    kind: Kind
    mode: Mode
    rows: Rows
    asks: str
    """What it asks, in a few words for people."""
    keys: tuple[str, ...] = ()
    portion: float = 1.0
    """The share of the events that it is given, where a row costs much more than elsewhere."""
    keeps_state: bool = True
    """Whether it is about state stores at all; the others say what Spark takes without one."""

    @property
    def name(self) -> str:
        """What it is called on the command line: `q18`, `q18-typed`."""
        return self.query + _SUFFIX[self.kind]

    @property
    def needs_families(self) -> bool:
        """Whether its state has parts, which some state stores cannot keep."""
        return self.kind == "transformWithState"

    @property
    def is_stateful(self) -> bool:
        """Whether it is of `bucketstate.stateful`, which has an operator of its own."""
        return self.kind in ("typed", "columns")
