"""The command `bucketstate`."""

import argparse
import json
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pyspark
import pytest

from bucketstate import (
    Conf,
    JarNotFoundError,
    __version__,
    jar_path,
    spark_settings,
)
from bucketstate.cli import main
from bucketstate.cli.parser import parser
from bucketstate.config import PLUGIN_CLASS, PLUGINS_KEY
from bucketstate.presets import PRESETS
from bucketstate.properties import parsed


def without_jar(conf: Conf) -> dict[str, str]:
    return {key: value for key, value in spark_settings(conf).items() if key != "spark.jars"}


def test_jar_prints_where_the_jar_is(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["jar"]) == 0
    assert capsys.readouterr().out.strip() == str(jar_path())


def test_conf_as_properties(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["conf", "--num-buckets", "128"]) == 0
    lines = dict(line.split("=", 1) for line in capsys.readouterr().out.splitlines())
    assert lines == spark_settings(Conf(num_buckets=128))
    assert lines["spark.jars"] == str(jar_path())
    assert lines["spark.plugins"] == PLUGIN_CLASS


def test_conf_as_flags_survives_a_shell(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["conf", "--no-jar", "--format", "flags"]) == 0
    words = shlex.split(capsys.readouterr().out)
    assert set(words[::2]) == {"--conf"}
    assert dict(word.split("=", 1) for word in words[1::2]) == without_jar(Conf())


def test_conf_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["conf", "--no-jar", "--format", "json", "--engine", "heap"]) == 0
    assert json.loads(capsys.readouterr().out) == without_jar(Conf(engine="heap"))


def test_conf_with_every_default(capsys: pytest.CaptureFixture[str]) -> None:
    given = ["conf", "--no-jar", "--format", "json", "--defaults"]
    assert main([*given, "--preset", "small-files", "--num-buckets", "8"]) == 0
    expected = {
        **Conf.defaults().to_spark(),
        **Conf.preset("small-files", num_buckets=8).to_spark(),
    }
    assert json.loads(capsys.readouterr().out) == {PLUGINS_KEY: PLUGIN_CLASS, **expected}


