"""What can go wrong in a stateful function. Each message ends with what to do about it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from difflib import get_close_matches
from typing import Any

from bucketstate.errors import BucketstateError


class StatefulError(BucketstateError):
    """The base of the errors of `bucketstate.stateful`.

    Raised as one of the errors below it.

    What to do: see those; catch this one for all of them.
    """


class DefinitionError(StatefulError, TypeError):
    """A function, state, output or argument that can never work as it is written.

    Raised before the query starts, by `define`, `apply`, the schemas and `Harness`.

    What to do: correct what the message names: a hint, a default, a handler or an argument.
    """


class WrongTypeError(StatefulError, TypeError):
    """A value does not fit the type that is declared for it.

    Raised while the query runs, for the output or the state of a function: the batch fails before
    it is committed. In the harness for rows that do not fit their columns, too.

    What to do: convert the value in the function, or change the field's type.
    """


class MigrationError(StatefulError, ValueError):
    """Stored state that cannot be read as the state class is written now.

    Raised when a key is touched whose state an older class wrote, and by a checkpoint's scan that
    decodes. The batch fails before it is committed; the message names the key and the field.

    What to do: give the field a default or a type that takes what is stored, or raise the class's
    version and add a migration with `stateful.state`.
    """


class StateUsageError(StatefulError, RuntimeError):
    """A call on the state that this query's settings do not allow.

    Raised in the function, such as for a timer in a query without a clock or for a time that has
    passed, and by the harness for a key or a time that cannot be.

    What to do: give the query the clock that the call needs (`timeout=`, a watermark), or look at
    the state before it is called.
    """


class RenamedFieldWarning(UserWarning):
    """Stored states have a field that their class has not, and the class has a new one.

    Warned of when such a state is read, also for a class within it: a field that was renamed loses
    what was stored in it.

    What to do: add a migration that moves it with `stateful.state`; raise the version alone, if one
    was removed and another added.
    """


class FirstWatermarkWarning(UserWarning):
    """A timeout or a timer that is computed from a watermark which the query does not have yet.

    Warned of in a query's first batch, where `state.watermark` is 1970-01-01: what is set a while
    after that is reached in the next batch.

    What to do: compute it from the times of the rows, such as the latest of them.
    """


class UnreadableError(Exception):
    """Why stored state has no way into today's class; the caller names the key."""


def did_you_mean(name: str, known: Iterable[str], shown: Callable[[str], str] = str) -> str:
    """A sentence for messages, with a space behind it, if there is a name that is like it."""
    near = get_close_matches(name, known, n=1)
    return f"Did you mean {shown(near[0])}? " if near else ""


NOTHING = object()
"""Stands for the value of a field that is not there."""


class MismatchError(Exception):
    """A value that does not fit; the callers on the way up put the path before it.

    `advice` says what to do, where that is not to convert the value; `cause` is what somebody
    else's code raised.
    """

    def __init__(
        self,
        expected: str,
        found: Any,
        path: str = "",
        advice: str | None = None,
        cause: Exception | None = None,
    ) -> None:
        super().__init__(expected, found, path, advice, cause)
        self.expected = expected
        self.found = found
        self.path = path
        self.advice = advice
        self.cause = cause

    @property
    def place(self) -> str:
        """Where it is, for a message."""
        return f"field {self.path}" if self.path else "the value"

    def under(self, name: str) -> MismatchError:
        """This mismatch seen from one level up: field `name`, or an element `[name]`."""
        inner = self.path if not self.path or self.path.startswith("[") else "." + self.path
        return MismatchError(self.expected, self.found, name + inner, self.advice, self.cause)

    @property
    def found_text(self) -> str:
        if self.found is None or self.found is NOTHING:
            return "None" if self.found is None else "nothing"
        try:
            text = repr(self.found)
        except ValueError:
            # Python refuses to write down numbers of more than some thousand digits.
            text = "of very many digits"
        return f"{type(self.found).__name__} {text if len(text) <= 60 else text[:57] + '...'}"
