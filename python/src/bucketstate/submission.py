"""What Spark's JVM is told beside the builder when it starts in this process.

pyspark starts it with `spark-submit`, the builder's settings and PYSPARK_SUBMIT_ARGS, in this
order: the last one of a setting counts. What none of them names comes from a properties file. For
a list, such as jars, that means that only one of these is heard.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from bucketstate.errors import SessionError
from bucketstate.properties import parsed

ARGUMENTS = "PYSPARK_SUBMIT_ARGS"
_NAMES = {
    "--jars": "spark.jars",
    "--packages": "spark.jars.packages",
    "--driver-class-path": "spark.driver.extraClassPath",
}
CLASS_KEYS = tuple(_NAMES.values())
"""Settings that say which classes there are; each has an argument of its own."""


@dataclass(frozen=True)
class Submission:
    """Settings by their keys.

    `arguments` are heard before the builder's when the JVM starts, `defaults` after them.
    """

    arguments: Mapping[str, str]
    defaults: Mapping[str, str]

    def get(self, key: str) -> str:
        """What Spark would hear if the builder did not name it; empty for nothing."""
        return self.arguments.get(key) or self.defaults.get(key) or ""


def submission(environment: Mapping[str, str] = os.environ) -> Submission:
    """What a JVM that starts now is told.

    Raises SessionError for a file of settings that is named and cannot be read.
    """
    settings: dict[str, str] = {}
    named: dict[str, str] = {}
    files, also_defaults = [], False
    words = iter(shlex.split(environment.get(ARGUMENTS, "")))
    for word in words:
        name, equals, value = word.partition("=")
        also_defaults |= name == "--load-spark-defaults"
        if name not in ("--conf", "-c", "--properties-file", *_NAMES):
            continue
        value = value if equals else next(words, "")
        if name in _NAMES:
            named[_NAMES[name]] = value
        elif name == "--properties-file":
            files = [Path(value)]
        else:
            key, _, text = value.partition("=")
            settings[key] = text
    default = _defaults(environment)
    if (not files or also_defaults) and default.is_file():
        files.append(default)
    found: dict[str, str] = {}
    for file in files:
        found = _read(file) | found
    # Spark hears an argument of its own name before the same as --conf, wherever that stands.
    return Submission(settings | named, found)


def _defaults(environment: Mapping[str, str]) -> Path:
    folder = environment.get("SPARK_CONF_DIR")
    home = environment.get("SPARK_HOME")
    if not folder and not home:
        # The one that pyspark starts Spark from; it has no public name.
        from pyspark.find_spark_home import _find_spark_home

        home = _find_spark_home()
    return Path(folder or Path(str(home)) / "conf") / "spark-defaults.conf"


def _read(file: Path) -> dict[str, str]:
    try:
        return {key: text.strip() for key, text in parsed(file.read_text("utf-8")).items()}
    except (OSError, UnicodeDecodeError) as error:
        raise SessionError(
            f"{file}, from which Spark would take its settings, cannot be read: {error}. Mend it, "
            f"or name another one with --properties-file in {ARGUMENTS}."
        ) from error
