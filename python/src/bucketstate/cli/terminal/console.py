"""The terminal, by rich: which is installed only where it is asked for."""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Protocol

from bucketstate.errors import MissingLibraryError
from bucketstate.interrupts import undone
from bucketstate.optional import needed

if TYPE_CHECKING:
    from rich.console import Console

_WIDTH = 10_000
"""Characters of a line where there is no terminal: tables are as wide as what is in them."""


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
    names = [column.removeprefix("#") for column in columns]
    right = {i for i, column in enumerate(columns) if column.startswith("#")}
    return _table(title, names, right, rows)


def _table(
    title: str, names: Sequence[str], right: Collection[int], rows: Iterable[Sequence[Any]]
) -> Any:
    rich = needed("rich.table", extra="cli", what="Showing a checkpoint")
    text = needed("rich.text", extra="cli", what="Showing a checkpoint")
    # As text, all of it: a folder, a column or a key may look like markup.
    head = text.Text(title, style="bold") if title else None
    found = rich.Table(title=head, title_justify="left")
    for i, name in enumerate(names):
        found.add_column(text.Text(name), justify="right" if i in right else "left")
    for row in rows:
        found.add_row(*[text.Text(str(cell)) for cell in row])
    return found


def show(title: str, names: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """A table; on a terminal that it is too wide for, each row as lines of name and value."""
    terminal, whole = console(), _table(title, names, (), rows)
    wide = terminal.options.update(width=_WIDTH)
    if not rows or terminal.measure(whole, options=wide).maximum <= terminal.width:
        terminal.print(whole)
        return
    widest = max(map(len, names))
    terminal.print(title, style="bold", markup=False)
    for number, row in enumerate(rows, 1):
        terminal.print(f"-- {number} --", style="dim")
        for name, cell in zip(names, row, strict=True):
            terminal.print(f"{name:{widest}}  {cell}", markup=False, soft_wrap=True)


def say(text: str, style: str = "") -> None:
    """One line, however long; in colour on a terminal, where rich is installed."""
    try:
        terminal = console()
    except MissingLibraryError:
        print(text)
        return
    terminal.print(text, style=style or None, markup=False, soft_wrap=True)


def _untold(done: int, total: int | None) -> None:
    pass


@contextmanager
def progress(what: str) -> Iterator[Advance]:
    """A bar while something long goes on; nothing where no terminal, or no rich, is there."""
    if not _is_watched():
        yield _untold
        return
    with _bar() as bar:
        task = bar.add_task(what, total=None)

        def advance(done: int, total: int | None) -> None:
            bar.update(task, completed=done, total=total)

        yield advance


class Told(Protocol):
    """Is told of what is being done, how much of how much of it is, and what to say of that."""

    def __call__(self, step: str, done: int, total: int | None, said: str) -> None: ...


def _said_to_nobody(step: str, done: int, total: int | None, said: str) -> None:
    pass


@contextmanager
def steps() -> Iterator[Told]:
    """A bar while one long thing after the other goes on, where `progress` shows one."""
    if not _is_watched():
        yield _said_to_nobody
        return
    rich = needed("rich.progress", extra="cli", what="A progress bar")
    columns = ["{task.description}", rich.BarColumn(), "{task.fields[said]}"]
    with _bar(*columns) as bar:
        task = bar.add_task("", total=None, said="")

        def told(step: str, done: int, total: int | None, said: str) -> None:
            bar.update(task, description=step, completed=done, total=total, said=said)

        yield told


def _is_watched() -> bool:
    return sys.stderr is not None and sys.stderr.isatty() and find_spec("rich") is not None


@contextmanager
def _bar(*columns: Any) -> Iterator[Any]:
    """A bar of these columns, or of rich's own."""
    rich = needed("rich.progress", extra="cli", what="A progress bar")
    on = console(stderr=True)
    hidden = undone(_show_cursor) if on.is_terminal else undone()
    with hidden, rich.Progress(*columns, console=on, transient=True) as bar:
        yield bar


def _show_cursor() -> None:
    """Which a bar hides, on a line of its own."""
    sys.stderr.write("\x1b[?25h\n")
    sys.stderr.flush()
