"""The fields of `Conf`, made by `make generate` from the Scala registry: edits here are lost."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Literal


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Every setting of the provider, unchecked: use `bucketstate.Conf`.

    None means that the setting is not given.
    """

    engine: Literal["heap", "rocksdb"] | None = None
    """What holds the state while a query runs: 'heap' keeps it as compact bytes in the JVM's heap,
    'rocksdb' in a local RocksDB database for each store. Settings below rocksdb. are for the latter
    alone, and may stay when this one changes. By default 'heap'."""

    num_buckets: int | None = None
    """Key groups per store. Fixed for the life of a checkpoint: a different value on restart is an
    error. By default 64."""

    lock_acquire_timeout: int | timedelta | None = None
    """How long a task waits, in milliseconds, for another task (a killed attempt that still runs)
    to let go of the store before it fails. By default 60000."""

    snapshot_mode: Literal["async", "sync"] | None = None
    """'async' makes snapshots in the background while batches go on; 'sync' makes them inside
    commit, for tests and comparisons. By default 'async'."""

    snapshot_max_versions: int | None = None
    """A snapshot is made after this many versions; 0 takes Spark's
    spark.sql.streaming.stateStore.minDeltasForSnapshot. By default 0."""

    snapshot_max_bytes: int | str | None = None
    """A snapshot is made after this many bytes of changelog, if that comes before
    snapshot.maxVersions. By default '64m'."""

    compaction_max_runs: int | None = None
    """Runs that the newest snapshot may consist of before some are merged; while they are, up to
    twice as many. More write less, fewer make a restart and the checkpoint smaller. By default
    12."""

    compaction_max_bytes: int | str | None = None
    """About the most bytes of a store that are merged at a time: a larger state is merged by spans
    of buckets, one after the other, each of which is the smaller, the more numBuckets there are. By
    default '1g'."""

    run_max_file_bytes: int | str | None = None
    """A run is split into files of about this size, at the ends of buckets. A restart fetches and
    verifies whole files before it reads a bucket from them. By default '16m'."""

    run_block_bytes: int | str | None = None
    """About the bytes of records that a run's file is read by: a key that is not in memory costs
    reading one such block. Larger ones compress better and make the index that is kept in memory
    smaller. By default '4k'."""

    run_cache_share: int | None = None
    """How much of memory.maxBytes, in percent, the indexes and filters of runs' files may take,
    about 2 bytes for each key of the state, together with the blocks last read from them, which
    take a quarter of that at most. Indexes and filters that do not fit are read by pages, which
    makes keys slower that are not in memory; with 0 all are. By default 40."""

    run_bloom_bits: int | None = None
    """Bits for each key of the Bloom filters in runs' files, by which a file need not be read for a
    key that it has not; 0 for no filters. With 10, one such key in a hundred is looked for in vain;
    with 15, one in a thousand. By default 10."""

    run_max_open_files: int | None = None
    """Files of runs that one executor keeps open, for all queries. Above it those that were not
    read for longest are closed, and opened again when they are read. By default 2000."""

    restore_mode: Literal["lazy", "eager"] | None = None
    """'lazy' loads buckets when they are first touched, the others meanwhile in the background;
    'eager' loads all of them before the first batch. By default 'lazy'."""

    memory_max_bytes: int | str | None = None
    """Heap that the state of all queries in one executor may take: bytes, a share of the heap such
    as 40%, or 'auto', three quarters of what Spark leaves to user code. Above it, what was not used
    for longest stays in the files of snapshots alone, and is read from there when it is asked for.
    By default 'auto'."""

    memory_prevent_eviction_for: int | timedelta | None = None
    """For so long after its last use, in milliseconds, a bucket stays in memory, even above
    memory.maxBytes. By default 0."""

    exact_key_count: Literal["true", "false"] | None = None
    """Whether a key that is not in memory is looked up when it is written, for the exact number of
    keys. 'false' spares blind writes to state larger than memory that; numRowsTotal may be of an
    older version then, as bucketedUncounted says. By default 'true'."""

    time_bucket_expire_after: timedelta | str | None = None
    """State expires when it is older than this, counted from the newest time in its partition: a
    time such as 7d, or 'never'. Not for joins, state with timeouts, or state that a watermark
    evicts. By default 'never'."""

    time_bucket_column: str | None = None
    """The column of key or value that has the event time by which state ages, such as 'lastSeen' or
    'window.end'; 'none' lets it age by the time of the batch that last wrote it. Where nothing
    expires, windows and other state of one time leave the files together once their operator has
    removed them. By default 'none'."""

    time_bucket_span: timedelta | str | None = None
    """State expires together by spans of this length: what is expired is gone at the latest so long
    after timeBucket.expireAfter, which is at most 4000 of them. 'auto' is a sixteenth of that, or
    somewhat less, and at least a second; a minute where nothing expires. By default 'auto'."""

    local_dir: str | None = None
    """Where working files go: 'spark' for Spark's local folders, cleared when the store is closed;
    or a folder on each machine, where what a restart there can begin with stays: copies of a remote
    checkpoint's runs, and with engine=rocksdb the database of the last snapshot. By default
    'spark'."""

    object_store_schemes: str | None = None
    """Schemes of checkpoints in object stores, where a file appears whole when it is closed: it is
    written with one request and never renamed, if the client can abort a write; else, and if
    spark.sql.streaming.checkpointFileManagerClass is set, Spark's file manager is used. 'none' for
    none. By default 's3a,s3,gs,abfs,abfss'."""

    rocksdb_preset: (
        Literal[
            "default", "spinning-disk", "spinning-disk-high-memory", "flash-ssd", "small-memory"
        ]
        | None
    ) = None
    """The native options that the databases of engine=rocksdb start from, by what they stand on:
    'default', hard disks ('spinning-disk', or 'spinning-disk-high-memory' with larger buffers and
    blocks), 'flash-ssd', or 'small-memory' with small buffers and indexes that may leave memory. By
    default 'default'."""

    rocksdb_options: Mapping[str, str | int] | tuple[tuple[str, str], ...] = ()
    """Native options of the databases of engine=rocksdb, in the place of the preset's: by RocksDB's
    name, such as db.max_background_jobs for a database, or cf.write_buffer_size and cf.block_size
    for its column families and their tables, with values as RocksDB writes them. Those that the
    engine stands on are refused."""

    rocksdb_options_factory: str | None = None
    """A class that gets the native options of engine=rocksdb last and may change them in code: an
    io.bucketstate.rocksdb.RocksDbOptionsFactory on the class path of the executors; 'none' for no
    such class. By default 'none'."""

    rocksdb_heap_bytes: int | str | None = None
    """Heap that keys which were used last may take with engine=rocksdb, of all queries in one
    executor, if memory.maxBytes is not less. What a batch changes stays in memory until it is
    written down, also above that. By default '24m'."""

    rocksdb_memory_share: int | None = None
    """How much of memory.maxBytes, in percent, all databases of an executor may take outside the
    heap: four fifths of it for single records, the rest for blocks, indexes and filters of their
    files, and for what they have not written to files yet. The first query of an executor decides.
    By default 78."""

    rocksdb_max_bytes_per_second: int | str | None = None
    """What all databases of an executor write to local disks in a second at most. The first query
    of an executor decides. By default '256m'."""
