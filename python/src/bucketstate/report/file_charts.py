"""Files, keys and changes by version."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from bucketstate.checkpoint.format.names import ChangelogName, ManifestName, RunName, StoreFile
from bucketstate.optional import pandas as pd
from bucketstate.report.charts import Series, bars, in_a_row, lines, unit_of_bytes, versions
from bucketstate.report.content import Chart, Part, Section, Untold
from bucketstate.report.material import Material
from bucketstate.units import size

_KINDS = ("changelogs", "data files", "manifests")

Whose = tuple[int, str]
"""An operator, and the name of one of its stores."""


def section(material: Material) -> Section:
    return Section(
        "Versions",
        "What each version added to the checkpoint, in all partitions, as far as it is there.",
        [*_files(material), *_history(material)],
    )


def _files(material: Material) -> Iterator[Part]:
    counts: Counter[tuple[str, int]] = Counter()
    sizes: Counter[tuple[str, int]] = Counter()
    under_way = 0
    for files in material.files.values():
        for name, length in files.items():
            kind = _kind(name)
            if kind is None:
                under_way += 1
            else:
                counts[kind] += 1
                sizes[kind] += length
    if not counts:
        yield Untold("Files by version", "There are no files of state yet.")
        return
    groups, said = _grouped(sorted({version for _, version in counts}))
    axis = versions([group[-1] for group in groups])
    total = sum(counts.values())
    left = f" {under_way:,} writes under way or abandoned are left out." if under_way else ""
    most = max(groups, key=lambda group: sum(sizes[k, v] for k in _KINDS for v in group))
    bytes_of = {
        kind: [sum(sizes[kind, v] for v in group) for group in groups]
        for kind in _KINDS
        if any(of == kind for of, _ in counts)
    }
    unit = unit_of_bytes(max(map(max, bytes_of.values())))
    series = [Series(k, unit.of(n), [size(i) for i in n]) for k, n in bytes_of.items()]
    of_most = sum(sizes[kind, v] for kind in _KINDS for v in most)
    yield Chart(
        "Bytes by the version that wrote them",
        f"{size(sum(sizes.values()))} in all; {_named(most)} wrote most, {size(of_most)}.{said}",
        bars(axis, series, unit.name),
    )
    numbers_of = {k: [sum(counts[k, v] for v in group) for group in groups] for k in bytes_of}
    told = ", ".join(f"{sum(numbers):,} {kind}" for kind, numbers in numbers_of.items())
    yield Chart(
        "Files by the version that wrote them",
        f"{total:,} files: {told}.{left}{said}",
        bars(
            axis,
            [Series(k, n, [f"{number:,}" for number in n]) for k, n in numbers_of.items()],
            "files",
        ),
    )


def _kind(name: StoreFile) -> tuple[str, int] | None:
    """What a file is, and the version that wrote it; None for one that is not finished."""
    match name:
        case ChangelogName(attempt):
            return "changelogs", attempt.version
        case ManifestName(attempt):
            return "manifests", attempt.version
        case RunName(version):
            return "data files", version
    return None


def _history(material: Material) -> Iterator[Part]:
    if isinstance(material.history, str):
        yield Untold("Keys and changes by version", f"They cannot be told: {material.history}")
        return
    if not material.history.num_rows:
        yield Untold("Keys and changes by version", "No batch is in Spark's commit log.")
        return
    frame = material.history.to_pandas()
    for column, title, what in (
        ("keys", "Keys by version", "keys"),
        ("changes", "Changed keys by version", "changes"),
    ):
        yield _told(frame, column, title, what)


def _told(frame: pd.DataFrame, column: str, title: str, what: str) -> Part:
    """Versions of which a partition has no file any more are gaps."""
    grouped = frame.groupby(["operator", "store", "version"])[column]
    whole = grouped.count() == grouped.size()
    sums = grouped.sum().where(whole).dropna()
    if sums.empty:
        return Untold(title, " ".join(_lacking(frame, column)))
    places = sorted(set(sums.index.get_level_values("version")))
    groups, said = _grouped(places)
    # Changes of versions in a row add up, what is held at the last of them stands for all.
    added = column == "changes"
    at = [group[-1] for group in groups]
    series = []
    of_stores: dict[Whose, dict[int, int]] = {}
    for row in sums.rename("number").reset_index().to_dict("records"):
        found = of_stores.setdefault((row["operator"], row["store"]), {})
        found[row["version"]] = int(row["number"])
    for (operator, store), by_version in of_stores.items():
        values = [_joined([by_version.get(v) for v in group], added=added) for group in groups]
        name = f"operator {operator}" + ("" if store == "default" else f", {store}")
        texts = ["not known" if value is None else f"{value:,} {what}" for value in values]
        series.append(Series(name, values, texts))
    if added:
        most = max(range(len(at)), key=lambda n: sum(s.values[n] or 0 for s in series))
        of_most = sum(s.values[most] or 0 for s in series)
        has = "has" if len(groups[most]) == 1 else "have"
        # Where a version is a gap, pandas made floats of all of them.
        finding = (
            f"{int(sums.sum()):,} in all; {_named(groups[most])} {has} most, {of_most:,.0f}.{said}"
        )
    else:
        finding = _first_and_last(at, series)
        if said:
            finding += f" Shown is the last of each {len(groups[0]):,} versions in a row."
    every = _whose_all(frame)
    if without := every - of_stores.keys():
        finding = f"Without {_called(without, every)}: {finding}"
    finding = " ".join([finding, *_lacking(frame, column)])
    return Chart(title, finding, (bars if added else lines)(versions(at), series, what))


def _first_and_last(at: Sequence[int], series: Sequence[Series]) -> str:
    """How many keys there were at the first and the last version at which all are known."""
    known = [n for n in range(len(at)) if all(s.values[n] is not None for s in series)]
    if not known:
        return "There is no version at which all of these are known."
    ends = [(sum(s.values[n] or 0 for s in series), at[n]) for n in (known[0], known[-1])]
    return ", ".join(f"{keys:,.0f} at version {version:,}" for keys, version in ends) + "."


def _lacking(frame: pd.DataFrame, column: str) -> Iterator[str]:
    """Why versions of stores have no number: a sentence for each cause, by what their rows have."""
    null = frame[frame[column].isna()]
    there = null["manifest"] | null["changelog_bytes"].notna()
    rows = null.assign(there=there).groupby(["operator", "store", "version"])["there"].all()
    removed: dict[Whose, set[int]] = {}
    others: dict[Whose, set[int]] = {}
    for row in rows.reset_index().to_dict("records"):
        found = others if row["there"] else removed
        found.setdefault((row["operator"], row["store"]), set()).add(row["version"])
    every = _whose_all(frame)
    for whose, number in _together(removed, every):
        yield f"Retention removed the files that tell it of {_several(number)}{whose}."
    for whose, number in _together(others, every):
        if column == "keys":
            yield f"Keys of {_several(number)}{whose} were not counted (exactKeyCount)."
        else:
            are = "is a snapshot" if number == 1 else "are snapshots"
            yield (
                f"{_several(number)}{whose} {are} without a changelog, as moves and retention "
                "leave it: what changed then is not known."
            )


def _whose_all(frame: pd.DataFrame) -> set[Whose]:
    rows = frame[["operator", "store"]].drop_duplicates().to_dict("records")
    return {(row["operator"], row["store"]) for row in rows}


def _together(of: Mapping[Whose, set[int]], every: set[Whose]) -> Iterator[tuple[str, int]]:
    """Whose versions these are, and how many; nobody is named where it is the same for all."""
    alike: dict[frozenset[int], set[Whose]] = {}
    for whose, found in of.items():
        alike.setdefault(frozenset(found), set()).add(whose)
    for lacked, some in alike.items():
        yield "" if some == every else f" of {_called(some, every)}", len(lacked)


def _called(some: set[Whose], every: set[Whose]) -> str:
    """Operators of which it is all stores are named by themselves."""
    names = []
    for operator in sorted({operator for operator, _ in some}):
        stores = sorted(store for of, store in some if of == operator)
        if len(stores) == sum(of == operator for of, _ in every):
            names.append(f"operator {operator}")
        else:
            names.append(f"operator {operator} ({', '.join(stores)})")
    return " and ".join(names)


def _several(versions: int) -> str:
    return f"{versions:,} version{'' if versions == 1 else 's'}"


def _joined(numbers: Sequence[int | None], *, added: bool) -> int | None:
    """One for all of these: None if the last, or with `added` any, is not known."""
    if not added:
        return numbers[-1]
    known = [number for number in numbers if number is not None]
    return sum(known) if len(known) == len(numbers) else None


def _named(group: Sequence[int]) -> str:
    """What a sentence calls one version, or several in a row."""
    if len(group) == 1:
        return f"version {group[0]:,}"
    return f"versions {group[0]:,} to {group[-1]:,}"


def _grouped(numbers: Sequence[int]) -> tuple[list[Sequence[int]], str]:
    """Versions in a row together, if there are too many; and a sentence that says so."""
    groups = in_a_row(numbers)
    if len(groups) == len(numbers):
        return groups, ""
    return groups, f" Shown are the sums of each {len(groups[0])} versions in a row."
