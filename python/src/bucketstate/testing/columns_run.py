"""A batch of a function over columns: many keys in a call, and each one alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bucketstate.testing.differences import DifferenceError, different

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from random import Random

    import pyarrow as pa

    from bucketstate.testing.group_run import GroupRun
    from bucketstate.testing.many_run import ManyRun
    from bucketstate.testing.runs import Group


class ColumnsRun:
    """Runs each batch twice, and refuses answers that depend on which keys share a call.

    Args:
        name: of the function.
        many: on the state that is kept.
        one: on a copy of it.
    """

    def __init__(self, name: str, many: ManyRun, one: GroupRun, order: Random) -> None:
        self._name = name
        self._many = many
        self._one = one
        self._order = order

    def initial(self, _key: Any, _row: pa.Table, _by: list[str]) -> None:
        raise AssertionError("the operator has no initial state")

    def rows(self, groups: list[Group]) -> list[dict[str, Any]]:
        return self._alike(self._many.rows(groups), self._one.rows(groups))

    def fire(
        self, reached: int, shuffled: Callable[[Iterable[Any]], list[Any]]
    ) -> list[dict[str, Any]]:
        return self._alike(self._many.fire(reached, shuffled), self._one.fire(reached, shuffled))

    def _alike(
        self, together: list[dict[str, Any]], alone: list[dict[str, Any]]
    ) -> list[dict[str, Any]]:
        self._check("puts out", together, alone)
        stored = [
            [{"key": tuple(k), "stored": s.row, "timeout": s.timeout} for k, s in found.items()]
            for found in (self._many.stored, self._one.stored)
        ]
        self._check("keeps", *stored)
        return together

    def _check(
        self, what: str, together: list[dict[str, Any]], alone: list[dict[str, Any]]
    ) -> None:
        with_others, by_itself = different(together, alone)
        if not with_others and not by_itself:
            return
        lines = [f"  with other keys: {row}" for row in with_others]
        lines += [f"  alone: {row}" for row in by_itself]
        raise DifferenceError(
            f"{self._name} {what} something else for a key when others share its call. Which keys "
            "do is unspecified, so a key's answer must depend on what that key has alone.\n"
            + "\n".join(lines)
        )
