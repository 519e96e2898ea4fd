"""The terminal, by rich: which is installed only where it is asked for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol

from bucketstate.optional import needed

if TYPE_CHECKING:
    from rich.console import Console

_WIDTH = 160
"""Characters of a line where there is no terminal to ask."""


class Advance(Protocol):
    """Is told how much of how much is done."""

    def __call__(self, done: int, total: int | None) -> None: ...


def console(*, stderr: bool = False) -> Console:
    rich = needed("rich.console", extra="cli", what="Showing a checkpoint")
    found: Console = rich.Console(stderr=stderr, highlight=False)
    if not found.is_terminal:
        found.width = _WIDTH
    return found


def table(title: str, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> Any:
    """A table; columns whose name starts with a `#` are numbers, to the right."""
    rich = needed("rich.table", extra="cli", what="Showing a checkpoint")
    text = needed("rich.text", extra="cli", what="Showing a checkpoint")
    found = rich.Table(title=title or None, title_justify="left", title_style="bold")
    for column in columns:
        number = column.startswith("#")
        found.add_column(column.removeprefix("#"), justify="right" if number else "left")
    for row in rows:
        # As text: a key may look like markup.
        found.add_row(*[text.Text(str(cell)) for cell in row])
    return found


@contextmanager
def progress(what: str) -> Iterator[Advance]:
    """A bar on the terminal while something long goes on; nothing where there is no terminal."""
    rich = needed("rich.progress", extra="cli", what="A progress bar")
    with rich.Progress(console=console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=None)

        def advance(done: int, total: int | None) -> None:
            bar.update(task, completed=done, total=total)

        yield advance
