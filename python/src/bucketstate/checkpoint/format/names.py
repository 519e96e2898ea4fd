"""The names of a store's files, parsed here and nowhere else (`docs/format.md` lists them)."""

from __future__ import annotations

import re
from dataclasses import dataclass

RUN_FOLDER = "runs"

_DECIMAL = r"0|[1-9][0-9]*"
_UUID = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
_VERSIONED = re.compile(rf"({_DECIMAL})(?:_([A-Za-z0-9-]+))?\.(changelog|manifest)")
_RUN = re.compile(rf"{RUN_FOLDER}/({_DECIMAL})-({_DECIMAL})-({_UUID})\.sst")
_TEMPORARY = re.compile(rf"(?:[^/]+/)*\.[^/]+\.{_UUID}(?:\.TID(?:{_DECIMAL}))?\.tmp")


@dataclass(frozen=True, order=True)
class Attempt:
    """One attempt at a version. Without checkpoint ids a version has one attempt."""

    version: int
    checkpoint_id: str | None = None

    def __str__(self) -> str:
        of = f" with the checkpoint id {self.checkpoint_id}" if self.checkpoint_id else ""
        return f"version {self.version}{of}"

    def name(self, kind: str) -> str:
        attempt = f"_{self.checkpoint_id}" if self.checkpoint_id else ""
        return f"{self.version}{attempt}.{kind}"


@dataclass(frozen=True)
class ChangelogName:
    attempt: Attempt

    def __str__(self) -> str:
        return self.attempt.name("changelog")


@dataclass(frozen=True)
class ManifestName:
    attempt: Attempt

    def __str__(self) -> str:
        return self.attempt.name("manifest")


@dataclass(frozen=True)
class RunName:
    """A data file, relative to the store's folder."""

    version: int
    number: int
    uuid: str

    def __str__(self) -> str:
        return f"{RUN_FOLDER}/{self.version}-{self.number}-{self.uuid}.sst"


@dataclass(frozen=True)
class TemporaryName:
    """A write under way, or abandoned."""

    text: str

    def __str__(self) -> str:
        return self.text


StoreFile = ChangelogName | ManifestName | RunName | TemporaryName


def parse(name: str) -> StoreFile | None:
    """The file of that name relative to the store's folder; None if it is not one of ours."""
    if found := _VERSIONED.fullmatch(name):
        attempt = Attempt(int(found[1]), found[2])
        return ChangelogName(attempt) if found[3] == "changelog" else ManifestName(attempt)
    if found := _RUN.fullmatch(name):
        return RunName(int(found[1]), int(found[2]), found[3])
    if _TEMPORARY.fullmatch(name):
        return TemporaryName(name)
    return None
