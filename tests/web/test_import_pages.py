"""Uploading files, how far their import is, and what its page says."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.utils import timezone

from advisor import tasks
from advisor.decisions.uploads import import_uploaded, waiting_uploads
from config.database_roles import DatabaseRole
from ingest.models import Import, ImportRun, ImportState, UploadedPart
from tests.config.roles import acting_as, make_roles
from tests.web.fleet import Fleet

WINDOW = timedelta(seconds=10)


def iostat(since: datetime, *, zone: str = "Z") -> bytes:
    """Reads that take 2 ms for five minutes, then 80 ms for five minutes."""
    lines = [f"Linux 6.1.0 (lab-1) \t{since:%Y-%m-%d} \t_x86_64_\t(4 CPU)", ""]
    for number in range(61):
        await_ms = 2.0 if number <= 30 else 80.0
        lines += [
            f"{since + number * WINDOW:%Y-%m-%dT%H:%M:%S}{zone}",
            "Device r/s rkB/s r_await w/s wkB/s w_await aqu-sz %util",
            f"sda 200.00 1600.00 {await_ms} 0.00 0.00 0.00 {0.2 * await_ms:.2f} 50.00",
            "",
        ]
    return ("\n".join(lines) + "\n").encode()


def upload(client: Client, body: bytes, **fields: str) -> ImportRun:
    file = SimpleUploadedFile("../iostat.txt", body)
    response = client.post("/imports/upload/", {"files": [file], **fields})
    run = ImportRun.objects.latest("pk")
    assert (response.status_code, response["Location"]) == (302, f"/imports/{run.pk}/")
    return run


def work() -> None:
    """What a worker does with what waits."""
    for run in waiting_uploads():
        import_uploaded(run, now=timezone.now())


def text_of(client: Client, run: ImportRun) -> str:
    response = client.get(f"/imports/{run.pk}/")
    assert response.status_code == 200
    return response.content.decode()


@pytest.mark.usefixtures("fleet")
def test_upload_is_imported_and_its_page_is_the_report(operator: Client) -> None:
    since = timezone.now().astimezone(UTC) - timedelta(minutes=30)
    run = upload(operator, iostat(since))
    assert "Waiting for a worker" in text_of(operator, run)
    assert "every 3s" in text_of(operator, run)

    work()

    text = text_of(operator, run)
    assert "lab-1/sda</a> was congested" in text
    assert "79.7 ms (threshold 30.0 ms)" in text
    assert "cannot be told: no workload of it was measured" in text
    assert "every 3s" not in text
    assert not UploadedPart.objects.exists()
    assert Import.objects.get().name == "iostat.txt"
    assert f"Import {run.pk}" in operator.get("/imports/").content.decode()


@pytest.mark.usefixtures("fleet")
def test_server_and_worker_import_with_the_rights_of_their_roles(operator: Client) -> None:
    make_roles()
    since = timezone.now().astimezone(UTC) - timedelta(minutes=30)
    with acting_as(DatabaseRole.WEB):
        run = upload(operator, iostat(since))

    with acting_as(DatabaseRole.WORKER):
        tasks.import_upload.apply((run.organisation_id,), throw=True)

    with acting_as(DatabaseRole.WEB):
        assert "lab-1/sda</a> was congested" in text_of(operator, run)


@pytest.mark.usefixtures("fleet")
def test_upload_goes_on_in_the_next_turn(
    operator: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ingest.imports.store.BATCH_POINTS", 10)
    monkeypatch.setattr("advisor.decisions.uploads.TURN_S", -1.0)
    since = timezone.now().astimezone(UTC) - timedelta(minutes=30)
    run = upload(operator, iostat(since))

    work()

    assert [(one.state, one.position) for one in run.files.all()] == [(ImportState.RUNNING, 10)]
    assert "Reading the files" in text_of(operator, run)
    monkeypatch.setattr("advisor.decisions.uploads.TURN_S", 60.0)
    work()
    # The first of 61 reports is that since the machine started.
    assert [(one.state, one.accepted) for one in run.files.all()] == [(ImportState.DONE, 60)]


@pytest.mark.usefixtures("fleet")
def test_page_that_asks_is_loaded_anew_at_the_end(operator: Client) -> None:
    run = upload(operator, b"nothing of any use")
    during = operator.get(f"/imports/{run.pk}/", headers={"HX-Request": "true"})
    assert "Waiting for a worker" in during.content.decode()

    work()

    after = operator.get(f"/imports/{run.pk}/", headers={"HX-Request": "true"})
    assert after["HX-Refresh"] == "true"
    assert "it is of no format that can be imported" in text_of(operator, run)


@pytest.mark.usefixtures("fleet")
def test_upload_that_ends_with_an_error_is_given_up(
    operator: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = upload(operator, b"nothing of any use")
    monkeypatch.setattr("advisor.decisions.uploads.files_of", _break)

    with pytest.raises(OSError, match="the disk is full"):
        tasks.import_upload.apply((run.organisation_id,), throw=True)

    assert not waiting_uploads().exists()
    assert "OSError the disk is full" in text_of(operator, run)


def _break(*_: object, **__: object) -> None:
    raise OSError("the disk is full")


@pytest.mark.usefixtures("fleet")
def test_question_of_a_file_is_answered_on_the_page(operator: Client) -> None:
    since = timezone.now().astimezone(UTC) - timedelta(minutes=30)
    run = upload(operator, iostat(since, zone=""))
    work()
    assert "What the files do not say" in text_of(operator, run)

    response = operator.post(f"/imports/{run.pk}/answer/", {"zone": "UTC"})
    work()

    assert response.status_code == 302
    assert [one.state for one in Import.objects.all()] == [ImportState.DONE]
    assert "What the files do not say" not in text_of(operator, run)


@pytest.mark.usefixtures("fleet")
def test_wrong_answer_is_told_and_nothing_is_kept(operator: Client) -> None:
    file = SimpleUploadedFile("iostat.txt", b"x")

    response = operator.post(
        "/imports/upload/", {"files": [file], "zone": "Mars/Base"}, follow=True
    )

    assert "there is no time zone &quot;Mars/Base&quot;" in response.content.decode()
    assert not ImportRun.objects.exists()


@pytest.mark.usefixtures("fleet")
def test_too_large_upload_is_refused_before_it_is_read(operator: Client, settings: object) -> None:
    settings.MAX_UPLOAD_BYTES = 1000  # type: ignore[attr-defined]  # pytest-django's

    response = operator.post(
        "/imports/upload/", {"files": [SimpleUploadedFile("x", b"x" * 100_000)]}
    )

    assert response.status_code == 413
    assert not ImportRun.objects.exists()


@pytest.mark.usefixtures("fleet")
def test_viewer_may_not_upload_and_outsider_sees_nothing(
    operator: Client, viewer: Client, outsider: Client
) -> None:
    run = upload(operator, b"nothing")
    file = SimpleUploadedFile("iostat.txt", b"x")

    assert viewer.post("/imports/upload/", {"files": [file]}).status_code == 403
    assert viewer.post(f"/imports/{run.pk}/answer/", {"zone": "UTC"}).status_code == 403
    assert "takes the operator role" in viewer.get("/imports/").content.decode()
    assert viewer.get(f"/imports/{run.pk}/").status_code == 200
    assert outsider.get(f"/imports/{run.pk}/").status_code == 404
    assert f"Import {run.pk}" not in outsider.get("/imports/").content.decode()


def test_upload_needs_the_token_of_the_form(fleet: Fleet) -> None:
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(fleet.people.operator)

    response = strict.post("/imports/upload/", {"files": [SimpleUploadedFile("x", b"x")]})

    assert response.status_code == 403
