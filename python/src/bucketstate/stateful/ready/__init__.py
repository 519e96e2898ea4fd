"""Ready-made functions over columns: aggregates, windows, sessions, and rows that pass or not."""
