"""Move workloads by a command where placement advice was approved, and see whether they moved."""

from __future__ import annotations

import logging
from datetime import datetime, timedelta

from django.conf import settings
from django.db import transaction
from django.db.models import QuerySet

from accounts.actor import SCHEDULER, Actor
from accounts.models import Organisation
from accounts.models.audit import LONGEST_SUBJECT
from accounts.roles import Action
from accounts.services.audit import record
from advisor.advice.kind import HostMove
from advisor.core.enumeration import listed
from advisor.core.move_command import filled
from advisor.core.quantity import format_rate
from advisor.decisions.move_runner import LONGEST_S, Ended, run
from advisor.decisions.rollouts.begin import terms_of
from advisor.history.recent_rates import REACH, rates_at
from advisor.models import Allocation, MoveState, PlacementMove, Recommendation
from advisor.resource_kinds import registry

log = logging.getLogger(__name__)

RUN_WITHIN = timedelta(hours=1)
"""Advice is of the load at its time; what nobody ran by then is not run any more."""
SEEN_WITHIN = timedelta(minutes=15)
STILL_SENDS_RATIO = 0.05
"""What the source may still carry of it, beside the target: the last of the move itself."""


def may_carry_out(actor: Actor, organisation: Organisation) -> bool:
    """Whether an approval of this actor runs the command."""
    return _is_configured(organisation) and actor.may(Action.CARRY_OUT)


def _is_configured(organisation: Organisation) -> bool:
    """Whether it moves workloads of the organisation: another's may have hosts of these names."""
    return bool(settings.MOVE_COMMAND) and organisation.slug in settings.MOVE_ORGANISATIONS


def ask_for_moves(
    recommendation: Recommendation, moves: tuple[HostMove, ...], *, actor: Actor, now: datetime
) -> None:
    """Let a worker make the moves, if the command is configured and the actor may have it run."""
    if may_carry_out(actor, recommendation.organisation):
        PlacementMove.objects.bulk_create(
            PlacementMove(
                organisation_id=recommendation.organisation_id, recommendation=recommendation,
                place=place, workload=one.workload, source=one.source, target=one.target,
                asked_at=now, asked_by=actor.name,
            )
            for place, one in enumerate(moves)
        )  # fmt: skip


def asked_text(recommendation: Recommendation) -> str:
    """What an approval began; empty where no command moves anything."""
    names = list(recommendation.moves.order_by("place").values_list("workload", flat=True))
    if not names:
        return ""
    return (
        f"Approved: a worker runs the move command for {listed(names)}. "
        "Whether they moved is measured afterwards, and stands on the page."
    )


def open_moves() -> QuerySet[PlacementMove]:
    """Those that something has still to be done for."""
    states = (MoveState.WAITING, MoveState.RUNNING, MoveState.CHECKING)
    return PlacementMove.objects.filter(state__in=states)


def carry_out(*, recommendation: Recommendation, now: datetime) -> None:
    """Look at what was moved, then make the next move; safe to run twice and at once."""
    rows = PlacementMove.objects.filter(recommendation=recommendation)
    _find_lost(recommendation, now)
    for move in rows.filter(state=MoveState.CHECKING):
        _check(move, now)
    if rows.filter(state=MoveState.RUNNING).exists():
        return
    waiting = rows.filter(state=MoveState.WAITING).order_by("place").first()
    if waiting is not None:
        _make(waiting, now)


def end_without_command(*, now: datetime) -> None:
    """End and look at moves of a command that the installation has no more, nor a worker for."""
    if settings.MOVE_COMMAND:
        return
    left = open_moves().values("recommendation")
    for recommendation in Recommendation.objects.filter(pk__in=left).order_by("pk"):
        try:
            carry_out(recommendation=recommendation, now=now)
        except Exception:
            # What ends the look at one leaves the others.
            log.exception("moves not ended", extra={"recommendation": recommendation.pk})


def _find_lost(recommendation: Recommendation, now: datetime) -> None:
    """A worker that died says nothing of its command: what is measured will."""
    lost = PlacementMove.objects.filter(
        recommendation=recommendation, state=MoveState.RUNNING,
        started_at__lt=now - timedelta(seconds=2 * LONGEST_S),
    )  # fmt: skip
    lost.update(state=MoveState.CHECKING, ended_at=now, said="nobody knows how the command ended")


