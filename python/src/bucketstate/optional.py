"""Libraries that not everybody needs, imported when they are."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

from bucketstate.errors import MissingLibraryError


def needed(module: str, *, extra: str, what: str, library: str | None = None) -> ModuleType:
    """The module; MissingLibraryError, with how to install it, if it is not there.

    `library` is what it is called where it is installed from, if not as the module.
    """
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        library = library or module.partition(".")[0]
        raise MissingLibraryError(
            f"{what} needs {library}, which is not installed: pip install 'bucketstate[{extra}]'."
        ) from error
