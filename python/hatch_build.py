"""Refuses to build a package without the provider's jars: it would fail where it is installed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hatchling.builders.config import BuilderConfig
from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from packaging.requirements import Requirement
from packaging.version import Version

_JARS = Path("src", "bucketstate", "jars")


class JarsHook(BuildHookInterface[BuilderConfig]):
    """Runs before each build."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002
        """Raises FileNotFoundError, which says what is missing and how to make it.

        An editable install is a checkout's: its jars are built when they are needed.
        """
        if version == "editable":
            return
        needed = {minor: self._jar(minor) for minor in self._minors()}
        missing = {minor: jar for minor, jar in needed.items() if not jar.is_file()}
        if missing:
            raise FileNotFoundError(
                f"No jar for Spark {', '.join(missing)}: {_JARS} below {self.root} has no "
                f"{', '.join(jar.name for jar in missing.values())}. In a checkout of the project, "
                "build them all and the wheel with `make package`, the sdist with `make release`."
            )

    def _jar(self, minor: str) -> Path:
        name = f"bucketstate-spark-{minor}_2.13-{self.metadata.version}.jar"
        return Path(self.root) / _JARS / name

    def _minors(self) -> list[str]:
        """Those of the pysparks that the package may be installed beside."""
        asked = map(Requirement, self.metadata.core.optional_dependencies["spark"])
        (pyspark,) = (requirement for requirement in asked if requirement.name == "pyspark")
        bounds = {of.operator: Version(of.version) for of in pyspark.specifier}
        first, end = bounds[">="], bounds["<"]
        assert first.major == end.major, f"{pyspark} spans major versions"
        return [f"{first.major}.{minor}" for minor in range(first.minor, end.minor)]
