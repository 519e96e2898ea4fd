"""How a state class says what its hints cannot: its version, and the way from older ones."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

from bucketstate.stateful.errors import DefinitionError

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")
_ATTRIBUTE = "__bucketstate_evolution__"


@dataclass(frozen=True)
class Evolution:
    """`migrations[n]` turns the stored fields of version n into those of version n + 1."""

    version: int = 1
    migrations: Mapping[int, Callable[[dict[str, Any]], dict[str, Any]]] = field(
        default_factory=dict
    )

    def changes(self, version: int) -> bool:
        """Whether a migration turns the fields of that version into today's."""
        return any(step >= version for step in self.migrations)


def state(
    bare: None = None,
    /,
    *,
    version: int = 1,
    migrations: Mapping[int, Callable[[dict[str, Any]], dict[str, Any]]] | None = None,
) -> Callable[[type[T]], type[T]]:
    """A class decorator for a state that changed in ways its types cannot say.

    It is called, with what follows, and stands above `@dataclass`.

    A field that was added with a default, one that was removed and an int that became a float need
    no migration; a version without one is passed over.

    Args:
        bare: nothing; a class comes here where the brackets are left out.
        version: of the class as it is now, from 1.
        migrations: `migrations[n]` gets the fields as stored by version n, as JSON values, and
            returns those of version n + 1.

    Raises:
        DefinitionError: a class where nothing is expected, a version below 1, or a migration from
            a version that is not before it.
    """
    if bare is not None:
        raise DefinitionError(
            f"@stateful.state on {getattr(bare, '__name__', bare)} has no brackets: write "
            "@stateful.state(version=2), as of the class now, above @dataclass."
        )
    if not isinstance(version, int) or version < 1:
        raise DefinitionError(f"version={version!r} of a state: it must be a whole number from 1.")
    if migrations is not None and not isinstance(migrations, Mapping):
        raise DefinitionError(
            f"migrations={migrations!r} of a state: give a dict from each version to the function "
            "that takes its fields to the next one, such as {1: of_first}."
        )
    steps = dict(migrations or {})
    for step, function in steps.items():
        if step not in range(1, version) or not callable(function):
            raise DefinitionError(
                f"migrations[{step!r}] of a state of version {version}: each key must be a version "
                f"before it (1 to {version - 1}), each value a function of the stored fields."
            )

    def mark(marked: type[T]) -> type[T]:
        misplaced = DefinitionError(
            f"stateful.state(version={version}) is put on {marked!r}: put it on a class of "
            "your own."
        )
        if not isinstance(marked, type):
            raise misplaced
        try:
            setattr(marked, _ATTRIBUTE, Evolution(version, steps))
        except TypeError:
            # A class of Python's own takes no attributes.
            raise misplaced from None
        return marked

    return mark


def evolution_of(cls: type[Any]) -> Evolution:
    """The class's own evolution; a subclass starts at version 1."""
    found: Evolution = vars(cls).get(_ATTRIBUTE, Evolution())
    return found
