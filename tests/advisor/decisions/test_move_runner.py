"""A command that moves a workload is run without a shell, without secrets and not for ever."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import pytest

from advisor.decisions.move_runner import LOG_BYTES, run


def python(code: str, *words: str) -> list[str]:
    return [sys.executable, "-c", code, *words]


def test_words_reach_the_program_as_they_are() -> None:
    ended = run(python("import sys; print(sys.argv[1:])", "a b; $(x)", "-y"))

    assert (ended.exit_status, ended.said) == (0, "['a b; $(x)', '-y']")


def test_exit_status_and_errors_are_kept() -> None:
    ended = run(python("import sys; print('no such domain', file=sys.stderr); sys.exit(3)"))

    assert (ended.exit_status, ended.said) == (3, "no such domain")


def test_program_that_is_not_there_is_told(tmp_path: Path) -> None:
    ended = run([str(tmp_path / "virsh")])

    assert ended.exit_status is None
    assert "could not be started" in ended.said


def test_secrets_are_not_passed_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLUICE_SECRET_KEY", "hush")

    assert "hush" not in run(python("import os; print(dict(os.environ))")).said


def test_what_takes_too_long_is_ended_with_its_children(tmp_path: Path) -> None:
    alive = tmp_path / "alive"
    later = f"import time, pathlib; time.sleep(3); pathlib.Path({str(alive)!r}).touch()"
    code = (
        "import subprocess, sys, time; print('begun', flush=True); "
        "subprocess.Popen([sys.executable, '-c', sys.argv[1]]); time.sleep(60)"
    )
    began = time.monotonic()

    ended = run(python(code, later), limit_s=1.5)

    assert time.monotonic() - began < 30
    assert ended.exit_status is None
    assert ended.said.endswith("it was ended after 1.5 s")
    time.sleep(4)
    assert not alive.exists()


def test_what_a_command_leaves_behind_is_ended_too(tmp_path: Path) -> None:
    alive = tmp_path / "alive"
    later = f"import time, pathlib; time.sleep(2); pathlib.Path({str(alive)!r}).touch()"
    code = "import subprocess, sys; subprocess.Popen([sys.executable, '-c', sys.argv[1]])"

    assert run(python(code, later)).exit_status == 0

    time.sleep(3)
    assert not alive.exists()


def test_of_a_long_log_the_end_is_kept() -> None:
    ended = run(python("print('x' * 50_000); print('a\\x00b')"))

    assert len(ended.said) <= LOG_BYTES
    assert ended.said.endswith("\nab")
