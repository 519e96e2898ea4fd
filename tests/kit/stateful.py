"""The smallest state and output that a stateful function can have."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass
class Total:
    n: int = 0


@dataclass
class Out:
    key: str
    n: int
