"""The fields of Python's `Conf`, as source that type checkers and editors read."""

from __future__ import annotations

import textwrap

from bucketstate.registry import Registry, Setting

_WIDTH = 100
_HEAD = '''\
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
'''


def module(registry: Registry) -> str:
    return "\n".join([_HEAD, *map(_field, registry.settings)])


def _field(setting: Setting) -> str:
    many = setting.default == ()
    doc = setting.doc if many else f"{setting.doc} By default {setting.default!r}."
    # Of a text in triple quotes only these two characters can be taken for something else.
    doc = doc.replace("\\", r"\\").replace('"', r"\"")
    # Of a setting that is many keys, none given is no key.
    annotation = setting.kind.annotation if many else f"{setting.kind.annotation} | None"
    field = _declared(setting.field, annotation, "()" if many else "None")
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


def _declared(name: str, annotation: str, value: str) -> str:
    """As the formatter breaks it, if it is too long for a line: by bars, then by brackets."""
    line = f"    {name}: {annotation} = {value}\n"
    head, bracket, rest = annotation.partition("[")
    if len(line) <= _WIDTH + 1 or not bracket:
        return line
    inside, _, behind = rest.rpartition("]")
    type_ = f"        {head}[{inside}]\n"
    if len(type_) > _WIDTH + 1:
        type_ = f"        {head}[\n            {inside}\n        ]\n"
    return f"    {name}: (\n{type_}       {behind}\n    ) = {value}\n"
