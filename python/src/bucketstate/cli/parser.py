"""The command line of `bucketstate`."""

from __future__ import annotations

import argparse
import re

from bucketstate import __version__
from bucketstate.cli.completion import SHELLS
from bucketstate.cli.conf import RENDERERS, option
from bucketstate.cli.planned import add_kinds
from bucketstate.cli.size import add_arguments
from bucketstate.cli.terminal.arguments import Parser
from bucketstate.cli.terminal.usage import FORMATS, OF_STANDARD_OUTPUT, TABLES
from bucketstate.presets import PRESETS
from bucketstate.registry import registry

_EXITS = (
    "Exit codes: 0 done, 1 failed, 2 wrong usage, 3 found damage (diff --exit-code: a difference, "
    "doctor --exit-code: something to say, check: a function that cannot run)."
)


def parser() -> argparse.ArgumentParser:
    top = Parser(
        prog="bucketstate",
        description="Turn the bucketstate state store on for Spark, look into its checkpoints and "
        "move them.",
        epilog=_EXITS,
    )
    top.add_argument("--version", action="version", version=f"%(prog)s {__version__}")
    commands = top.add_subparsers(dest="command", required=True, metavar="COMMAND")
    _spark(_command(commands, "jar", "print the path of the provider's jar"))
    _conf(_command(commands, "conf", "print the settings that turn the provider on"))

    completion = _command(commands, "completion", "print a shell's script to complete this")
    completion.add_argument("shell", choices=SHELLS)

    grafana = "print a dashboard of the stores for Grafana, or alert rules for Prometheus"
    _grafana(_command(commands, "grafana", grafana))

    size = "estimate what a state will take: memory, bytes written, a restart"
    add_arguments(_command(commands, "size", size))

    _check(_command(commands, "check", "whether stateful functions can run, before a query does"))

    inspect = _of_checkpoint(commands, "inspect", "what is in it, and what a restart would read")
    _version(inspect)
    inspect.set_defaults(more="each partition: what a restart reads of it, what is cold and warm")
    inspect.add_argument(
        "--buckets",
        action="store_true",
        help="keys per bucket, and what of it lies in which files (reads the state)",
    )
    inspect.add_argument(
        "--internal",
        action="store_true",
        help="of transformWithState all column families, those that Spark keeps for itself, too",
    )

    show = _of_checkpoint(commands, "show", "rows of the state")
    _version(show)
    _key(show)
    _decode(_timers(_part(show)))
    show.add_argument(
        "--stored",
        action="store_true",
        help="states of bucketstate.stateful as they are stored, not unfolded",
    )
    _flatten(show)
    _narrowed(show)
    _times(show)
    _limit(show)

    sql = _of_checkpoint(commands, "sql", "its state, changes and timers, asked for in SQL")
    _sql(sql)

    export = _of_checkpoint(commands, "export", "the state as a file")
    export.add_argument(
        "output",
        help="a path or a URI that ends in .parquet, .arrow, .csv or .jsonl; - for standard "
        "output; a table of Delta by its path or URI, one of Iceberg as [CATALOG:]NAMESPACE.TABLE",
    )
    export.add_argument(
        "--format",
        choices=(*FORMATS, *TABLES),
        help=f"default: what the ending says, {OF_STANDARD_OUTPUT} on standard output; arrow is "
        "Arrow's stream format there",
    )
    export.add_argument(
        "--overwrite", action="store_true", help="replace the file, or the rows of the table"
    )
    _version(export)
    _decode(_timers(_part(export)))
    _flatten(export)
    _narrowed(export)
    _times(export)

    verify = _of_checkpoint(commands, "verify", "read every file, say what is damaged")
    verify.set_defaults(more="what a restart of each partition would read, and notes")

    diff = _of_checkpoint(commands, "diff", "how the states at two versions differ")
    older = diff.add_mutually_exclusive_group()
    older.add_argument(
        "--from", dest="since", type=int, metavar="N", help="the older one (default: one before)"
    )
    older.add_argument(
        "--from-batch", dest="since_batch", type=int, metavar="N", help="what batch N made, instead"
    )
    newer = diff.add_mutually_exclusive_group()
    newer.add_argument(
        "--to",
        dest="version",
        type=int,
        metavar="N",
        help="the newer one (default: what a restart reads)",
    )
    newer.add_argument(
        "--to-batch", dest="batch", type=int, metavar="N", help="what batch N made, instead"
    )
    diff.add_argument("--exit-code", action="store_true", help="exit with 3 if they differ")
    _decode(_part(diff))
    _limit(diff)

    clone = _move(commands, "clone", "a new checkpoint of one, from which a query starts by itself")
    _point(clone, "as it was after batch N (default: the last one)")
    clone.add_argument(
        "--keep-query-id",
        action="store_true",
        help="go on under the source's id: sinks that know batches by it take the clone's for "
        "repetitions",
    )
    fork = _move(commands, "fork", "a new checkpoint of one at a batch, for another query")
    _point(fork, "as it was after batch N", required=True)
    move = "another checkpoint of one, with a Spark session: in, out, other partitions"
    add_kinds(_command(commands, "move", move, of="checkpoint: "))
    _rewind(_of_checkpoint(commands, "rewind", "drop all batches after one, for good"))
    _savepoint(commands)

    _doctor(_command(commands, "doctor", "what is slow or at risk, and which setting helps"))

    _report(_of_checkpoint(commands, "report", "one HTML page about it, to pass around"))
    _verbose(top)
    return top


