"""The generated scripts, run by the shells they are for."""

import argparse
import shutil
import subprocess

import pytest

from appliance.completion import Shell, script, words_of

BASH = """
eval "$1"; shift
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
_sluice
printf '%s\\n' "${COMPREPLY[@]}"
"""
# The two functions belong to zsh's completion system, which runs only at a prompt.
ZSH = """
compdef() { : }
_describe() {
    local entry
    for entry in "${(@P)2}"; do
        [[ ${entry%%:*} == "${words[CURRENT]}"* ]] && print -r -- "${entry%%:*}"
    done
}
eval "$1"; shift
words=("$@"); CURRENT=$#
_sluice
"""
FISH = """
echo $argv[1] | source
complete -C (string join ' ' -- $argv[2..]) | string replace -r '\\t.*' ''
"""
RUNNERS = {
    Shell.BASH: ["bash", "--norc", "-c", BASH, "bash"],
    Shell.ZSH: ["zsh", "-f", "-c", ZSH, "zsh"],
    Shell.FISH: ["fish", "--no-config", "-c", FISH],
}


def parsers() -> dict[str, argparse.ArgumentParser]:
    run = argparse.ArgumentParser()
    run.add_argument("--port", help="of the web server, it's 100%% yours")
    run.add_argument("--verbosity")
    resource = argparse.ArgumentParser()
    below = resource.add_subparsers()
    below.add_parser("add").add_argument("--capacity", help="a [number]: $HOME `unit`")
    below.add_parser("list")
    completion = argparse.ArgumentParser()
    completion.add_argument("shell", choices=["bash", "zsh"])
    return {"run": run, "resource": resource, "completion": completion}


def completed(shell: Shell, *typed: str) -> set[str]:
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    about = {"run": "start", "resource": "it's the thing", "completion": "this"}
    text = script(shell, words_of(parsers(), about))
    done = subprocess.run(
        [*RUNNERS[shell], text, "sluice", *typed], capture_output=True, text=True, check=False
    )
    assert done.stderr == ""
    return set(done.stdout.split())


@pytest.mark.parametrize("shell", Shell)
@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        pytest.param([""], {"run", "resource", "completion"}, id="commands"),
        pytest.param(["r"], {"run", "resource"}, id="beginning of a command"),
        pytest.param(["run", "--p"], {"--port"}, id="option"),
        pytest.param(["resource", ""], {"add", "list"}, id="sub-command"),
        pytest.param(["resource", "add", "--c"], {"--capacity"}, id="option of a sub-command"),
        pytest.param(["resource", "add", "--capacity", "3", "--c"], {"--capacity"}, id="value"),
        pytest.param(["completion", ""], {"bash", "zsh"}, id="choices"),
        pytest.param(["run", "--v"], set(), id="options of the framework are left out"),
    ],
)
def test_shell_completes_what_the_parsers_accept(shell, typed, expected):
    found = completed(shell, *typed)

    assert found - {"--help"} == expected
