"""Waiting with a reason, and noticing processes that have ended."""

import itertools
import sys

import pytest

from appliance.demo.errors import DemoError, StepFailed
from appliance.demo.host import HostProcesses
from appliance.demo.progress import Progress


def test_wait_gives_what_was_found():
    answers = iter(["not yet", {"id": 1}])
    progress = Progress([].append)

    assert progress.wait(lambda: next(answers), deadline_s=30) == {"id": 1}


def test_wait_that_is_too_long_fails_with_the_last_reason():
    progress = Progress([].append)

    with pytest.raises(StepFailed, match="no samples yet"):
        progress.wait(lambda: "no samples yet", deadline_s=0)


def test_long_wait_tells_now_and_then_what_it_waits_for(monkeypatch):
    seconds = itertools.count()
    monkeypatch.setattr("appliance.demo.progress.time.monotonic", lambda: next(seconds))
    monkeypatch.setattr("appliance.demo.progress.time.sleep", lambda _s: None)
    answers = iter([f"{count} of 40 samples" for count in range(40)] + [{"id": 1}])
    said: list[str] = []

    Progress(said.append).wait(lambda: next(answers), deadline_s=1000)

    assert 3 <= len(said) <= 5
    assert "not yet: 9 of 40 samples" in said[0]


def test_wait_ends_when_a_process_of_the_host_has_ended(tmp_path):
    processes = HostProcesses(logs=tmp_path)
    progress = Progress([].append, check=processes.check)
    processes.start("agent", sys.executable, "-c", "raise SystemExit('no such interface')")

    with pytest.raises(DemoError, match=r"agent ended with status 1(.|\n)*no such interface"):
        progress.wait(lambda: "no report yet", deadline_s=30)

    processes.stop()


def test_progress_tells_the_step_with_its_time():
    said: list[str] = []
    progress = Progress(said.append)

    progress.begin("rolling back")

    assert progress.step == "rolling back"
    assert said[0].endswith("s] rolling back")