def _verbose(command: argparse.ArgumentParser) -> None:
    """Every command can say more of what it does, also one of another."""
    for action in command._actions:
        if isinstance(action, argparse._SubParsersAction):
            for inner in action.choices.values():
                _verbose(inner)
            return
    more = command.get_default("more")
    command.add_argument(
        "-v",
        "--verbose",
        action="count",
        default=0,
        help=(f"tell {more}; and " if more else "")
        + "log on standard error what is done; -vv also each request to a far file system",
    )


def _spark(command: argparse.ArgumentParser) -> None:
    what = "the Spark that the jar is for, as 4.2 (default: that of the pyspark installed here)"
    command.add_argument("--spark", type=_version_of_spark, metavar="VERSION", help=what)


def _conf(conf: argparse.ArgumentParser) -> None:
    conf.add_argument("--format", choices=RENDERERS, default="properties", help="how to print them")
    _spark(conf)
    jars = conf.add_mutually_exclusive_group()
    jars.add_argument("--no-jar", action="store_true", help="leave out spark.jars")
    jars.add_argument(
        "--jars",
        action="append",
        default=[],
        metavar="JAR,JAR",
        help="jars of yours for spark.jars, beside the provider's: of --jars and spark.jars Spark "
        "hears one. Can be given again.",
    )
    conf.add_argument(
        "--plugins",
        action="append",
        default=[],
        metavar="CLASS,CLASS",
        help="plugins of yours for spark.plugins, beside the provider's. Can be given again.",
    )
    conf.add_argument("--preset", choices=PRESETS, help="start from settings for a purpose")
    conf.add_argument(
        "--defaults", action="store_true", help="all settings, those not given by their defaults"
    )
    conf.add_argument(
        "--per-query",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="what is otherwise for some queries: the whole key of a setting with .query.NAME, "
        ".operator.N or both behind it. Can be given again.",
    )
    for setting in registry().settings:
        if setting.shown == (setting.key,):
            said = f"{setting.doc} (default {setting.default})"
            # argparse reads % in a help text as a placeholder.
            conf.add_argument(option(setting), metavar="VALUE", help=said.replace("%", "%%"))
        else:
            conf.add_argument(
                option(setting),
                metavar="NAME=VALUE",
                action="append",
                help=setting.doc.replace("%", "%%") + " Can be given again.",
            )


def _check(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "functions",
        nargs="+",
        metavar="FUNCTION",
        help="MODULE:FUNCTION, or a class with handlers or what `stateful.define` made",
    )
    command.add_argument("--schema", metavar="DDL", help="the rows' columns")
    command.add_argument("--by", metavar="NAMES", help="the grouping columns, with --schema")
    command.add_argument(
        "--operator",
        choices=("applyInPandasWithState", "transformWithState"),
        default="applyInPandasWithState",
        help="default: applyInPandasWithState",
    )
    command.add_argument(
        "--timeout", choices=("processing", "event"), help="the clock of timers and timeouts"
    )
    command.add_argument("--state", metavar="DDL", help="where the hints do not say it")
    command.add_argument("--output", metavar="DDL", help="where the hints do not say it")
    command.add_argument("--json", action="store_true", help="JSON, for programs")


