"""What is said on the command line: exit codes for scripts, and what state is exported as.

Known without the libraries that write it.
"""

EXIT_OK = 0
EXIT_FAILED = 1
"""The command could not do its work: a wrong path, a file system that fails."""
EXIT_MISUSE = 2
"""The command line itself (argparse)."""
EXIT_FOUND = 3
"""It did its work, and found what it looks for: damage, or with `--exit-code` a difference or some
advice."""


FORMATS = ("arrow", "csv", "jsonl", "parquet")
TABLES = ("delta", "iceberg")
"""What an export may be that is no file, but a table with commits."""
STANDARD_OUTPUT = "-"
OF_STANDARD_OUTPUT = "jsonl"
"""What standard output gets where no format is given."""
