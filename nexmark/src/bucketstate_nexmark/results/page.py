"""A report as tables in Markdown, and their place on a page: no figure is typed by hand."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from bucketstate_nexmark.errors import UsageError
from bucketstate_nexmark.queries import FORMS
from bucketstate_nexmark.results import summary
from bucketstate_nexmark.runs.contenders import CONTENDERS, is_local

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from bucketstate_nexmark.results.report import Report
    from bucketstate_nexmark.results.summary import Figures

BEGIN, END = "<!-- figures -->", "<!-- end of figures -->"

_WANTED = (
    "Wanted were 1.5 times the throughput of the tuned RocksDB and of HDFSBacked, no query below "
    "0.95 times, restarts in half the time, and 0.6 times the bytes."
)


def tables(report: Report) -> str:
    """All of a report, in Markdown."""
    found = summary.figures(report)
    parts = [_conditions(report), _verdict(report), _beside(found), _shares(found)]
    parts += [_losses(found, report.cores)]
    parts += [
        _table(found, "Events for each second and core", lambda f: f"{f.events_per_core:,.0f}"),
        _table(
            _where(found, lambda f: f.events_per_cpu_second),
            "Events for each second of processors (JVM and Python's workers)",
            lambda f: f"{f.events_per_cpu_second:,.0f}",
        ),
        _table(
            found,
            "Batch, milliseconds: median, and p99 (of fewer than 100 batches the longest)",
            lambda f: f"{f.p50_ms:,.0f}, {f.p99_ms:,.0f}",
        ),
        _table(
            found,
            "Commits of a batch, milliseconds, tasks added up: median",
            lambda f: f"{f.commit_ms:,.0f}",
        ),
        _table(
            found,
            "State of the last batch with events: rows, MB",
            lambda f: f"{f.state_rows:,.0f}, {f.state_bytes / 1e6:,.1f}",
        ),
        _table(
            found,
            "Checkpoint, bytes of state for each event",
            lambda f: f"{f.checkpoint_bytes_per_event:,.1f}",
        ),
        _table(
            _where(found, lambda f: f.peak_bytes),
            "Most memory of the JVM's process, MB",
            lambda f: f"{f.peak_bytes / 1e6:,.0f}",
        ),
        _table(
            found,
            "From a restart to the end of the first batch, cold, seconds",
            lambda f: _or_dash(f.restart_ms / 1000, ".1f"),
        ),
        _failures(report),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def put_into(page: Path, made: str) -> None:
    """Puts the tables between the marks of a page.

    Raises UsageError if the page has no marks, or there is none.
    """
    before, _, after = _parts(page)
    # What fails half way leaves the page as it was.
    partial = page.with_name(f".{page.name}.tmp")
    try:
        partial.write_text(f"{before}{BEGIN}\n\n{made}\n{END}{after}", "utf-8")
        partial.replace(page)
    finally:
        partial.unlink(missing_ok=True)


def between(page: Path) -> str:
    """The tables that a page has.

    Raises UsageError if the page has no marks, or there is none.
    """
    return _parts(page)[1].removeprefix("\n\n").removesuffix("\n")


def _parts(page: Path) -> tuple[str, str, str]:
    """What is before the marks of a page, between them, and behind."""
    try:
        text = page.read_text("utf-8")
    except OSError as e:
        raise UsageError(f"{page}: no page can be read there: {e.strerror}.") from e
    before, begin, rest = text.partition(BEGIN)
    made, end, after = rest.partition(END)
    if not begin or not end:
        raise UsageError(f"{page}: it has no lines {BEGIN} and {END}, between which tables go.")
    return before, made, after


def _conditions(report: Report) -> str:
    told, on = report.conditions, report.machine
    amount = told["amount"]
    said = (
        f"{amount['events']:,} events, {amount['per_batch']:,} with each batch, "
        f"{told['model']['rate']:,} for each second of their own time, seed "
        f"{told['model']['seed']}; {told['partitions']} partitions on {told['cores']} cores, "
        f"{told['memory_mib']:,} MiB for each contender; Spark {on['spark']}, Python "
        f"{on['python']}, a machine with {on['processors']} processors and {on['memory_gib']} GiB."
    )
    said += f" {_counted(report)} Version {report.version}, {report.date}."
    if not is_local(told["master"]):
        said += f" Executors were processes of their own: `{told['master']}`."
    if told["sink"] == "noop":
        said += " Rows go nowhere, so that no answer was checked."
    return f"{said}\n\n**{report.note}**" if report.note else said


def _counted(report: Report) -> str:
    """How many batches figures are of."""
    runs = [run for run in report.runs if run.failure is None and run.form in FORMS]
    whole = {len(summary.counted(run)) for run in runs if FORMS[run.form].portion == 1}
    parted = {len(summary.counted(run)) for run in runs if FORMS[run.form].portion < 1}
    said = [f"{_numbers(whole)} batches of each run count"] if whole else []
    said += [f"{_numbers(parted)} of those with a part of the events"] if parted else []
    return f"{', '.join(said)}." if said else "No batch counts."


def _numbers(found: set[int]) -> str:
    return " or ".join(map(str, sorted(found)))


def _verdict(report: Report) -> str:
    """Which answers were checked, and which were not right."""
    checked = [run for run in report.runs if run.correct is not None]
    wrong = [run for run in checked if run.correct is False]
    if not checked:
        return ""
    if not wrong:
        return f"All {len(checked)} answers that were checked are those of DuckDB."
    lines = [
        f"- `{run.form}` on `{run.contender}`: of {run.answer_rows:,} rows {run.missing:,} are "
        f"missing, and {run.unexpected:,} unexpected"
        for run in wrong
    ]
    return f"**Of {len(checked)} answers {len(wrong)} are wrong:**\n\n" + "\n".join(lines)


def _beside(found: Mapping[tuple[str, str], Figures]) -> str:
    compared = summary.beside(found)
    if not compared:
        return ""
    lines = [
        "| ours beside | forms | throughput, times | events a second of processors, times "
        "| restart, times quicker | bytes, times | least throughput |",
        "|---|---:|---:|---:|---:|---:|---|",
    ]
    lines += [
        f"| `{b.ours}` beside `{b.other}` | {b.forms} | {b.throughput:.2f} "
        f"| {_or_dash(b.cpu, '.2f')} "
        f"| {b.restart:.2f} | {b.bytes:.2f} | {b.least:.2f} in `{b.least_form}` |"
        for b in compared
    ]
    return f"Geometric means of the ratios over all forms. {_WANTED}\n\n" + "\n".join(lines)


def _shares(found: Mapping[tuple[str, str], Figures]) -> str:
    shares = summary.shares(found)
    if not shares:
        return ""
    lines = [
        "`q0` keeps no state: what it takes is Spark's own, and no state store can save it. Of the "
        "time of all other forms with as many events it is so much:",
        "",
        "| | of median batches | of restarts |",
        "|---|---:|---:|",
    ]
    lines += [
        f"| `{share.contender}` | {share.batches:.0%} | {_or_dash(share.restarts, '.0%')} |"
        for share in shares
    ]
    return "\n".join(lines)


def _losses(found: Mapping[tuple[str, str], Figures], cores: int) -> str:
    lost = summary.losses(found, cores)
    if not lost:
        return ""
    lines = [
        "Where ours is slower: by how many milliseconds the median batch takes longer, and what of "
        "it, of one core. It is negative where the time is lost in other batches than the median.",
        "",
        "| form | ours beside | times | batch | commits | updates | removals | rest | most of it |",
        "|---|---|---:|---:|---:|---:|---:|---:|---|",
    ]
    lines += [
        f"| `{x.form}` | `{x.ours}` beside `{x.other}` | {x.ratio:.2f} | {x.batch_ms:+,.0f} "
        f"| {x.commit_ms:+,.0f} | {x.update_ms:+,.0f} | {x.removal_ms:+,.0f} "
        f"| {x.rest_ms:+,.0f} | {x.cause} |"
        for x in lost
    ]
    return "\n".join(lines)


def _or_dash(figure: float, form: str) -> str:
    """A figure as a cell has it: nobody may have looked."""
    return "-" if math.isnan(figure) else format(figure, form)


def _where(
    found: Mapping[tuple[str, str], Figures], figure: Callable[[Figures], float]
) -> Mapping[tuple[str, str], Figures]:
    """Those whose figure is one: of executors in other processes nobody knows it."""
    return {case: f for case, f in found.items() if not math.isnan(figure(f))}


def _table(
    found: Mapping[tuple[str, str], Figures], title: str, told: Callable[[Figures], str]
) -> str:
    if not found:
        return ""
    there = {contender for _, contender in found}
    names = [name for name in CONTENDERS if name in there]
    ran = {form for form, _ in found}
    lines = [
        f"**{title}**",
        "",
        "| | " + " | ".join(f"`{name}`" for name in names) + " |",
        "|---|" + "---:|" * len(names),
    ]
    for form in FORMS:
        if form in ran:
            cells = [told(found[form, n]) if (form, n) in found else "-" for n in names]
            lines.append(f"| `{form}` | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _failures(report: Report) -> str:
    failed = [run for run in report.runs if run.failure is not None]
    if not failed:
        return ""
    lines = [f"- `{run.form}` on `{run.contender}`: {run.failure}" for run in failed]
    return "**What did not end**\n\n" + "\n".join(lines)
