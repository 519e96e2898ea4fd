"""What can go wrong on the Python side. Each message ends with what to do about it.

docs/errors.md is made of these docstrings: a summary, when it is raised, and what to do.
"""

from __future__ import annotations

from typing import Self

__all__ = [
    "BucketstateError",
    "CheckpointError",
    "DamagedFileError",
    "ExtensionMissingWarning",
    "InvalidArgumentError",
    "InvalidSettingError",
    "JarNotFoundError",
    "MissingFileError",
    "MissingLibraryError",
    "NewerFormatError",
    "NoSuchStateError",
    "NotACheckpointError",
    "OtherProviderError",
    "PluginMissingWarning",
    "RefusedMoveError",
    "SavepointError",
    "SessionError",
    "StorageError",
]


class BucketstateError(Exception):
    """The base of every error this package raises.

    Raised itself by `Recorder`, for a file that it cannot read or write, and for a picture of no
    progress at all.

    What to do: catch this one for all of them; of a file, give one that `Recorder.save` wrote, or
    a folder that can be written to; draw when a batch has ended.
    """


class InvalidSettingError(BucketstateError, ValueError):
    """A setting that can never work as given: an unknown key or a value that is not allowed.

    Raised when the setting is given, in `Conf`, `Workload` or on the command line (exit code 2),
    and for a session's time zone that Python cannot work with.

    What to do: give a value that the message allows, or the key that it names.
    """


class InvalidArgumentError(BucketstateError, ValueError):
    """An argument that can never work as given: of a wrong type, or at odds with another.

    Raised by the checkpoint reader before it reads state, by `Live`, by `configure`, `enable`,
    `spark_settings` and `jar_path`, and on the command line (exit code 2).

    What to do: correct the argument that the message names.
    """


class JarNotFoundError(BucketstateError, FileNotFoundError):
    """The package was installed or built without the provider's jar for this Spark.

    Raised by whatever needs the jar: `jar_path`, `configure`, `enable`, `spark_settings`.

    What to do: install the wheel, which has a jar for each supported Spark, or build it with
    `make jar`; say which Spark runs the queries, if it is another than the pyspark here.
    """


class SessionError(BucketstateError, RuntimeError):
    """A Spark session cannot be given what it needs any more, or is not one that can.

    Raised by `configure` where Spark runs already without the provider's jar, by `enable` where
    it takes none any more, by both for Spark Connect, by `stateful.apply` for a session whose Spark
    or provider cannot run `transformWithState`, and by the pytest fixture for settings that come
    too late.

    What to do: call `enable` on the session that runs, or make the session anew with what is
    missing; on Spark Connect, configure the server.
    """


class ExtensionMissingWarning(UserWarning):
    """The session was made without the extension that `transformWithState` needs.

    Warned of by `configure` and `enable` from Spark 4.2 on, together with a plugin that is missing.
    Other queries run. On Spark 4.0 and 4.1 only `stateful.apply(operator="transformWithState")`
    needs the extension, and says so itself.

    What to do: make the session with `configure`, or with the extension in `spark.sql.extensions`;
    nothing, if no query uses `transformWithState`.
    """


class PluginMissingWarning(UserWarning):
    """The application was started without the plugin, so an operator sees nothing of its stores.

    Warned of by `configure` and `enable`. Queries run, without metrics in Prometheus and in
    Spark's sinks, without the tab State in Spark's web UI, and with a cold first batch.

    What to do: make the session with `configure`, or name the plugin in `spark.plugins` when the
    application starts; nothing, if none of that is wanted.
    """


class CheckpointError(BucketstateError):
    """Something about a checkpoint that keeps it, or a part of it, from being read.

    Raised as one of the errors below it. A file system that fails is none of them: that is a
    `StorageError`.

    What to do: see those; catch this one for all of them.
    """

    path: str | None = None
    """The file that it is about, as messages have it; None if it is about no single one."""

    problem: str | None = None
    """What is wrong with that file, without what to do about it; None if `path` is."""

    def about(self, path: str, problem: str) -> Self:
        """Sets these attributes, and returns the error."""
        self.path = path
        self.problem = problem
        return self


class NotACheckpointError(CheckpointError, ValueError):
    """The folder is not the checkpoint of a stateful streaming query.

    Raised when a checkpoint is opened: it does not exist, has no offset log, or has no state. And
    by `Live` when it was deleted or moved since.

    What to do: give the `checkpointLocation` of a stateful query that has finished a batch.
    """


class OtherProviderError(CheckpointError, ValueError):
    """The checkpoint's state was written by another state store provider.

    Raised when a checkpoint is opened.

    What to do: read it with Spark's own source, `spark.read.format("statestore")`, or take it to
    bucketstate with `bucketstate move import`.
    """


class NewerFormatError(CheckpointError):
    """A file has a format version that this release does not know.

    Raised where such a file is read. It is no damage: a newer release owns the checkpoint.

    What to do: upgrade this package.
    """


class DamagedFileError(CheckpointError):
    """A file is not what its name, its checksum or another file says it is.

    Raised where it is read, if nothing else leads to the version. `path` names the file.

    What to do: run `bucketstate verify`, which says what is lost by it; read a version that does
    not need the file, or restore the file from a backup.
    """


class MissingFileError(CheckpointError, FileNotFoundError):
    """A file that something else refers to is not there.

    Raised where it is read: it was removed by hand, or by retention while it was looked for.

    What to do: read a newer version, or open the checkpoint again; else as for a damaged file.
    """


class StorageError(BucketstateError, OSError):
    """The file system failed; the checkpoint may be all right.

    Raised for whatever a file system refuses: rights, a network, a full or missing disk. And by a
    move that is made by Spark, where its job failed or the session's JVM has ended. It is no
    `CheckpointError`: whoever catches that one, to go on without a file that is damaged, does not
    take for damage what could not be read this time.

    What to do: see that it can be reached and read with these credentials, and try again; of a
    JVM that has ended, with a new session.
    """


class NoSuchStateError(CheckpointError, LookupError):
    """No such operator, store, partition, version, state variable or column family in a checkpoint.

    Raised where one is asked for by its name or number. The message lists those that there are.
    And by `Live` when the version that it has read was taken back since.

    What to do: ask for one of those; `bucketstate inspect` shows them. Of `Live` call `refresh`.
    """


class RefusedMoveError(CheckpointError, ValueError):
    """A checkpoint cannot be moved as asked, and nothing was changed by asking.

    Raised by `bucketstate.move` and its commands: a target that is not empty, a query that seems
    to run, a version that retention has taken, a checkpoint that changed meanwhile, a savepoint of
    a later batch, a provider or a number that cannot be.

    What to do: what the message says; most often name an empty folder, stop the query, or drop the
    savepoint.
    """


class SavepointError(CheckpointError):
    """A savepoint cannot be created as it was asked for.

    Raised for a name that is taken, a batch that executors may have deleted before they know of the
    savepoint, and one whose state or whose entries in Spark's logs are not all there any more; and
    while a move of the checkpoint is not finished. No savepoint is left.

    What to do: drop the other one, or take another name; take a newer batch, or stop the query
    for it; create it again.
    """


class MissingLibraryError(BucketstateError, ImportError):
    """A library is missing that is installed only where it is asked for.

    Raised by what needs it: the checkpoint reader, stateful functions, pictures, panels, other file
    systems.

    What to do: install what the message names, such as `bucketstate[checkpoint]`.
    """
