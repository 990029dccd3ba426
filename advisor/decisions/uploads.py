"""Files that people upload: kept as parts in the database until a worker has imported them."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir

from django.contrib.auth.models import AbstractBaseUser
from django.db import connection, transaction
from django.db.models import QuerySet

from accounts.models import Organisation
from advisor.decisions.imported import judge_imported, kept_since
from advisor.errors import DecisionRefused
from advisor.pipeline.asked_by import note_asked
from ingest.core.decoders.errors import QuestionError
from ingest.core.imported.answers import Answers
from ingest.imports.archives import Found, files_of
from ingest.imports.run import begin_run, import_files
from ingest.imports.store import Interrupted
from ingest.models import Import, ImportRun, ImportState, UploadedPart
from ingest.quotas.entry import import_wait_s

KEPT_FOR = timedelta(days=1)
"""A file that asks something waits so long for the answer."""
MOST_WAITING = 10
"""So many uploads of an organisation wait for a worker or an answer: they take space."""
NOT_IN_TIME = "it did not end within a day"
TURN_S = 120.0
JUDGING_S = 60.0
_FOLDER = "sluice-upload-"
_LEFT_BEHIND_S = 3600.0
"""A turn is over long before."""
_LONGEST_NAME_BYTES = 200

Upload = tuple[str, Iterable[bytes]]
"""The name of a file and its parts."""


@transaction.atomic
def upload(
    *,
    organisation: Organisation,
    user: AbstractBaseUser,
    files: Iterable[Upload],
    answers: Answers,
    is_shifted: bool,
    now: datetime,
) -> ImportRun:
    """Keep files until a worker imports them; the run says how far it is.

    Raises `DecisionRefused` where too many wait already.
    """
    waiting = ImportRun.objects.filter(organisation=organisation, parts__isnull=False)
    if waiting.distinct().count() >= MOST_WAITING:
        raise DecisionRefused(
            f"{MOST_WAITING} uploads wait already; answer what they ask, or upload again later"
        )
    run = begin_run(
        organisation=organisation,
        answers=answers,
        is_shifted=is_shifted,
        now=now,
        user=user.pk,
    )
    for place, (name, parts) in enumerate(files):
        for number, data in enumerate(parts):
            UploadedPart.objects.create(
                run=run, file=place, name=Path(name).name, number=number, data=data
            )
    note_asked(f"import {run.pk}")
    return run


def waiting_uploads() -> QuerySet[ImportRun]:
    """The runs whose files a worker has to import."""
    return ImportRun.objects.filter(ended_at=None, parts__isnull=False).distinct()


def import_uploaded(run: ImportRun, *, now: datetime) -> None:
    """Import what is there of a run, in about two minutes; the next call goes on.

    A run that another worker imports at this moment is left to it. None waits for the quota of
    points, because others wait for the worker.
    """
    if import_wait_s(run.organisation):
        return
    with _turn(run) as is_ours:
        if is_ours and waiting_uploads().filter(pk=run.pk).exists():
            run.refresh_from_db()
            _import(run, now=now)


def _import(run: ImportRun, *, now: datetime) -> None:
    deadline = time.monotonic() + TURN_S

    def stop_in_time(_row: Import, _read_bytes: int) -> None:
        if time.monotonic() > deadline:
            raise Interrupted

    _remove_left_behind()
    with TemporaryDirectory(prefix=_FOLDER) as name:
        folder = Path(name)
        _write(run, folder)
        try:
            import_files(
                run,
                lambda: _files(folder),
                now=now,
                earliest=kept_since(run.organisation, now=now),
                ask=_nobody_answers,
                progress=stop_in_time,
                pause=_go_on_later,
            )
        except Interrupted:
            return
    judge_imported(run, now=now, limit_s=JUDGING_S)
    _drop_parts(run)


def _drop_parts(run: ImportRun) -> None:
    """Delete what was uploaded, unless an answer is waited for."""
    if not run.files.filter(state=ImportState.QUESTION).exists():
        run.parts.all().delete()


@contextmanager
def _turn(run: ImportRun) -> Iterator[bool]:
    """Whether nobody else imports the run; it is ours until the end, or until we are killed."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_lock(hashtextextended('upload', %s))", [run.pk])
        row = cursor.fetchone()
    is_ours = row is not None and bool(row[0])
    try:
        yield is_ours
    finally:
        if is_ours:
            with connection.cursor() as cursor:
                cursor.execute(
                    "SELECT pg_advisory_unlock(hashtextextended('upload', %s))", [run.pk]
                )


def give_up(run: ImportRun, *, reason: str, now: datetime) -> None:
    """End a run that cannot go on, so that it is not begun again and again."""
    run.problem, run.ended_at = reason, now
    run.save(update_fields=["problem", "ended_at"])
    _drop_parts(run)


def is_asking(run: ImportRun) -> bool:
    """Whether it ended with a question, and what was uploaded is still there."""
    if run.ended_at is None or not run.parts.exists():
        return False
    return run.files.filter(state=ImportState.QUESTION).exists()


@transaction.atomic
def answer(run: ImportRun, answers: Answers) -> None:
    """Import the files that asked something once more, with these answers.

    Raises `DecisionRefused` where nothing waits for an answer.
    """
    run = ImportRun.objects.select_for_update().get(pk=run.pk)
    if not is_asking(run):
        raise DecisionRefused("no file waits for an answer; upload it again")
    run.files.filter(state=ImportState.QUESTION).delete()
    run.answers = {name: getattr(answers, name) for name in answers.__dataclass_fields__}
    run.ended_at = run.shift_s = None
    run.problem = ""
    run.save()
    note_asked(f"import {run.pk}")


@transaction.atomic
def drop_old_uploads(*, now: datetime) -> int:
    """Delete parts of files that nobody answered for; how many. What did not end ends."""
    old = ImportRun.objects.filter(started_at__lt=now - KEPT_FOR)
    old.filter(ended_at=None).update(problem=NOT_IN_TIME, ended_at=now)
    deleted, _ = UploadedPart.objects.filter(run__in=old).delete()
    return deleted


def _nobody_answers(_name: str, _error: QuestionError, _answers: Answers) -> None:
    return None


def _go_on_later(_wait_s: float) -> None:
    raise Interrupted


def _write(run: ImportRun, folder: Path) -> None:
    """The files of a run, each in a folder of its own: some may have one name."""
    names: dict[int, str] = dict(run.parts.values_list("file", "name").distinct())
    for place, name in sorted(names.items()):
        own = folder / f"{place:06}"
        own.mkdir()
        with (own / _file_name(name)).open("wb") as file:
            for number in range(run.parts.filter(file=place).count()):
                file.write(run.parts.get(file=place, number=number).data)


def _file_name(name: str) -> str:
    """The name as far as a file system takes it."""
    cut = name.encode("utf-8", "replace")[:_LONGEST_NAME_BYTES].decode("utf-8", "ignore")
    return "file" if cut in ("", ".", "..") else cut


def _files(folder: Path) -> Iterator[Found]:
    for own in sorted(folder.iterdir()):
        yield from files_of([own], below=own)


def _remove_left_behind() -> None:
    """Delete the folders of workers that were killed; one that lives is young."""
    for folder in Path(gettempdir()).glob(f"{_FOLDER}*"):
        try:
            stat = folder.lstat()
        except FileNotFoundError:
            continue
        if stat.st_uid == os.getuid() and time.time() - stat.st_mtime > _LEFT_BEHIND_S:
            shutil.rmtree(folder, ignore_errors=True)