def _savepoint(commands: object) -> None:
    what = "hold what a batch made, so that there is something to go back to"
    top = _command(commands, "savepoint", what, of="checkpoint: ")
    actions = top.add_subparsers(dest="action", required=True, metavar="ACTION")
    create = _of_checkpoint(actions, "create", "hold what a batch made until it is dropped")
    create.add_argument(
        "name",
        metavar="NAME",
        help="letters, digits, '-', '_' and '.'; the first is a letter or a digit",
    )
    create.add_argument("--batch", type=int, metavar="N", help="default: the last committed one")
    create.add_argument(
        "--stopped",
        action="store_true",
        help="the query is not running: then any batch that Spark's commit log has can be held",
    )
    _of_checkpoint(actions, "list", "what is held, and the bytes that nothing else needs")
    drop = _of_checkpoint(actions, "drop", "hold it no longer")
    drop.add_argument("name", metavar="NAME")


def _doctor(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "places",
        nargs="+",
        metavar="PLACE",
        help="a checkpoint, a file of query progresses (JSON by lines, or what Recorder.save "
        "wrote), or an event log of Spark's",
    )
    command.add_argument("--exit-code", action="store_true", help="exit with 3 if there is advice")
    command.add_argument("--json", action="store_true", help="JSON, for programs")


def _report(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--progress",
        action="append",
        default=[],
        metavar="FILE",
        help="what the query reported (JSON by lines, or what Recorder.save wrote), or an event "
        "log of Spark's: how its batches went. Can be given again, such as for each run.",
    )
    command.add_argument(
        "-o",
        "--output",
        default="report.html",
        metavar="FILE",
        help="default: report.html; - for standard output",
    )
    command.add_argument("--overwrite", action="store_true", help="replace the file")
    command.add_argument(
        "--quick",
        action="store_true",
        help="read the indexes of the files alone: nothing is verified, no bucket's keys counted",
    )


def _command(commands: object, name: str, what: str, *, of: str = "") -> argparse.ArgumentParser:
    said = f"{what[0].upper()}{what[1:]}."
    found: argparse.ArgumentParser = commands.add_parser(  # type: ignore[attr-defined]
        name, help=f"{of}{what}", description=said, epilog=_EXITS
    )
    return found


def _of_checkpoint(commands: object, name: str, what: str) -> argparse.ArgumentParser:
    found = _command(commands, name, what, of="checkpoint: ")
    found.add_argument("checkpoint", metavar="CHECKPOINT", help="the query's checkpointLocation")
    found.add_argument("--json", action="store_true", help="JSON, for programs")
    return found


def _move(commands: object, name: str, what: str) -> argparse.ArgumentParser:
    found = _command(commands, name, what, of="checkpoint: ")
    found.add_argument(
        "source", metavar="SRC", help="the query's checkpointLocation; it is only read"
    )
    found.add_argument("target", metavar="DST", help="a folder that is empty, or not there")
    how = found.add_mutually_exclusive_group()
    how.add_argument(
        "--link",
        dest="how",
        action="store_const",
        const="link",
        help="hard links to the files of state, or an error (default: links where both are on one "
        "local disk, else copies)",
    )
    how.add_argument(
        "--copy", dest="how", action="store_const", const="copy", help="copies in any case"
    )
    _dry_run(found)
    found.add_argument("--json", action="store_true", help="JSON, for programs")
    return found


def _rewind(command: argparse.ArgumentParser) -> None:
    _point(command, "the last batch that is left", required=True)
    command.add_argument(
        "--stopped",
        action="store_true",
        help="the query is stopped, although its last batch is younger than a minute or not "
        "committed",
    )
    _dry_run(command)


