"""What people are told of what they asked for."""

from __future__ import annotations


class UsageError(Exception):
    """An option that cannot be: names it, what was expected, and what there is."""
