"""What state is exported as: known without the libraries that write it."""

FORMATS = ("arrow", "csv", "jsonl", "parquet")
STANDARD_OUTPUT = "-"
OF_STANDARD_OUTPUT = "jsonl"
"""What standard output gets where no format is given."""
