"""Rules over a checkpoint: each looks at one operator, and gives what it has to say."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from statistics import median

from bucketstate.checkpoint.overview import OperatorOverview, Overview, StoreOverview
from bucketstate.doctor.advice import Advice
from bucketstate.doctor.rules import rules
from bucketstate.doctor.terms import Lookup, value

Rule = Callable[[OperatorOverview], Iterator[Advice]]

_BYTES_WORTH_DROPPING = 100 << 20


def unreadable(operator: OperatorOverview) -> Iterator[Advice]:
    for store in operator.stores:
        if store.problem:
            yield Advice(
                _about(operator, store),
                f"A restart cannot read it: {store.problem}",
                (),
                "Run `bucketstate verify` on the checkpoint: it reads every file.",
            )


def reckoned(operator: OperatorOverview) -> Iterator[Advice]:
    """What rules.json says of stores: of the worst of all, or of each name, as those of a join."""
    for rule in rules().stores:
        names: list[str | None] = [None]
        if rule.by_name:
            names = [*sorted({s.store for s in operator.stores})]
        for name in names:
            own = [s for s in operator.stores if name in (None, s.store)]
            asked = [(s, _figures(s, own)) for s in own]
            worth = [(value(rule.worst, figures), s, figures) for s, figures in asked]
            counted = [(n, s, figures) for n, s, figures in worth if n is not None]
            if counted:
                _, worst, figures = max(counted, key=lambda one: one[0])
                said = rule.advice(_about(operator, worst), figures)
                if said is not None:
                    yield said


def savepoints(overview: Overview) -> Iterator[Advice]:
    """What keeps retention from its work, and what it keeps for savepoints alone."""
    if overview.unheld is not None:
        yield Advice(
            overview.location,
            f"Nothing of what is old is deleted: {overview.unheld}",
            (),
            "Drop that savepoint, or restore its file.",
        )
    total = sum(s.bytes for o in overview.operators for s in o.stores)
    for savepoint in overview.savepoints:
        about = f"{overview.location}, savepoint {savepoint.name}"
        if savepoint.bytes is None:
            yield Advice(
                about,
                "What it holds cannot be read, so one cannot go back to it.",
                (("batch", savepoint.batch),),
                "Run `bucketstate verify`, which says what is wrong; drop it, if it is lost.",
            )
        elif savepoint.bytes >= max(_BYTES_WORTH_DROPPING, total / 4):
            yield Advice(
                about,
                "Much of the checkpoint is kept for it alone.",
                (("bytes", savepoint.bytes), ("bytes of all files", total)),
                "Drop it with `bucketstate savepoint drop`, if nobody will go back to it.",
            )


RULES: tuple[Rule, ...] = (unreadable, reckoned)


def _about(operator: OperatorOverview, store: StoreOverview) -> str:
    return f"operator {operator.id} ({operator.name}), partition {store.partition}, {store.store}"


def _figures(store: StoreOverview, all_: list[StoreOverview]) -> Mapping[str, Lookup]:
    """What rules may ask of a store, by their words."""

    def of_others(name: str) -> float | None:
        found = [_values(s)[name] for s in all_ if s.partition != store.partition]
        counted = [n for n in found if n is not None]
        return median(counted) if counted else None

    return {"of": lambda name: _values(store)[name], "median of others": of_others}


def _values(store: StoreOverview) -> dict[str, float | None]:
    return {
        "changelogs": store.changelogs,
        "bytes read": store.read_bytes,
        "keys": store.keys,
        "numBuckets": store.num_buckets,
    }
