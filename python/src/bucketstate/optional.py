"""Libraries that not everybody needs, imported when they are."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

from bucketstate.errors import MissingLibraryError


class Later:
    """A library that is imported when something of it is first used. Thread-safe."""

    def __init__(self, module: str) -> None:
        self._module = module

    def __getattr__(self, name: str) -> Any:
        found = getattr(import_module(self._module), name)
        # From now on it is found without this.
        setattr(self, name, found)
        return found


if TYPE_CHECKING:
    # Under its own name, which says that others take it from here.
    import pandas as pandas
else:
    # It takes longer to import than all the rest, and what is typed or in Arrow goes without.
    pandas = Later("pandas")


def needed(
    module: str, *, what: str, extra: str | None = None, library: str | None = None
) -> ModuleType:
    """The module; MissingLibraryError, with how to install it, if it is not there.

    `library` is what it is called where it is installed from, if not as the module. `extra` is the
    package's own that brings it; without, the library is installed by itself.
    """
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        library = library or module.partition(".")[0]
        asked = f"'bucketstate[{extra}]'" if extra else library
        raise MissingLibraryError(
            f"{what} needs {library}, which is not installed: pip install {asked}."
        ) from error
