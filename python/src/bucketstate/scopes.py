"""Which query and operator a setting is meant for: what may stand behind a key."""

from __future__ import annotations

import re
from dataclasses import dataclass

_SUFFIX = re.compile(
    # A query's name may have dots, so it ends where the last number of an operator begins.
    r"\.query\.(?P<query>.+?)(?:\.operator\.(?P<of_query>0|[1-9][0-9]*))?"
    r"|\.operator\.(?P<operator>0|[1-9][0-9]*)",
    re.DOTALL,
)


@dataclass(frozen=True)
class Scope:
    """A query by its name, a stateful operator by Spark's number from 0, or one in the other.

    None stands for every one.
    """

    query: str | None = None
    operator: int | None = None

    @property
    def suffix(self) -> str:
        """What stands behind the key of a setting."""
        query = "" if self.query is None else f".query.{self.query}"
        return query + ("" if self.operator is None else f".operator.{self.operator}")

    @property
    def wider(self) -> tuple[Scope, ...]:
        """Where a setting is looked up for it, one after the other; the first that is given counts.

        The provider has the same order.
        """
        scopes = (self, Scope(self.query), Scope(None, self.operator), Scope())
        return tuple(dict.fromkeys(scopes))

    @classmethod
    def parse(cls, suffix: str) -> Scope:
        """The scope with that suffix. ValueError if there is none."""
        if not suffix:
            return cls()
        found = _SUFFIX.fullmatch(suffix)
        if found is None:
            raise ValueError(f"'{suffix}' names no query or operator")
        number = found["of_query"] or found["operator"]
        return cls(found["query"], None if number is None else int(number))
