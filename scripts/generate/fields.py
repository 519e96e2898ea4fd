"""The fields of Python's `Conf`, as source that type checkers and editors read."""

from __future__ import annotations

import json
import textwrap

from bucketstate.registry import Registry, Setting

_WIDTH = 100
_HEAD = '''\
"""The fields of `Conf`, made by `make generate` from the Scala registry: edits here are lost."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Literal


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Every setting of the provider, unchecked: use `bucketstate.Conf`."""
'''


def module(registry: Registry) -> str:
    return "\n".join([_HEAD, *map(_field, registry.settings)])


def _field(setting: Setting) -> str:
    # JSON's numbers and strings are Python's, in the quotes that the formatter wants.
    default = json.dumps(setting.default) if setting.default != () else "()"
    # Of a text in triple quotes only these two characters can be taken for something else.
    doc = setting.doc.replace("\\", r"\\").replace('"', r"\"")
    field = _declared(setting.field, setting.kind.annotation, default)
    return field + "".join(
        textwrap.fill(
            line,
            _WIDTH,
            initial_indent="    ",
            subsequent_indent="    ",
            break_long_words=False,
            break_on_hyphens=False,
        )
        + "\n"
        for line in f'"""{doc}"""'.splitlines()
    )


def _declared(name: str, annotation: str, default: str) -> str:
    """As the formatter breaks it, if it is too long for a line: within the brackets of the type."""
    line = f"    {name}: {annotation} = {default}\n"
    head, bracket, rest = annotation.partition("[")
    if len(line) <= _WIDTH + 1 or not bracket:
        return line
    return f"    {name}: {head}[\n        {rest.removesuffix(']')}\n    ] = {default}\n"
