"""What is right: the answer of each query as SQL of DuckDB, and a comparison with a stream's."""
