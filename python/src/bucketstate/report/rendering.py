"""A page as HTML: one text with all that it needs inside."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from html import escape
from importlib.resources import files

from bucketstate.optional import needed
from bucketstate.report.content import Chart, Page, Remark, Section, Table, Untold


def html_of(page: Page) -> str:
    """Needs plotly. All text of the page is escaped here, and nowhere before."""
    return "\n".join(_lines(page)) + "\n"


def _lines(page: Page) -> Iterator[str]:
    offline = needed("plotly.offline", extra="cli", what="A report")
    own = files("bucketstate.report")
    yield "<!DOCTYPE html>"
    yield '<html lang="en">'
    yield "<head>"
    yield '<meta charset="utf-8">'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
    yield '<meta name="color-scheme" content="light dark">'
    # Nothing is fetched, whatever a name in the data may look like.
    yield (
        '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; '
        "img-src data: blob:; style-src 'unsafe-inline'; script-src 'unsafe-inline'\">"
    )
    yield f"<title>{escape(page.name)} - bucketstate</title>"
    yield f"<style>\n{own.joinpath('page.css').read_text(encoding='utf-8')}</style>"
    yield "</head>"
    yield "<body>"
    yield from _header(page)
    yield "<main>"
    yield from _remarks(page)
    numbers = itertools.count()
    for section in page.sections:
        yield from _section(section, numbers)
    yield (
        "<footer>Made by bucketstate. In charts, drag over a span to see more of it, click twice "
        "to go back, and click on a name to take it away.</footer>"
    )
    yield "</main>"
    if any(isinstance(part, Chart) for section in page.sections for part in section.parts):
        yield f"<script>{offline.get_plotlyjs()}</script>"
        yield f"<script>\n{own.joinpath('page.js').read_text(encoding='utf-8')}</script>"
    yield "</body>"
    yield "</html>"


def _header(page: Page) -> Iterator[str]:
    yield "<header>"
    yield f"<h1>{escape(page.name)}</h1>"
    yield f'<p class="location">{escape(page.location)}</p>'
    yield '<ul class="facts">'
    for fact in page.facts:
        yield f"<li>{escape(fact)}</li>"
    yield "</ul>"
    yield '<dl class="figures">'
    for figure in page.figures:
        yield (
            f"<div><dt>{escape(figure.name)}</dt><dd>{escape(figure.text)}"
            f"<small>{escape(figure.note)}</small></dd></div>"
        )
    yield "</dl>"
    yield "<noscript><p>Charts are drawn by JavaScript, which is switched off here; the sentences "
    yield "beside them tell what they show.</p></noscript>"
    yield "</header>"


_GRADES = {"error": "Damage", "warning": "Warning", "advice": "Advice", "note": "Note"}


def _remarks(page: Page) -> Iterator[str]:
    yield '<section id="remarks">'
    yield "<h2>What to act on</h2>"
    if not any(remark.grade != "note" for remark in page.remarks):
        yield '<p class="about">Nothing: no damage was found, and no setting would help.</p>'
    yield '<ul class="remarks">'
    for remark in page.remarks:
        yield from _remark(remark)
    yield "</ul>"
    yield "</section>"


def _remark(remark: Remark) -> Iterator[str]:
    yield f'<li class="{remark.grade}">'
    yield f"<strong>{_GRADES[remark.grade]}</strong> {escape(remark.what)}"
    yield f'<p class="about">{escape(remark.about)}</p>'
    if remark.figures:
        yield f"<p>Figures: {escape(remark.figures)}</p>"
    if remark.help:
        yield f"<p>Helps: {escape(remark.help)}</p>"
    if remark.settings:
        settings = ", ".join(f"<code>{escape(key)}</code>" for key in remark.settings)
        yield f"<p>Settings: {settings}</p>"
    yield "</li>"


def _section(section: Section, numbers: Iterator[int]) -> Iterator[str]:
    yield "<section>"
    yield f"<h2>{escape(section.title)}</h2>"
    yield f'<p class="about">{escape(section.about)}</p>'
    yield '<div class="parts">'
    for part in section.parts:
        if isinstance(part, Chart):
            yield from _chart(part, next(numbers))
        elif isinstance(part, Table):
            yield from _table(part)
        else:
            yield from _untold(part)
    yield "</div>"
    yield "</section>"


def _chart(chart: Chart, number: int) -> Iterator[str]:
    objects = needed("plotly.graph_objects", extra="cli", what="A report")
    # It refuses what Plotly does not know. How charts look, the page's script says.
    figure = objects.Figure(chart.spec, skip_invalid=False).update_layout(template=None)
    # Inside a script nothing is escaped; what could end it is written otherwise.
    spec = figure.to_json().replace("<", "\\u003c")
    yield f'<figure id="chart-{number}">'
    yield f"<figcaption><h3>{escape(chart.title)}</h3><p>{escape(chart.finding)}</p></figcaption>"
    yield (
        f'<div class="chart" role="img" aria-label="{escape(chart.finding)}" '
        f'style="height: {chart.height}px"></div>'
    )
    yield f'<script type="application/json">{spec}</script>'
    yield "</figure>"


def _untold(untold: Untold) -> Iterator[str]:
    yield '<div class="untold">'
    yield f"<h3>{escape(untold.title)}</h3>"
    yield f"<p>{escape(untold.why)}</p>"
    yield "</div>"


def _table(table: Table) -> Iterator[str]:
    yield '<div class="table">'
    yield f"<h3>{escape(table.title)}</h3>"
    yield "<table><thead><tr>"
    yield "".join(f"<th>{escape(column)}</th>" for column in table.columns)
    yield "</tr></thead><tbody>"
    for row in table.rows:
        yield "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>"
    yield "</tbody></table>"
    yield "</div>"
