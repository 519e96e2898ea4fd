"""Reads a page that `write_report` wrote, as a program would."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

_VOID = ("meta", "br", "link", "img")
_IN_PLACE_OF_CHARTS = ("untold", "table")


@dataclass
class Part:
    """A chart with its spec, or what stands in its place."""

    kind: str
    title: str = ""
    text: str = ""
    spec: dict[str, Any] = field(default_factory=dict)

    @property
    def finding(self) -> str:
        return self.text.strip()

    @property
    def traces(self) -> dict[str, dict[str, Any]]:
        """What is drawn, by name."""
        return {trace.get("name", ""): trace for trace in self.spec["data"]}

    @property
    def values(self) -> list[Any]:
        """Those of the first that is drawn."""
        found: list[Any] = self.spec["data"][0]["y"]
        return found


class Page(HTMLParser):
    """`text` is all that is to be read; `tags` are all that there are, with their attributes."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.text = ""
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.remarks: list[tuple[str, str]] = []
        """Grade and text of each."""
        self.figures: dict[str, str] = {}
        self._parts: list[Part] = []
        self._part: Part | None = None
        self._open: list[tuple[str, dict[str, str | None]]] = []
        self._figure = ""
        self.feed(path.read_text(encoding="utf-8"))

    @property
    def charts(self) -> dict[str, Part]:
        return {part.title: part for part in self._parts if part.kind == "figure"}

    @property
    def untold(self) -> dict[str, str]:
        return {part.title: part.finding for part in self._parts if part.kind == "untold"}

    @property
    def tables(self) -> dict[str, str]:
        return {part.title: part.finding for part in self._parts if part.kind == "table"}

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = dict(attrs)
        kind = attributes.get("class") or ""
        self.tags.append((tag, attributes))
        if tag not in _VOID:
            self._open.append((tag, attributes))
        if tag == "figure" or kind in _IN_PLACE_OF_CHARTS:
            self._part = Part(kind or tag)
            self._parts.append(self._part)
        elif tag == "li" and kind:
            self.remarks.append((kind, ""))
        elif tag == "dt":
            self._figure = ""

    def handle_endtag(self, tag: str) -> None:
        opened, _ = self._open.pop()
        assert opened == tag, f"<{opened}> is closed by </{tag}>"
        if self._part is not None:
            ends = "figure" if self._part.kind == "figure" else "div"
            self._part = None if tag == ends else self._part

    def handle_data(self, data: str) -> None:
        inside, attributes = self._open[-1] if self._open else ("", {})
        if inside == "script":
            if self._part is not None and attributes.get("type") == "application/json":
                self._part.spec = json.loads(data)
        elif inside != "style":
            self.text += data
            self._read(inside, data)

    def _read(self, inside: str, data: str) -> None:
        if inside == "dt":
            self._figure += data
            self.figures[self._figure] = ""
        elif "dd" in (tag for tag, _ in self._open):
            self.figures[self._figure] += data
        elif self._part is not None and inside == "h3":
            self._part.title += data
        elif self._part is not None:
            self._part.text += data
        elif self.remarks and any(of.get("class") == self.remarks[-1][0] for _, of in self._open):
            grade, text = self.remarks[-1]
            self.remarks[-1] = grade, text + data
