"""The client that is committed is that of the description, and reads what servers answer."""

from __future__ import annotations

import json
import subprocess
import sys
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

from scripts.api_client import CLIENT, DOCUMENT, client
from sluice_client.api import (
    Api,
    CandidateGrant,
    PlannedWork,
    RecommendationLine,
    RecommendationState,
    StatedPool,
    WhatIfSimulation,
    WorkloadChange,
)
from sluice_client.connection import ApiError, Connection, decoded, to_plain

LINE: dict[str, Any] = {
    "id": 7, "state": "proposed", "resource_id": 3, "resource": "nfs-07", "topic": "policy",
    "subject": "", "kind": "limits", "summary": "divide", "incident_id": None,
    "created_at": "2026-11-20T12:00:00.250Z", "expires_at": "2026-11-20T13:00:00Z",
    "decided_at": None, "decided_by": None, "decision_reason": "",
}  # fmt: skip


def test_committed_client_is_that_of_the_description() -> None:
    assert CLIENT.read_text() == client(json.loads(DOCUMENT.read_text()))


def test_script_tells_a_client_that_is_not_of_the_description(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path / "api.py"
    other.write_text("# of another release\n")
    monkeypatch.setattr("scripts.api_client.CLIENT", other)
    monkeypatch.setattr(sys, "argv", ["api_client.py", "--check"])

    from scripts.api_client import main

    assert main() == 1
    monkeypatch.setattr(sys, "argv", ["api_client.py"])
    assert main() == 0
    assert other.read_text() == CLIENT.read_text()


def test_every_operation_has_a_method() -> None:
    paths = json.loads(DOCUMENT.read_text())["paths"].values()
    names = {operation["operationId"] for path in paths for operation in path.values()}

    assert {name for name in vars(Api) if not name.startswith("_")} == names


def test_client_is_imported_without_the_product() -> None:
    program = (
        "import sys, sluice_client.api; "
        "print([name for name in sys.modules if name.partition('.')[0] in "
        "('django', 'pydantic', 'web', 'advisor', 'accounts')])"
    )

    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )

    assert done.stdout.strip() == "[]"


def test_answer_is_read_with_its_types() -> None:
    row = decoded(RecommendationLine, LINE)

    assert row.state is RecommendationState.PROPOSED
    assert row.created_at == datetime(2026, 11, 20, 12, 0, 0, 250_000, UTC)
    assert row.incident_id is None


def test_answer_of_a_later_server_is_read_as_far_as_it_is_known() -> None:
    row = decoded(RecommendationLine, LINE | {"state": "snoozed", "colour": "blue"})

    assert row.state == "snoozed"


@pytest.mark.parametrize("answer", [{}, [], "text", None, LINE | {"created_at": "soon"}])
def test_answer_of_something_else_is_an_error(answer: Any) -> None:
    with pytest.raises(ApiError, match="is no RecommendationLine"):
        decoded(RecommendationLine, answer)


def test_body_leaves_out_what_is_not_set_and_keeps_null_where_it_means_something() -> None:
    grant = CandidateGrant(allocation_id=1, shares=2000)

    assert to_plain(WhatIfSimulation(grants=[grant])) == {
        "grants": [{"allocation_id": 1, "shares": 2000, "reservation": 0.0}], "hours": 24.0,
    }  # fmt: skip
    assert to_plain(WorkloadChange(tier=None)) == {"tier": None}
    # An empty list would take all members out.
    assert "members" not in to_plain(StatedPool(name="web"))


def test_times_are_sent_in_utc() -> None:
    at = datetime(2026, 11, 20, 12, tzinfo=timezone(timedelta(hours=2)))

    plain = to_plain(PlannedWork(name="a", starts_at=at, length_s=60.0))

    assert plain["starts_at"] == "2026-11-20T10:00:00Z"


@pytest.mark.parametrize("server", ["file:///etc", "sluice.example", ""])
def test_address_that_is_none_is_refused(server: str) -> None:
    with pytest.raises(ApiError, match="is no address of a server"):
        Connection(server, "token")


def test_server_that_does_not_answer_is_told() -> None:
    # Port 9 of this machine is nobody's.
    with pytest.raises(ApiError, match="does not answer") as raised:
        Api(Connection("http://127.0.0.1:9", "token")).get_me()

    assert raised.value.status is None
