"""The two doors to the host: files below a root, programs as argument lists."""

import logging
import sys
from pathlib import Path

import pytest

from enforcers.errors import CommandError
from enforcers.host_fs import HostFs
from enforcers.log_format import KeyValueFormatter
from enforcers.runner import SubprocessRunner


@pytest.mark.parametrize("path", ["relative", "/a/../b", ""])
def test_path_that_leaves_the_root_is_refused(tmp_path: Path, path: str) -> None:
    with pytest.raises(ValueError, match="not an absolute host path"):
        HostFs(tmp_path).path(path)


def test_host_path_lies_below_the_root(tmp_path: Path) -> None:
    assert HostFs(tmp_path).path("/sys/fs") == tmp_path / "sys/fs"


def test_missing_control_file_is_not_made(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        HostFs(tmp_path).write("/io.max", "8:0 rbps=max")

    assert list(tmp_path.iterdir()) == []


def test_written_control_file_has_the_value(tmp_path: Path) -> None:
    (tmp_path / "io.max").write_text("")

    HostFs(tmp_path).write("/io.max", "8:0 rbps=1")

    assert HostFs(tmp_path).read("/io.max") == "8:0 rbps=1"


def test_program_gets_its_arguments_unchanged() -> None:
    code = "import sys; print(sys.argv[1:], sys.stdin.read())"

    shown = SubprocessRunner().run([sys.executable, "-c", code, "$HOME; ls", "*"], stdin="in")

    assert shown == "['$HOME; ls', '*'] in\n"


@pytest.mark.parametrize(
    ("code", "answer"),
    [
        ("import sys; sys.exit('no\\n  such thing')", "no such thing"),
        ("print('on stdout'); raise SystemExit(3)", "on stdout"),
        ("raise SystemExit(3)", "exit status 3"),
    ],
    ids=["stderr", "stdout", "silent"],
)
def test_program_that_fails_says_what_it_said(code: str, answer: str) -> None:
    with pytest.raises(CommandError) as error:
        SubprocessRunner().run([sys.executable, "-c", code])

    assert error.value.answer == answer


def test_program_that_is_not_there_is_an_error() -> None:
    with pytest.raises(CommandError, match="`no-such-program -V`: No such file or directory"):
        SubprocessRunner().run(["no-such-program", "-V"])


def test_program_that_hangs_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("enforcers.runner.TIMEOUT_S", 0.2)

    with pytest.raises(CommandError, match="no answer within"):
        SubprocessRunner().run([sys.executable, "-c", "import time; time.sleep(60)"])


def test_log_line_is_one_line_of_keys_and_values() -> None:
    record = logging.makeLogRecord(
        {"msg": "change made", "levelname": "INFO", "created": 0.0, "error": 'a "b"\nc', "n": 7}
    )

    line = KeyValueFormatter().format(record)

    assert line == (
        r'time=1970-01-01T00:00:00Z level=info msg="change made" error="a \"b\"\nc" n=7'
    )
