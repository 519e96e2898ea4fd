"""Settings as text, one function per format."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Mapping

Renderer = Callable[[Mapping[str, str], Mapping[str, str]], str]
"""Settings, and why some of them are as they are, by key."""


def properties(settings: Mapping[str, str], reasons: Mapping[str, str]) -> str:
    """Lines for `spark-submit --properties-file` and `spark-defaults.conf`, reasons as comments."""
    lines = []
    for key, value in settings.items():
        if key in reasons:
            lines.append(f"# {reasons[key]}")
        lines.append(f"{key}={_escaped(value)}")
    return "\n".join(lines)


def flags(settings: Mapping[str, str], _reasons: Mapping[str, str]) -> str:
    """Arguments for `spark-submit`, quoted for a shell."""
    return " ".join(f"--conf {shlex.quote(f'{k}={v}')}" for k, v in settings.items())


def as_json(settings: Mapping[str, str], _reasons: Mapping[str, str]) -> str:
    return json.dumps(dict(settings), indent=2)


RENDERERS: dict[str, Renderer] = {"properties": properties, "flags": flags, "json": as_json}


def _escaped(value: str) -> str:
    # A properties file reads a backslash as the start of an escape.
    return value.replace("\\", "\\\\")
