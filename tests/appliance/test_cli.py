"""The command `sluice` as a person meets it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from django.core.management import get_commands, load_command_class

from appliance.cli import COMMANDS, RENAMED

DJANGO_COMMANDS = {"migrate", "changepassword"}

SLUICE = Path(sys.executable).with_name("sluice")
OWN_APPS = {"accounts", "appliance", "ingest", "advisor", "web"}


def sluice(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [SLUICE, *arguments],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **environment},
    )


def listed() -> set[str]:
    return {name for group in COMMANDS.values() for name in group}


def test_help_lists_every_command_of_the_product():
    own = {name for name, app in get_commands().items() if app in OWN_APPS}

    assert own - listed() == set()


def test_help_lists_no_command_that_does_not_exist():
    assert listed() - set(get_commands()) == set()


@pytest.mark.slow
@pytest.mark.parametrize(("former", "name"), RENAMED.items())
def test_former_name_of_a_command_works_and_names_the_new_one(former, name):
    done = sluice(former, "--help")

    assert done.returncode == 0
    assert f"usage: sluice {name}" in done.stdout
    assert done.stderr == f"sluice: {former} is now called {name}\n"


@pytest.mark.parametrize("arguments", [(), ("--help",), ("-h",), ("help",)])
def test_help_gives_one_line_per_command(arguments):
    done = sluice(*arguments)

    lines = done.stdout.splitlines()
    assert done.returncode == 0
    for name in listed():
        assert sum(line.startswith(f"  {name} ") for line in lines) == 1


@pytest.mark.parametrize("arguments", ["--help", "run --help", "unknown"])
def test_reader_that_has_enough_is_no_failure(arguments):
    """As by `sluice --help | head -1`."""
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "w") as closed:
        done = subprocess.run(
            [SLUICE, *arguments.split()],
            stdout=closed,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )

    assert "Error" not in done.stderr
    assert done.returncode == (1 if arguments == "unknown" else 0)


@pytest.mark.slow
@pytest.mark.parametrize("arguments", [("run", "--help"), ("help", "run")])
def test_help_of_a_command_names_its_options(arguments):
    done = sluice(*arguments)

    assert done.returncode == 0
    assert "usage: sluice run" in done.stdout
    assert "--port" in done.stdout


@pytest.mark.slow
def test_command_of_two_words_is_one_command():
    done = sluice("import", "vcenter", "--help")

    assert done.returncode == 0
    assert "usage: sluice import-vcenter" in done.stdout
    assert "--ca-file" in done.stdout


@pytest.mark.parametrize(
    # The other two are Django's own.
    "name",
    sorted({name for group in COMMANDS.values() for name in group} - DJANGO_COMMANDS),
)
def test_help_of_our_commands_is_about_the_product_and_offers_json(name):
    command = load_command_class(get_commands()[name], name)

    text = command.create_parser("sluice", name).format_help()

    assert not any(f"--{option}" in text for option in ("pythonpath", "settings", "verbosity"))
    # docs/operations.md names those without.
    assert ("--json" in text) is (name not in {"run", "esxtop", "udp", "completion", "openapi"})


def test_missing_database_is_told_in_one_line():
    done = sluice("status")

    # 4 says that there is no answer; 1 would be an alarm.
    assert done.returncode == 4
    assert done.stderr.count("\n") == 1
    assert "start everything with: sluice run" in done.stderr


@pytest.mark.slow
def test_silent_database_of_the_environment_is_told_in_one_line():
    # Port 1 of the loopback interface: nothing listens there.
    done = sluice("status", DATABASE_URL="postgres://u@127.0.0.1:1/d")

    assert done.returncode == 4
    assert done.stderr.count("\n") == 1
    assert done.stderr.startswith("sluice: the database of DATABASE_URL does not answer")


def test_a_command_without_a_database_is_refused_with_1_where_1_is_no_alarm():
    assert sluice("hosts").returncode == 1


def test_wrong_setting_is_told_in_one_line():
    done = sluice("status", SLUICE_MAX_BODY_BYTES="lots")

    assert done.returncode == 4
    assert done.stderr == "sluice: SLUICE_MAX_BODY_BYTES='lots' is not a whole number\n"


@pytest.mark.slow
def test_unknown_command_suggests_the_nearest():
    done = sluice("statos")

    assert done.returncode == 1
    assert "Did you mean status?" in done.stderr


def test_processor_that_is_too_old_is_told_in_one_line(tmp_path):
    # What NumPy 2 says on QEMU's processor qemu64, word for word.
    (tmp_path / "numpy.py").write_text(
        "raise RuntimeError('NumPy was built with baseline optimizations: \\n(X86_V2) but your '"
        " 'machine doesn\\'t support:\\n(X86_V2).')"
    )

    done = sluice("status", PYTHONPATH=str(tmp_path))

    assert done.returncode == 4
    assert done.stderr.startswith("sluice: this processor is older than x86-64-v2")
    assert "Traceback" not in done.stderr
