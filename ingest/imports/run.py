"""Import files together: move their times alike, ask what they leave out, go on where it ended."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta

from django.db import transaction

from accounts.models import Organisation
from ingest.core.decoders.errors import DecodeError, QuestionError
from ingest.core.imported.answers import Answers
from ingest.imports.archives import ArchiveError, Found, Member, Unreadable
from ingest.imports.store import (
    Content,
    Pause,
    Progress,
    content_of,
    import_file,
    newest_ns,
)
from ingest.models import Import, ImportRun, ImportState

STEP_S = 60
"""Times are moved by whole minutes, so that windows stay what they are."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_NS = 1_000_000_000

Ask = Callable[[str, QuestionError, Answers], Answers | None]
"""Asks about the file of this name, and what was answered so far; None if nobody answers."""
Files = Callable[[], Iterator[Found]]


def begin_run(
    *,
    organisation: Organisation,
    answers: Answers,
    is_shifted: bool,
    now: datetime,
    user: int | None = None,
) -> ImportRun:
    """A run without files; `user` is the key of the person who began it."""
    said = {name: getattr(answers, name) for name in answers.__dataclass_fields__}
    return ImportRun.objects.create(
        organisation=organisation,
        answers=said,
        is_shifted=is_shifted,
        started_at=now,
        started_by_id=user,
    )


def import_files(
    run: ImportRun,
    files: Files,
    *,
    now: datetime,
    earliest: datetime,
    ask: Ask,
    progress: Progress = lambda _row, _read: None,
    pause: Pause = time.sleep,
) -> None:
    """Import every file; one that fails is noted in its row, and the others go on.

    `earliest` is the time from which samples are kept. What `progress` or `pause` raises ends the
    run, which goes on where it was if it is called again.
    """
    answers = Answers(**run.answers)
    if run.is_shifted and run.shift_s is None:
        run.shift_s, answers = _shift_s(files, answers, ask, now)
        run.answers = {**run.answers, **_said(answers)}
        run.save()
    for found in files():
        if isinstance(found, Unreadable):
            _note_unreadable(run, found)
            continue
        answers = _import_one(
            found,
            run,
            answers,
            now=now,
            earliest=earliest,
            ask=ask,
            progress=progress,
            pause=pause,
        )


def _import_one(
    member: Member,
    run: ImportRun,
    answers: Answers,
    *,
    now: datetime,
    earliest: datetime,
    ask: Ask,
    progress: Progress,
    pause: Pause,
) -> Answers:
    """The answers so far, which hold for the next files too."""
    try:
        content = content_of(member)
    except (ArchiveError, OSError) as error:
        _note_unreadable(run, Unreadable(name=member.name, reason=str(error)))
        return answers
    while True:
        try:
            import_file(
                member,
                content,
                run=run,
                answers=answers,
                now=now,
                earliest=earliest,
                progress=progress,
                pause=pause,
            )
        except QuestionError as error:
            more = ask(member.name, error, answers)
            if more is None:
                return answers
            answers = _answered(run, content, answers, more)
        else:
            return answers


@transaction.atomic
def _answered(run: ImportRun, content: Content, before: Answers, more: Answers) -> Answers:
    """With other answers it is another import: the row that asked is of no use."""
    rows = Import.objects.filter(run=run, digest=content.digest, said__startswith=before.key)
    rows.filter(state=ImportState.QUESTION).delete()
    run.answers = {**run.answers, **_said(more)}
    run.save()
    return more


def _said(answers: Answers) -> dict[str, object]:
    return {name: getattr(answers, name) for name in answers.__dataclass_fields__}


def _shift_s(files: Files, answers: Answers, ask: Ask, now: datetime) -> tuple[int, Answers]:
    """By how much times have to be moved so that the newest of all files is now."""
    newest: int | None = None
    for found in files():
        if isinstance(found, Unreadable):
            continue
        last, answers = _newest_ns(found, answers, ask)
        if last is not None:
            newest = last if newest is None else max(newest, last)
    if newest is None:
        return 0, answers
    now_ns = (now - _EPOCH) // timedelta(microseconds=1) * 1000
    return (now_ns - newest) // _NS // STEP_S * STEP_S, answers


def _newest_ns(member: Member, answers: Answers, ask: Ask) -> tuple[int | None, Answers]:
    while True:
        try:
            form = content_of(member).form
            newest = None if form is None else newest_ns(member, form, answers)
        except QuestionError as error:
            more = ask(member.name, error, answers)
            if more is None:
                return None, answers
            answers = more
        except (DecodeError, ArchiveError, OSError):
            # It is told of when the file is imported.
            return None, answers
        else:
            return newest, answers


def _note_unreadable(run: ImportRun, found: Unreadable) -> None:
    Import.objects.update_or_create(
        organisation_id=run.organisation_id,
        digest="",
        said=f"{found.name}: {found.reason}",
        defaults={
            "run": run,
            "name": found.name,
            "size_bytes": 0,
            "state": ImportState.FAILED,
            "problem": found.reason,
        },
    )
