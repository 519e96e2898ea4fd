"""The picture of the site's first page: what a batch takes."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from scripts.figures.cells import keys_of

if TYPE_CHECKING:
    from scripts.figures.kept import Measured

_STORES = {"hdfs": "HDFSBacked", "rocksdb": "RocksDB", "bucketed": "bucketstate"}
_WIDTH, _LEFT, _MOST = 600, 120, 360
_BAR, _STEP, _GAP = 18, 25, 30
_OURS, _OTHERS = "#3f51b5", "#a9a9b2"


def batches(measured: Measured) -> str:
    """The whole batches of the two largest states, as an SVG. ValueError if there are none."""
    groups = dict[str, list[tuple[str, float]]]()
    for row in measured.rows:
        if (name := _STORES.get(str(row["provider"]))) is not None:
            groups.setdefault(keys_of(row), []).append((name, float(row["p50"])))
    if not groups:
        raise ValueError("The report 'providers' has none of the state stores of the picture")
    groups = dict(list(groups.items())[-2:])
    longest = max(value for group in groups.values() for _, value in group)
    at, drawn = 0, list[str]()
    for keys, group in groups.items():
        at += _GAP
        heading = f"{escape(keys)} keys in the state"
        drawn.append(f'<text class="group" x="0" y="{at - 10}">{heading}</text>')
        for name, value in group:
            drawn.append(_bar(name, value, at, _MOST * value / longest))
            at += _STEP
    title = "Milliseconds of a batch of 20,000 get and put, by state store and keys"
    style = "text{font:15px sans-serif;fill:#333}.group{font-weight:bold}"
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {at}" role="img">',
        f"<title>{title}</title>",
        f"<style>{style}</style>",
        *drawn,
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def _bar(name: str, value: float, at: int, width: float) -> str:
    color = _OURS if name == "bucketstate" else _OTHERS
    middle = at + _BAR // 2 + 5
    return (
        f'<text x="{_LEFT - 12}" y="{middle}" text-anchor="end">{escape(name)}</text>'
        f'<rect x="{_LEFT}" y="{at}" width="{width:.1f}" height="{_BAR}" fill="{color}"/>'
        f'<text x="{_LEFT + width + 8:.1f}" y="{middle}">{value:,.1f} ms</text>'
    )
