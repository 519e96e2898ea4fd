"""Classes and functions that a shell names, out of the user's own modules."""

from __future__ import annotations

import importlib
import re
import sys
import traceback
from pathlib import Path
from typing import Any

from bucketstate.errors import InvalidArgumentError

NAMED = re.compile(r"([A-Za-z_][\w.]*):([A-Za-z_][\w.]*)")


def imported(text: str, option: str) -> Any:
    """What `package.module:name` is, imported as from the current folder.

    Raises InvalidArgumentError where there is no such thing, and where the module fails.
    """
    found = NAMED.fullmatch(text)
    if found is None:
        raise InvalidArgumentError(
            f"{option} {text!r}: give MODULE:NAME, such as jobs.visits:visit."
        )
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        made: Any = importlib.import_module(found[1])
        for name in found[2].split("."):
            made = getattr(made, name)
    except (Exception, SystemExit) as error:
        # Whatever the module's own code raises, and a script that ends by itself.
        what = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        raise InvalidArgumentError(
            f"{option} {text} cannot be imported ({what}{_place(error)}): give MODULE:NAME as "
            f"seen from {here} and PYTHONPATH."
        ) from error
    return made


def _place(error: BaseException) -> str:
    """The line of a module that was not left any more while it was imported."""
    lines = [f for f in traceback.extract_tb(error.__traceback__) if f.name == "<module>"]
    return f", in line {lines[-1].lineno} of {Path(lines[-1].filename).name}" if lines else ""
