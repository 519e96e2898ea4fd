"""What a page consists of, before it is HTML."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

Spec = Mapping[str, Any]
"""A chart as Plotly takes it: `data` and `layout`. Labels in it are text of the page's, never of
data: see `charts.label`."""


@dataclass(frozen=True)
class Chart:
    """A chart under its title; `finding` says in a sentence what it shows. Immutable."""

    title: str
    finding: str
    spec: Spec
    height: int = 300
    """In pixels."""


@dataclass(frozen=True)
class Untold:
    """What stands in the place of a chart that cannot be drawn: why. Immutable."""

    title: str
    why: str


@dataclass(frozen=True)
class Table:
    """Rows of text under a title. Immutable."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]


Part = Chart | Untold | Table


@dataclass(frozen=True)
class Section:
    """Parts under a heading, with a sentence about them. Immutable."""

    title: str
    about: str
    parts: Sequence[Part]


Grade = Literal["error", "warning", "advice", "note"]


@dataclass(frozen=True)
class Remark:
    """What somebody may have to act on, or should know. Immutable."""

    grade: Grade
    about: str
    what: str
    figures: str = ""
    help: str = ""
    settings: tuple[str, ...] = ()


@dataclass(frozen=True)
class Figure:
    """One of the numbers at the top: `text` is the number, `note` what it is of. Immutable."""

    name: str
    text: str
    note: str


@dataclass(frozen=True)
class Page:
    """All of it. Immutable."""

    name: str
    location: str
    facts: Sequence[str]
    figures: Sequence[Figure]
    remarks: Sequence[Remark]
    sections: Sequence[Section]
