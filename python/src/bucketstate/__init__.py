"""Turns the bucketstate state store on for a Spark session, and reads what it reports."""

from __future__ import annotations

# Nothing is imported before a command has said what Ctrl-C does, not even `typing`.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from bucketstate.config import EXTENSION_CLASS, PLUGIN_CLASS, PROVIDER_CLASS, Conf
    from bucketstate.errors import (
        BucketstateError,
        ExtensionMissingWarning,
        InvalidArgumentError,
        InvalidSettingError,
        JarNotFoundError,
        PluginMissingWarning,
        SessionError,
    )
    from bucketstate.jar import jar_path
    from bucketstate.live import Live
    from bucketstate.release import __version__
    from bucketstate.session import configure, enable, spark_settings

__all__ = [
    "EXTENSION_CLASS",
    "PLUGIN_CLASS",
    "PROVIDER_CLASS",
    "BucketstateError",
    "Conf",
    "ExtensionMissingWarning",
    "InvalidArgumentError",
    "InvalidSettingError",
    "JarNotFoundError",
    "Live",
    "PluginMissingWarning",
    "SessionError",
    "__version__",
    "configure",
    "enable",
    "jar_path",
    "spark_settings",
]

_HOMES = {
    "EXTENSION_CLASS": "config",
    "PLUGIN_CLASS": "config",
    "PROVIDER_CLASS": "config",
    "Conf": "config",
    "BucketstateError": "errors",
    "ExtensionMissingWarning": "errors",
    "InvalidArgumentError": "errors",
    "InvalidSettingError": "errors",
    "JarNotFoundError": "errors",
    "PluginMissingWarning": "errors",
    "SessionError": "errors",
    "jar_path": "jar",
    "Live": "live",
    "__version__": "release",
    "configure": "session",
    "enable": "session",
    "spark_settings": "session",
}
"""Where each name is. Whoever imports a room of the package alone need not wait for the others."""


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'bucketstate' has no attribute {name!r}")
    from importlib import import_module

    found = getattr(import_module(f"bucketstate.{_HOMES[name]}"), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
