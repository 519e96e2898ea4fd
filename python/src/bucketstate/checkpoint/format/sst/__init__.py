"""Data files of runs: how their tables are read, a key or all entries at a time."""
