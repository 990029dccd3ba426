"""Uploading files, how far their import is, and what its page says."""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connections
from django.test import Client
from django.test.client import FakePayload
from django.utils import timezone

from accounts.models import Organisation
from advisor import tasks
from advisor.decisions.uploads import (
    KEPT_FOR,
    drop_old_uploads,
    import_uploaded,
    waiting_uploads,
)
from advisor.queries.import_report import ImportReport, import_report
from config.database_roles import DatabaseRole
from ingest.models import Import, ImportRun, ImportState, UploadedPart
from ingest.quotas.entry import spending_of
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
def test_report_is_made_once_for_a_page_that_is_loaded_again(
    operator: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[ImportReport] = []

    def counted(run: ImportRun, *, now: datetime) -> ImportReport:
        made.append(import_report(run, now=now))
        return made[-1]

    monkeypatch.setattr("advisor.queries.kept_import_report.import_report", counted)
    run = upload(operator, iostat(timezone.now().astimezone(UTC) - timedelta(minutes=30)))
    work()
    # The part that asks how far it is says only that the page is to be loaded.
    operator.get(f"/imports/{run.pk}/", headers={"HX-Request": "true"})
    assert made == []

    texts = [text_of(operator, run) for _ in range(2)]

    assert len(made) == 1
    assert all("lab-1/sda</a> was congested" in text for text in texts)


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


def test_upload_that_waits_for_a_quota_keeps_no_worker(operator: Client, fleet: Fleet) -> None:
    Organisation.objects.filter(pk=fleet.organisation.pk).update(quota_points_per_s=1)
    spending_of.cache_clear()
    run = upload(operator, iostat(timezone.now().astimezone(UTC) - timedelta(minutes=30)))

    work()
    waiting = Import.objects.get(run=run)
    said = text_of(operator, run)
    Organisation.objects.filter(pk=fleet.organisation.pk).update(quota_points_per_s=0)
    work()

    # Of a minute's worth, 60 points, half is left for others: two batches of 15, and more where
    # a slow machine takes seconds. The file has 61.
    assert waiting.state == ImportState.RUNNING
    assert 30 <= waiting.position < 61
    assert "it waits for the quota of points a second" in said
    assert Import.objects.get(run=run).state == ImportState.DONE


@pytest.mark.usefixtures("fleet")
def test_upload_that_ends_with_an_error_is_given_up(
    operator: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = upload(operator, b"nothing of any use")
    monkeypatch.setattr("advisor.decisions.uploads.files_of", _break)

    with pytest.raises(OSError, match="the disk is full"):
        tasks.import_upload.apply((run.organisation_id,), throw=True)

    assert not waiting_uploads().exists()
    assert not UploadedPart.objects.exists()
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
@pytest.mark.parametrize(
    "wrong",
    [
        {"every_s": "nan"}, {"every_s": "inf"}, {"every_s": "-1"}, {"every_s": "soon"},
        {"zone": "Europe"}, {"zone": "../../etc/passwd"}, {"zone": "\0"}, {"host": "a\0b"},
        {"host": "h" * 254}, {"date_order": "year"}, {"first_at": "soon"},
    ],
    ids=str,
)  # fmt: skip
def test_answer_that_cannot_be_used_is_told(operator: Client, wrong: dict[str, str]) -> None:
    file = SimpleUploadedFile("iostat.txt", b"x")

    response = operator.post("/imports/upload/", {"files": [file], **wrong}, follow=True)

    assert "Nothing was imported: " in response.content.decode()
    assert not ImportRun.objects.exists()


@pytest.mark.usefixtures("fleet")
def test_answer_that_nothing_asks_for_leaves_the_run_as_it_is(operator: Client) -> None:
    since = timezone.now().astimezone(UTC) - timedelta(minutes=30)
    done = upload(operator, iostat(since))
    work()
    asking = upload(operator, iostat(since, zone=""))
    work()
    drop_old_uploads(now=timezone.now() + KEPT_FOR + timedelta(minutes=1))
    before = list(ImportRun.objects.order_by("pk").values())

    for run in (done, asking):
        response = operator.post(f"/imports/{run.pk}/answer/", {"zone": "UTC"}, follow=True)
        assert "no file waits for an answer" in response.content.decode()

    assert list(ImportRun.objects.order_by("pk").values()) == before


@pytest.mark.usefixtures("fleet")
def test_answer_to_one_file_leaves_those_that_asked_nothing(operator: Client) -> None:
    since = timezone.now().astimezone(UTC) - timedelta(minutes=30)
    files = [
        SimpleUploadedFile("asks.txt", iostat(since, zone="")),
        SimpleUploadedFile("says.txt", iostat(since).replace(b"lab-1", b"lab-2")),
    ]
    operator.post("/imports/upload/", {"files": files})
    run = ImportRun.objects.get()
    work()

    operator.post(f"/imports/{run.pk}/answer/", {"zone": "UTC"})
    work()

    rows = [(one.name, one.state, one.accepted) for one in run.files.order_by("name")]
    assert rows == [("asks.txt", ImportState.DONE, 60), ("says.txt", ImportState.DONE, 60)]


@pytest.mark.usefixtures("fleet")
def test_uploads_that_wait_are_limited(operator: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("advisor.decisions.uploads.MOST_WAITING", 2)
    for number in range(2):
        upload(operator, b"nothing of any use %d" % number)
    files = [SimpleUploadedFile("x", b"y")]

    response = operator.post("/imports/upload/", {"files": files}, follow=True)

    assert "Nothing was imported: 2 uploads wait already" in response.content.decode()
    assert ImportRun.objects.count() == 2
    work()
    upload(operator, b"nothing else")


@pytest.mark.usefixtures("fleet")
def test_upload_that_nobody_finished_ends_after_a_day(operator: Client) -> None:
    run = upload(operator, b"nothing of any use")

    drop_old_uploads(now=timezone.now() + KEPT_FOR + timedelta(minutes=1))

    text = text_of(operator, run)
    assert "This import cannot go on: it did not end within a day" in text
    assert "every 3s" not in text
    assert not UploadedPart.objects.exists()


@pytest.mark.usefixtures("fleet")
def test_files_of_one_name_and_of_long_names_are_all_imported(operator: Client) -> None:
    since = timezone.now().astimezone(UTC) - timedelta(minutes=30)
    # The third would have the first's name if it got its place before its own.
    names = ["2-a", "a", "a", "\N{SNOWMAN}" * 100]
    files = [
        SimpleUploadedFile(name, iostat(since).replace(b"lab-1", b"lab-%d" % number))
        for number, name in enumerate(names)
    ]
    operator.post("/imports/upload/", {"files": files})

    work()

    rows = {(one.name[:3], one.state, *one.hosts) for one in Import.objects.all()}
    assert rows == {
        (name[:3], ImportState.DONE, f"lab-{number}") for number, name in enumerate(names)
    }


@pytest.mark.usefixtures("fleet")
def test_upload_that_another_worker_imports_is_left_to_it(operator: Client) -> None:
    since = timezone.now().astimezone(UTC) - timedelta(minutes=30)
    run = upload(operator, iostat(since))
    other = connections.create_connection("default")
    try:
        with other.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_lock(hashtextextended('upload', %s))", [run.pk])
        work()
        assert not Import.objects.exists()
    finally:
        other.close()

    # The other worker is gone, and so is its hold.
    work()

    assert [one.state for one in Import.objects.all()] == [ImportState.DONE]


@pytest.mark.usefixtures("fleet")
def test_folder_of_a_killed_worker_is_deleted(
    operator: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    old, young, foreign = [
        tmp_path / name for name in ("sluice-upload-old", "sluice-upload-young", "other")
    ]
    for folder in (old, young, foreign):
        folder.mkdir()
        (folder / "file").write_bytes(b"x")
    for folder in (old, foreign):
        os.utime(folder, (0, 0))
    upload(operator, b"nothing of any use")

    work()

    assert sorted(tmp_path.iterdir()) == [foreign, young]


class _Unread(FakePayload):
    """A body that nobody may read."""

    def read(self, *_: Any, **__: Any) -> bytes:
        raise AssertionError("the body was read")


def test_upload_of_those_who_may_not_is_refused_before_it_is_read(
    fleet: Fleet, viewer: Client
) -> None:
    strict = Client(enforce_csrf_checks=True)
    strict.get("/login/")
    extra = {"wsgi.input": _Unread(b"x" * 10_000), "CONTENT_LENGTH": "10000"}
    content_type = "multipart/form-data; boundary=xx"

    login = strict.generic("POST", "/imports/upload/", b"", content_type, **extra)
    refused = viewer.generic("POST", "/imports/upload/", b"", content_type, **extra)

    assert (login.status_code, refused.status_code) == (302, 403)


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
