"""`bucketstate conf`: settings that turn the provider on, as text."""

from __future__ import annotations

import argparse
from dataclasses import replace

from bucketstate.cli.output import RENDERERS
from bucketstate.config import EXTENSIONS_KEY, Conf
from bucketstate.errors import InvalidSettingError
from bucketstate.kinds import Named
from bucketstate.presets import PRESETS
from bucketstate.registry import Setting, registry
from bucketstate.session import spark_settings, with_extension


def conf(arguments: argparse.Namespace) -> str:
    """What is given, and no more: the rest is left to the session.

    Raises InvalidSettingError for a value that is not allowed, with the option that has it, or one
    that the format cannot hold.
    """
    preset = PRESETS[arguments.preset] if arguments.preset else None
    settings = Conf.defaults().to_spark() if arguments.defaults else Conf().to_spark()
    settings |= preset.to_spark() if preset else {}
    for setting in registry().settings:
        given = getattr(arguments, setting.field)
        if given is not None:
            settings |= _checked(setting, given)
    # Ours are checked; Spark's go along as they are.
    others = preset.others() if preset else {}
    found = replace(Conf.from_spark(settings), others=others)
    jars, extensions = _listed(arguments.jars), _listed(arguments.extensions)
    if arguments.no_jar:
        texts = {EXTENSIONS_KEY: ",".join(with_extension(extensions)), **found.to_spark()}
    else:
        texts = spark_settings(found, spark=arguments.spark, jars=jars, extensions=extensions)
    return RENDERERS[arguments.format](texts, preset.reasons() if preset else {})


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


def _listed(names: list[str]) -> list[str]:
    return [name for each in names for name in each.split(",") if name]
