"""What was found wrong with a checkpoint, and what a restart would do."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Literal

from bucketstate.notebook import line, table
from bucketstate.units import size

Severity = Literal["error", "warning", "note"]

FAILS = "Because of this a restart fails."


@dataclass(frozen=True)
class Finding:
    """One thing found. Immutable."""

    severity: Severity
    """An `error` keeps a version that Spark could ask for from being read, or the query from being
    started. A `warning` is damage
    that nothing needs, or that another file makes up for. A `note` is neither."""

    path: str
    """The file or folder that it is about."""

    what: str
    """What is wrong with it, and what to do: a sentence or more."""


@dataclass(frozen=True)
class Restart:
    """What a restart would do in one store: read these many files, or fail. Immutable."""

    operator: int
    """Spark's number of the operator in its query."""

    partition: int
    """From 0."""

    store: str
    """The store's name."""

    version: int
    """The version that a restart opens."""

    manifest_version: int | None
    """The manifest that it starts from; None for the empty store."""

    changelogs: int
    """How many changelogs it reads after it."""

    bytes: int
    """Length of what it reads, in bytes."""

    keys: int
    """How many keys there are then."""

    failure: str | None = None
    """Why it fails; None if it does not."""

    @property
    def summary(self) -> str:
        """The fields as a sentence."""
        of = f"operator {self.operator}, partition {self.partition}, store {self.store}"
        if self.failure:
            return f"{of}: fails at version {self.version}: {self.failure}"
        start = f"manifest {self.manifest_version}" if self.manifest_version else "the empty store"
        return (
            f"{of}: opens version {self.version} from {start} and {self.changelogs} changelogs "
            f"({self.bytes:,} bytes, {self.keys:,} keys)"
        )


@dataclass(frozen=True)
class Report:
    """What `Checkpoint.verify` found. Immutable."""

    location: str
    """Path or URI of the checkpoint."""

    findings: tuple[Finding, ...]
    """What was found, in the order in which it was."""

    restarts: tuple[Restart, ...]
    """What a restart would do, for each store."""

    files: int
    """How many files were read."""

    bytes: int
    """Length of what was read, in bytes."""

    versions: int
    """How many versions of stores were found readable."""

    @property
    def ok(self) -> bool:
        """Whether every version that Spark could ask for can be read, and the query be started."""
        return not any(f.severity == "error" for f in self.findings)

    def to_dict(self) -> dict[str, object]:
        """The report for JSON: the fields, and `ok`."""
        return {"ok": self.ok, **asdict(self)}

    def _repr_html_(self) -> str:
        verdict = "sound" if self.ok else "DAMAGED"
        title = (
            f"{self.location} is {verdict}: {self.files:,} files ({size(self.bytes)}), "
            f"{self.versions:,} versions can be read"
        )
        findings = [[f.severity, f.path, f.what] for f in self.findings]
        if not findings:
            return line(title, bold=True)
        return table(title, ["severity", "path", "what"], findings)


@dataclass
class Findings:
    """What is found, as it is found."""

    findings: dict[Finding, None] = field(default_factory=dict)
    """Each once, in the order in which they were found."""
    restarts: list[Restart] = field(default_factory=list)
    files: int = 0
    bytes: int = 0
    versions: int = 0

    def add(self, severity: Severity, path: str, what: str) -> None:
        self.findings[Finding(severity, path, what)] = None

    def include(self, of_store: Findings) -> None:
        """Takes over what was found in a store."""
        self.findings |= of_store.findings
        self.restarts += of_store.restarts
        self.files += of_store.files
        self.bytes += of_store.bytes
        self.versions += of_store.versions
