"""The page of the configuration, from the registry: `python -m bucketstate.reference` prints it."""

from __future__ import annotations

from bucketstate.config import PROVIDER_CLASS, PROVIDER_KEY
from bucketstate.presets import PRESETS, Preset
from bucketstate.registry import Metric, Setting, registry

_HEAD = f"""# Configuration

<!-- Made by `make generate` from the Scala registry of settings and metrics. -->

`{PROVIDER_KEY}={PROVIDER_CLASS}` turns the provider on.
Its own settings are below `{registry().prefix}`; in Python they are the
fields of `bucketstate.Conf`. A value that cannot work is refused with the key, the value and what
is allowed, and an unknown key with its nearest neighbour.
"""


def page() -> str:
    """The whole page, in Markdown."""
    known = registry()
    parts = [_HEAD, "## Settings\n"]
    parts += [_setting(s) for s in known.settings]
    parts += [
        "## Presets\n\n`bucketstate conf --preset <name>` prints them. What is not listed keeps "
        "its default.\n"
    ]
    parts += [_preset(p) for p in PRESETS.values()]
    parts += ["## Metrics\n\nIn each progress, below `stateOperators[].customMetrics`.\n"]
    rows = "\n".join(_metric(m) for m in known.metrics)
    parts += [f"| metric | kind | meaning |\n|---|---|---|\n{rows}\n"]
    return "\n".join(parts)


def _setting(setting: Setting) -> str:
    default = setting.default
    default = str(default).lower() if isinstance(default, bool) else default
    return (
        f"### `{setting.name}`\n\n{setting.doc}\n\n"
        f"| | |\n|---|---|\n| key | `{setting.key}` |\n"
        f"| in Python | `Conf({setting.field}=...)` |\n"
        f"| default | `{default}` |\n| allowed | {setting.allowed} |\n"
    )


def _preset(preset: Preset) -> str:
    rows = "\n".join(f"| `{c.key}` | `{c.value}` | {c.why} |" for c in preset.choices)
    return (
        f"### {preset.name}\n\n{preset.purpose}\n\n| key | value | why |\n|---|---|---|\n{rows}\n"
    )


def _metric(metric: Metric) -> str:
    return f"| `{metric.name}` | {metric.kind} | {metric.doc} |"


if __name__ == "__main__":
    print(page(), end="")