def _sql(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "query",
        metavar="QUERY",
        nargs="?",
        help="in DuckDB's SQL; without one, the tables that there are are listed",
    )
    _version(command)
    command.add_argument(
        "--from",
        dest="since",
        type=int,
        metavar="N",
        help="the version from which changes and differences are (default: one before)",
    )
    command.add_argument(
        "--operator",
        type=int,
        default=0,
        metavar="N",
        help="whose tables have the short names (default: 0)",
    )
    command.add_argument(
        "--decode",
        metavar="TYPE",
        help="states of bucketstate.stateful as MODULE:CLASS, or as a DDL text",
    )
    command.add_argument("--csv", action="store_true", help="CSV with a header, for programs")
    _limit(command, "--json or --csv")


def _point(command: argparse.ArgumentParser, batch: str, *, required: bool = False) -> None:
    which = command.add_mutually_exclusive_group(required=required)
    which.add_argument("--batch", type=int, metavar="N", help=batch)
    which.add_argument(
        "--savepoint", metavar="NAME", help="the batch that this savepoint holds, in its place"
    )


def _dry_run(command: argparse.ArgumentParser) -> None:
    command.add_argument("--dry-run", action="store_true", help="change nothing, say what would be")


def _grafana(command: argparse.ArgumentParser) -> None:
    which = command.add_mutually_exclusive_group()
    which.add_argument(
        "--alerts", action="store_true", help="alert rules for Prometheus in place of the dashboard"
    )
    which.add_argument(
        "--scrape",
        action="append",
        metavar="HOST:PORT",
        help="what Prometheus is told in place of the dashboard: the web UI of a driver, such as "
        "driver:4040. Can be given again.",
    )


def _version(command: argparse.ArgumentParser) -> None:
    which = command.add_mutually_exclusive_group()
    which.add_argument("--version", type=int, metavar="N", help="default: what a restart reads")
    which.add_argument(
        "--batch", type=int, metavar="N", help="what batch N made, which is version N + 1"
    )


def _part(command: argparse.ArgumentParser) -> argparse._MutuallyExclusiveGroup:
    command.add_argument("--operator", type=int, default=0, metavar="N", help="default: 0")
    command.add_argument("--partition", type=int, metavar="N", help="default: all of them")
    command.add_argument("--store", default="default", help="for stream-stream joins")
    which = command.add_mutually_exclusive_group()
    which.add_argument("--state-var", metavar="NAME", help="a state variable (transformWithState)")
    which.add_argument("--column-family", metavar="NAME", help="for operators with several")
    return which


def _key(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--key",
        metavar="KEY",
        help="this key alone, looked up: the value of its column, or JSON of its columns",
    )
    command.add_argument("--user-key", metavar="KEY", help="with --key, this key of a map variable")
    command.add_argument(
        "--history",
        action="store_true",
        help="with --key, its value at every version that can still be read",
    )


def _timers(
    which: argparse._MutuallyExclusiveGroup,
) -> argparse._MutuallyExclusiveGroup:
    which.add_argument("--timers", action="store_true", help="the timers of a transformWithState")
    return which


def _decode(which: argparse._MutuallyExclusiveGroup) -> None:
    which.add_argument(
        "--decode",
        metavar="TYPE",
        help="states of bucketstate.stateful as MODULE:CLASS, or as a DDL text",
    )


def _flatten(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--no-flatten",
        dest="flatten",
        action="store_false",
        help="a row for each list or map of a state variable, not for each of its elements",
    )


def _narrowed(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--where",
        metavar="CONDITIONS",
        help="rows of which these hold, such as \"key.user = 'ann' and value.count >= 5\"",
    )
    command.add_argument(
        "--columns", metavar="NAMES", help="these columns alone, such as key.user,value.count"
    )


def _times(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--times", action="store_true", help="add when a value, a timer or a key expires"
    )


def _limit(command: argparse.ArgumentParser, programs: str = "--json") -> None:
    command.add_argument(
        "--limit",
        type=_rows,
        metavar="N",
        help=f"rows to print at most, 0 for all of them (default: 20; with {programs} all)",
    )


def _version_of_spark(text: str) -> str:
    if not re.match(r"[0-9]+\.[0-9]+", text):
        raise argparse.ArgumentTypeError(f"'{text}' is no version of Spark, such as 4.2")
    return text


def _rows(text: str) -> int:
    if not text.isascii() or not text.isdecimal():
        raise argparse.ArgumentTypeError(
            f"'{text}' is no number of rows: give 0 for all of them, or how many at most"
        )
    return int(text)
