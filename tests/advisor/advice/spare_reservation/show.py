"""What may still be reserved, as people are shown it."""

from __future__ import annotations

from advisor.advice.shared.shown import AdviceTable, Commitment, Fact, Shown, TableColumn
from advisor.core.quantity import format_rate
from tests.advisor.advice.spare_reservation.decide import SpareAdvice, SpareInputs


def show(inputs: SpareInputs, answer: SpareAdvice, resource: str) -> Shown:
    return Shown(
        table=AdviceTable(
            columns=(TableColumn(title="Resource"), TableColumn(title="Free to reserve")),
            rows=((resource, format_rate(answer.spare, inputs.unit)),),
        ),
        facts=(Fact(name="May be reserved", text=format_rate(inputs.reservable, inputs.unit)),),
        picture=None,
        commitment=Commitment(
            does="It is noted that somebody will state reservations.",
            does_not="Sluice states none.",
            undo="There is nothing to undo.",
        ),
    )
