"""`bucketstate conf`: settings that turn the provider on, as text."""

from __future__ import annotations

import argparse
import json
import shlex
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from bucketstate.config import PLUGINS_KEY, Conf
from bucketstate.errors import InvalidSettingError
from bucketstate.kinds import Named
from bucketstate.presets import PRESETS
from bucketstate.properties import line
from bucketstate.registry import Setting, registry
from bucketstate.scopes import Scope
from bucketstate.session import spark_settings, with_plugin
from bucketstate.session.jvm import JARS


def conf(arguments: argparse.Namespace) -> str:
    """What is given, and no more: the rest is left to the session.

    Raises InvalidSettingError for a value that is not allowed, with the option that has it, or one
    that the format cannot hold.
    """
    preset = PRESETS[arguments.preset] if arguments.preset else None
    settings = Conf.defaults().to_spark() if arguments.defaults else Conf().to_spark()
    settings |= preset.to_spark() if preset else {}
    reasons = preset.reasons() if preset else {}
    chosen: dict[str, str] = {}
    for setting in registry().settings:
        given = getattr(arguments, setting.field)
        if given is not None:
            chosen |= _checked(setting, given)
    chosen |= dict(map(_per_query, arguments.per_query))
    settings |= chosen
    # Ours are checked; Spark's go along as they are.
    others = preset.others() if preset else {}
    found = replace(Conf.from_spark(settings), others=others)
    jars, plugins = _listed(arguments.jars), _listed(arguments.plugins)
    if arguments.no_jar:
        texts = {PLUGINS_KEY: ",".join(with_plugin(plugins)), **found.to_spark()}
    else:
        texts = spark_settings(found, spark=arguments.spark, jars=jars, plugins=plugins)
    return RENDERERS[arguments.format](
        texts, {key: why for key, why in reasons.items() if key not in chosen}
    )


def option(setting: Setting) -> str:
    """What it is called on the command line."""
    return "--" + setting.field.replace("_", "-")


def _checked(setting: Setting, given: str | list[str]) -> dict[str, str]:
    try:
        if isinstance(setting.kind, Named):
            pairs = (text.partition("=") for text in given)
            value = setting.checked({name: text for name, _, text in pairs})
        else:
            value = setting.parse(str(given))
    except InvalidSettingError as error:
        raise InvalidSettingError(f"{option(setting)}: {error}") from error
    return setting.to_spark(value)


def _per_query(given: str) -> tuple[str, str]:
    """A setting for some queries, by its whole key: `.query.NAME` stands behind its own."""
    key, there, value = given.partition("=")
    setting, scope = registry().by_key(key)
    if not there or scope == Scope():
        raise InvalidSettingError(
            f"--per-query {given}: name the query or the operator behind the key, as "
            "KEY.query.NAME=VALUE or KEY.operator.0=VALUE; for all of them there is "
            f"{option(setting)}."
        )
    return key, value


def _listed(names: list[str]) -> list[str]:
    return [name for each in names for name in each.split(",") if name]


Renderer = Callable[[Mapping[str, str], Mapping[str, str]], str]
"""Settings, and why some of them are as they are, by key."""


def properties(settings: Mapping[str, str], reasons: Mapping[str, str]) -> str:
    """Lines for `spark-submit --properties-file` and `spark-defaults.conf`, reasons as comments."""
    lines = []
    for key, value in settings.items():
        if key in reasons:
            lines.append(f"# {reasons[key]}")
        lines.append(line(key, value))
    return "\n".join(lines)


def flags(settings: Mapping[str, str], _reasons: Mapping[str, str]) -> str:
    """Arguments for `spark-submit`, which a shell takes as they are: in `$(...)`, too.

    Raises InvalidSettingError for a setting that would have to be quoted: `$(...)` reads no quotes.
    """
    return " ".join(f"--conf {_plain(key, value)}" for key, value in settings.items())


def as_json(settings: Mapping[str, str], _reasons: Mapping[str, str]) -> str:
    return json.dumps(dict(settings), indent=2)


RENDERERS: dict[str, Renderer] = {"properties": properties, "flags": flags, "json": as_json}


def _plain(key: str, value: str) -> str:
    if key == JARS:
        value = ",".join(map(_location, value.split(",")))
    word = f"{key}={value}"
    if shlex.quote(word) != word:
        raise InvalidSettingError(
            f"{key} is {value!r}, which a shell would take apart in $(bucketstate conf --format "
            "flags): write --format properties into a file, and give it to spark-submit as "
            "--properties-file FILE --load-spark-defaults."
        )
    return word


def _location(jar: str) -> str:
    """A path that a shell would take apart, as the URI by which Spark knows it."""
    return jar if shlex.quote(jar) == jar else Path(jar).absolute().as_uri()
