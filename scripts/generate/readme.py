"""The README's table of settings, which lies between two marks."""

from __future__ import annotations

from bucketstate.registry import Registry
from scripts.generate.markdown import default, row
from scripts.generate.marks import between

BEGIN = "<!-- Made by `make generate` from the Scala registry: edits before the end are lost. -->"


def with_settings(text: str, registry: Registry) -> str:
    """The README with the table as it is now. ValueError if the marks are not there, once each."""
    return between("README.md", text, BEGIN, table(registry))


def table(registry: Registry) -> str:
    rows = [row(f"`{s.name}`", default(s), s.doc) for s in registry.settings]
    return "".join([row("setting", "default", "meaning"), "|---|---|---|\n", *rows])
