"""What the agent's documents say is what the agent does."""

import dataclasses
import inspect
import re
from pathlib import Path
from typing import Any

import pytest

from enforcers import cli, config, config_keys
from enforcers.command_line import parser
from enforcers.registry import MECHANISMS
from enforcers.state_dir import StateDir
from tests.enforcers.throttle.mechanism import Throttle

SOURCE = Path(cli.__file__).parent
README = (SOURCE / "README.md").read_text()
HEADINGS = ["What it does", "Needs", "Maps", "Outcomes", "Undo by hand"]


def folder(kind: type[Any]) -> Path:
    """The folder that a mechanism has for itself."""
    return Path(inspect.getfile(kind)).parent


@pytest.mark.parametrize("kind", [*MECHANISMS, Throttle], ids=lambda kind: kind.name)
def test_every_mechanism_has_a_readme_with_the_same_headings(kind: type[Any]) -> None:
    text = (folder(kind) / "README.md").read_text()

    assert text.startswith(f"# {kind.name}: ")
    assert re.findall(r"(?m)^## (.+)$", text) == HEADINGS


@pytest.mark.parametrize("kind", [*MECHANISMS, Throttle], ids=lambda kind: kind.name)
def test_sample_of_a_mechanism_names_every_key_of_its_table(kind: type[Any]) -> None:
    sample = (folder(kind) / "sample.toml").read_text()

    assert sample.startswith(f"[{kind.name}]\n")
    assert re.findall(r"(?m)^# (\w+) = \[\]$", sample) == [
        field.name for field in dataclasses.fields(kind.Config)
    ]


def test_every_command_of_the_readme_exists() -> None:
    named = set(re.findall(r"sluice-enforcer ([a-z]+) ", README)) - {"sluice"}

    commands = parser(cli.DEFAULT_CONFIG)
    known = {
        choice
        for action in commands._actions
        if isinstance(action.choices, dict)
        for choice in action.choices
    }
    assert named <= known
    assert {"run", "plan", "restore", "status"} <= named


def test_every_state_file_is_explained() -> None:
    names = [
        value.name
        for attribute in vars(StateDir)
        if isinstance(vars(StateDir)[attribute], property)
        for value in [getattr(StateDir(root=Path("/x")), attribute)]
    ]

    assert all(f"`{name}`" in README for name in names)


def test_sample_names_every_key_of_the_configuration() -> None:
    sample = (SOURCE / "sample.toml").read_text()
    source = Path(config.__file__).read_text() + Path(config_keys.__file__).read_text()

    keys = set(re.findall(r'\.take_(?!table)\w+\("(\w+)"', source))
    keys |= set(re.findall(r'secret_word\(table, "(\w+)"\)', source))
    keys |= set(re.findall(r'"(\w+_key_file)"', source))
    assert len(keys) == 19
    # Of former enrolments: explained, and not to be set.
    assert "`signing_key_file`" in sample
    keys.remove("signing_key_file")
    assert all(re.search(rf"(?m)^(# )?{key} = ", sample) for key in keys)
