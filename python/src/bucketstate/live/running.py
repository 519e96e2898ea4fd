"""Where a query that runs in this process keeps its checkpoint."""

from __future__ import annotations

from typing import Any

from bucketstate.errors import InvalidArgumentError


def checkpoint_of(given: Any) -> Any:
    """The checkpoint of a query of PySpark, as a URI; whatever else is given, as it is.

    A query is known by its shape, so that nothing of PySpark is imported where there is none.

    Raises:
        InvalidArgumentError: the query is one of Spark Connect, whose client does not know it.
    """
    kind = type(given)
    if kind.__name__ != "StreamingQuery" or not kind.__module__.startswith("pyspark."):
        return given
    if not hasattr(given, "_jsq"):
        raise InvalidArgumentError(
            "A query of Spark Connect does not tell where its checkpoint is: give what it was "
            "started with as checkpointLocation."
        )
    return str(given._jsq.streamingQuery().resolvedCheckpointRoot())
