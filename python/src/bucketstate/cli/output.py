"""Settings as text, one function per format."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Mapping
from pathlib import Path

from bucketstate.errors import InvalidSettingError
from bucketstate.properties import line
from bucketstate.session import JARS

Renderer = Callable[[Mapping[str, str], Mapping[str, str]], str]
"""Settings, and why some of them are as they are, by key."""


def properties(settings: Mapping[str, str], reasons: Mapping[str, str]) -> str:
    """Lines for `spark-submit --properties-file` and `spark-defaults.conf`, reasons as comments."""
    lines = []
    for key, value in settings.items():
        if key in reasons:
            lines.append(f"# {reasons[key]}")
        lines.append(line(key, value))
    return "\n".join(lines)


def flags(settings: Mapping[str, str], _reasons: Mapping[str, str]) -> str:
    """Arguments for `spark-submit`, which a shell takes as they are: in `$(...)`, too.

    Raises InvalidSettingError for a setting that would have to be quoted: `$(...)` reads no quotes.
    """
    return " ".join(f"--conf {_plain(key, value)}" for key, value in settings.items())


def as_json(settings: Mapping[str, str], _reasons: Mapping[str, str]) -> str:
    return json.dumps(dict(settings), indent=2)


RENDERERS: dict[str, Renderer] = {"properties": properties, "flags": flags, "json": as_json}


def _plain(key: str, value: str) -> str:
    if key == JARS:
        value = ",".join(map(_location, value.split(",")))
    word = f"{key}={value}"
    if shlex.quote(word) != word:
        raise InvalidSettingError(
            f"{key} is {value!r}, which a shell would take apart in $(bucketstate conf --format "
            "flags): write --format properties into a file, and give it to spark-submit as "
            "--properties-file FILE --load-spark-defaults."
        )
    return word


def _location(jar: str) -> str:
    """A path that a shell would take apart, as the URI by which Spark knows it."""
    return jar if shlex.quote(jar) == jar else Path(jar).absolute().as_uri()
