"""Files of progress: JSON by lines, what a `Recorder` saved, and Spark's event logs."""

from __future__ import annotations

import json
import logging
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow as pa

from bucketstate.doctor.evidence import Progress
from bucketstate.errors import BucketstateError, InvalidArgumentError
from bucketstate.progress import Recorder

_log = logging.getLogger("bucketstate.doctor")

_EVENT = "org.apache.spark.sql.streaming.StreamingQueryListener$QueryProgressEvent"
_STARTED = "SparkListenerLogStart"
_ENVIRONMENT = "SparkListenerEnvironmentUpdate"
_PROVIDER = "spark.sql.streaming.stateStore.providerClass"
_OURS = "io.bucketstate.BucketedStateStoreProvider"
_LOG = re.compile(
    r"(eventlog_v2_)?(app-[0-9]+-[0-9]+|application_[0-9]+_[0-9]+|local-[0-9]+|spark-[0-9a-f]+"
    r"|spark-application-[0-9]+)(_[0-9]+)?(\.[a-z0-9]+)*"
)
"""The name of a log: an application's id, perhaps an attempt's, and endings."""
_ROLLED = re.compile(r"events_([0-9]+)_.*")
_ZSTD = (".zst", ".zstd")
_OTHER_CODECS = (".lz4", ".lzf", ".snappy")
_BEHIND_CODECS = (".compact", ".inprogress")
"""Endings that Spark takes off the name of a log, in this order, before it looks for the codec."""
_CUT_OFF = "Truncated compressed stream"
"""Arrow's words where a file ends before its last frame does."""
_CHUNK = 1 << 16
_HEAD = 50
"""The lines of an event log among which its settings are."""


class ProgressFileError(BucketstateError):
    """A file that holds no progress, or that cannot be read.

    Raised by `read_progress` and `bucketstate doctor`.

    What to do: give the JSON of progresses, one a line, what `Recorder.save` wrote, or an event log
    that is not compressed, or with zstd.
    """


def is_progress(path: Path) -> bool:
    """Whether that is a file, or the folder of an event log, and not a checkpoint."""
    return path.is_file() or bool(_rolled(path))


def event_logs(folder: Path) -> list[Path]:
    """The event logs in a folder that Spark writes those of its applications into."""
    if not folder.is_dir():
        return []
    return sorted(file for file in folder.iterdir() if _LOG.fullmatch(file.name))


def read_progress(path: str | os.PathLike[str]) -> list[Progress]:
    """Every progress of a file, or of the folder of an event log that Spark rolls.

    Args:
        path: the JSON of progresses, one a line; what `Recorder.save` wrote (`.parquet`); or an
            event log of Spark's, of one file or a folder of them.

    Raises:
        InvalidArgumentError: it is no path.
        ProgressFileError: it holds none, or cannot be read.
        BucketstateError: it is Parquet and not what `Recorder.save` wrote.
    """
    if not isinstance(path, str | os.PathLike):
        raise InvalidArgumentError(f"path is a {type(path).__name__}: give a path as text.")
    path = Path(path)
    if path.suffix == ".parquet":
        return list(Recorder.read(path).progress)
    files = _files(path)
    found = [progress for file in files for progress in _progresses(file)]
    if not found:
        raise ProgressFileError(
            f"{path} holds no progress of a streaming query: give the JSON of query progresses, "
            "one a line, a file that Recorder.save wrote, or an event log of Spark's."
        )
    _log.info("read %d progresses of %d files in %s", len(found), len(files), path)
    return found


def refusals(path: Path) -> list[str]:
    """What Spark refuses to start in the application of an event log, because of its settings."""
    if path.suffix == ".parquet" or _codec(path) in _OTHER_CODECS:
        return []
    version, provider = "", None
    for line in _lines(_files(path)[0])[:_HEAD]:
        event = _event(line)
        if event.get("Event") == _STARTED:
            version = str(event.get("Spark Version", ""))
        elif event.get("Event") == _ENVIRONMENT:
            properties = event.get("Spark Properties")
            provider = properties.get(_PROVIDER) if isinstance(properties, Mapping) else None
    if provider != _OURS or not _has_real_time_mode(version):
        return []
    return [
        f"Spark {version} starts no query in real-time mode in a session with {_PROVIDER}="
        f"{_OURS}, also none without state: start one in a session of its own "
        "(spark.newSession()) with that set to Spark's RocksDBStateStoreProvider."
    ]


