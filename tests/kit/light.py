"""A session of tests without what takes long in all of Spark's and is nothing that is tested."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pyspark

from tests.kit.cases import ALL

SOURCE = Path(__file__).parents[2] / "scala/src/test/java/io/bucketstate/testkit/ForklessFiles.java"

_CLASS = "io.bucketstate.testkit.ForklessFiles$Of"


def light(folder: Path) -> dict[str, str]:
    """Makes Spark's home for a session that is not made yet, and says so in the environment.

    Args:
        folder: a new one, which is there as long as the session.

    Returns:
        Settings of the session.
    """
    folder.mkdir()
    os.environ["SPARK_HOME"] = str(_without_zip(folder / "spark"))
    # With all cases the local files are Hadoop's own.
    return {} if ALL else _forkless(folder / "classes")


def _without_zip(folder: Path) -> Path:
    """Spark's home with all of it but the zip of pyspark, which workers would import it from.

    Python keeps no bytecode of that: without it each start of a worker takes most of a second less.
    """
    home = Path(pyspark.__file__).parent
    folder.mkdir()
    for entry in home.iterdir():
        if entry.name != "python":
            (folder / entry.name).symlink_to(entry)
    return folder


def _forkless(folder: Path) -> dict[str, str]:
    """Settings with which local files take no process each; compiles the classes into a folder."""
    home = os.environ.get("JAVA_HOME")
    javac = Path(home, "bin/javac") if home else "javac"
    jars = Path(pyspark.__file__).parent / "jars"
    folder.mkdir()
    subprocess.run(
        [javac, "--release", "17", "-proc:none", "-d", folder, "-classpath", f"{jars}/*", SOURCE],
        check=True,
    )
    return {
        "spark.driver.extraClassPath": str(folder),
        "spark.hadoop.fs.file.impl": f"{_CLASS}System",
        "spark.hadoop.fs.file.impl.disable.cache": "true",
        "spark.hadoop.fs.AbstractFileSystem.file.impl": f"{_CLASS}Context",
    }
