"""`conf/spark-defaults.conf`: all settings with their defaults, for `spark-submit`."""

from __future__ import annotations

from bucketstate.config import PLUGIN_CLASS, PLUGINS_KEY
from bucketstate.registry import Registry, Setting

_HEAD = """\
# Turns bucketstate on, with its defaults, for every query of an application:
#
#   spark-submit --properties-file conf/spark-defaults.conf --jars "$(bucketstate jar)" app.py
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
