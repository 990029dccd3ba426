"""Replays: how the controls behave in experiments of studies, which are the same for all."""

from __future__ import annotations

from typing import Annotated, Any

from django.http import Http404, HttpRequest
from ninja import Router, Schema
from pydantic import Field

from advisor.errors import UnknownExperiment
from advisor.lab.replay.player import NAMES, present_name, timeline_document
from advisor.lab.replay.tally import summary_of

router = Router(tags=["replays"])
ReplayName = Annotated[str, Field(pattern=r"^[0-9a-z-]{1,60}$")]


class ReplayRow(Schema):
    """An experiment, and how many statements of its study hold."""

    name: str
    title: str
    study: str
    duration_s: float
    summary: str


class Replay(ReplayRow):
    """Its figures over time, and each printed number beside ours."""

    panels: list[dict[str, Any]]
    findings: list[dict[str, Any]]


class ReplayRows(Schema):
    items: list[ReplayRow]


@router.get("", response=ReplayRows)
def list_replays(request: HttpRequest) -> Any:  # noqa: ARG001  ninja's
    """List the experiments that can be replayed."""
    return {"items": [_row(timeline_document(name)) for name in NAMES]}


@router.get("/{name}", response=Replay)
def get_replay(request: HttpRequest, name: ReplayName) -> Any:  # noqa: ARG001  ninja's
    """Read an experiment with all that was found; a former name is found too."""
    try:
        document = timeline_document(present_name(name))
    except UnknownExperiment as error:
        raise Http404(str(error)) from error
    return _row(document) | {"panels": document["panels"], "findings": document["findings"]}


def _row(document: Any) -> dict[str, Any]:
    return {
        "name": document["experiment"],
        "title": document["title"],
        "study": document["study"],
        "duration_s": document["duration_s"],
        "summary": summary_of(document["findings"]),
    }
