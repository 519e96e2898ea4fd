"""What callers give, checked before anything is read."""

from __future__ import annotations

from operator import index

from bucketstate.errors import InvalidArgumentError


def whole_number(name: str, value: object) -> int:
    """The value of the argument of that name; InvalidArgumentError if it is no whole number."""
    try:
        # A truth value is a number for Python, and a mistake here.
        if type(value).__name__ not in ("bool", "bool_"):
            return index(value)  # type: ignore[arg-type]
    except TypeError:
        pass
    raise InvalidArgumentError(
        f"{name}={value!r} is a {type(value).__name__}: give a whole number, such as {name}=3."
    )
