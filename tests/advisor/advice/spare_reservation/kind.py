"""A kind of advice as small as one can be: the test of a new kind adds it to the registry."""

from __future__ import annotations

from advisor.advice.kind import Kind, Stored, Variant
from tests.advisor.advice.spare_reservation.decide import SpareAdvice, SpareInputs, advise_spare
from tests.advisor.advice.spare_reservation.gather import spare_inputs
from tests.advisor.advice.spare_reservation.show import show


def _essence(answer: Stored) -> object:
    return answer["spare"]


SPARE_RESERVATION = Kind(
    name="spare_reservation",
    topic="spare_reservation",
    words="free reservations",
    variants=(
        Variant(
            name="spare_reservation",
            words="free reservations",
            needs_samples="none",
            needs_stated="a capacity",
            approving="is noted: a person states reservations",
        ),
    ),
    inputs=SpareInputs,
    advice=SpareAdvice,
    decide=advise_spare,
    essence=_essence,
    gather=spare_inputs,
    show=show,
)
