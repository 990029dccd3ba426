"""The commands of the documentation are run as a person would, on a whole `sluice run`.

Those of the tutorial run on a server with the sample, those of all other pages on one without,
which has an empty directory as target of its backups, and a mail server that takes none.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from tests.appliance.embedded_run import READY, SLUICE, EmbeddedRun, short_directory, start
from tests.documented_commands import Block, blocks_of, pages

pytestmark = [
    pytest.mark.postgres, pytest.mark.valkey, pytest.mark.slow, pytest.mark.long,
    pytest.mark.timeout(3600),
]  # fmt: skip

TUTORIAL = "docs/tutorial.md"
READY_S = 1200.0
AGAIN_S = 5.0
NO_SETTINGS: Mapping[str, str] = {}


@pytest.fixture
def folder() -> Iterator[Path]:
    with short_directory() as path:
        yield path


def run_page(
    page: str, server: EmbeddedRun, scratch: Path, settings: Mapping[str, str] = NO_SETTINGS
) -> list[str]:
    """Run the blocks of a page one after the other; gives what went wrong."""
    scratch.mkdir(parents=True)
    state = scratch.with_name(f"{scratch.name}-variables")
    environment = {
        **os.environ,
        "DJANGO_SETTINGS_MODULE": "config.settings",
        "SLUICE_DATA_DIR": str(server.data_dir),
        "PATH": f"{SLUICE.parent}:{os.environ['PATH']}",
        **settings,
    }
    for block in blocks_of(page):
        if block.why_not:
            continue
        done = done_as_told(block, environment, scratch, state)
        if done.returncode != block.exit_status:
            return [f"{page}: {block.text}{done.stdout}{done.stderr}"]
        # What a block sets is there in those below it.
        kept = state.read_bytes().decode().split("\0")
        environment = dict(one.split("=", 1) for one in kept if "=" in one)
    return []


def done_as_told(
    block: Block, environment: dict[str, str], scratch: Path, state: Path
) -> subprocess.CompletedProcess[str]:
    until = time.monotonic() + block.wait_s
    while True:
        done = subprocess.run(
            ["bash", "-aeuo", "pipefail", "-c", f"trap 'env -0 > {state}' EXIT\n{block.text}"],
            env=environment, cwd=scratch, capture_output=True, text=True, timeout=600, check=False,
        )  # fmt: skip
        if done.returncode == block.exit_status or time.monotonic() > until:
            return done
        time.sleep(AGAIN_S)


def started(
    folder: Path, *arguments: str, settings: Mapping[str, str] = NO_SETTINGS
) -> EmbeddedRun:
    server = start(folder / "data", *arguments, env=settings)
    until = time.monotonic() + READY_S
    while READY not in server.said:
        assert server.process.poll() is None, server.said
        assert time.monotonic() < until, server.said
        time.sleep(0.2)
    return server


def test_commands_of_how_tos_work_on_a_server(folder: Path) -> None:
    target = folder / "backups"
    target.mkdir()
    settings = {
        "SLUICE_BACKUP_TARGET": str(target), "SLUICE_BACKUP_EVERY_HOURS": "0",
        "SLUICE_MAIL_URL": "smtp://127.0.0.1:9",
    }  # fmt: skip
    server = started(folder, settings=settings)
    try:
        wrong = [
            words
            for number, page in enumerate(pages())
            if page != TUTORIAL
            for words in run_page(page, server, folder / f"how-to-{number}", settings)
        ]
    finally:
        assert server.end(signal.SIGTERM) == 0

    assert wrong == []


def test_commands_of_the_tutorial_work_on_the_sample(folder: Path) -> None:
    server = started(folder, "--sample")
    try:
        wrong = run_page(TUTORIAL, server, folder / "tutorial")
    finally:
        assert server.end(signal.SIGTERM) == 0

    assert wrong == []
