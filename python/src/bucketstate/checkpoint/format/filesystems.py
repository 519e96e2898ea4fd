"""File systems by URI, and by the objects that people have: all of them as pyarrow's."""

from __future__ import annotations

import os
import re
from typing import Any

from pyarrow import ArrowException, fs

from bucketstate.checkpoint.format.fsspec_files import FsspecFiles
from bucketstate.errors import InvalidArgumentError, StorageError
from bucketstate.optional import needed
from bucketstate.waiting import REQUESTS

_SCHEME = re.compile(r"([a-zA-Z][a-zA-Z0-9+.-]*):/")
_SECRET = re.compile(r"//[^/@]*:[^/@]*@")
_HADOOP_S3 = re.compile(r"^s3[an]:")
_ARROW = ("abfs", "abfss", "file", "gcs", "gs", "hdfs", "mock", "s3", "viewfs")
"""What pyarrow has a file system of its own for, in some build at least."""
_RETRIES = 30
"""Seconds for which Google's client asks again what has no answer; by itself it does for 900."""
_ATTEMPTS = 5
"""How often S3 is asked for what has no answer; by itself Arrow's client asks for minutes."""
_HINTS = {
    "s3": (
        "Check the bucket's name and region, and that there are credentials (AWS_ACCESS_KEY_ID and "
        "AWS_SECRET_ACCESS_KEY, AWS_PROFILE, or the machine's role; in Python "
        "filesystem=pyarrow.fs.S3FileSystem(anonymous=True) needs none). Another endpoint is given "
        "by AWS_ENDPOINT_URL or by ?endpoint_override=host:port&scheme=http."
    ),
    "gs": (
        "Check the bucket's name and GOOGLE_APPLICATION_CREDENTIALS (gs://anonymous@bucket/path "
        "needs none), and that Google can be reached: gs://bucket/path?retry_limit_seconds=300 "
        "goes on trying for longer."
    ),
    "hdfs": (
        "pyarrow reads HDFS through Hadoop's native client: set ARROW_LIBHDFS_DIR to the folder of "
        "libhdfs.so, JAVA_HOME, and CLASSPATH to what `hadoop classpath --glob` prints. Without "
        "them use WebHDFS: pip install 'bucketstate[fsspec]' requests, and give the path as "
        "webhdfs://namenode:9870/path."
    ),
    "abfs": "Check the account, the container and the credentials of Azure.",
}
_ALIASES = {"gcs": "gs", "abfss": "abfs", "viewfs": "hdfs"}


def hint(scheme: str) -> str:
    """What to do where a file system of that scheme cannot be reached."""
    return _HINTS.get(
        _ALIASES.get(scheme, scheme), "Check that the file system can be reached, and your rights."
    )


def first_line(error: Exception) -> str:
    """What is wrong; some libraries add all the places where they have looked."""
    return next(iter(str(error).splitlines()), type(error).__name__)


def without_secret(text: str) -> str:
    """A URI, or a text that has some, without a key and a secret in it: what people pass around."""
    return _SECRET.sub("//", text)


def opened(
    path: str | os.PathLike[str], filesystem: Any | None = None
) -> tuple[fs.FileSystem, str, str]:
    """The file system of a path, the path on it, and its scheme (`file` for local ones).

    Paths are as Spark takes them: local, or URIs. `s3a:` is `s3:`. URIs that pyarrow has no file
    system for are given to fsspec. With `filesystem`, pyarrow's or fsspec's, the path is one of its
    own; fsspec's take URIs as well.

    Raises InvalidArgumentError for what is no path or no file system, StorageError, and
    MissingLibraryError where fsspec is needed and not installed.
    """
    text = _text(path)
    if filesystem is not None:
        found = _as_arrow(filesystem)
        return found, _as_listed(found, text), ""
    if local := re.fullmatch(r"file:(?://)?(/.*)", text):
        text = local[1]
    scheme = _SCHEME.match(text)
    if scheme is None:
        return fs.LocalFileSystem(), os.path.abspath(in_utf8(text)), "file"  # noqa: PTH100
    text = _HADOOP_S3.sub("s3:", text)
    name = "s3" if scheme[1] in ("s3a", "s3n") else scheme[1]
    try:
        if name in _ARROW:
            with REQUESTS.asking(without_secret(text.partition("?")[0])):
                found, inside = fs.FileSystem.from_uri(_limited(text, name))
            if isinstance(found, fs.S3FileSystem):
                found = _asking_less(found)
        else:
            found, inside = _by_fsspec(text, name)
    except InvalidArgumentError:
        raise
    except (ArrowException, OSError, ValueError, ImportError) as error:
        # Libraries repeat what they were given.
        failed = without_secret(f"{text} cannot be opened: {first_line(error)}.")
        raise StorageError(f"{failed} {hint(name)}") from error
    return found, inside, name


