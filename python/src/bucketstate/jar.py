"""The provider's jars, which the package carries: one for each minor version of Spark."""

from __future__ import annotations

import re
from importlib.resources import files
from pathlib import Path

from bucketstate.errors import InvalidArgumentError, JarNotFoundError

_NAME = re.compile(r"bucketstate-spark-(?P<minor>\d+\.\d+)_2\.13-.+\.jar")


def jar_path(spark: str | None = None, *, folder: Path | None = None) -> Path:
    """The provider's jar for a version of Spark.

    Args:
        spark: the version that runs the query, as `4.2` or `4.2.1`; that of the pyspark which is
            installed here without.
        folder: where the jars are; the package's own without.

    Raises:
        InvalidArgumentError: the version is no text, or the folder no path.
        JarNotFoundError: none fits; the message says for what there are jars. Or no version is
            given, and no pyspark is installed. Or the package is inside an archive, from which
            Spark takes no jar.
    """
    if spark is not None and not isinstance(spark, str):
        raise InvalidArgumentError(
            f"spark={spark!r} is a {type(spark).__name__}: give the version as a text, such as "
            "'4.2'."
        )
    if not isinstance(folder, Path | str | None):
        raise InvalidArgumentError(f"folder={folder!r}: give the path of a folder.")
    folder = Path(folder) if folder else _of_package()
    minor = minor_of(spark or _of_pyspark())
    jars = _jars(folder)
    fitting = jars.get(minor, [])
    if len(fitting) == 1:
        return fitting[0]
    if fitting:
        raise JarNotFoundError(
            f"{folder} holds {len(fitting)} jars for Spark {minor} "
            f"({', '.join(jar.name for jar in fitting)}) where one belongs: run `make package` "
            "again, or reinstall the wheel."
        )
    there = f"there are jars for Spark {', '.join(jars)}" if jars else "there are no jars at all"
    raise JarNotFoundError(
        f"No jar for Spark {minor} is in {folder}: {there}. In a checkout of the project, build "
        f"it with `make jar SPARK={minor}`; elsewhere, install the wheel, which carries one for "
        "each version that is supported. If another Spark than this pyspark runs the queries, say "
        "which: `--spark` on the command line, `spark=` in Python."
    )


def _of_package() -> Path:
    folder = files("bucketstate").joinpath("jars")
    if not isinstance(folder, Path):
        raise JarNotFoundError(
            f"The package is inside an archive ({folder}), from which Spark takes no jar: install "
            "it with pip where the driver runs, or take the jar out and name it yourself, as "
            "`spark-submit --jars FILE`."
        )
    return folder


def _of_pyspark() -> str:
    try:
        import pyspark
    except ModuleNotFoundError as error:
        raise JarNotFoundError(
            "No pyspark is installed here, which would say for which Spark the jar is: say it "
            "(`--spark` on the command line, `spark=` in Python), or pip install "
            "'bucketstate[spark]'."
        ) from error
    return str(pyspark.__version__)


def minor_of(version: str) -> str:
    """`4.2` of `4.2.1`, of `4.2` and of `4.2.0-vendor-3`."""
    found = re.match(r"\d+\.\d+", version)
    return found[0] if found else version


def _jars(folder: Path) -> dict[str, list[Path]]:
    """By Spark's minor version, the oldest first."""
    found: dict[str, list[Path]] = {}
    for jar in sorted(folder.glob("bucketstate-spark-*.jar")):
        if name := _NAME.fullmatch(jar.name):
            found.setdefault(name["minor"], []).append(jar)
    return dict(sorted(found.items(), key=lambda item: [int(n) for n in item[0].split(".")]))
