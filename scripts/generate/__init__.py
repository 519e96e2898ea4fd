"""Writes what repeats the registry of settings and metrics: `make generate`."""
