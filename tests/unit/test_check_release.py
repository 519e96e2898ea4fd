"""What is released is looked at before: whatever a stranger would stumble over has a sentence."""

from __future__ import annotations

import hashlib
import io
import tarfile
import zipfile
from pathlib import Path

import pytest

from scripts.check_release import wrong_in

ROOM = "io/bucketstate/BucketedStateStoreProvider"
LICENSE = {"META-INF/LICENSE": b"a licence"}
JAR = "bucketstate-spark-4.2_2.13-1.0"
POM = """<project xmlns="http://maven.apache.org/POM/4.0.0">
  <groupId>io.bucketstate</groupId><artifactId>bucketstate-spark-4.2_2.13</artifactId>
  <version>1.0</version><name>bucketstate</name><description>a state store</description>
  <licenses><license><name>Apache-2.0</name></license></licenses>
  <dependencies>
    <dependency><artifactId>scala-library</artifactId></dependency>
    <dependency><artifactId>spark-sql_2.13</artifactId><scope>provided</scope></dependency>
  </dependencies>
</project>"""


def zipped(path: Path, members: dict[str, bytes]) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)


def wheel(dist: Path, members: dict[str, bytes]) -> None:
    info = {"bucketstate-1.0.dist-info/licenses/LICENSE": b"a licence"}
    zipped(dist / "bucketstate-1.0-py3-none-any.whl", info | members)


def summed(dist: Path) -> None:
    files = sorted(path for path in dist.iterdir() if path.name != "SHA256SUMS")
    lines = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in files]
    (dist / "SHA256SUMS").write_text("".join(lines), encoding="utf-8")


@pytest.fixture
def dist(tmp_path: Path) -> Path:
    """A release for one Spark in which nothing is wrong."""
    zipped(tmp_path / f"{JAR}.jar", LICENSE | {f"{ROOM}.class": b"class"})
    zipped(tmp_path / f"{JAR}-sources.jar", LICENSE | {f"{ROOM}.scala": b"class"})
    zipped(tmp_path / f"{JAR}-javadoc.jar", LICENSE | {"index.html": b"p", f"{ROOM}.html": b"p"})
    (tmp_path / f"{JAR}.pom").write_text(POM, encoding="utf-8")
    jar = (tmp_path / f"{JAR}.jar").read_bytes()
    wheel(tmp_path, {f"bucketstate/jars/{JAR}.jar": jar})
    with tarfile.open(tmp_path / "bucketstate-1.0.tar.gz", "w:gz") as sdist:
        for name, content in {"LICENSE": b"a licence", f"src/jars/{JAR}.jar": jar}.items():
            member = tarfile.TarInfo(f"bucketstate-1.0/{name}")
            member.size = len(content)
            sdist.addfile(member, io.BytesIO(content))
    summed(tmp_path)
    return tmp_path


def wrong(dist: Path) -> list[str]:
    return wrong_in(dist, "1.0", ["4.2"], b"a licence")


def test_a_release_that_is_whole(dist: Path) -> None:
    assert wrong(dist) == []


def test_a_file_too_few_or_too_many(dist: Path) -> None:
    (dist / f"{JAR}-sources.jar").rename(dist / f"{JAR}-tests.jar")
    assert wrong(dist) == [
        f"{JAR}-sources.jar is missing",
        f"{JAR}-tests.jar is nothing that is released",
    ]


def test_a_file_that_is_not_the_one_of_its_checksum(dist: Path) -> None:
    (dist / f"{JAR}.pom").write_text(POM + "\n", encoding="utf-8")
    assert wrong(dist) == [f"SHA256SUMS is wrong about {JAR}.pom"]


@pytest.mark.parametrize(
    ("name", "members", "said"),
    [
        ("", {f"{ROOM}.class": b"class"}, "it has not the licence, once"),
        ("", LICENSE, f"it has no {ROOM}.class"),
        ("", LICENSE | {f"{ROOM}.class": b""}, f"it has no {ROOM}.class"),
        (
            "",
            LICENSE | {f"{ROOM}.class": b"c", "com/other/Class.class": b"c"},
            "it has com/other/Class.class of another project",
        ),
        (
            "",
            LICENSE | {f"{ROOM}.class": b"c", "io/bucketstate/RunSuite.class": b"c"},
            "it has io/bucketstate/RunSuite.class, which is for nobody",
        ),
        (
            "",
            LICENSE | {f"{ROOM}.class": str(Path.cwd()).encode()},
            f"{ROOM}.class names a folder of this machine",
        ),
        (
            "",
            LICENSE | {f"{ROOM}.class": b"c", "META-INF/MANIFEST.MF": b"Main-Class: Tool"},
            "it says that it can be run by itself",
        ),
        ("-sources", LICENSE, f"it has no {ROOM}.scala"),
        ("-javadoc", LICENSE | {"index.html": b"p"}, f"it has no {ROOM}.html"),
    ],
)
def test_an_archive(dist: Path, name: str, members: dict[str, bytes], said: str) -> None:
    zipped(dist / f"{JAR}{name}.jar", members)
    if not name:
        wheel(dist, {f"bucketstate/jars/{JAR}.jar": (dist / f"{JAR}.jar").read_bytes()})
    summed(dist)
    assert f"{JAR}{name}.jar: {said}" in wrong(dist)


@pytest.mark.parametrize(
    ("jars", "said"),
    [
        ({}, "its jars are none"),
        (
            {f"bucketstate/jars/{JAR}.jar": b"of yesterday"},
            f"its {JAR}.jar is another than the one beside it",
        ),
    ],
)
def test_the_jars_of_a_wheel(dist: Path, jars: dict[str, bytes], said: str) -> None:
    wheel(dist, jars)
    summed(dist)
    assert wrong(dist) == [f"bucketstate-1.0-py3-none-any.whl: {said}"]


@pytest.mark.parametrize(
    ("text", "instead", "said"),
    [
        ("<version>1.0", "<version>1.1", "bucketstate-spark-4.2_2.13:1.1"),
        ("<description>a state store</description>", "", "it has no description"),
        ("Apache-2.0", "", "it has no licenses/license/name"),
        ("provided", "runtime", "it does not say that Spark is there already"),
        ("scala-library", "guava", "it brings guava along"),
    ],
)
def test_a_pom(dist: Path, text: str, instead: str, said: str) -> None:
    (dist / f"{JAR}.pom").write_text(POM.replace(text, instead), encoding="utf-8")
    summed(dist)
    (found,) = wrong(dist)
    assert found.startswith(f"{JAR}.pom: ")
    assert found.endswith(said)
