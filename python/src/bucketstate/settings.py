"""The fields of `Conf`, made by `make generate` from the Scala registry: edits here are lost."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from os import PathLike
from typing import Literal


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Every setting of the provider, unchecked: use `bucketstate.Conf`.

    None means that the setting is not given.
    """

    engine: Literal["heap", "rocksdb"] | None = None
    """Where the state is while a query runs. 'heap' keeps it in the JVM's heap, as compact bytes.
    'rocksdb' keeps it outside the heap, in a local RocksDB database for each store. Settings below
    rocksdb. count for 'rocksdb' alone; they may stay when the engine changes. By default 'heap'."""

    num_buckets: int | None = None
    """How many groups the keys of a store are divided into. The number is fixed for the life of a
    checkpoint: a session that does not set it takes the checkpoint's, and one that sets another is
    an error. By default 64."""

    partitions: Literal["checkpoint", "session"] | None = None
    """Which number of partitions counts when a query starts on a checkpoint. 'checkpoint' is what
    Spark does: the session's spark.sql.shuffle.partitions is for new queries alone. With 'session'
    it counts for all: a checkpoint that has another number is rewritten in place before the query
    starts, as `bucketstate move rewrite --in-place` does. By default 'checkpoint'."""

    lock_acquire_timeout: int | timedelta | None = None
    """How long a task waits for another task to let go of the store before it fails, in
    milliseconds. The other one is mostly a killed attempt that still runs. By default 60000."""

    snapshot_mode: Literal["async", "sync"] | None = None
    """'async' makes snapshots in the background while batches go on. 'sync' makes them inside the
    commit, for tests and comparisons. By default 'async'."""

    snapshot_max_versions: int | None = None
    """A snapshot is made after this many versions. 0 takes the value of Spark's
    spark.sql.streaming.stateStore.minDeltasForSnapshot. By default 0."""

    snapshot_max_bytes: int | str | None = None
    """A snapshot is made after this many bytes of changelog, if that comes before
    snapshot.maxVersions. By default '64m'."""

    compaction_max_runs: int | None = None
    """How many runs the newest snapshot may have before some are merged. While they are merged
    there may be twice as many. With more runs less is written; with fewer a restart reads less and
    the checkpoint is smaller. By default 12."""

    compaction_max_bytes: int | str | None = None
    """How many bytes of a store are merged at a time, about. A larger state is merged in spans of
    buckets, one after the other. The more numBuckets there are, the smaller a span can be. By
    default '1g'."""

    run_max_file_bytes: int | str | None = None
    """A run is split into files of about this size, where a bucket ends. A restart fetches and
    verifies whole files before it reads a bucket from them. By default '16m'."""

    run_block_bytes: int | str | None = None
    """The size of a block in a run's file, about. To look up a key that is not in memory, one block
    is read. Larger blocks compress better, and the index that is kept in memory is smaller. By
    default '4k'."""

    run_cache_share: int | None = None
    """How much of memory.maxBytes may be taken to read runs' files, in percent. That is for their
    indexes and filters, about 2 bytes for each key of the state, and for the blocks that were read
    last, a quarter of the share at most. Where indexes and filters do not fit, the parts that were
    used last stay: keys that are not in memory are slower then. With 0 each look-up reads what it
    needs. By default 40."""

    run_bloom_bits: int | None = None
    """Bits for each key in the Bloom filters of runs' files. A filter spares reading a file that
    does not have the key. With 10 bits one such key in a hundred is looked for in vain, with 15 one
    in a thousand. 0 makes no filters. By default 10."""

    run_max_open_files: int | None = None
    """How many files of runs one executor keeps open, for all queries. Above it the files that were
    not read for longest are closed, and opened again when they are read. By default 2000."""

    restore_mode: Literal["lazy", "eager"] | None = None
    """When a restart loads the state. 'lazy' loads a bucket when it is first touched, and the
    others meanwhile in the background. 'eager' loads all of them before the first batch. By default
    'lazy'."""

    memory_max_bytes: int | str | None = None
    """How much memory the state of all queries in one executor may take: bytes, such as 2g, a share
    of the heap, such as 40%, or 'auto', three quarters of what Spark leaves to user code. With
    engine=heap it is heap, with engine=rocksdb mostly memory outside the heap. Above it, what was
    not used for longest leaves memory. It is read when it is asked for, from the files of snapshots
    or from the local database. By default 'auto'."""

    memory_prevent_eviction_for: int | timedelta | None = None
    """How long a bucket stays in memory after its last use, in milliseconds, even above
    memory.maxBytes. By default 0."""

    exact_key_count: bool | Literal["true", "false"] | None = None
    """Whether the number of keys is always exact. 'true' looks up a key that is not in memory when
    it is written, to know whether it is new. 'false' leaves that out, for operators that write
    without reading to a state larger than memory. numRowsTotal may then be of an older version, as
    bucketedUncounted says. By default 'true'."""

    time_bucket_expire_after: timedelta | str | None = None
    """State that is older than this expires: a time such as 7d, or 'never'. The age is counted from
    the newest time in the partition. Not for joins, state with timeouts, or state that a watermark
    evicts. By default 'never'."""

    time_bucket_column: str | None = None
    """The column of key or value with the event time by which state ages, such as 'lastSeen' or
    'window.end'. 'none' lets it age by the time of the batch that last wrote it. A column helps
    where nothing expires, too: windows and other state of one time leave the files together once
    their operator has removed them. By default 'none'."""

    time_bucket_span: timedelta | str | None = None
    """The length of a time bucket: state in one expires together. With 1h, what is expired is gone
    an hour after timeBucket.expireAfter at the latest, or two hours if that is no multiple of the
    span. timeBucket.expireAfter is at most 4000 of them. 'auto' is a sixteenth to a 64th of it, so
    that it divides it where it can, and at least a second; a minute where nothing expires. By
    default 'auto'."""

    local_dir: str | PathLike[str] | None = None
    """Where working files go. 'spark' stands for Spark's local folders, which are cleared when the
    store is closed. Or give a folder on each machine, such as /data/state: what a restart there can
    begin with stays in it. That is copies of a remote checkpoint's runs, and with engine=rocksdb
    the database of the last snapshot. By default 'spark'."""

    object_store_schemes: str | None = None
    """Schemes of checkpoints in object stores, such as s3a, where a file appears whole when it is
    closed. A file is written there with one request and never renamed, if the client can abort a
    write. If it cannot, or if spark.sql.streaming.checkpointFileManagerClass is set, Spark's file
    manager is used. 'none' for no scheme. By default 's3a,s3,gs,abfs,abfss'."""

    rocksdb_preset: (
        Literal[
            "default", "spinning-disk", "spinning-disk-high-memory", "flash-ssd", "small-memory"
        ]
        | None
    ) = None
    """The native options that the databases of engine=rocksdb start from. 'default' is for many
    small stores. 'flash-ssd' and 'spinning-disk' are for such disks; 'spinning-disk-high-memory'
    has larger buffers and blocks. 'small-memory' has small buffers, and indexes that may leave
    memory. By default 'default'."""

    rocksdb_options: Mapping[str, str | int] | tuple[tuple[str, str], ...] = ()
    """Native options of the databases of engine=rocksdb, by RocksDB's name: db.max_background_jobs,
    say, for a database; cf.write_buffer_size or cf.block_size for its column families and their
    tables. Values are as RocksDB writes them, and take the place of the preset's. Options that the
    engine itself depends on are refused."""

    rocksdb_options_factory: str | None = None
    """A class that may change the native options of engine=rocksdb in code; it gets them last. It
    is an io.bucketstate.rocksdb.RocksDbOptionsFactory on the class path of the executors. 'none'
    for no such class. By default 'none'."""

    rocksdb_heap_bytes: int | str | None = None
    """How much heap the keys that were used last may take with engine=rocksdb, for all queries in
    one executor. memory.maxBytes counts instead if it is less. What a batch changes stays in memory
    until it is written to the database, also above this. By default '24m'."""

    rocksdb_memory_share: int | None = None
    """How much of memory.maxBytes all databases of an executor may take outside the heap, in
    percent. Four fifths of it are for single records. The rest is for blocks, indexes and filters
    of their files, and for what is not written to files yet. The first query of an executor
    decides. By default 78."""

    rocksdb_max_bytes_per_second: int | str | None = None
    """How many bytes all databases of an executor write to local disks in a second, at most. The
    first query of an executor decides. By default '256m'."""
