"""NetIOC, experiment 2: a web server's pages beside twelve bulk senders.

Olio's response times are printed only in a figure, and hang on times that the study does not
state. What the uplink adds to them can be said: the time that a page takes to leave the host.
"""

from statistics import fmean

from advisor.core.allocation import Node
from advisor.lab.replay.experiment import Outcome
from advisor.lab.replay.figure import Figure, bars
from advisor.lab.replay.studies.netioc_steps import CARRIES_BITS_PER_S, GIGA, WENT_IN
from advisor.lab.simulation.pages import PageLoad, page_time_s
from advisor.lab.simulation.uplink import SimulatedUplink, Stream, transmit

MEGA = 1e6
SERVER, UPLINK = "Web server", "uplink"
RIVALS = tuple(f"VM {number}" for number in range(1, 13))
RESERVED_BITS_PER_S = 0.5 * GIGA
PAGE_BYTES = 32 * 1024
SOCKET_BUFFER_BYTES = 64 * 1024
PAGES = 50
GAP_S = 0.002
ALONE, DEFAULT, FAIR, RESERVED = (
    "no competing traffic",
    "default scheduler",
    "NetIOC,\nno reservation",
    "NetIOC,\n500 Mbit/s reserved",
)


def play() -> Outcome:
    """The four cases of figure 4, and what the web server may send at most."""
    page_ms = {
        ALONE: _page_ms((), None),
        DEFAULT: _page_ms(RIVALS, None),
        FAIR: _page_ms(RIVALS, _tree(0.0)),
        RESERVED: _page_ms(RIVALS, _tree(RESERVED_BITS_PER_S)),
    }
    added_ms = page_ms[RESERVED] - page_ms[ALONE]
    return Outcome(
        values=WENT_IN
        | {
            "buffer_bytes": SOCKET_BUFFER_BYTES,
            "page_bytes": PAGE_BYTES,
            "bandwidth": _bandwidth_mbit(),
            "fair_ratio": page_ms[FAIR] / page_ms[DEFAULT],
            "reserved_ratio": page_ms[RESERVED] / page_ms[FAIR],
            "added_ms": added_ms,
            "response_ms": added_ms / 0.15,
        },
        figures=(_figure(page_ms),),
    )


def _tree(reservation: float) -> Node:
    return Node(
        name=UPLINK,
        children=tuple(
            Node(name=name, shares=50, reservation=reservation if name == SERVER else 0.0)
            for name in (SERVER, *RIVALS)
        ),
    )


def _page_ms(rivals: tuple[str, ...], tree: Node | None) -> float:
    load = PageLoad(
        server=f"/{UPLINK}/{SERVER}",
        rivals=tuple(f"/{UPLINK}/{rival}" for rival in rivals),
        page_bytes=PAGE_BYTES,
        buffer_bytes=SOCKET_BUFFER_BYTES,
        pages=PAGES,
        gap_s=GAP_S,
    )
    return 1000 * page_time_s(load, capacity_bits_per_s=CARRIES_BITS_PER_S, tree=tree, seed=1)


def _bandwidth_mbit() -> float:
    """What the web server may send, if all send what they can."""
    paths = [f"/{UPLINK}/{name}" for name in (SERVER, *RIVALS)]
    sent = transmit(
        SimulatedUplink(capacity_bits_per_s=CARRIES_BITS_PER_S, tree=_tree(RESERVED_BITS_PER_S)),
        [Stream(path=path) for path in paths],
        duration_s=1.0,
        bucket_s=0.1,
    )
    return fmean(sent[paths[0]]) / MEGA


def _figure(page_ms: dict[str, float]) -> Figure:
    return bars(
        "figure 4, uplink only",
        "Time that a page takes to leave the host, of which response times are a part",
        "ms",
        places=list(page_ms),
        series={"simulated": list(page_ms.values())},
    )
