"""What stateful functions take and a checkpoint's reader does not: imported before the others."""

from __future__ import annotations

from bucketstate.optional import needed

needed("pyspark", extra="spark", what="A stateful function")
