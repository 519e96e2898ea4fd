"""File systems of tests: far ones, full ones, and those that do not answer."""
