"""How far a replica is behind, from what both servers say."""

import pytest

from web.replica.lag import Lag, PrimaryState, ReplicaState, lag_of

PRIMARY = PrimaryState(system=7, written_bytes=1000, now_s=50.0)


def replica(
    *, shown_bytes: int | None, shown_s: float | None, system: int = 7, is_standby: bool = True
) -> ReplicaState:
    return ReplicaState(
        system=system, is_standby=is_standby, shown_bytes=shown_bytes, shown_s=shown_s
    )


@pytest.mark.parametrize("shown_bytes", [1000, 1001])
def test_who_shows_all_is_behind_by_nothing_however_old_the_last_change(shown_bytes: int) -> None:
    assert lag_of(replica(shown_bytes=shown_bytes, shown_s=1.0), PRIMARY) == Lag(behind_s=0.0)


@pytest.mark.parametrize(("shown_s", "behind_s"), [(47.0, 3.0), (51.0, 0.0)])
def test_who_shows_less_is_behind_by_the_age_of_its_last_change(
    shown_s: float, behind_s: float
) -> None:
    assert lag_of(replica(shown_bytes=999, shown_s=shown_s), PRIMARY) == Lag(behind_s=behind_s)


@pytest.mark.parametrize(
    ("found", "reason"),
    [
        (replica(shown_bytes=999, shown_s=None), "it does not say how far it is behind"),
        (replica(shown_bytes=None, shown_s=None), "it does not say how far it is behind"),
        (replica(shown_bytes=1000, shown_s=50.0, system=8), "it is a standby of another server"),
        (replica(shown_bytes=1000, shown_s=50.0, is_standby=False), "it is no standby"),
    ],
)
def test_what_cannot_be_told_has_a_reason(found: ReplicaState, reason: str) -> None:
    assert lag_of(found, PRIMARY) == Lag(behind_s=None, reason=reason)
