"""Libraries that not everybody needs, imported when they are."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

from bucketstate.errors import MissingLibraryError


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
