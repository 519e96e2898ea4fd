"""What Spark lays down: its logs and schemas, and its rows as columns."""
