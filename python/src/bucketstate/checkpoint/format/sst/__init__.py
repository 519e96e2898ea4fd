"""Data files of runs without RocksDB: its block-based tables, a key or all entries at a time."""
