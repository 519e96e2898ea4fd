"""What the doctor says."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Advice:
    """One thing that is slow or at risk. Immutable."""

    about: str
    """Which query and operator, or which part of a checkpoint."""

    what: str
    """What is slow or at risk."""

    figures: tuple[tuple[str, float], ...]
    """The figures that led to it, by the names of Spark's fields and the provider's metrics."""

    help: str
    """What to do about it."""

    settings: tuple[str, ...] = ()
    """Keys of settings that help."""

    @property
    def figures_text(self) -> str:
        """The figures in one line, for people."""
        return ", ".join(f"{name} {_figure(value)}" for name, value in self.figures)


@dataclass(frozen=True)
class Diagnosis:
    """All that was found. Immutable."""

    advice: tuple[Advice, ...]
    """What is slow or at risk, by query and operator."""

    notes: tuple[str, ...]
    """What could not be looked at, and why."""


def _figure(number: float) -> str:
    """The plugin's page writes figures in the same way: `Shown.figure` in Scala."""
    whole = number == round(number) and abs(number) < 1e15
    return f"{number:,.0f}" if whole else f"{number:,.2f}"
