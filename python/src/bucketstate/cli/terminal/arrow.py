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
    """Has pyarrow go without pandas until somebody imports it, or asks for a frame.

    pyarrow imports it with the first array that it makes, to know a series when it sees one: half
    a second of a command that takes one. It is for a process that does nothing else: another
    thread could not import pandas at this moment.
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
