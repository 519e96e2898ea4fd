"""What is said in two places is the same in both."""

from __future__ import annotations

import ast
import dataclasses
import re
import tomllib
from pathlib import Path

import pyspark
import pytest

import bucketstate
from bucketstate import Conf
from bucketstate.config import PROVIDER_KEY
from bucketstate.kinds import Memory
from bucketstate.presets import PRESETS
from bucketstate.registry import registry
from bucketstate.settings import Settings
from scripts.generate.outputs import outputs

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
GENERATED = outputs(ROOT)
VERSION = (ROOT / "VERSION").read_text(encoding="utf-8").strip()


@pytest.mark.parametrize("path", GENERATED, ids=lambda path: path.name)
def test_what_is_generated_is_what_is_there(path: Path) -> None:
    """If not: `make generate`."""
    assert path.read_text(encoding="utf-8") == GENERATED[path]


def test_conf_has_the_registry_s_names() -> None:
    assert issubclass(Conf, Settings)
    assert [f.name for f in dataclasses.fields(Settings)] == [s.field for s in registry().settings]


def test_what_a_part_of_the_heap_may_be_is_said_as_scala_says_it() -> None:
    """`settings.json` has no bounds of it: both languages parse it by rules of their own."""
    config = ROOT / "scala" / "src" / "main" / "scala" / "io" / "bucketstate" / "config"
    assert f'"{Memory().allowed}"' in (config / "ConfigKey.scala").read_text(encoding="utf-8")


def test_the_preset_for_spark_submit_is_the_default_conf() -> None:
    text = (ROOT / "conf" / "spark-defaults.conf").read_text(encoding="utf-8")
    lines = [line.split(None, 1) for line in text.splitlines() if line and line[0] != "#"]
    assert {key: value.strip() for key, value in lines} == {
        "spark.plugins": bucketstate.PLUGIN_CLASS,
        # The plugin names the provider.
        **{k: v for k, v in Conf.defaults().to_spark().items() if k != PROVIDER_KEY},
    }


def test_the_package_has_the_licence() -> None:
    licence = (ROOT / "LICENSE").read_text(encoding="utf-8")
    assert (ROOT / "python" / "LICENSE").read_text(encoding="utf-8") == licence


def test_the_version_is_the_same_everywhere() -> None:
    project = tomllib.loads((ROOT / "python" / "pyproject.toml").read_text(encoding="utf-8"))
    assert project["project"]["dynamic"] == ["version"]
    assert bucketstate.__version__ == VERSION
    minor = ".".join(pyspark.__version__.split(".")[:2])
    assert bucketstate.jar_path().name == f"bucketstate-spark-{minor}_2.13-{VERSION}.jar"
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert re.search(rf"^## \[{re.escape(VERSION)}\]", changes, re.MULTILINE)


def test_every_make_target_that_is_named_exists_and_has_its_line_in_help() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z0-9-]+):.*##", makefile, re.MULTILINE))
    contributing = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    ci = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    named = set()
    for command in re.findall(
        r"\bmake ([a-z][a-z0-9 -]*)", "\n".join([code(README), code(contributing), ci])
    ):
        named |= set(command.split())
    assert {"demo", "test"} <= named
    assert named <= targets


def test_the_recipe_of_a_record_kind_names_all_files_that_tell_kinds_apart() -> None:
    """If not: ask `RecordOp` what there is to know of a kind, or add the file to the recipe."""
    contributing = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    recipe = contributing.split("**A record kind**")[1].split("**An engine**")[0]
    telling = re.compile(r"RecordOp\.(?:Put|Remove|Merge)\b|\bisMerge\b")
    files = {
        path.stem
        for path in (ROOT / "scala" / "src" / "main").rglob("*.scala")
        if telling.search(path.read_text(encoding="utf-8"))
    }
    assert {"FamilyTable", "MergeStack"} <= files
    assert {name for name in files if not re.search(rf"\b{name}\b", recipe)} == set()


def test_the_readme_is_short_enough_to_be_a_map() -> None:
    """What does not fit belongs on a page below `docs`."""
    assert len(README.split()) <= 1500


def test_the_readme_s_settings_and_plugin_class_are_real() -> None:
    known = {s.key for s in registry().settings}
    named = set(re.findall(re.escape(registry().prefix) + r"\w[\w.]*", README))
    assert named <= known
    assert bucketstate.PLUGIN_CLASS in README


def test_the_readme_s_python_runs_as_far_as_it_parses() -> None:
    blocks = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    assert blocks
    for block in blocks:
        for node in ast.walk(ast.parse(block)):
            if isinstance(node, ast.ImportFrom) and node.module == "bucketstate":
                assert {alias.name for alias in node.names} <= set(bucketstate.__all__)


def code(markdown: str) -> str:
    return "\n".join(re.findall(r"```sh\n(.*?)```", markdown, re.DOTALL) + inline(markdown))


def inline(markdown: str) -> list[str]:
    return re.findall(r"`([^`\n]+)`", markdown)


def test_presets_set_what_the_registry_knows_to_something_else_than_the_default() -> None:
    defaults = Conf.defaults().to_spark()
    for preset in PRESETS.values():
        ours = {k: v for k, v in preset.to_spark().items() if k.startswith(registry().prefix)}
        assert Conf.from_spark(ours).to_spark().items() >= ours.items()
        assert not ours.items() & defaults.items()


def test_every_page_is_in_the_site() -> None:
    site = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    named = set(re.findall(r"- ([\w./-]+\.md)$", site, re.MULTILINE))
    docs = ROOT / "docs"
    assert {path.relative_to(docs).as_posix() for path in docs.rglob("*.md")} == named
