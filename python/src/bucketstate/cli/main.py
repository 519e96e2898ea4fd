"""`bucketstate`: the provider's jar and settings for a shell, and eyes on checkpoints."""

from __future__ import annotations

import argparse
import io
import os
import sys
from collections.abc import Sequence

from bucketstate.cli.completion import completion
from bucketstate.cli.conf import conf
from bucketstate.cli.parser import parser
from bucketstate.cli.planned import move
from bucketstate.cli.size import sizing
from bucketstate.cli.usage import EXIT_FAILED, EXIT_MISUSE, EXIT_OK
from bucketstate.errors import BucketstateError, InvalidArgumentError, InvalidSettingError
from bucketstate.jar import jar_path

EXIT_INTERRUPTED = 130


def main(argv: Sequence[str] | None = None) -> int:
    if isinstance(sys.stdout, io.TextIOWrapper):
        # As standard error does: what its encoding has not is no reason to end.
        sys.stdout.reconfigure(errors="backslashreplace")
    arguments = parser().parse_args(argv)
    try:
        code = _run(arguments)
        # There is none where the shell closed it.
        if sys.stdout is not None:
            sys.stdout.flush()
    except (InvalidSettingError, InvalidArgumentError) as error:
        # Settings and arguments come from the command line alone.
        print(f"bucketstate: {error}", file=sys.stderr)
        return EXIT_MISUSE
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
        print(conf(arguments))
    elif arguments.command == "size":
        print(sizing(arguments))
    elif arguments.command == "completion":
        print(completion(parser(), arguments.shell))
    elif arguments.command == "doctor":
        from bucketstate.cli.doctor import doctor

        return doctor(arguments)
    elif arguments.command == "savepoint":
        from bucketstate.cli.savepoint import savepoint

        return savepoint(arguments)
    elif arguments.command == "report":
        from bucketstate.cli.report import report

        return report(arguments)
    elif arguments.command == "move":
        return move(arguments)
    elif arguments.command in ("clone", "fork", "rewind"):
        from bucketstate.cli.moving import COMMANDS as MOVES

        return MOVES[arguments.command](arguments)
    else:
        # Only now: pyarrow and RocksDB take a moment to load.
        from bucketstate.cli.checkpoint import COMMANDS

        return COMMANDS[arguments.command](arguments)
    return EXIT_OK
