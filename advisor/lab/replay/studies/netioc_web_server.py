"""Seed 002, experiment 2: a web server's pages beside twelve bulk senders.

Olio's response times are printed only in a figure, and hang on times that the seed does not state.
What the uplink adds to them can be said: the time that a page takes to leave the host.
"""

from statistics import fmean

from advisor.core.allocation import Node
from advisor.lab.replay.experiment import Basis, Experiment, Premise, Replay
from advisor.lab.replay.figure import Figure, bars
from advisor.lab.replay.finding import LIMIT, NONE, Finding, Relation, compare, not_modelled
from advisor.lab.replay.studies.netioc_steps import CARRIES_BITS_PER_S, GIGA, PREMISES
from advisor.lab.simulation.pages import PageLoad, page_time_s
from advisor.lab.simulation.uplink import SimulatedUplink, Stream, transmit

NAME = "002-experiment-2"
TITLE = "NetIOC: a web server beside twelve bulk senders"
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


def play() -> Replay:
    """The four cases of figure 4, and what the web server may send at most."""
    page_ms = {
        ALONE: _page_ms((), None),
        DEFAULT: _page_ms(RIVALS, None),
        FAIR: _page_ms(RIVALS, _tree(0.0)),
        RESERVED: _page_ms(RIVALS, _tree(RESERVED_BITS_PER_S)),
    }
    return Replay(
        experiment=NAME,
        title=TITLE,
        premises=(*PREMISES, *_premises()),
        findings=(*_bandwidths(), *_pages(page_ms)),
        figures=(_figure(page_ms),),
    )


EXPERIMENT = Experiment(name=NAME, title=TITLE, play=play)


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


def _bandwidths() -> list[Finding]:
    """What the web server may send, if all send what they can."""
    paths = [f"/{UPLINK}/{name}" for name in (SERVER, *RIVALS)]
    sent = transmit(
        SimulatedUplink(capacity_bits_per_s=CARRIES_BITS_PER_S, tree=_tree(RESERVED_BITS_PER_S)),
        [Stream(path=path) for path in paths],
        duration_s=1.0,
        bucket_s=0.1,
    )
    return [
        compare(
            "bandwidth the web server may use, reservation enforced",
            "Mbit/s",
            seed_value=RESERVED_BITS_PER_S / MEGA,
            value=fmean(sent[paths[0]]) / MEGA,
            tolerance=LIMIT,
            relation=Relation.AT_LEAST,
            why="500 reserved, and a thirteenth of what is left",
        )
    ]


def _pages(page_ms: dict[str, float]) -> list[Finding]:
    added_ms = page_ms[RESERVED] - page_ms[ALONE]
    return [
        compare(
            "time of a page on the uplink, NetIOC without reservation against default",
            "ratio",
            seed_value=1.0,
            value=page_ms[FAIR] / page_ms[DEFAULT],
            tolerance=NONE,
            relation=Relation.AT_MOST,
            why='"gives some benefit": a page waits for a packet of each rival in turn, not for '
            "all that they have queued",
        ),
        compare(
            "time of a page on the uplink, with reservation against without, NetIOC",
            "ratio",
            seed_value=1.0,
            value=page_ms[RESERVED] / page_ms[FAIR],
            tolerance=NONE,
            relation=Relation.AT_MOST,
            why="response times are better with it; the list of cases says that the database VM "
            "has it, the text the web server",
        ),
        not_modelled(
            "response time beside competing traffic, increase, reservation enforced",
            "%",
            seed_value=15.0,
            relation=Relation.AT_MOST,
            why=f"the uplink adds {added_ms:.2f} ms to a page here, 15 % of a response of "
            f"{added_ms / 0.15:.1f} ms; how long a response takes without competing traffic is "
            "printed only in figure 4",
        ),
    ]


def _premises() -> tuple[Premise, ...]:
    return (
        Premise(
            quantity="socket buffer of a bulk sender",
            value=float(SOCKET_BUFFER_BYTES),
            unit="bytes",
            basis=Basis.STATED,
            source="netperf's TCP_STREAM; so much of each sender waits at the adapter",
        ),
        Premise(
            quantity="size of a page",
            value=float(PAGE_BYTES),
            unit="bytes",
            basis=Basis.ASSUMED,
            source="the study states none; a page larger than a sender's buffer would wait less "
            "in one queue for all",
        ),
    )


def _figure(page_ms: dict[str, float]) -> Figure:
    return bars(
        "figure 4, uplink only",
        "Time that a page takes to leave the host, of which response times are a part",
        "ms",
        places=list(page_ms),
        series={"simulated": list(page_ms.values())},
    )
