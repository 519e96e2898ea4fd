"""Tables of any report that has a row for each contender."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scripts.figures.cells import PEOPLE, keys_of, table

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from scripts.figures.cells import Column
    from scripts.figures.kept import Measured

    Figures = Mapping[str, Measured]


def by_provider(
    figures: Figures, name: str, columns: Sequence[Column], *, by_keys: bool = False
) -> str:
    """A row for each contender, in bold where it is this provider as it comes."""
    measured = figures[name]
    rows = []
    for row in measured.rows:
        provider = str(row["provider"])
        cells = [column.cell(row) for column in columns]
        if provider == "bucketed":
            cells = [cell if cell == "-" else f"**{cell}**" for cell in cells]
        keys = [keys_of(row)] if by_keys else []
        rows.append([*keys, PEOPLE[provider], *cells])
    head = [*(["keys"] if by_keys else []), "", *(column.title for column in columns)]
    return table(head, rows)


def turned(figures: Figures, name: str, columns: Sequence[Column]) -> str:
    """A column for each contender and a row for each figure."""
    measured = figures[name]
    providers = [str(row["provider"]) for row in measured.rows]
    rows = [
        [
            column.title,
            *(
                f"**{column.cell(row)}**" if row["provider"] == "bucketed" else column.cell(row)
                for row in measured.rows
            ),
        ]
        for column in columns
    ]
    return table(["", *(PEOPLE[p] for p in providers)], rows)


def crossed(
    figures: Figures,
    cases: Mapping[str, str],
    providers: Mapping[str, str],
    columns: Sequence[Column],
) -> str:
    """A column for each case and contender, by what they are called, and a row for each figure."""
    found = [(figures[name].one(provider=p), p) for name in cases for p in providers]
    head = [f"{case}, {called}" for case in cases.values() for called in providers.values()]
    rows = []
    for column in columns:
        cells = [column.cell(row) for row, _ in found]
        bold = [
            f"**{cell}**" if p.startswith("bucketed") else cell
            for cell, (_, p) in zip(cells, found, strict=True)
        ]
        rows.append([column.title, *bold])
    return table(["", *head], rows)
