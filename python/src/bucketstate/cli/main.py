"""`bucketstate jar` and `bucketstate conf`: what a shell needs to turn the provider on."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from bucketstate.cli.output import RENDERERS
from bucketstate.config import Conf
from bucketstate.errors import BucketstateError
from bucketstate.registry import registry
from bucketstate.session import JARS, jar_path

EXIT_OK, EXIT_FAILED = 0, 1


def main(argv: Sequence[str] | None = None) -> int:
    arguments = _parser().parse_args(argv)
    try:
        print(_jar() if arguments.command == "jar" else _conf(arguments))
    except BucketstateError as error:
        print(f"bucketstate: {error}", file=sys.stderr)
        return EXIT_FAILED
    return EXIT_OK


def _jar() -> str:
    return str(jar_path())


def _conf(arguments: argparse.Namespace) -> str:
    known = registry()
    given = {s.key: getattr(arguments, s.field) for s in known.settings}
    conf = Conf.from_spark({key: text for key, text in given.items() if text is not None})
    jar = {} if arguments.no_jar else {JARS: str(jar_path())}
    return RENDERERS[arguments.format]({**jar, **conf.to_spark()})


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="bucketstate", description="Turn the bucketstate state store on for Spark."
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    commands.add_parser("jar", help="print the path of the provider's jar")
    conf = commands.add_parser("conf", help="print the settings that turn the provider on")
    conf.add_argument("--format", choices=RENDERERS, default="properties", help="how to print them")
    conf.add_argument("--no-jar", action="store_true", help="leave out spark.jars")
    for setting in registry().settings:
        conf.add_argument(
            "--" + setting.field.replace("_", "-"),
            metavar="VALUE",
            # argparse reads % in a help text as a placeholder.
            help=f"{setting.doc} (default {setting.default})".replace("%", "%%"),
        )
    return parser
