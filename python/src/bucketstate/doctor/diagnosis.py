"""All rules over all evidence."""

from __future__ import annotations

from collections.abc import Iterable

from bucketstate.checkpoint.overview import Overview
from bucketstate.doctor import checkpoint_rules
from bucketstate.doctor.advice import Advice, Diagnosis
from bucketstate.doctor.evidence import Evidence, Progress, gathered
from bucketstate.doctor.rules import rules
from bucketstate.errors import InvalidArgumentError
from bucketstate.progress.rows import distinct


def of_progress(progresses: Iterable[Progress]) -> Diagnosis:
    """What a query's progress says, or that of several.

        of_progress(json.loads(p.json) for p in query.recentProgress)

    Args:
        progresses: as Spark's JSON has them, in any order; one that is there twice counts once.

    Raises:
        InvalidArgumentError: something among them is no such progress.

    Safe from any thread: a function of its argument.
    """
    try:
        once, again = distinct(progresses)
        found = gathered(once)
        # Figures are read as rules ask for them.
        said = [_said(evidence) for evidence in found]
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise InvalidArgumentError(
            f"{progresses!r:.200} has something that is no progress of a query ({error}): give "
            "json.loads(p.json) for each p of query.recentProgress, or Recorder.progress."
        ) from error
    advice = [one for of_one, _ in said for one in of_one]
    notes = [note for _, of_one in said for note in of_one]
    if not found:
        notes.append("No batch of a stateful operator after the first of a run is among these.")
    notes += again
    return Diagnosis(tuple(advice), tuple(notes))


def _said(evidence: Evidence) -> tuple[list[Advice], list[str]]:
    """Advice and notes about one operator."""
    batches, least = len(evidence.progresses), rules().least_batches
    if batches < least:
        few = (
            f"{evidence.about}: {batches} batches after the first of each run say too little, "
            f"{least} are needed."
        )
        return [], [few]
    if not evidence.on_bucketstate:
        return [], [f"{evidence.about}: its state is not in bucketstate."]
    each = (rule.advice(evidence.about, evidence.figures) for rule in rules().operators)
    return [one for one in each if one is not None], []


def of_checkpoint(overview: Overview) -> Diagnosis:
    """What a checkpoint says of a restart and of how its keys lie.

    Args:
        overview: what `Checkpoint.overview` says of it.

    Safe from any thread: a function of its argument.
    """
    advice = [
        one
        for operator in overview.operators
        for rule in checkpoint_rules.RULES
        for one in rule(operator)
    ]
    if overview.copied is not None:
        until = "the query is started" if overview.original_gone else "the original goes"
        before = f"Do what it says before {until}; `bucketstate verify` says it, too."
        advice.insert(0, Advice(overview.location, overview.copied, (), before))
    if overview.unfinished is not None:
        files = "Remove the files that it names; `bucketstate verify` names them, too."
        advice.insert(0, Advice(overview.location, overview.unfinished, (), files))
    advice += checkpoint_rules.savepoints(overview)
    if overview.half_done is not None:
        again = "Do what it says before the query is started."
        advice.insert(0, Advice(overview.location, overview.half_done, (), again))
    notes = () if overview.operators else (f"{overview.location} has no stateful operator.",)
    if overview.origin is not None and overview.half_done is None:
        notes = (*notes, overview.origin.summary)
    return Diagnosis(tuple(advice), notes)
