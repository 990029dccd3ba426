"""The agent's contract stands alone, so it states these words again: they must be the same."""

from __future__ import annotations

from enum import StrEnum

import pytest

from advisor import models
from advisor.models.choices import choices_of
from enforcers import contract


@pytest.mark.parametrize(
    ("ours", "wire"),
    [
        (models.ResourceKind, contract.ResourceKind),
        (models.Unit, contract.Unit),
        (models.ReservationMode, contract.ReservationMode),
    ],
    ids=["kind of resource", "unit", "meaning of a reservation"],
)
def test_service_and_agent_have_the_same_words(ours: type[StrEnum], wire: type[StrEnum]) -> None:
    assert {one.name: one.value for one in ours} == {one.name: one.value for one in wire}


def test_choices_of_a_column_are_values_with_their_names_in_words() -> None:
    assert choices_of(models.IoCount) == [("plain", "Plain"), ("per_32_kib", "Per 32 Kib")]
