"""Says what is wrong with the files of `dist/` before anybody downloads them.

What a stranger meets is looked at: each file is there under its name and checksum, and no other;
each archive has the licence, and nothing of tests or of this checkout; a build tool that reads a
POM gets nothing but the Scala library; the API documentation has pages.
"""

from __future__ import annotations

import hashlib
import sys
import tarfile
import zipfile
from pathlib import Path
from xml.etree import ElementTree

LICENSE = "META-INF/LICENSE"
PROVIDER = "io/bucketstate/BucketedStateStoreProvider"
_POM = "{http://maven.apache.org/POM/4.0.0}"
# Built or kept beside sources, never a part of them.
_DEBRIS = ("__pycache__", ".pyc", ".orig", ".rej", ".DS_Store", ".semanticdb", "Suite", ".tasty")


def wrong_in(dist: Path, version: str, sparks: list[str], license_text: bytes) -> list[str]:
    """One sentence for each thing that is wrong, in the order of the files."""
    names = _names(version, sparks)
    there = {path.name for path in dist.iterdir()}
    found = [f"{name} is missing" for name in sorted(names - there)]
    found += [f"{name} is nothing that is released" for name in sorted(there - names)]
    if found:
        return found
    found += _checksums(dist, names)
    for name in sorted(names):
        if name.endswith((".jar", ".whl", ".tar.gz")):
            found += [f"{name}: {what}" for what in _archive(dist / name, license_text)]
        if name.endswith(".pom"):
            found += [f"{name}: {what}" for what in _pom(dist / name, version)]
        if name.endswith((".whl", ".tar.gz")):
            found += [f"{name}: {what}" for what in _carried(dist, name, version, sparks)]
    return found


def _carried(dist: Path, name: str, version: str, sparks: list[str]) -> list[str]:
    members = {path.split("/")[-1]: text for path, text in _members(dist / name).items()}
    jars = [f"bucketstate-spark-{spark}_2.13-{version}.jar" for spark in sparks]
    there = sorted(member for member in members if member.endswith(".jar"))
    found = [] if there == sorted(jars) else [f"its jars are {', '.join(there) or 'none'}"]
    other = [jar for jar in jars if jar in there and members[jar] != (dist / jar).read_bytes()]
    return found + [f"its {jar} is another than the one beside it" for jar in other]


def _names(version: str, sparks: list[str]) -> set[str]:
    kinds = (".jar", "-sources.jar", "-javadoc.jar", ".pom")
    artifacts = [f"bucketstate-spark-{spark}_2.13-{version}" for spark in sparks]
    of_python = {f"bucketstate-{version}.tar.gz", f"bucketstate-{version}-py3-none-any.whl"}
    return {a + kind for a in artifacts for kind in kinds} | of_python | {"SHA256SUMS"}


def _checksums(dist: Path, names: set[str]) -> list[str]:
    lines = (dist / "SHA256SUMS").read_text(encoding="utf-8").splitlines()
    said = {name: digest for digest, name in (line.split("  ", 1) for line in lines)}
    right = {
        name: hashlib.sha256((dist / name).read_bytes()).hexdigest()
        for name in names - {"SHA256SUMS"}
    }
    wrong = sorted(name for name in said.keys() | right.keys() if said.get(name) != right.get(name))
    return [f"SHA256SUMS is wrong about {name}" for name in wrong]


def _members(path: Path) -> dict[str, bytes]:
    if path.name.endswith(".tar.gz"):
        with tarfile.open(path) as tar:
            taken = {m.name: tar.extractfile(m) for m in tar.getmembers() if m.isfile()}
            return {name: file.read() for name, file in taken.items() if file is not None}
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist() if not name.endswith("/")}


def _archive(path: Path, license_text: bytes) -> list[str]:
    members = _members(path)
    licenses = [text for name, text in members.items() if name.split("/")[-1] == "LICENSE"]
    found = [] if licenses == [license_text] else ["it has not the licence, once"]
    debris = [n for n in members if any(d in n for d in _DEBRIS)]
    found += [f"it has {name}, which is for nobody" for name in sorted(debris)]
    if path.name.endswith("-sources.jar"):
        found += _needs(members, f"{PROVIDER}.scala")
    elif path.name.endswith("-javadoc.jar"):
        found += _needs(members, "index.html", f"{PROVIDER}.html")
    elif path.suffix == ".jar":
        found += _needs(members, f"{PROVIDER}.class")
        if b"Main-Class" in members.get("META-INF/MANIFEST.MF", b""):
            found.append("it says that it can be run by itself")
        found += [f"it has {n} of another project" for n in sorted(members) if _foreign(n)]
    here = str(Path.cwd()).encode()
    found += [f"{name} names a folder of this machine" for name, b in members.items() if here in b]
    return found


def _foreign(name: str) -> bool:
    """What is below Spark's package is there because Spark lets no others in, and is ours."""
    return name.endswith(".class") and not name.startswith(("io/bucketstate/", "org/apache/spark/"))


def _needs(members: dict[str, bytes], *names: str) -> list[str]:
    return [f"it has no {name}" for name in names if not members.get(name)]


def _pom(path: Path, version: str) -> list[str]:
    root = ElementTree.parse(path).getroot()

    def said(of: ElementTree.Element, *path: str) -> str:
        return (of.findtext("/".join(_POM + step for step in path)) or "").strip()

    coordinates = [said(root, step) for step in ("groupId", "artifactId", "version")]
    expected = ["io.bucketstate", path.name.removesuffix(f"-{version}.pom"), version]
    found = [] if coordinates == expected else [f"its coordinates are {':'.join(coordinates)}"]
    for step in (("name",), ("description",), ("licenses", "license", "name")):
        found += [] if said(root, *step) else [f"it has no {'/'.join(step)}"]
    brought = {}
    for dependency in root.iter(f"{_POM}dependency"):
        artifact = said(dependency, "artifactId")
        brought[artifact] = said(dependency, "scope") or "compile"
    found += [
        f"it brings {artifact} along"
        for artifact, scope in sorted(brought.items())
        if scope == "compile" and artifact != "scala-library"
    ]
    if brought.get("spark-sql_2.13") != "provided":
        found.append("it does not say that Spark is there already")
    return found


def main(dist: Path, version: str, sparks: list[str], license_file: Path) -> int:
    """Prints what is wrong, and is 1 then."""
    found = wrong_in(dist, version, sparks, license_file.read_bytes())
    for sentence in found:
        print(sentence, file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    _, folder, of, *minors = sys.argv
    sys.exit(main(Path(folder), of, minors, Path("LICENSE")))
