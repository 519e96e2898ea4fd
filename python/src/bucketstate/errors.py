"""What can go wrong on the Python side. Each message ends with what to do about it."""

from __future__ import annotations

from typing import Self


class BucketstateError(Exception):
    """The base of every error this package raises."""


class InvalidSettingError(BucketstateError, ValueError):
    """A setting that can never work as given: an unknown key or a value that is not allowed."""


class InvalidArgumentError(BucketstateError, ValueError):
    """An argument that can never work as given: of a wrong type, or at odds with another."""


class JarNotFoundError(BucketstateError, FileNotFoundError):
    """The package was installed or built without the provider's jar for this Spark."""


class SessionError(BucketstateError, RuntimeError):
    """The provider's jar cannot reach this session any more: its JVM runs without it."""


class ExtensionMissingWarning(UserWarning):
    """The session was made without the extension that `transformWithState` needs."""


class CheckpointError(BucketstateError):
    """Something about a checkpoint that keeps it, or a part of it, from being read.

    Attributes:
        path: the file that it is about, as messages have it; None if it is about no single one.
        problem: what is wrong with that file, without what to do about it; None if `path` is.
    """

    path: str | None = None
    problem: str | None = None

    def about(self, path: str, problem: str) -> Self:
        """The same error, with these attributes."""
        self.path = path
        self.problem = problem
        return self


class NotACheckpointError(CheckpointError, ValueError):
    """The folder is not the checkpoint of a stateful streaming query."""


class OtherProviderError(CheckpointError, ValueError):
    """The checkpoint's state was written by another state store provider."""


class NewerFormatError(CheckpointError):
    """A file has a format version that this release does not know."""


class DamagedFileError(CheckpointError):
    """A file is not what its name, its checksum or another file says it is."""


class MissingFileError(CheckpointError, FileNotFoundError):
    """A file that something else refers to is not there."""


class StorageError(CheckpointError, OSError):
    """The file system failed; the checkpoint may be all right."""


class NoSuchStateError(CheckpointError, LookupError):
    """No such operator, store, partition, version or column family in this checkpoint."""


class MissingLibraryError(BucketstateError, ImportError):
    """A library that is installed only where it is asked for."""
