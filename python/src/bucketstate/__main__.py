"""The program `bucketstate`, as a shell starts it."""

# What `signal` stands on: that one takes a moment to import, in which Ctrl-C would be an exception.
import _signal  # type: ignore[import-not-found]
import sys

if _signal.getsignal(_signal.SIGINT) is _signal.default_int_handler:
    # Unless who started the program wants it ignored.
    _signal.signal(_signal.SIGINT, _signal.SIG_DFL)


def main() -> int:
    """Runs the command that the program's arguments name; its exit code."""
    from bucketstate import __version__, interrupts

    if sys.argv[1:] == ["--version"]:
        # Scripts ask for it, and need not wait for the commands.
        print(f"bucketstate {__version__}")
        return 0
    from bucketstate.cli import main as command

    code = command(alone=True)
    if code == interrupts.CODE:
        interrupts.end()
    return code


if __name__ == "__main__":
    raise SystemExit(main())
