"""Which bucket a key lies in."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import xxhash

from bucketstate.checkpoint.format.slices import Slices, gather
from bucketstate.checkpoint.spark.keys import PREFIX_SCAN, TIMESTAMP_POSTFIX


def buckets_of(keys: Slices, encoding: str, num_buckets: int) -> npt.NDArray[np.int64]:
    """The bucket of each key: the upper half of XXH64 of the part that decides, modulo."""
    if encoding.startswith(PREFIX_SCAN):
        # All keys of a prefix share a bucket. Of a key that is not laid out so, all of it decides.
        lengths = gather(keys.buffer, keys.starts, "<i4").astype(np.int64) + 4
        isnt = (keys.lengths < 4) | (lengths < 4) | (lengths > keys.lengths)
        keys = Slices(keys.buffer, keys.starts, np.where(isnt, keys.lengths, lengths))
    elif encoding == TIMESTAMP_POSTFIX:
        # All timestamps of a key share a bucket.
        keys = Slices(keys.buffer, keys.starts, np.maximum(0, keys.lengths - 8))
    digest = xxhash.xxh64_intdigest
    hashes = np.fromiter(map(digest, keys.to_list()), np.uint64, len(keys))
    return ((hashes >> np.uint64(32)) % np.uint64(num_buckets)).astype(np.int64)
