"""What there is on a host to shape what comes in on an uplink, as `tc`, `ip` and `bridge` tell it.

The uplink's ingress hook leads all that comes in through an ifb device, which has an HTB tree. The
device is called by the number of the uplink, so it is known again whatever the uplink is called,
and without the ledger.
"""

import json
import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from enforcers.errors import CommandError
from enforcers.ledger import LedgerEntry
from enforcers.mechanisms.tc_htb.observed import HtbObserved, Link, Looks
from enforcers.mechanisms.tc_htb.tc_text import Qdisc
from enforcers.runner import Runner

IFB = "ifb"
THING = "ingress"
REDIRECT_PREF = 0x51CE
MOST_ADAPTERS = 8
"""Of one port: whoever is behind it can show the bridge any number of addresses."""
_PREFIX = "sluice-i"
_PREF = re.compile(r"^filter .*?\bpref (\d+) ")
_LEADS_TO = re.compile(r"Redirect to device (\S+?)\)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Hook:
    """The ingress hook of an interface.

    `leads_to` is the device to which this agent's filter there leads, None without that filter.
    `has_others` says whether somebody else has filters there.
    """

    discipline: Qdisc | None
    leads_to: str | None
    has_others: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Incoming:
    """What there is for what comes in on one interface.

    `tree` is the look at its ifb device, whether that exists or not; None where the interface
    itself is no more. `strays` are such devices of interfaces that are no more. `adapters` are
    the Ethernet addresses behind ports of the uplink's own bridge.
    """

    hook: Hook
    tree: HtbObserved | None
    strays: tuple[str, ...]
    adapters: Mapping[str, frozenset[str]]
    entries: tuple[LedgerEntry, ...]


def ifb_name(uplink: Link) -> str:
    """What the ifb device of an interface is called."""
    return f"{_PREFIX}{uplink.index}"


def our_ifbs(links: Mapping[str, Link]) -> dict[str, Link | None]:
    """All ifb devices of this agent's by name, with the interface of each, if that is there."""
    by_number = {str(link.index): link for link in links.values()}
    return {
        name: by_number.get(name.removeprefix(_PREFIX))
        for name, link in sorted(links.items())
        if name.startswith(_PREFIX) and link.kind == IFB
    }


class IncomingLooks:
    """Asks the kernel, and keeps which addresses are behind which port.

    A bridge forgets an address that was silent for five minutes; here it stays with its port until
    another port has it, or there would be more of them than one port may have.
    """

    def __init__(self, runner: Runner, looks: Looks) -> None:
        self._runner = runner
        self._looks = looks
        self._behind: dict[str, frozenset[str]] = {}

    def at(
        self,
        observed: HtbObserved,
        entries: tuple[LedgerEntry, ...],
        *,
        vnics: Collection[str],
        is_wanted: bool,
    ) -> Incoming | None:
        """None if there is nothing, and nothing is wanted. Raises CommandError or ValueError."""
        uplink = observed.links.get(observed.device)
        has_own = uplink is not None and ifb_name(uplink) in observed.links
        if not (is_wanted or entries or has_own):
            return None
        ifbs = our_ifbs(observed.links)
        return Incoming(
            hook=self._hook(observed),
            tree=None if uplink is None else self._tree(uplink),
            strays=tuple(name for name, of in ifbs.items() if of is None),
            adapters=self._adapters(observed, vnics),
            entries=entries,
        )

    def _hook(self, observed: HtbObserved) -> Hook:
        discipline = next((one for one in observed.qdiscs if one.is_ingress), None)
        shown = ""
        if discipline is not None:
            for side in ("ingress", "egress"):
                shown += self._runner.run(("tc", "filter", "show", "dev", observed.device, side))
        return read_hook(discipline, shown)

    def _tree(self, uplink: Link) -> HtbObserved:
        """An HTB tree of this agent's on a device of that name is its own, ledger or not."""
        name = ifb_name(uplink)
        mark = LedgerEntry(mechanism="tc_htb", device=name, thing=THING, found="")
        return self._looks.at(name, (mark,))

    def _adapters(
        self, observed: HtbObserved, vnics: Collection[str]
    ) -> Mapping[str, frozenset[str]]:
        bridge = bridge_of(observed)
        # A guest that is shut down has no port.
        links = [observed.links[name] for name in vnics if name in observed.links]
        ports = {link.name for link in links if bridge and link.master == bridge}
        if not ports:
            return {}
        try:
            shown = self._runner.run(("bridge", "-j", "fdb", "show", "br", str(bridge)))
        except CommandError:
            shown = "[]"
        present = read_addresses(json.loads(shown))
        moved = {address for port in present for address in present[port]}
        found = {}
        for port in ports:
            now = present.get(port, frozenset())
            every = now | (self._behind.get(port, frozenset()) - moved)
            found[port] = now if now and len(every) > MOST_ADAPTERS else every
        # Of other bridges it is still known.
        self._behind |= found
        return found


def bridge_of(observed: HtbObserved) -> str | None:
    """The bridge that the interface is a port of."""
    uplink = observed.links.get(observed.device)
    master = observed.links.get((uplink and uplink.master) or "")
    return master.name if master is not None and master.kind == "bridge" else None


def read_hook(discipline: Qdisc | None, shown: str) -> Hook:
    """Read what tc shows of the filters of both sides of a hook."""
    prefs = [int(found[1]) for line in shown.splitlines() if (found := _PREF.match(line))]
    leads_to = None
    for block in re.split(r"(?m)^(?=filter )", shown):
        place, target = _PREF.match(block), _LEADS_TO.search(block)
        if place and target and int(place[1]) == REDIRECT_PREF:
            leads_to = target[1]
    return Hook(
        discipline=discipline,
        leads_to=leads_to,
        has_others=any(pref != REDIRECT_PREF for pref in prefs),
    )


def read_addresses(entries: Iterable[Mapping[str, object]]) -> dict[str, frozenset[str]]:
    """The addresses that a bridge has seen behind each port, or was told of.

    Those that are `permanent` are the ports' own.
    """
    found: dict[str, set[str]] = defaultdict(set)
    for entry in entries:
        if entry.get("master") and entry.get("state") != "permanent":
            found[str(entry["ifname"])].add(str(entry["mac"]))
    return {port: frozenset(addresses) for port, addresses in found.items()}
