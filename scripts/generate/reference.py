"""The page of the configuration: settings, presets and metrics."""

from __future__ import annotations

from bucketstate.config import (
    EXTENSION_CLASS,
    EXTENSIONS_KEY,
    PLUGIN_CLASS,
    PLUGINS_KEY,
    PROVIDER_CLASS,
    PROVIDER_KEY,
)
from bucketstate.presets import PRESETS, Preset
from bucketstate.registry import Registry, Setting
from scripts.generate.markdown import default, row


def page(registry: Registry) -> str:
    """The whole page, in Markdown."""
    parts = [_head(registry), "## Settings\n"]
    parts += [_setting(s) for s in registry.settings]
    parts += [
        "## The plugin\n\nThese are of the application, not of a session or a query: they are read "
        "once, when Spark starts, and are given where `spark.plugins` is.\n"
    ]
    parts += [_of_plugin(s) for s in registry.plugin]
    parts += [
        "## Presets\n\n`bucketstate conf --preset <name>` prints them, and in Python "
        '`Conf.preset("<name>")` is them; both take other settings besides, which win. What is not '
        "listed stays as it is.\n"
    ]
    parts += [_preset(p) for p in PRESETS.values()]
    parts += [
        "## Metrics\n\nIn each progress, below `stateOperators[].customMetrics`, added up over the "
        "partitions. A counter is what a batch did, and adds up over batches; a gauge is how "
        "things stand, of which the last value counts, or the highest. The kind is Spark's: a "
        "number of things (sum), bytes (size) or milliseconds (timing).\n"
    ]
    metrics = (
        row(f"`{m.name}`", m.type, m.kind, m.doc, f"`{m.prometheus}`") for m in registry.metrics
    )
    head = row("metric", "type", "kind", "meaning", "for [Prometheus](operations.md)")
    parts += ["".join([head, "|---|---|---|---|---|\n", *metrics])]
    return "\n".join(parts)


def _head(registry: Registry) -> str:
    return f"""# Configuration

<!-- Made by `make generate` from the Scala registry: edits here are lost. -->

To set something, give it to `spark-submit`, or to `configure` in Python:

```sh
spark-submit $(bucketstate conf --num-buckets 128 --format flags) app.py
```

```python
spark = configure(SparkSession.builder, Conf(num_buckets=128)).getOrCreate()
```

Both also turn the provider on ([Turning it on](turning-it-on.md)). `bucketstate conf --help` has an
option for each setting, and [the glossary](architecture.md#words) has the words of this page.

`{PLUGINS_KEY}={PLUGIN_CLASS}`, given before Spark starts, turns everything on: the provider,
the session extension and [metrics](operations.md). Without the plugin,
`{PROVIDER_KEY}={PROVIDER_CLASS}` turns the provider on, and
`{EXTENSIONS_KEY}={EXTENSION_CLASS}`, given before a session is made,
lets `transformWithState` and its forms for pandas use it.
Its own settings are below `{registry.prefix}`; in Python they are the
fields of `bucketstate.Conf`, of which those count that are given: the others stay as the session
has them. A value that cannot work is refused with the key, the value and what is allowed, and an
unknown key with its nearest neighbour.

All queries of a session have the same settings. Those that can be given for one query have more
keys: of the following, the first that is set counts. In Python, `Conf.for_query` makes them.

| key | for |
|---|---|
| `<key>.query.<name>.operator.<number>` | a stateful operator, from 0, of the query of that name |
| `<key>.query.<name>` | that query |
| `<key>.operator.<number>` | that operator of every query |
| `<key>` | all |
"""


def _setting(setting: Setting) -> str:
    rows = [
        *(row("key", f"`{key}`") for key in setting.shown),
        row("in Python", f"`Conf({setting.field}=...)`"),
        row("default", default(setting)),
        row("allowed", setting.kind.allowed),
    ]
    if setting.per_query:
        rows.append(row("for one query", f'`Conf().for_query("name", {setting.field}=...)`'))
    return f"### `{setting.name}`\n\n{setting.doc}\n\n| | |\n|---|---|\n" + "".join(rows)


def _of_plugin(setting: Setting) -> str:
    rows = [
        row("key", f"`{setting.key}`"),
        row("default", default(setting)),
        row("allowed", setting.kind.allowed),
    ]
    return f"### `{setting.name}`\n\n{setting.doc}\n\n| | |\n|---|---|\n" + "".join(rows)


def _preset(preset: Preset) -> str:
    rows = (row(f"`{c.key}`", f"`{c.value}`", c.why) for c in preset.choices)
    head = row("key", "value", "why") + "|---|---|---|\n"
    return f"### {preset.name}\n\n{preset.purpose}\n\n{head}" + "".join(rows)
