"""The rows of a group, as Spark hands them over: one chunk per Arrow batch they lie in."""

from __future__ import annotations

from types import GeneratorType
from typing import TYPE_CHECKING, Any, cast

import pandas as pd

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    Columns = dict[str, pd.Series[Any]]


def columns_of(chunks: Iterable[pd.DataFrame]) -> Iterator[Columns]:
    """Each chunk as its columns by name.

    Spark's worker hands over a generator that joins columns it already has with `pd.concat`, which
    is a sixth of the whole cost of a small group. Where the generator is that one, the columns are
    taken from before the join; from any other iterable, the frames are taken apart.
    """
    columns = _before_concat(chunks)
    if columns is not None:
        return ({str(s.name): s for s in chunk} for chunk in columns)
    return ({str(n): chunk[n] for n in chunk.columns} for chunk in chunks)


def frame(columns: Columns) -> pd.DataFrame:
    return pd.DataFrame(columns, copy=False)


def _before_concat(chunks: Iterable[pd.DataFrame]) -> Iterator[list[pd.Series[Any]]] | None:
    if not isinstance(chunks, GeneratorType) or chunks.gi_frame is None:
        return None
    code = chunks.gi_code
    if code.co_names != ("concat",) or not code.co_filename.endswith("worker.py"):
        return None
    return cast("Iterator[list[pd.Series[Any]]] | None", chunks.gi_frame.f_locals.get(".0"))
