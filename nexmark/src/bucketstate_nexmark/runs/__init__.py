"""Runs of queries on state stores: one in a process, and many in turns."""
