"""In what the minor versions of Spark differ for the tests."""

from __future__ import annotations

import pyspark

MINOR = ".".join(pyspark.__version__.split(".")[:2])

# No Spark 4 begins a join in format 1; `make conformance` has Spark's own tests of it.
# Spark 4.3 begins joins of all providers but RocksDB's in format 2, whatever the setting says.
JOIN_FORMATS = {"4.0": (2,), "4.1": (2, 3), "4.2": (2, 3, 4), "4.3": (2,)}[MINOR]
"""The state formats with which a join can begin on this provider."""

GIVES_IDS_LATER = MINOR == "4.2"
"""Whether a query that began with checkpoint format 1 goes on with 2: the others keep it at 1."""

MANY_KEYS = MINOR != "4.0"
"""Whether the session extension has a function called with many keys."""
NEEDS_EXTENSION = MINOR not in ("4.0", "4.1")
"""Whether `transformWithState` runs only in a session that was made with the extension."""

READS_IDS_UNASKED = MINOR not in ("4.0", "4.1")
"""Whether the state reader finds ids in a session without the setting: earlier ones want it."""

HAS_ROWS = MINOR != "4.0"
"""Whether PySpark has `transformWithState` of rows: 4.0 has only that of pandas."""

HAS_TIME = MINOR != "4.0"
"""Whether there is a type for a time of day."""
