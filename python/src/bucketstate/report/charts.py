"""Charts as Plotly takes them: bars, lines and heat maps, with their axes and what a hover shows.

Colours of the ground, the grid and the text are those of the page (`page.js`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any, TypeVar

from bucketstate.report.content import Spec

POINTS = 1_000
"""A chart with more points shows a part, or sums, and says so."""

COLOURS = ("#3b73d9", "#e08a2e", "#2a9d8f", "#a05fb5", "#d1495b", "#8d99ae", "#6a994e", "#577590")
"""To be told apart by most eyes, on a light ground and on a dark one."""

Number = TypeVar("Number")

KIB, MIB, GIB = 2**10, 2**20, 2**30


@dataclass(frozen=True)
class Series:
    """One value for each place on the x axis; `texts` is what a hover shows of each."""

    name: str
    values: Sequence[float | None]
    texts: Sequence[str]
    dashed: bool = False


@dataclass(frozen=True)
class Axis:
    """The x axis. `hover` says what a place on it is, with `%{x}` for which."""

    title: str
    places: Sequence[Any]
    hover: str
    kind: str = "linear"

    def spec(self) -> dict[str, Any]:
        found: dict[str, Any] = {
            "title": {"text": self.title},
            "type": self.kind,
            "unifiedhovertitle": {"text": self.hover},
        }
        if self.kind == "linear":
            found["hoverformat"] = ",d"
            found["tickformat"] = ",d"
            if self.places and max(self.places) - min(self.places) <= 10:
                found["dtick"] = 1
        return found


@dataclass(frozen=True)
class Unit:
    """What the y axis counts in."""

    name: str
    size: float

    def of(self, values: Iterable[float | None]) -> list[float | None]:
        return [None if value is None else value / self.size for value in values]


def unit_of_bytes(most: float) -> Unit:
    """In which the largest is a number that people read."""
    for name, of in (("GiB", GIB), ("MiB", MIB), ("KiB", KIB)):
        if most >= of:
            return Unit(name, of)
    return Unit("bytes", 1)


def unit_of_time(most: float) -> Unit:
    """For milliseconds."""
    return Unit("s", 1_000) if most >= 10_000 else Unit("ms", 1)


def duration(milliseconds: float) -> str:
    """For people."""
    if milliseconds >= 10_000:
        return f"{milliseconds / 1000:,.1f} s"
    return f"{milliseconds:,.0f} ms"


def in_a_row(numbers: Sequence[Number]) -> list[Sequence[Number]]:
    """Neighbours together, as few as it takes for a chart to have a point for each group."""
    each = -(-len(numbers) // POINTS)
    return [numbers[start : start + each] for start in range(0, len(numbers), each)]


def share(part: float, whole: float) -> str:
    """In percent, for people; `whole` is not 0."""
    return "less than 1%" if 0 < part / whole < 0.01 else f"{part / whole:.0%}"


def label(text: str) -> str:
    """Text of data: Plotly takes tags in labels for markup."""
    return escape(text).replace("%{", "%\u200b{")


def partitions(numbers: Sequence[int], hover: str = "partition %{x}") -> Axis:
    """An axis of partitions: named one by one while there are few."""
    if len(numbers) <= 40:
        return Axis("partition", [str(number) for number in numbers], hover, "category")
    return Axis("partition", list(numbers), hover)


def versions(numbers: Sequence[int]) -> Axis:
    return Axis("version", list(numbers), "version %{x}")


def bars(axis: Axis, series: Sequence[Series], y: str) -> Spec:
    """Bars on one another, one for each place."""
    return _spec(
        axis,
        [
            {"type": "bar", "marker": {"color": colour, "line": {"width": 0}}, **_of(axis, one)}
            for one, colour in zip(series, _colours(series), strict=True)
        ],
        y,
        barmode="stack",
        bargap=0.15 if len(axis.places) <= 60 else 0,
    )


def areas(axis: Axis, series: Sequence[Series], y: str, marks: Sequence[Any] = ()) -> Spec:
    """Areas on one another."""
    return _spec(
        axis,
        [
            {
                "type": "scatter",
                "mode": "lines" if len(axis.places) > 1 else "markers",
                "stackgroup": "all",
                "line": {"color": colour, "width": 1},
                **_of(axis, one),
            }
            for one, colour in zip(series, _colours(series), strict=True)
        ],
        y,
        marks,
    )


def lines(axis: Axis, series: Sequence[Series], y: str, marks: Sequence[Any] = ()) -> Spec:
    """A line for each; `marks` are places with a dotted one across."""
    return _spec(
        axis,
        [
            {
                "type": "scatter",
                "mode": _mode(axis),
                "line": {
                    "color": colour,
                    "width": 2,
                    "dash": "dash" if one.dashed else "solid",
                },
                **_of(axis, one),
            }
            for one, colour in zip(series, _colours(series), strict=True)
        ],
        y,
        marks,
    )


def heat(
    columns: Sequence[str],
    rows: Sequence[str],
    values: Sequence[Sequence[float]],
    texts: Sequence[Sequence[str]],
    *,
    x: str,
    y: str,
    unit: str,
) -> Spec:
    """A cell for each row and column; a hover shows its text."""
    return {
        "data": [
            {
                "type": "heatmap",
                "x": list(columns),
                "y": list(rows),
                "z": [list(row) for row in values],
                "customdata": [list(row) for row in texts],
                "hovertemplate": "%{customdata}<extra></extra>",
                # Little is nearly the ground's colour, whether that is light or dark.
                "colorscale": [[0, "rgba(59,115,217,0.06)"], [1, "rgba(59,115,217,1)"]],
                # From nothing on: what is even looks even.
                "zmin": 0,
                "zmax": max(max(row) for row in values) or 1,
                "colorbar": {"title": {"text": unit, "side": "right"}, "thickness": 12},
            }
        ],
        "layout": {
            "xaxis": {"title": {"text": x}, "type": "category", "showgrid": False},
            "yaxis": {"title": {"text": y}, "type": "category", "showgrid": False},
        },
    }


def _of(axis: Axis, series: Series) -> dict[str, Any]:
    return {
        "name": label(series.name),
        "x": list(axis.places),
        "y": list(series.values),
        "customdata": list(series.texts),
        "hovertemplate": f"{label(series.name)}: %{{customdata}}<extra></extra>",
    }


def _spec(
    axis: Axis,
    data: Sequence[dict[str, Any]],
    y: str,
    marks: Sequence[Any] = (),
    **layout: Any,
) -> Spec:
    across = [
        {
            "type": "line",
            "x0": at,
            "x1": at,
            "yref": "paper",
            "y0": 0,
            "y1": 1,
            "line": {"color": "#8d99ae", "width": 1, "dash": "dot"},
        }
        for at in marks
    ]
    return {
        "data": list(data),
        "layout": {
            "xaxis": axis.spec(),
            "yaxis": {"title": {"text": y}, "rangemode": "tozero"},
            "hovermode": "x unified",
            # However far: there is always a nearest one.
            "hoverdistance": -1,
            "showlegend": len(data) > 1,
            "shapes": across,
            **layout,
        },
    }


def _mode(axis: Axis) -> str:
    return "lines+markers" if len(axis.places) <= 60 else "lines"


def _colours(series: Sequence[Series]) -> list[str]:
    return [COLOURS[number % len(COLOURS)] for number in range(len(series))]
