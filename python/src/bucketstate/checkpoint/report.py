"""What was found wrong with a checkpoint, and what a restart would do."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Literal

Severity = Literal["error", "warning", "note"]


@dataclass(frozen=True)
class Finding:
    """One thing found.

    An `error` keeps a version that Spark could ask for from being read. A `warning` is damage that
    nothing needs, or that another file makes up for. A `note` is neither.
    """

    severity: Severity
    path: str
    what: str


@dataclass(frozen=True)
class Restart:
    """What a restart would do in one store: read these many files, or fail."""

    operator: int
    partition: int
    store: str
    version: int
    manifest_version: int | None
    changelogs: int
    bytes: int
    keys: int
    failure: str | None = None

    @property
    def summary(self) -> str:
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
    """What `verify` found. `files` and `bytes` were read; `versions` were found readable."""

    location: str
    findings: tuple[Finding, ...]
    restarts: tuple[Restart, ...]
    files: int
    bytes: int
    versions: int

    @property
    def ok(self) -> bool:
        """Whether every version that Spark could ask for can be read."""
        return not any(f.severity == "error" for f in self.findings)

    def to_dict(self) -> dict[str, object]:
        return {"ok": self.ok, **asdict(self)}


@dataclass
class Findings:
    """What is found, as it is found."""

    findings: list[Finding] = field(default_factory=list)
    restarts: list[Restart] = field(default_factory=list)
    files: int = 0
    bytes: int = 0
    versions: int = 0

    def add(self, severity: Severity, path: str, what: str) -> None:
        finding = Finding(severity, path, what)
        if finding not in self.findings:
            self.findings.append(finding)

    def include(self, of_store: Findings) -> None:
        """Takes over what was found in a store."""
        for finding in of_store.findings:
            self.add(finding.severity, finding.path, finding.what)
        self.restarts += of_store.restarts
        self.files += of_store.files
        self.bytes += of_store.bytes
        self.versions += of_store.versions
