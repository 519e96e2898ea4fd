"""The state class of `--decode`."""

from __future__ import annotations

import importlib
import re
import sys
from pathlib import Path
from typing import Any

from bucketstate.errors import InvalidArgumentError

_CLASS = re.compile(r"([A-Za-z_][\w.]*):([A-Za-z_][\w.]*)")


def state_of(text: str) -> Any:
    """`package.module:Class` as that class, imported as from the current folder; else a DDL text.

    Raises InvalidArgumentError for a class that cannot be imported.
    """
    found = _CLASS.fullmatch(text)
    if found is None:
        return text
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        state: Any = importlib.import_module(found[1])
        for name in found[2].split("."):
            state = getattr(state, name)
    except Exception as error:
        # Whatever the module's own code raises.
        what = str(error) or type(error).__name__
        raise InvalidArgumentError(
            f"--decode {text} cannot be imported ({what}): give MODULE:CLASS as seen from "
            f"{here} and PYTHONPATH, or a DDL text such as 'total long, last timestamp'."
        ) from error
    return state
