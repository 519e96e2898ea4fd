"""What Python's garbage collector looks at in Spark's workers."""

from __future__ import annotations

import gc
from functools import cache

from pyspark import TaskContext


def spare_modules() -> None:
    """Leaves what a worker has loaded out of the collector's rounds, from its first call on.

    Every key leaves some objects until its batch goes out, which makes the collector look at all
    that lives a few times a batch: at some 300,000 objects of modules, which never go, at a fifth
    of what a typed function takes. Outside of Spark's workers nothing is changed.
    """
    if TaskContext.get() is not None:
        _freeze()


@cache
def _freeze() -> None:
    gc.freeze()
