"""Advice on which host workloads belong on, as people are shown it."""

from __future__ import annotations

from datetime import datetime, timedelta

from advisor.advice.host_placement.decide.host_inputs import (
    HostPlacementAdvice,
    HostPlacementInputs,
)
from advisor.advice.shared.picture import Axis, Column, Level, Picture
from advisor.advice.shared.shown import AdviceTable, Commitment, Fact, Shown, TableColumn
from advisor.core.quantity import format_rate

MOST_HOSTS = 12


COMMITMENT = Commitment(
    does="It is noted that somebody will move the workloads and settle the "
    "reservations that no host can promise.",
    does_not="Sluice moves no workload and changes no allocation.",
    undo="A workload that was moved can be moved back.",
)


def show(inputs: HostPlacementInputs, answer: HostPlacementAdvice, _resource: str) -> Shown:
    return Shown(
        table=_table(answer),
        facts=_facts(inputs),
        picture=_picture(inputs, answer),
        commitment=COMMITMENT,
    )


def _table(answer: HostPlacementAdvice) -> AdviceTable:
    """One row per move and per reservation that cannot be promised."""
    moves = tuple(
        (
            one.workload,
            format_rate(one.reservation_bits_per_s, "bits_per_s"),
            one.source or "not started",
            one.target,
            None if one.due_at is None else _clock(one.due_at),
        )
        for one in answer.moves
    )
    refused = tuple(
        (
            one.workload,
            format_rate(one.reservation_bits_per_s, "bits_per_s"),
            "no host can promise it",
            "withdraw or lower the reservation",
            None,
        )
        for one in answer.refused
    )
    return AdviceTable(
        columns=(
            TableColumn(title="Workload"),
            TableColumn(title="Reservation", is_number=True),
            TableColumn(title="Now"),
            TableColumn(title="After"),
            TableColumn(title="Due"),
        ),
        rows=(*moves, *refused),
    )


def _clock(at: datetime) -> str:
    # Rounded down to the second, so that the shown deadline is not after the real one.
    whole = at - timedelta(microseconds=at.microsecond)
    return f"{whole:%Y-%m-%d %H:%M:%S} UTC"


def _facts(inputs: HostPlacementInputs) -> tuple[Fact, ...]:
    hosts = []
    for one in inputs.hosts:
        reserved = sum(
            workload.reservation_bits_per_s
            for workload in inputs.workloads
            if workload.host == one.host
        )
        may = inputs.reservable_ratio * one.line_bits_per_s
        hosts.append(
            Fact(
                name=f"Host {one.host}",
                text=f"{format_rate(reserved, 'bits_per_s')} reserved, "
                f"{format_rate(may, 'bits_per_s')} may be",
            )
        )
    ratio = Fact(name="May be reserved", text=f"{inputs.reservable_ratio:.0%} of a line rate")
    return (ratio, *hosts)


def _picture(inputs: HostPlacementInputs, answer: HostPlacementAdvice) -> Picture | None:
    """How full the hosts that take part are with reservations, now and after the moves."""
    moved = {one.workload: one.target for one in answer.moves}
    involved = {one.host for one in inputs.workloads if one.workload in moved} | set(
        moved.values()
    )
    hosts = [one for one in inputs.hosts if one.host in involved and one.line_bits_per_s > 0]
    if not hosts:
        return None
    columns, said = [], []
    for place, host in enumerate(hosts[:MOST_HOSTS]):
        may = inputs.reservable_ratio * host.line_bits_per_s
        before = sum(
            one.reservation_bits_per_s for one in inputs.workloads if one.host == host.host
        )
        after = sum(
            one.reservation_bits_per_s
            for one in inputs.workloads
            if moved.get(one.workload, one.host) == host.host
        )
        columns.append(Column(at=place + 0.1, value=100 * before / may))
        columns.append(Column(at=place + 0.5, value=100 * after / may, is_after=True))
        said.append(f"{host.host}: {before / may:.0%} now, {after / may:.0%} after")
    return Picture(
        title="How much of what may be reserved is reserved",
        said="; ".join(said),
        x=Axis(
            label="host",
            ticks=tuple((place + 0.5, host.host) for place, host in enumerate(hosts[:MOST_HOSTS])),
        ),
        y=Axis(label="reserved of what may be", unit="%"),
        columns=tuple(columns),
        columns_label="now",
        columns_after_label="after",
        levels=(Level(value=100.0, text=f"{inputs.reservable_ratio:.0%} of the line rate"),),
    )