def _limited(uri: str, scheme: str) -> str:
    """With a limit where a file system has one that nobody would wait for."""
    if _ALIASES.get(scheme, scheme) != "gs" or "retry_limit_seconds=" in uri:
        return uri
    return f"{uri}{'&' if '?' in uri else '?'}retry_limit_seconds={_RETRIES}"


def _asking_less(s3: fs.S3FileSystem) -> fs.S3FileSystem:
    """The file system with a limit for which a URI of S3 has no parameter."""
    # What it is pickled as: that it was made of a URI, and of which, it does not tell otherwise.
    make, (options,) = s3.__reduce__()
    found: fs.S3FileSystem = make(
        {**options, "retry_strategy": fs.AwsStandardS3RetryStrategy(max_attempts=_ATTEMPTS)}
    )
    return found


def split_uri(uri: str) -> tuple[str, str, str]:
    """The scheme of a URI as Hadoop writes it (`file` if it has none), its host, and the path."""
    scheme = _SCHEME.match(uri)
    if scheme is None:
        return "file", "", uri
    name = _HADOOP_S3.sub("s3:", uri).partition(":")[0]
    rest = uri[scheme.end(1) + 1 :]
    host, slash, path = rest[2:].partition("/") if rest.startswith("//") else ("", "/", rest[1:])
    return _ALIASES.get(name, name), host, f"{slash}{path}"


def _as_arrow(filesystem: Any) -> fs.FileSystem:
    if type(getattr(filesystem, "handler", None)) is fs.FSSpecHandler:
        # One of fsspec that was made one of pyarrow by whoever passes it.
        filesystem = filesystem.handler.fs
    if isinstance(filesystem, fs.FileSystem):
        return filesystem
    # Not imported for this: whoever passes one has imported fsspec.
    kinds = [(kind.__module__, kind.__name__) for kind in type(filesystem).__mro__]
    if ("fsspec.spec", "AbstractFileSystem") in kinds:
        return fs.PyFileSystem(FsspecFiles(filesystem))
    raise InvalidArgumentError(
        f"filesystem is a {type(filesystem).__name__}: give one of pyarrow.fs or of fsspec."
    )


def _as_listed(filesystem: fs.FileSystem, path: str) -> str:
    """The path as the file system itself lists it.

    Those of fsspec take others for it, too, such as URIs and relative ones.
    """
    handler = getattr(filesystem, "handler", None)
    return str(handler.fs._strip_protocol(path)) if isinstance(handler, FsspecFiles) else path


def _text(path: object) -> str:
    text = os.fspath(path) if isinstance(path, (str, os.PathLike)) else None
    if isinstance(text, str):
        return text
    raise InvalidArgumentError(
        f"path is a {type(path).__name__}: give a path or a URI as text, and a file system as the "
        "second argument."
    )


def in_utf8(path: str) -> str:
    """A local path as its bytes are in UTF-8, whatever Python takes them for."""
    try:
        return os.fsencode(path).decode("utf-8")
    except UnicodeError as error:
        raise InvalidArgumentError(
            f"path is {path!r}, which is not UTF-8, and pyarrow reaches no such name: rename the "
            "folder, or give a link to it."
        ) from error


def _by_fsspec(uri: str, scheme: str) -> tuple[fs.FileSystem, str]:
    shown = without_secret(uri)
    fsspec = needed(
        "fsspec.core",
        extra="fsspec",
        what=f"{shown}: pyarrow has no file system for {scheme}:, and fsspec may have one. It",
        library="fsspec",
    )
    try:
        found, inside = fsspec.url_to_fs(uri)
    except ValueError as error:
        if "Protocol not known" not in str(error):
            raise
        raise InvalidArgumentError(
            f"{shown}: there is no file system called {scheme!r}, not of pyarrow and not of "
            "fsspec. Correct the URI, or install the package that has it."
        ) from None
    return _as_arrow(found), inside
