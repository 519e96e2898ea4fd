"""One key of a store: only the blocks that may have it are read, of changelogs and of runs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from types import TracebackType
from typing import Self

from bucketstate.checkpoint.format.changelog import Changelog
from bucketstate.checkpoint.format.changelog_footer import Block
from bucketstate.checkpoint.format.damage import decoding
from bucketstate.checkpoint.format.family import Family
from bucketstate.checkpoint.format.manifest import RunFile
from bucketstate.checkpoint.format.names import ChangelogName
from bucketstate.checkpoint.format.records import Records, parse
from bucketstate.checkpoint.format.runs import opened_run, records_of, run_key
from bucketstate.checkpoint.format.sst.reader import SstReader
from bucketstate.checkpoint.format.sst.together import joined
from bucketstate.checkpoint.format.storage import Folder
from bucketstate.checkpoint.spark.key_bytes import KeyBytes
from bucketstate.checkpoint.store.merging import aged, merged
from bucketstate.checkpoint.store.plan import Plan


class Lookup:
    """Looks keys up in one store. Keeps what it found and the files it opened; use with `with`.

    So a key's value at one version after another takes each file once. What is read is verified
    by the checksums of its blocks, the rest of the files is not looked at. Not thread-safe.
    """

    def __init__(self, folder: Folder) -> None:
        self._folder = folder
        self._open = ExitStack()
        self._readers: dict[str, SstReader] = {}
        self._found: dict[tuple[ChangelogName | str, int, KeyBytes], Records] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._open.close()

    def find(self, plan: Plan, family: Family, wanted: KeyBytes) -> Records:
        """The keys of a family that are wanted, with their values, as the version has them.

        Raises DamagedFileError, MissingFileError and StorageError for what is needed and cannot be
        read.
        """
        return Records.concat(list(merged(list(self._newest_first(plan, family, wanted)))))

    def _newest_first(self, plan: Plan, family: Family, wanted: KeyBytes) -> Iterator[Records]:
        for changelog in reversed(plan.changelogs):
            found = self._of_changelog(changelog, family, wanted)
            yield aged(found, family, changelog.path)
            if wanted.whole and _decides(found):
                return
        for run in plan.base.runs if plan.base else ():
            parts = []
            for file in run.files:
                if file.holds(family.id, wanted.bucket, wanted.bucket):
                    path = self._folder.path_of(file.name)
                    parts.append(aged(self._of_file(file, family, wanted), family, path))
            found = Records.concat(parts)
            yield found
            if wanted.whole and _decides(found):
                return

    def _of_changelog(self, changelog: Changelog, family: Family, wanted: KeyBytes) -> Records:
        asked = changelog.name, family.id, wanted
        if asked not in self._found:
            bucket = wanted.bucket
            blocks = [
                b for b in changelog.blocks if b.family == family.id and b.overlaps(bucket, bucket)
            ]
            parts = [_in_block(changelog, b, raw, wanted) for b, raw in changelog.read(blocks)]
            self._found[asked] = Records.concat(parts)
        return self._found[asked]

    def _of_file(self, file: RunFile, family: Family, wanted: KeyBytes) -> Records:
        asked = file.name, family.id, wanted
        if asked not in self._found:
            low = run_key(family.id, wanted.bucket, wanted.start)
            high = run_key(family.id, wanted.bucket, wanted.end)
            rows = self._reader(file).entries(low, high)
            with decoding(self._folder.path_of(file.name), "entries"):
                found = records_of(joined(rows))[0]
            self._found[asked] = found
        return self._found[asked]

    def _reader(self, file: RunFile) -> SstReader:
        if file.name not in self._readers:
            opened = self._open.enter_context(opened_run(self._folder, file))
            self._readers[file.name] = SstReader(opened, self._folder.path_of(file.name))
        return self._readers[file.name]


class Lookups:
    """A `Lookup` for each store that is asked for, closed together. Use with `with`."""

    def __init__(self) -> None:
        self._open = ExitStack()
        self._made: dict[str, Lookup] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._open.close()

    def of(self, folder: Folder) -> Lookup:
        if folder.location not in self._made:
            self._made[folder.location] = self._open.enter_context(Lookup(folder))
        return self._made[folder.location]


def _decides(found: Records) -> bool:
    """Whether older changes of a key are of no matter: it was put, or removed."""
    return len(found) > 0 and not bool(found.merges.any())


def _in_block(changelog: Changelog, block: Block, raw: bytes, wanted: KeyBytes) -> Records:
    # To search a block's bytes takes a fraction of what it takes to find where its records begin.
    if wanted.start not in raw:
        return Records.concat([])
    with decoding(changelog.path, "records"):
        records = parse([(raw, block.records)])
    return records.where(records.keys.matching(wanted.matches))
