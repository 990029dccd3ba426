"""Dependence of one series at a time, where the product compares a table of them at once."""

from __future__ import annotations

from collections.abc import Sequence

from advisor.core.dependence import LAGS, Dependence, Floats, rank_dependences


def rank_dependence(
    cause: Floats, effect: Floats, control: Floats, *, lags: Sequence[int] = LAGS
) -> Dependence | None:
    """That of three series, each (windows)."""
    (found,) = rank_dependences(cause[None], effect[None], control[None], lags=lags)
    return found
