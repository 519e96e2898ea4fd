"""`bucketstate`: the provider's jar and settings for a shell, and eyes on checkpoints."""

from __future__ import annotations

import argparse
import io
import sys
import warnings
from collections.abc import Sequence
from contextlib import nullcontext

from bucketstate.cli.completion import completion
from bucketstate.cli.conf import conf
from bucketstate.cli.parser import parser
from bucketstate.cli.planned import move
from bucketstate.cli.size import sizing
from bucketstate.cli.terminal.output import unhindered
from bucketstate.cli.terminal.telling import tell, telling
from bucketstate.cli.terminal.usage import EXIT_FAILED, EXIT_MISUSE, EXIT_OK
from bucketstate.errors import (
    BucketstateError,
    InvalidArgumentError,
    InvalidSettingError,
    MissingLibraryError,
)
from bucketstate.interrupts import undone
from bucketstate.jar import jar_path


def run(argv: Sequence[str] | None = None, *, alone: bool = False) -> int:
    """Runs a command; its exit code. Says in one line what it could not do.

    `alone`: this process does nothing else.
    """
    if isinstance(sys.stdout, io.TextIOWrapper):
        # As standard error does: what its encoding has not is no reason to end.
        sys.stdout.reconfigure(errors="backslashreplace")
    arguments = parser().parse_args(argv)
    with unhindered():
        return _code_of(arguments, alone=alone)


def _code_of(arguments: argparse.Namespace, *, alone: bool) -> int:
    try:
        # From here on copies may lie in the temporary folder.
        ended = undone() if alone else nullcontext()
        with ended, telling(arguments.verbose), warnings.catch_warnings():
            warnings.showwarning = _warned  # type: ignore[assignment]
            code = _run(arguments, alone=alone)
        # There is none where the shell closed it.
        if sys.stdout is not None:
            sys.stdout.flush()
        return code
    except (InvalidSettingError, InvalidArgumentError) as error:
        # Settings and arguments come from the command line alone.
        return _failed(error, EXIT_MISUSE)
    except MissingLibraryError as error:
        # One extra has what all commands need: nobody shall install it by halves.
        return _failed(str(error).replace("bucketstate[checkpoint]", "bucketstate[cli]"))
    except BucketstateError as error:
        return _failed(error)
    except OSError as error:
        # What fails of a file that has a name says which; libraries have messages of their own.
        of_output = error.filename is None and error.strerror is not None
        # A pipe that breaks here is another one, such as that to Spark.
        if not of_output or isinstance(error, BrokenPipeError):
            return _failed(error)
        return _failed(f"standard output cannot be written: {error.strerror}.")


def _failed(what: object, code: int = EXIT_FAILED) -> int:
    tell(f"bucketstate: {what}")
    return code


def _warned(message: Warning | str, *_: object) -> None:
    tell(f"bucketstate: warning: {message}")


def _run(arguments: argparse.Namespace, *, alone: bool) -> int:
    if arguments.command == "jar":
        print(jar_path(arguments.spark))
    elif arguments.command == "conf":
        print(conf(arguments))
    elif arguments.command == "size":
        print(sizing(arguments))
    elif arguments.command == "completion":
        print(completion(parser(), arguments.shell))
    elif arguments.command == "grafana":
        from bucketstate.cli.operations import grafana

        print(grafana(arguments))
    elif arguments.command == "doctor":
        from bucketstate.cli.doctor import doctor

        return doctor(arguments)
    elif arguments.command == "savepoint":
        from bucketstate.cli.savepoint import savepoint

        return savepoint(arguments)
    elif arguments.command == "check":
        from bucketstate.cli.check import check

        return check(arguments)
    elif arguments.command == "sql":
        from bucketstate.cli.sql import sql

        return sql(arguments)
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
        from bucketstate.cli.terminal.arrow import leave_out_pandas

        if alone:
            leave_out_pandas()
        return COMMANDS[arguments.command](arguments)
    return EXIT_OK
