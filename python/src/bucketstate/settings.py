"""The fields of `Conf`, made by `make generate` from the Scala registry: edits here are lost."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Literal


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Every setting of the provider, unchecked: use `bucketstate.Conf`."""

    engine: Literal["heap", "rocksdb"] = "heap"
    """What holds the state while a query runs: 'heap' keeps it as compact bytes in the JVM's heap,
    'rocksdb' in a local RocksDB database for each store. Settings below rocksdb. are for the latter
    alone, and may stay when this one changes."""

    num_buckets: int = 64
    """Key groups per store. Fixed for the life of a checkpoint: a different value on restart is an
    error."""

    lock_acquire_timeout: int | timedelta = 60000
    """How long a task waits, in milliseconds, for another task (a killed attempt that still runs)
    to let go of the store before it fails."""

    snapshot_mode: Literal["async", "sync"] = "async"
    """'async' makes snapshots in the background while batches go on; 'sync' makes them inside
    commit, for tests and comparisons."""

    snapshot_max_versions: int = 0
    """A snapshot is made after this many versions; 0 takes Spark's
    spark.sql.streaming.stateStore.minDeltasForSnapshot."""

    snapshot_max_bytes: int | str = "64m"
    """A snapshot is made after this many bytes of changelog, if that comes before
    snapshot.maxVersions."""

    compaction_max_runs: int = 12
    """Runs that the newest snapshot may consist of before some are merged; while they are, up to
    twice as many. More write less, fewer make a restart and the checkpoint smaller."""

    compaction_max_bytes: int | str = "1g"
    """About the most bytes of a store that are merged at a time: a larger state is merged by spans
    of buckets, one after the other, each of which is the smaller, the more numBuckets there are."""

    run_max_file_bytes: int | str = "16m"
    """A run is split into files of about this size, at the ends of buckets. A restart fetches and
    verifies whole files before it reads a bucket from them."""

    run_block_bytes: int | str = "4k"
    """About the bytes of records that a run's file is read by: a key that is not in memory costs
    reading one such block. Larger ones compress better and make the index that is kept in memory
    smaller."""

    run_cache_share: int = 40
    """How much of memory.maxBytes, in percent, the indexes and filters of runs' files may take,
    about 2 bytes for each key of the state, together with the blocks last read from them, which
    take a quarter of that at most. Indexes and filters that do not fit are read by pages, which
    makes keys slower that are not in memory; with 0 all are."""

    run_bloom_bits: int = 10
    """Bits for each key of the Bloom filters in runs' files, by which a file need not be read for a
    key that it has not; 0 for no filters. With 10, one such key in a hundred is looked for in vain;
    with 15, one in a thousand."""

    run_max_open_files: int = 2000
    """Files of runs that one executor keeps open, for all queries. Above it those that were not
    read for longest are closed, and opened again when they are read."""

    restore_mode: Literal["lazy", "eager"] = "lazy"
    """'lazy' loads buckets when they are first touched, the others meanwhile in the background;
    'eager' loads all of them before the first batch."""

    memory_max_bytes: int | str = "auto"
    """Heap that the state of all queries in one executor may take: bytes, a share of the heap such
    as 40%, or 'auto', three quarters of what Spark leaves to user code. Above it, what was not used
    for longest stays in the files of snapshots alone, and is read from there when it is asked
    for."""

    memory_prevent_eviction_for: int | timedelta = 0
    """For so long after its last use, in milliseconds, a bucket stays in memory, even above
    memory.maxBytes."""

    exact_key_count: Literal["true", "false"] = "true"
    """Whether a key that is not in memory is looked up when it is written, for the exact number of
    keys. 'false' spares blind writes to state larger than memory that; numRowsTotal is an estimate
    then, as bucketedEstimatedCounts says."""

    time_bucket_expire_after: timedelta | str = "never"
    """State expires when it is older than this, counted from the newest time in its partition: a
    time such as 7d, or 'never'. Not for joins, state with timeouts, or state that a watermark
    evicts."""

    time_bucket_column: str = "none"
    """The column of key or value that has the event time by which state ages, such as 'lastSeen' or
    'window.end'; 'none' lets it age by the time of the batch that last wrote it. Where nothing
    expires, windows and other state of one time leave the files together once their operator has
    removed them."""

    time_bucket_span: timedelta | str = "auto"
    """State expires together by spans of this length: what is expired is gone at the latest so long
    after timeBucket.expireAfter. 'auto' is a sixteenth of that, or somewhat less, and at least a
    second; a minute where nothing expires."""

    local_dir: str = "spark"
    """Where working files go: 'spark' for Spark's local folders, cleared when the store is closed;
    or a folder on each machine, where what a restart there can begin with stays: copies of a remote
    checkpoint's runs, and with engine=rocksdb the database of the last snapshot."""

    object_store_schemes: str = "s3a,gs,abfs,abfss"
    """Schemes of checkpoints in object stores, where a file appears whole when it is closed: it is
    written with one request and never renamed, if the client can abort a write; else, and if
    spark.sql.streaming.checkpointFileManagerClass is set, Spark's file manager is used. 'none' for
    none."""

    rocksdb_preset: Literal[
        "default", "spinning-disk", "spinning-disk-high-memory", "flash-ssd", "small-memory"
    ] = "default"
    """The native options that the databases of engine=rocksdb start from, by what they stand on:
    'default', hard disks ('spinning-disk', or 'spinning-disk-high-memory' with larger buffers and
    blocks), 'flash-ssd', or 'small-memory' with small buffers and indexes that may leave memory."""

    rocksdb_options: Mapping[str, str | int] | tuple[tuple[str, str], ...] = ()
    """Native options of the databases of engine=rocksdb, in the place of the preset's: by RocksDB's
    name, such as db.max_background_jobs for a database, or cf.write_buffer_size and cf.block_size
    for its column families and their tables, with values as RocksDB writes them. Those that the
    engine stands on are refused."""

    rocksdb_options_factory: str = "none"
    """A class that gets the native options of engine=rocksdb last and may change them in code: an
    io.bucketstate.rocksdb.RocksDbOptionsFactory on the class path of the executors; 'none' for no
    such class."""

    rocksdb_heap_bytes: int | str = "24m"
    """Heap that keys which were used last may take with engine=rocksdb, of all queries in one
    executor, if memory.maxBytes is not less. What a batch changes stays in memory until it is
    written down, also above that."""

    rocksdb_memory_share: int = 78
    """How much of memory.maxBytes, in percent, all databases of an executor may take outside the
    heap: four fifths of it for single records, the rest for blocks, indexes and filters of their
    files, and for what they have not written to files yet. The first query of an executor
    decides."""

    rocksdb_max_bytes_per_second: int | str = "256m"
    """What all databases of an executor write to local disks in a second at most. The first query
    of an executor decides."""
