"""Queries on a cluster whose processes die: `make chaos`."""
