"""Settings as text, one function per format."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Mapping

Renderer = Callable[[Mapping[str, str]], str]


def properties(settings: Mapping[str, str]) -> str:
    """Lines for `spark-submit --properties-file` and `spark-defaults.conf`."""
    return "\n".join(f"{key}={_escaped(value)}" for key, value in settings.items())


def flags(settings: Mapping[str, str]) -> str:
    """Arguments for `spark-submit`, quoted for a shell."""
    return " ".join(f"--conf {shlex.quote(f'{k}={v}')}" for k, v in settings.items())


def as_json(settings: Mapping[str, str]) -> str:
    return json.dumps(dict(settings), indent=2)


RENDERERS: dict[str, Renderer] = {"properties": properties, "flags": flags, "json": as_json}


def _escaped(value: str) -> str:
    # A properties file reads a backslash as the start of an escape.
    return value.replace("\\", "\\\\")
