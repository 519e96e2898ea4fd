"""Tables of any report that has a row for each contender: the best of a figure is in bold."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scripts.figures.cells import PEOPLE, best, best_of, keys_of, table

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from scripts.figures.cells import Column
    from scripts.figures.kept import Measured

    Figures = Mapping[str, Measured]


def by_provider(
    figures: Figures, name: str, columns: Sequence[Column], *, by_keys: bool = False
) -> str:
    """A row for each contender; with several sizes of the state, by these."""
    measured = figures[name]
    found = best_of(measured.rows, columns, among=["keys"] if by_keys else [])
    rows = []
    for row, cells in zip(measured.rows, found, strict=True):
        keys = [keys_of(row)] if by_keys else []
        rows.append([*keys, PEOPLE[str(row["provider"])], *cells])
    head = [*(["keys"] if by_keys else []), "", *(column.title for column in columns)]
    return table(head, rows)


def turned(figures: Figures, name: str, columns: Sequence[Column]) -> str:
    """A column for each contender and a row for each figure."""
    measured = figures[name]
    found = best_of(measured.rows, columns)
    rows = [
        [column.title, *(cells[number] for cells in found)] for number, column in enumerate(columns)
    ]
    return table(["", *(PEOPLE[str(row["provider"])] for row in measured.rows)], rows)


def crossed(
    figures: Figures,
    cases: Mapping[str, str],
    providers: Mapping[str, str],
    columns: Sequence[Column],
) -> str:
    """A column for each case and contender, by what they are called, and a row for each figure.

    Contenders are held against each other within a case.
    """
    head = [f"{case}, {called}" for case in cases.values() for called in providers.values()]
    rows = []
    for column in columns:
        line = [column.title]
        for name in cases:
            cells = [column.cell(figures[name].one(provider=p)) for p in providers]
            line += best(cells, more_is_better=column.more_is_better)
        rows.append(line)
    return table(["", *head], rows)
