"""Files that people upload: kept as parts in the database until a worker has imported them."""

from __future__ import annotations

import time
from collections.abc import Iterable
from datetime import datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction
from django.db.models import QuerySet

from accounts.models import Organisation
from advisor.decisions.imported import judge_imported, kept_since
from ingest.core.decoders.errors import QuestionError
from ingest.core.imported.answers import Answers
from ingest.imports.archives import files_of
from ingest.imports.run import begin_run, import_files
from ingest.imports.store import Interrupted
from ingest.models import Import, ImportRun, ImportState, UploadedPart

KEPT_FOR = timedelta(days=1)
"""A file that asks something waits so long for the answer."""
TURN_S = 120.0
JUDGING_S = 60.0

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
    """Keep files until a worker imports them; the run says how far it is."""
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
    return run


def waiting_uploads() -> QuerySet[ImportRun]:
    """The runs whose files a worker has to import."""
    return ImportRun.objects.filter(ended_at=None, parts__isnull=False).distinct()


def import_uploaded(run: ImportRun, *, now: datetime) -> None:
    """Import what is there of a run, in about two minutes; the next call goes on."""
    deadline = time.monotonic() + TURN_S

    def stop_in_time(_row: Import, _read_bytes: int) -> None:
        if time.monotonic() > deadline:
            raise Interrupted

    with TemporaryDirectory() as folder:
        _write(run, Path(folder))
        try:
            import_files(
                run,
                lambda: files_of([Path(folder)], below=Path(folder)),
                now=now,
                earliest=kept_since(run.organisation, now=now),
                ask=_nobody_answers,
                progress=stop_in_time,
            )
        except Interrupted:
            return
    judge_imported(run, now=now, limit_s=JUDGING_S)
    if not run.files.filter(state=ImportState.QUESTION).exists():
        run.parts.all().delete()


def give_up(run: ImportRun, *, reason: str, now: datetime) -> None:
    """End a run that cannot go on, so that it is not begun again and again."""
    run.problem, run.ended_at = reason, now
    run.save(update_fields=["problem", "ended_at"])


@transaction.atomic
def answer(run: ImportRun, answers: Answers) -> None:
    """Import the files that asked something once more, with these answers."""
    run.files.filter(state=ImportState.QUESTION).delete()
    run.answers = {name: getattr(answers, name) for name in answers.__dataclass_fields__}
    run.ended_at = run.shift_s = None
    run.problem = ""
    run.save()


def drop_old_uploads(*, now: datetime) -> int:
    """Delete parts of files that nobody answered for; how many."""
    deleted, _ = UploadedPart.objects.filter(run__started_at__lt=now - KEPT_FOR).delete()
    return deleted


def _nobody_answers(_name: str, _error: QuestionError, _answers: Answers) -> None:
    return None


def _write(run: ImportRun, folder: Path) -> None:
    """The files of a run; of two with one name the second gets its place before it."""
    names: dict[int, str] = dict(run.parts.values_list("file", "name").distinct())
    taken: set[str] = set()
    for place, name in sorted(names.items()):
        own = name if name not in taken and name not in ("", ".", "..") else f"{place}-{name}"
        taken.add(own)
        with (folder / own).open("wb") as file:
            for number in range(run.parts.filter(file=place).count()):
                file.write(run.parts.get(file=place, number=number).data)
