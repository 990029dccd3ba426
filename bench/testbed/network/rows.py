"""All rows of a network, part by part; what cannot be measured is there with the reason."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

from bench.fleet.rows import Row
from bench.testbed.asked import why_nothing
from bench.testbed.network.agent_cost import AGENT_COST
from bench.testbed.network.change import CHANGE
from bench.testbed.network.classify import CLASSIFY
from bench.testbed.network.kinds import KINDS
from bench.testbed.network.many import MANY
from bench.testbed.network.own_pings import LIMITED_PING, RESERVED_PING
from bench.testbed.network.part import Effort, Part
from bench.testbed.network.pools import POOLS
from bench.testbed.network.study import STUDY
from bench.testbed.network.web_pair import WEB_PAIR
from bench.testbed.rungs import Rung, on_rung
from enforcers.mechanisms.tc_htb.kernel_probe import missing_in_kernel
from enforcers.runner import SubprocessRunner

ALL = (
    STUDY,
    KINDS,
    POOLS,
    LIMITED_PING,
    RESERVED_PING,
    WEB_PAIR,
    CHANGE,
    CLASSIFY,
    MANY,
    AGENT_COST,
)
PARTS = tuple(part.name for part in ALL)


def missing_for_networks() -> str | None:
    """What keeps namespaces or HTB from this process; None if nothing does."""
    if os.geteuid() != 0:
        return "only root can make network namespaces"
    return missing_in_kernel(SubprocessRunner(), is_privileged=True)


def network_rows(effort: Effort, parts: Sequence[str]) -> Iterator[Row]:
    """The rows of these parts, one part after the other; none costs another its rows."""
    why = missing_for_networks()
    for part in ALL:
        if part.name in parts:
            rows = _rows(part, effort) if why is None else _open(part, why)
            yield from on_rung(Rung.NETWORK, part.name, rows)


def _rows(part: Part, effort: Effort) -> Sequence[Row]:
    try:
        return part.measure(effort)
    except Exception as error:  # noqa: BLE001  (one part must not cost the others' rows)
        return _open(part, why_nothing(error))


def _open(part: Part, why: str) -> Sequence[Row]:
    return [asked.open_row(why) for asked in part.asked]