def _event(line: str) -> Mapping[str, Any]:
    try:
        found = json.loads(line)
    except ValueError:
        return {}
    return found if isinstance(found, Mapping) else {}


def _has_real_time_mode(version: str) -> bool:
    numbers = re.match(r"([0-9]+)\.([0-9]+)", version)
    return numbers is not None and (int(numbers[1]), int(numbers[2])) >= (4, 3)


def _files(path: Path) -> list[Path]:
    """The file itself, or those of the folder of an event log."""
    # What may not be looked at tells why when it is read.
    return _rolled(path) if os.path.isdir(path) else [path]  # noqa: PTH112


def _rolled(folder: Path) -> list[Path]:
    """The files of an event log in their order; none if it is no such folder."""
    try:
        inside = list(folder.iterdir()) if folder.is_dir() else []
    except OSError as error:
        raise ProgressFileError(f"{folder} cannot be read: {error}.") from error
    numbered = ((_ROLLED.fullmatch(file.name), file) for file in inside)
    return [file for _, file in sorted((int(m[1]), file) for m, file in numbered if m)]


def _progresses(file: Path) -> Iterator[Progress]:
    if _codec(file) in _OTHER_CODECS:
        raise ProgressFileError(
            f"{file} is compressed as only Spark's JVM reads it: write event logs with "
            "spark.eventLog.compress=false or spark.eventLog.compression.codec=zstd."
        )
    lines = _lines(file)
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            found = _progress(json.loads(line))
        except (ValueError, KeyError) as error:
            if number == len(lines) and number > 1:
                return
            raise ProgressFileError(
                f"{file}, line {number}, is neither a query's progress nor an event of Spark's "
                f"({error}): give the JSON of one a line."
            ) from error
        if found is not None:
            yield found


def _lines(file: Path) -> list[str]:
    """Its lines as JSON has them: marks such as U+2028, which end one elsewhere, stand in texts."""
    lines = _text(file).removesuffix("\n").split("\n")
    return [line.removesuffix("\r") for line in lines]


def _codec(file: Path) -> str:
    """The ending of its name that says how it is compressed, if it is."""
    name = file.name
    for behind in _BEHIND_CODECS:
        name = name.removesuffix(behind)
    return Path(name).suffix


def _text(file: Path) -> str:
    read = bytearray()
    try:
        _read(file, read, _CHUNK)
    except (OSError, ValueError) as error:
        if _CUT_OFF not in str(error):
            raise ProgressFileError(f"{file} cannot be read: {error}.") from error
        # Arrow drops what it had of the chunk in which the file ends: that is read byte by byte.
        with suppress(OSError):
            _read(file, read, 1)
        if not read:
            raise ProgressFileError(f"{file} cannot be read: {error}.") from error
    # A log that is being written ends anywhere.
    return read.decode("utf-8", "replace")


def _read(file: Path, into: bytearray, chunk: int) -> None:
    """Adds what stands behind that which was read already."""
    codec = "zstd" if _codec(file) in _ZSTD else None
    with pa.input_stream(str(file), compression=codec) as stream:
        if into:
            stream.read(len(into))
        while data := stream.read(chunk):
            into += data


def _progress(line: Any) -> Progress | None:
    """None for another event. ValueError or KeyError for what is neither."""
    if not isinstance(line, Mapping):
        raise ValueError("not an object")
    if "Event" in line:
        if line["Event"] != _EVENT:
            return None
        line = line["progress"]
        if not isinstance(line, Mapping):
            raise ValueError("its progress is no object")
    missing = {"id", "runId", "batchId", "durationMs"} - line.keys()
    if missing:
        raise KeyError(f"without {', '.join(sorted(missing))}")
    return dict(line)
