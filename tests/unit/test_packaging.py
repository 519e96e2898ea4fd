"""What is built of the Python package: with the provider's jars, or not at all."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from email import message_from_bytes
from email.message import Message
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
VERSION = (ROOT / "VERSION").read_text(encoding="utf-8").strip()
_MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
SPARKS = re.findall(r"^SPARKS := (.+)$", _MAKEFILE, re.MULTILINE)[0].split()
LICENCE = (ROOT / "LICENSE").read_bytes()


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """The Python project as it is in a checkout in which no jar was built."""
    made = tmp_path / "project"
    ignored = shutil.ignore_patterns("*.jar", "__pycache__", "bench")
    shutil.copytree(ROOT / "python", made, ignore=ignored)
    return made


def with_jars(project: Path, sparks: list[str]) -> None:
    folder = project / "src" / "bucketstate" / "jars"
    folder.mkdir(exist_ok=True)
    for spark in sparks:
        (folder / f"bucketstate-spark-{spark}_2.13-{VERSION}.jar").write_bytes(b"a jar")


def build(project: Path, target: str, *, fails: bool = False) -> str:
    command = [sys.executable, "-m", "hatchling", "build", "-t", target, "-d", "built"]
    run = subprocess.run(command, cwd=project, capture_output=True, text=True, check=False)
    assert (run.returncode != 0) == fails, run.stdout + run.stderr
    return run.stderr


@pytest.mark.parametrize("target", ["wheel", "sdist"])
def test_nothing_is_built_without_every_jar(project: Path, target: str) -> None:
    said = build(project, target, fails=True)
    assert f"No jar for Spark {', '.join(SPARKS)}: " in said
    assert "`make package`" in said
    with_jars(project, SPARKS[:-1])
    assert f"No jar for Spark {SPARKS[-1]}: " in build(project, target, fails=True)
    assert not list(project.glob("built/*"))


def test_metadata_are_read_before_there_are_jars(project: Path, tmp_path: Path) -> None:
    """As by uv and build. To pip hatchling does not offer it: pip builds the wheel for them."""
    call = "build.prepare_metadata_for_build_wheel(sys.argv[1])"
    code = f"import sys; from hatchling import build; {call}"
    environment = {name: text for name, text in os.environ.items() if name != "PIP_BUILD_TRACKER"}
    command = [sys.executable, "-c", code, str(tmp_path)]
    subprocess.run(command, cwd=project, env=environment, check=True)
    text = (tmp_path / f"bucketstate-{VERSION}.dist-info/METADATA").read_bytes()
    assert required(message_from_bytes(text)) == {"numpy", "pandas", "pyarrow"}


def test_an_editable_install_comes_before_its_jars(project: Path) -> None:
    build(project, "wheel:editable")
    assert list(project.glob("built/*.whl"))


def test_no_jar_is_handed_out_of_an_archive(tmp_path: Path) -> None:
    """As a wheel is used that `spark-submit --py-files` names."""
    archive = tmp_path / "bucketstate.zip"
    package = ROOT / "python" / "src" / "bucketstate"
    with zipfile.ZipFile(archive, "w") as made:
        for file in package.rglob("*"):
            if file.suffix in (".py", ".json"):
                made.write(file, Path("bucketstate", file.relative_to(package)))
    run = subprocess.run(
        [sys.executable, "-c", "import bucketstate; bucketstate.jar_path('4.3')"],
        env={**os.environ, "PYTHONPATH": str(archive)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    expected = f"JarNotFoundError: The package is inside an archive ({archive}/bucketstate/jars)"
    assert run.returncode == 1
    assert expected in run.stderr


def test_a_wheel_from_an_sdist_is_whole(project: Path, tmp_path: Path) -> None:
    with_jars(project, SPARKS)
    build(project, "sdist")
    with tarfile.open(project / "built" / f"bucketstate-{VERSION}.tar.gz") as sdist:
        sdist.extractall(tmp_path, filter="data")
    unpacked = tmp_path / f"bucketstate-{VERSION}"
    assert (unpacked / "LICENSE").read_bytes() == LICENCE
    build(unpacked, "wheel")
    with zipfile.ZipFile(next(unpacked.glob("built/*.whl"))) as wheel:
        names = {Path(name).name for name in wheel.namelist() if name.endswith(".jar")}
        assert names == {f"bucketstate-spark-{s}_2.13-{VERSION}.jar" for s in SPARKS}
        info = f"bucketstate-{VERSION}.dist-info"
        assert wheel.read(f"{info}/licenses/LICENSE") == LICENCE
        metadata = message_from_bytes(wheel.read(f"{info}/METADATA"))
    assert required(metadata) == {"numpy", "pandas", "pyarrow"}
    assert required(metadata, "checkpoint") == {"google-crc32c", "rocksdict", "xxhash"}
    # Without Spark pandas 3 will do; with it, it will not.
    assert required(metadata, "spark") == {"pandas", "pyspark"}
    assert {"pandas<4,>=2.2", "pandas<3; extra == 'spark'"} <= {
        *metadata.get_all("Requires-Dist", [])
    }
    # Nothing brings Spark but what runs queries. An extra that takes another in has all of it here.
    of_commands = {"google-crc32c", "plotly", "rich", "rocksdict", "shtab", "xxhash"}
    assert required(metadata, "cli") == of_commands
    extras = metadata.get_all("Provides-Extra", [])
    assert {extra for extra in extras if "pyspark" in required(metadata, extra)} == {
        "demo",
        "dev",
        "spark",
        "tws",
    }


def required(metadata: Message, extra: str | None = None) -> set[str]:
    """What the package requires, or one of its extras besides."""
    found = [r.partition(";") for r in metadata.get_all("Requires-Dist", [])]
    suffix = f"extra == '{extra}'" if extra else ""
    return {re.split(r"[<>=!]", r)[0].strip() for r, _, of in found if of.strip() == suffix}
