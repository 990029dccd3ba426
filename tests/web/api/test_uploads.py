"""Files that programs upload, how far they are, and what they show."""

from __future__ import annotations

from datetime import UTC, timedelta
from urllib.parse import urlencode

import pytest
from django.http import HttpResponse
from django.utils import timezone

from config.database_roles import DatabaseRole
from ingest.models import ImportRun, UploadedPart
from tests.config.roles import acting_as, make_roles
from tests.web.api.asking import BASE, Program
from tests.web.api.test_door import problem
from tests.web.api.test_stated import done
from tests.web.fleet import Fleet
from tests.web.test_import_pages import iostat, work


def sent(program: Program, body: bytes, key: str = "", **query: str) -> HttpResponse:
    headers = {"Authorization": f"Bearer {program.secret}"}
    if key:
        headers["Idempotency-Key"] = key
    return program.client.generic(
        "POST", f"{BASE}imports?{urlencode(query)}", body,
        content_type="application/octet-stream", headers=headers,
    )  # fmt: skip


def half_an_hour_ago(zone: str = "Z") -> bytes:
    return iostat(timezone.now().astimezone(UTC) - timedelta(minutes=30), zone=zone)


@pytest.mark.usefixtures("fleet")
def test_file_is_uploaded_imported_and_its_report_read(program: Program) -> None:
    made = done(sent(program, half_an_hour_ago(), name="iostat.txt"), 201)
    path = f"imports/{made['id']}"
    early = program("GET", f"{path}/report")

    work()

    over = program.read(path)
    report = program.read(f"{path}/report")
    assert (made["ended_at"], made["started_by"], made["files"]) == (None, "operator", [])
    assert problem(early) == (404, "not_found")
    (file,) = over["files"]
    assert (file["name"], file["state"], over["is_asking"]) == ("iostat.txt", "done", False)
    (resource,) = report["resources"]
    (incident,) = resource["incidents"]
    assert (report["hosts"], resource["name"]) == (["lab-1"], "lab-1/sda")
    assert (incident["peak"], incident["threshold"]) == ("79.7 ms", "30.0 ms")


@pytest.mark.usefixtures("fleet")
def test_server_and_worker_take_it_with_the_rights_of_their_roles(program: Program) -> None:
    make_roles()
    with acting_as(DatabaseRole.WEB):
        made = done(sent(program, half_an_hour_ago(), name="iostat.txt"), 201)
    with acting_as(DatabaseRole.WORKER):
        work()
    with acting_as(DatabaseRole.WEB):
        assert program.read(f"imports/{made['id']}")["files"][0]["state"] == "done"


@pytest.mark.usefixtures("fleet")
def test_question_of_a_file_is_answered(program: Program) -> None:
    made = done(sent(program, half_an_hour_ago(zone=""), name="iostat.txt"), 201)
    path = f"imports/{made['id']}"
    work()
    asking = program.read(path)

    wrong = program("POST", f"{path}/answers", {"zone": "Mars/Base"})
    said = done(program("POST", f"{path}/answers", {"zone": "UTC"}))
    again = program("POST", f"{path}/answers", {"zone": "UTC"})
    work()

    assert (asking["is_asking"], asking["files"][0]["state"]) == (True, "question")
    assert problem(wrong) == (409, "refused")
    assert (said["is_asking"], said["ended_at"]) == (False, None)
    assert problem(again) == (409, "refused")
    assert program.read(path)["files"][0]["state"] == "done"


@pytest.mark.usefixtures("fleet")
def test_file_is_uploaded_once_under_a_key(program: Program) -> None:
    body = half_an_hour_ago()

    first = done(sent(program, body, "k", name="a.txt"), 201)
    again = done(sent(program, body, "k", name="a.txt"), 201)
    other = sent(program, body + b"\n", "k", name="a.txt")

    assert first == again
    assert problem(other) == (422, "key_in_use")
    assert ImportRun.objects.count() == 1


@pytest.mark.parametrize(
    ("body", "query", "status"),
    [
        (b"", {"name": "a"}, 422),
        (b"x", {}, 422),
        (b"x", {"name": "../a"}, 422),
        (b"x", {"name": "a", "zone": "Mars/Base"}, 409),
        (b"x", {"name": "a", "first_at": "noon"}, 409),
        (b"x" * 2049, {"name": "a"}, 413),
    ],
)
def test_what_cannot_be_imported_is_refused_and_not_kept(
    program: Program, settings: object, body: bytes, query: dict[str, str], status: int
) -> None:
    settings.MAX_UPLOAD_BYTES = 2048  # type: ignore[attr-defined]  # pytest-django's fixture

    assert sent(program, body, **query).status_code == status
    assert not ImportRun.objects.exists()
    assert not UploadedPart.objects.exists()


def test_viewer_and_strangers_upload_and_answer_nothing(
    fleet: Fleet, program: Program, viewing: Program, foreign: Program
) -> None:
    made = done(sent(program, half_an_hour_ago(), name="iostat.txt"), 201)

    assert problem(sent(viewing, b"x", name="a")) == (403, "not_allowed")
    for path in (f"imports/{made['id']}/report", f"imports/{made['id']}"):
        assert problem(foreign("GET", path)) == (404, "not_found")
    answers = foreign("POST", f"imports/{made['id']}/answers", {"zone": "UTC"})
    assert problem(answers) == (404, "not_found")
    assert ImportRun.objects.count() == 1