def _make(move: PlacementMove, now: datetime) -> None:
    if terms_of(move.organisation).stopped_at is not None:
        return
    names = {"workload": move.workload, "source": move.source, "target": move.target}
    if reason := _why_not(move, now):
        _end(move, MoveState.WAITING, Ended(exit_status=None, said=reason), now)
        return
    try:
        words = filled(settings.MOVE_COMMAND, names)
    except ValueError as error:
        _end(move, MoveState.WAITING, Ended(exit_status=None, said=str(error)), now)
        return
    if not _claim(move, MoveState.WAITING, state=MoveState.RUNNING, started_at=now):
        return
    log.info("move begun", extra={"move": move.pk, "workload": move.workload})
    began, ended = now, run(words)
    _end(move, MoveState.RUNNING, ended, began + timedelta(seconds=ended.lasted_s))


def _why_not(move: PlacementMove, now: datetime) -> str:
    """Why its command is not run any more; empty where nothing speaks against it."""
    if not _is_configured(move.organisation):
        return "no command is configured any more"
    if now - move.asked_at > RUN_WITHIN:
        return "it waited for more than an hour, and the advice is of the load before"
    before = PlacementMove.objects.filter(
        recommendation=move.recommendation_id, place__lt=move.place,
        state__in=[MoveState.FAILED, MoveState.NOT_SEEN],
    )  # fmt: skip
    if before.exists():
        return "a move before it failed"
    return ""


@transaction.atomic
def _end(move: PlacementMove, state: MoveState, ended: Ended, now: datetime) -> None:
    """Keep how the command ended. Even where it says that all went well, that is measured."""
    after = MoveState.CHECKING if ended.exit_status == 0 else MoveState.FAILED
    if _claim(
        move, state, state=after, ended_at=now, exit_status=ended.exit_status, said=ended.said
    ):
        words = ended.said or "the command printed nothing"
        _tell(move, "run a move command", {"exit": ended.exit_status, "said": words[:200]}, now)


def _claim(move: PlacementMove, before: MoveState, **columns: object) -> bool:
    rows = PlacementMove.objects.filter(pk=move.pk, state=before)
    return bool(rows.update(**columns))


@transaction.atomic
def _check(move: PlacementMove, now: datetime) -> None:
    assert move.ended_at is not None
    # Before that the newest minute may be of the time when it still ran on the source.
    if now < move.ended_at + REACH:
        return
    on_source, on_target = _measured(move, move.source, now), _measured(move, move.target, now)
    said = f"{move.target}: {_rate_text(on_target)}; {move.source}: {_rate_text(on_source)}"
    if on_target and (on_source or 0.0) <= STILL_SENDS_RATIO * on_target:
        state = MoveState.MOVED
    elif now - move.ended_at > SEEN_WITHIN:
        state = MoveState.NOT_SEEN
    else:
        PlacementMove.objects.filter(pk=move.pk).update(measured=said)
        return
    if _claim(move, MoveState.CHECKING, state=state, measured=said):
        _tell(move, "see what a move did", {"state": str(state), "measured": said}, now)


def _measured(move: PlacementMove, host: str, now: datetime) -> float | None:
    """What it sends through the uplinks of a host; None where nothing was measured."""
    kinds = [traits.name for traits in registry.KINDS if traits.one_device]
    rows = Allocation.objects.filter(
        resource__organisation=move.organisation_id, resource__kind__in=kinds,
        workload__name=move.workload, host__name=host,
    )  # fmt: skip
    found = list(rows.select_related("resource", "host", "workload").order_by("pk"))
    rates = rates_at(found, [now])[0] if found else {}
    known = [rate for rate in rates.values() if rate is not None]
    return sum(known) if known else None


def _rate_text(rate: float | None) -> str:
    return "nothing is measured" if rate is None else format_rate(rate, "bits_per_s")


def _tell(
    move: PlacementMove, action: str, details: dict[str, str | int | None], now: datetime
) -> None:
    record(
        organisation=move.organisation, actor=SCHEDULER, action=action,
        subject=f"{move.workload} from {move.source} to {move.target}"[:LONGEST_SUBJECT],
        now=now, details={**details, "asked_by": move.asked_by},
    )  # fmt: skip
