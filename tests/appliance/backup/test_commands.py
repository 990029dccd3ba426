"""The commands on backups: what they refuse, and how they tell progress."""

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from appliance.embedded.stop_signals import STOP_SIGNALS
from appliance.management.backup_command import progress_text


@pytest.fixture(autouse=True)
def signals() -> Iterator[None]:
    """A command takes the signals of its process; the tests' own stay as they are."""
    before = {number: signal.getsignal(number) for number in STOP_SIGNALS}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.parametrize(
    "arguments",
    [["backup"], ["restore", "--into", "/nowhere/at/all"], ["checksums"]],
    ids=lambda value: value[0],
)
def test_database_of_somebody_else_is_left_to_its_server(arguments, monkeypatch) -> None:
    monkeypatch.setenv("DATABASE_URL", "postgres://a:secret-word@db.example.com/sluice")

    with pytest.raises(CommandError, match=r"neither backs up nor restores.*pgBackRest") as caught:
        call_command(*arguments)
    assert "secret-word" not in str(caught.value)


@pytest.mark.parametrize("arguments", [["backup"], ["verify"], ["restore", "--into", "/nowhere"]])
def test_no_target_is_told_with_how_to_give_one(arguments, settings) -> None:
    settings.BACKUP_TARGET = ""

    with pytest.raises(CommandError, match=r"no target is given: use --target PLACE"):
        call_command(*arguments)


@pytest.mark.parametrize(
    ("text", "why"),
    [("yesterday", "is no time"), ("2026-11-28T21:30:00", "has no zone")],
)
def test_moment_that_is_not_clear_is_refused(text: str, why: str) -> None:
    with pytest.raises(CommandError, match=why):
        call_command("restore", "--to", text, "--into", "/nowhere")


def test_target_that_is_away_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="is no directory; is its disk mounted"):
        call_command("backup", "--list", "--target", str(tmp_path / "mount"))


def test_target_without_backups_says_so(tmp_path: Path, capsys) -> None:
    call_command("backup", "--list", "--target", str(tmp_path))

    assert capsys.readouterr().out == f"no whole backup is at {tmp_path}\n"


def test_progress_says_how_much_and_how_long_yet() -> None:
    # A quarter in 10 s: the other three take 30 s.
    text = progress_text(25_000_000, 100_000_000, 10.0, "bytes")

    assert text == "  25.0 MB of 100.0 MB (25%), 30 s left"
    assert progress_text(5_000_000, None, 10.0, "bytes") == "  5.0 MB"
    # A database that grew meanwhile.
    assert "(100%), 0 s left" in progress_text(11, 10, 1.0, "bytes")
