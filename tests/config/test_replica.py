"""The setting of a read replica: who has it, and what its connections may do."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from config.replica import as_replica

ROOT = Path(__file__).resolve().parents[2]
ADDRESS = "postgres://sluice_web:secret@standby:5433/sluice?keepalives_idle=60"
SHOWS = """
import json
from config import settings
print(json.dumps([settings.DATABASES, settings.HAS_REPLICA, settings.MIDDLEWARE[-1]]))
"""


def settings_of(tmp_path: Path, **environment: str) -> list[Any]:
    """The databases, whether there is a replica, and the last middleware."""
    done = subprocess.run(
        [sys.executable, "-c", SHOWS],
        cwd=ROOT,
        env={"SLUICE_DATA_DIR": str(tmp_path), "SLUICE_SECRET_KEY": "unused", **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    found: list[Any] = json.loads(done.stdout)
    return found


def test_web_server_has_a_second_database(tmp_path: Path) -> None:
    databases, has_replica, last = settings_of(
        tmp_path, SLUICE_DATABASE_ROLE="web", DATABASE_URL_REPLICA=ADDRESS
    )

    assert has_replica
    assert last == "web.replica.middleware.ReplicaMiddleware"
    replica = databases["replica"]
    place = {name: replica[name] for name in ("HOST", "PORT", "USER", "PASSWORD")}
    assert place == {"HOST": "standby", "PORT": 5433, "USER": "sluice_web", "PASSWORD": "secret"}
    options = replica["OPTIONS"]["options"]
    assert "default_transaction_read_only=on" in options
    assert "statement_timeout=30s" in options
    # What is told nothing sees nothing.
    assert "sluice.sees" not in options
    assert "sluice.sees=all" in databases["default"]["OPTIONS"]["options"]


@pytest.mark.parametrize(
    "environment",
    [
        {"SLUICE_DATABASE_ROLE": "web"},
        {"SLUICE_DATABASE_ROLE": "worker", "DATABASE_URL_REPLICA": ADDRESS},
        {"SLUICE_DATABASE_ROLE": "ingest", "DATABASE_URL_REPLICA": ADDRESS},
        {"DATABASE_URL_REPLICA": ADDRESS},
    ],
    ids=["not set", "worker", "ingest", "owner"],
)
def test_others_have_none(tmp_path: Path, environment: dict[str, str]) -> None:
    databases, has_replica, last = settings_of(tmp_path, **environment)

    assert (list(databases), has_replica) == (["default"], False)
    assert last == "web.middleware.ContentSecurityPolicyMiddleware"


def test_options_of_the_address_win() -> None:
    found = as_replica({"OPTIONS": {"connect_timeout": "9", "options": "-c a=b"}})["OPTIONS"]

    assert found["connect_timeout"] == "9"
    assert found["options"] == "-c default_transaction_read_only=on -c a=b"
