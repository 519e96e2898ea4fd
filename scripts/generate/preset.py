"""`conf/spark-defaults.conf`: all settings with their defaults, for `spark-submit`."""

from __future__ import annotations

from bucketstate.config import PLUGIN_CLASS, PLUGINS_KEY
from bucketstate.registry import Registry, Setting

_HEAD = """\
# Turns bucketstate on for every query of an application, and lists every setting with its default.
# To turn it on, this is enough, and sets nothing else:
#
#   spark-submit $(bucketstate conf --format flags) app.py
#
# This file as it is does not suit a checkpoint that exists: one with another numBuckets is refused.
# Take the lines that you need. Without --load-spark-defaults, Spark ignores the cluster's own
# spark-defaults.conf:
#
#   spark-submit --properties-file FILE --load-spark-defaults --jars "$(bucketstate jar)" app.py
#
# Made by `make generate` from the Scala registry of settings: edits here are lost.
"""


def _lines(setting: Setting, width: int) -> list[str]:
    if setting.shown == (setting.key,):
        return [f"{setting.key:{width}}{setting.default}\n"]
    # Without a default there is nothing to set, only a place to begin.
    return [f"# {key}  <value>\n" for key in setting.shown]


def properties(registry: Registry) -> str:
    width = max(len(key) for key in (PLUGINS_KEY, *(s.key for s in registry.settings))) + 2
    plugin = f"# Provider, session extension and metrics.\n{PLUGINS_KEY:{width}}{PLUGIN_CLASS}\n"
    settings = [f"# {s.doc}\n" + "".join(_lines(s, width)) for s in registry.settings]
    return "\n".join([_HEAD, plugin, *settings])
