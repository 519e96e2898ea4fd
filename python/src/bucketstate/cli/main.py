"""`bucketstate`: the provider's jar and settings for a shell, and eyes on checkpoints."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

from bucketstate.cli.exits import EXIT_FAILED, EXIT_OK
from bucketstate.cli.output import RENDERERS
from bucketstate.cli.parser import parser
from bucketstate.config import EXTENSION_CLASS, EXTENSIONS_KEY, Conf
from bucketstate.errors import BucketstateError
from bucketstate.jar import jar_path
from bucketstate.presets import PRESETS
from bucketstate.registry import registry
from bucketstate.session import JARS

EXIT_INTERRUPTED = 130


def main(argv: Sequence[str] | None = None) -> int:
    arguments = parser().parse_args(argv)
    try:
        code = _run(arguments)
        sys.stdout.flush()
    except BucketstateError as error:
        print(f"bucketstate: {error}", file=sys.stderr)
        return EXIT_FAILED
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        # Whoever read the output has enough; nothing more can be said to them.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_OK
    return code


def _run(arguments: argparse.Namespace) -> int:
    if arguments.command == "jar":
        print(jar_path(arguments.spark))
    elif arguments.command == "conf":
        print(_conf(arguments))
    else:
        # Only now: pyarrow and RocksDB take a moment to load.
        from bucketstate.cli.checkpoint import COMMANDS

        return COMMANDS[arguments.command](arguments)
    return EXIT_OK


def _conf(arguments: argparse.Namespace) -> str:
    known = registry()
    preset = PRESETS[arguments.preset] if arguments.preset else None
    settings = preset.to_spark() if preset else {}
    for setting in known.settings:
        given = getattr(arguments, setting.field)
        if isinstance(given, list):
            pairs = (text.partition("=") for text in given)
            settings |= {f"{setting.key}.{name}": value for name, _, value in pairs}
        elif given is not None:
            settings[setting.key] = given
    # Ours are checked; Spark's go along as they are.
    others = {k: v for k, v in settings.items() if not k.startswith(known.prefix)}
    conf = Conf.from_spark(settings)
    jar = {} if arguments.no_jar else {JARS: str(jar_path(arguments.spark))}
    reasons = preset.reasons() if preset else {}
    extension = {EXTENSIONS_KEY: EXTENSION_CLASS}
    return RENDERERS[arguments.format]({**jar, **extension, **conf.to_spark(), **others}, reasons)