def test_jars_and_plugins_of_others_go_along(capsys: pytest.CaptureFixture[str]) -> None:
    others = ["--jars", "a.jar,b.jar", "--jars", "c.jar", "--plugins", "x.Y"]
    assert main(["conf", "--format", "json", *others]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["spark.jars"] == f"a.jar,b.jar,c.jar,{jar_path()}"
    assert found[PLUGINS_KEY] == f"{PLUGIN_CLASS},x.Y"


# Where a shell splits what a command printed, quotes are letters; eval reads them.
SHELLS = {
    "substituted": 'set -- $("$@"); printf "%s\\n" "$@"',
    "evaluated": 'eval "set -- $("$@")"; printf "%s\\n" "$@"',
}


@pytest.mark.parametrize("shell", SHELLS)
def test_flags_are_words_of_a_shell_whatever_the_folder(shell: str) -> None:
    given = ["--jars", "/some folder/it's.jar,plain.jar", "--memory-max-bytes", "40%"]
    command = [sys.executable, "-m", "bucketstate", "conf", "--format", "flags", *given]
    run = subprocess.run(
        ["bash", "-c", SHELLS[shell], "bash", *command], capture_output=True, text=True, check=True
    )
    words = run.stdout.splitlines()
    assert set(words[::2]) == {"--conf"}
    found = dict(word.split("=", 1) for word in words[1::2])
    first, *rest = found.pop("spark.jars").split(",")
    assert unquote(urlsplit(first).path) == "/some folder/it's.jar"
    assert rest == ["plain.jar", str(jar_path())]
    assert found == without_jar(Conf(memory_max_bytes="40%"))


def test_a_flag_that_a_shell_would_take_apart_is_refused(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    folder = str(tmp_path / "my folder")
    assert main(["conf", "--format", "flags", "--local-dir", folder]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert f"localDir is '{folder}', which a shell would take apart" in err
    assert main(["conf", "--local-dir", folder]) == 0
    assert parsed(capsys.readouterr().out) == spark_settings(Conf(local_dir=folder))


def test_a_setting_for_one_query_by_its_whole_key(capsys: pytest.CaptureFixture[str]) -> None:
    wanted = Conf(num_buckets=8).for_query("sessions", operator=1, time_bucket_expire_after="3d")
    (key,) = [k for k in wanted.to_spark() if ".query." in k]
    given = ["conf", "--no-jar", "--format", "json", "--num-buckets", "8", "--per-query"]
    assert main([*given, f"{key}=3d"]) == 0
    assert json.loads(capsys.readouterr().out) == without_jar(wanted)
    everywhere = key.partition(".query.")[0]
    for wrong, said in (
        (f"{everywhere}=3d", "for all of them there is --time-bucket-expire-after"),
        (key, "name the query or the operator behind the key"),
        ("num-buckets=3", "is not a setting of bucketstate"),
        (f"{key}=many", "it must be"),
    ):
        assert main([*given, wrong]) == 2
        assert said in capsys.readouterr().err


def test_a_presets_reason_stands_above_its_own_value_alone(
    capsys: pytest.CaptureFixture[str],
) -> None:
    choices = PRESETS["large-state"].choices
    (buckets,) = [c for c in choices if c.key.endswith(".numBuckets")]
    given = ["conf", "--no-jar", "--preset", "large-state"]
    assert main(given) == 0
    assert f"# {buckets.why}" in capsys.readouterr().out
    assert main([*given, "--num-buckets", "7"]) == 0
    text = capsys.readouterr().out
    assert f"# {buckets.why}" not in text
    assert sum(line.startswith("# ") for line in text.splitlines()) == len(choices) - 1


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["shw"], "bucketstate: error: .* \\(did you mean show\\?\\)\nSee bucketstate --help"),
        (
            ["show", "x", "--limt", "3"],
            "--limt 3 \\(did you mean --limit\\?\\)\nSee bucketstate show",
        ),
        (["conf", "--num-bucket", "3"], "\\(did you mean --num-buckets\\?\\)"),
        (["conf", "--format", "propertis"], "\\(did you mean properties\\?\\)"),
        (["savepoint", "creat", "x"], "\\(did you mean create\\?\\)"),
        (["show"], "the following arguments are required: CHECKPOINT"),
        (["jar", "--spark", ""], "'' is no version of Spark, such as 4.2"),
        (["diff", "x", "y"], "unrecognized arguments: y\nSee bucketstate diff --help"),
    ],
)
def test_what_is_misspelled_is_one_line_and_what_may_be_meant(
    words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stop:
        main(words)
    assert stop.value.code == 2
    err = capsys.readouterr().err
    assert re.search(said, err)
    assert len(err.splitlines()) == 2


def test_each_command_says_what_it_does_and_its_exit_codes(
    capsys: pytest.CaptureFixture[str],
) -> None:
    (choices,) = [a for a in parser()._actions if isinstance(a, argparse._SubParsersAction)]
    for name in choices.choices:
        with pytest.raises(SystemExit):
            main([name, "--help"])
        text = capsys.readouterr().out
        assert "Exit codes: 0 done" in text
        assert "One html" not in text
        about = text.split("\n\n")[1]
        assert about.endswith(".")


def test_native_options_are_given_one_by_one(capsys: pytest.CaptureFixture[str]) -> None:
    given = {"db.max_open_files": "99", "cf.block_size": "4K"}
    words = [f"--rocksdb-options={name}={value}" for name, value in given.items()]
    assert main(["conf", "--no-jar", "--format", "json", *words]) == 0
    assert json.loads(capsys.readouterr().out) == without_jar(Conf(rocksdb_options=given))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--num-buckets", "0"], "numBuckets is '0': it must be a whole number from 1 to 32768"),
        (["--num-buckets", "abc"], "numBuckets is 'abc': it must be a whole number from 1 to"),
        (["--rocksdb-options", "foo=1"], "it must be texts .*, db.<name> or cf.<name>"),
    ],
)
def test_a_bad_value_is_one_line_and_a_misuse(
    capsys: pytest.CaptureFixture[str], words: list[str], said: str
) -> None:
    assert main(["conf", *words]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert re.fullmatch(f"bucketstate: {words[0]}: spark.*{said}.*\n", err)


# As bash asks for the words that may stand where the last of these arguments is.
ASK = r"""
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMP_LINE="$*"; COMP_POINT=${#COMP_LINE}
complete -p "$1" | grep -q -- '-F _shtab_bucketstate '
_shtab_bucketstate "$1" "${@: -1}"
printf '%s\n' "${COMPREPLY[@]}"
"""


def completed(words: tuple[str, ...], folder: Path, script: str) -> set[str]:
    """What bash offers for the last of these words, in a folder."""
    command = ["bash", "-c", f"{script}\nset -e{ASK}", "bash", "bucketstate", *words]
    run = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    return set(run.stdout.split())


def test_bash_completes_commands_options_values_and_folders(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert main(["completion", "bash"]) == 0
    script = capsys.readouterr().out
    (tmp_path / "checkpoints").mkdir()
    (tmp_path / "checklist").touch()
    offered = {
        ("ver",): {"verify"},
        ("conf", "--num-b"): {"--num-buckets"},
        ("conf", "--preset", "la"): {"large-state"},
        ("conf", "--format", ""): {"flags", "json", "properties"},
        ("inspect", "che"): {"checkpoints"},
        ("export", "checkpoints", "che"): {"checkpoints", "checklist"},
    }
    for words, expected in offered.items():
        assert completed(words, tmp_path, script) == expected, words


def test_zsh_has_a_script(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", "zsh"]) == 0
    script = capsys.readouterr().out
    assert script.startswith("#compdef bucketstate\n")
    assert "--num-buckets" in script
    assert "large-state" in script


def test_fish_has_a_script_for_each_command_and_option(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["completion", "fish"]) == 0
    lines = capsys.readouterr().out.splitlines()
    for line in (
        "complete -c bucketstate -f",
        "complete -c bucketstate -n '__bucketstate_at' -a verify "
        "-d 'checkpoint: read every file, say what is damaged'",
        "complete -c bucketstate -n '__bucketstate_at completion' -a 'bash zsh fish' -d 'shell'",
        "complete -c bucketstate -n '__bucketstate_at move' -a import "
        "-d 'a checkpoint of Spark\\'s own providers into one of bucketstate'",
        "complete -c bucketstate -n '__bucketstate_at move export' -l to -x -a 'rocksdb hdfs' "
        "-d 'whose files DST gets'",
        "complete -c bucketstate -n '__bucketstate_at inspect' "
        "-a '(__fish_complete_directories)' -d 'the query\\'s checkpointLocation'",
        "complete -c bucketstate -n '__bucketstate_at report' -s o -l output -r -F "
        "-d 'default: report.html; - for standard output'",
    ):
        assert line in lines
    begins = "complete -c bucketstate -n '__bucketstate_at conf' -l memory-max-bytes -x -d '"
    assert any(line.startswith(begins) for line in lines)


# As fish asks for what may stand behind these words.
ASK_FISH = 'source $argv[1]; complete -C "$argv[2]"'


@pytest.mark.skipif(shutil.which("fish") is None, reason="there is no fish")
def test_fish_completes_commands_options_values_and_folders(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert main(["completion", "fish"]) == 0
    script = tmp_path / "bucketstate.fish"
    script.write_text(capsys.readouterr().out)
    (tmp_path / "checkpoints").mkdir()
    (tmp_path / "checklist").touch()
    offered = {
        "ver": {"verify"},
        "conf --num-b": {"--num-buckets"},
        "conf --preset la": {"large-state"},
        "conf --format ": {"flags", "json", "properties"},
        "move e": {"export"},
        "move export --to ": {"rocksdb", "hdfs"},
        "export checkpoints check": {"checkpoints/", "checklist"},
        "inspect check": {"checkpoints/"},
    }
    for words, expected in offered.items():
        command = ["fish", "-c", ASK_FISH, str(script), f"bucketstate {words}"]
        run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
        found = {line.partition("\t")[0] for line in run.stdout.splitlines()}
        assert found == expected, words


def test_the_version(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["--version"])
    assert stop.value.code == 0
    assert capsys.readouterr().out == f"bucketstate {__version__}\n"


@pytest.mark.parametrize("arguments", [[], ["jars"], ["conf", "--buckets", "1"]])
def test_a_misuse_is_exit_code_2(arguments: list[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(arguments)
    assert stop.value.code == 2


def test_a_missing_jar_says_how_to_get_it(tmp_path: Path) -> None:
    with pytest.raises(JarNotFoundError, match=r"there are no jars at all.*make jar SPARK="):
        jar_path(folder=tmp_path)


def jars(folder: Path, *minors: str, version: str = "0.1.0") -> dict[str, Path]:
    found = {m: folder / f"bucketstate-spark-{m}_2.13-{version}.jar" for m in minors}
    for jar in found.values():
        jar.touch()
    return found


def test_the_jar_is_that_of_the_spark_that_is_asked_for(tmp_path: Path) -> None:
    there = jars(tmp_path, "4.2", "4.10", "4.1")
    for version, minor in {
        "4.1": "4.1",
        "4.1.4": "4.1",
        "4.10.0": "4.10",
        "4.2.0-x1": "4.2",
    }.items():
        assert jar_path(version, folder=tmp_path) == there[minor]


def test_the_jar_is_that_of_the_pyspark_that_is_installed(tmp_path: Path) -> None:
    major, minor = map(int, pyspark.__version__.split(".")[:2])
    there = jars(tmp_path, f"{major}.{minor}", f"{major}.{minor + 1}")
    assert jar_path(folder=tmp_path) == there[f"{major}.{minor}"]


def test_a_spark_without_a_jar_is_told_which_have_one(tmp_path: Path) -> None:
    jars(tmp_path, "4.2", "4.10", "4.1")
    with pytest.raises(JarNotFoundError, match=r"for Spark 4\.0 .* for Spark 4\.1, 4\.2, 4\.10\."):
        jar_path("4.0.2", folder=tmp_path)


def test_the_command_line_picks_by_an_argument(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["jar", "--spark", "3.5"]) == 1
    assert "No jar for Spark 3.5" in capsys.readouterr().err
    assert main(["conf", "--spark", pyspark.__version__]) == 0
    assert f"spark.jars={jar_path()}\n" in capsys.readouterr().out


def test_two_jars_are_one_too_many(tmp_path: Path) -> None:
    for version in ("0.1.0", "0.2.0"):
        jars(tmp_path, "4.2", version=version)
    with pytest.raises(JarNotFoundError, match=r"holds 2 jars for Spark 4\.2"):
        jar_path("4.2", folder=tmp_path)


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_says_why(capsys: pytest.CaptureFixture[str], name: str) -> None:
    assert main(["conf", "--no-jar", "--preset", name]) == 0
    text = capsys.readouterr().out
    for choice in PRESETS[name].choices:
        assert f"# {choice.why}\n{choice.key}={choice.value}\n" in text + "\n"
    lines = dict(li.split("=", 1) for li in text.splitlines() if not li.startswith("#"))
    assert Conf.from_spark(lines).to_spark().items() <= lines.items()


def test_what_is_given_wins_over_the_preset(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["conf", "--no-jar", "--preset", "large-state", "--num-buckets", "99"]
    assert main([*arguments, "--format", "json"]) == 0
    assert (
        json.loads(capsys.readouterr().out)["spark.sql.streaming.stateStore.bucketed.numBuckets"]
        == "99"
    )


def test_a_preset_that_is_not_known_is_a_misuse() -> None:
    with pytest.raises(SystemExit) as stop:
        main(["conf", "--preset", "fast"])
    assert stop.value.code == 2
