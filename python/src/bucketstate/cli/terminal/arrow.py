"""pyarrow in a command that needs no pandas."""

from __future__ import annotations

import sys

import pyarrow as pa


class _NoPandas:
    """Finds no module, and ends the search for pandas."""

    @staticmethod
    def find_spec(name: str, *_: object) -> None:
        if name == "pandas":
            raise ModuleNotFoundError("pandas is left out", name=name)


def leave_out_pandas() -> None:
    """Has pyarrow go without pandas as long as this process lives, unless it was imported before.

    pyarrow imports it with the first array that it makes, to know a series when it sees one: half
    a second of a command that takes one. Afterwards `to_pandas` fails in this process.
    """
    if "pandas" in sys.modules:
        return
    finder = _NoPandas()
    sys.meta_path.insert(0, finder)
    try:
        # It looks for pandas once.
        pa.array([])
    finally:
        sys.meta_path.remove(finder)
