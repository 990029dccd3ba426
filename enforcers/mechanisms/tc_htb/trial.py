"""Finds out whether what somebody set on an interface comes back exactly, before it is replaced.

It is made again on an interface of the same name and as many queues in a network namespace of
its own, and all that tc tells of both must be the same.
"""

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from enforcers.errors import CommandError
from enforcers.host_fs import HostFs
from enforcers.mechanisms.tc_htb.found import in_making_order, making_words, set_by_somebody
from enforcers.mechanisms.tc_htb.kernel_probe import may_make_namespaces, own_namespace
from enforcers.mechanisms.tc_htb.tc_text import ROOT_PARENT, Qdisc
from enforcers.retry import Retries
from enforcers.runner import Runner

FIRST_TRY_AGAIN_S = 10.0
_PEER = "sluice-peer"
# Two programs in one namespace; names are arguments, never part of the text.
_ON_A_LINK = (
    *("sh", "-c"),
    'ip link add name "$1" numtxqueues "$2" type veth peer name "$3" && shift 3 && exec "$@"',
    "sh",
)
_REFCNT = re.compile(r" refcnt \d+")
# One class for each flow that has packets just now.
_FLOW_CLASS = re.compile(r"(?m)^class (?:fq_codel|fq_pie|sfq|cake) .*\n")
_OTHER_HOOK = (["ingress"], ["clsact"])


@dataclass(frozen=True, slots=True, kw_only=True)
class _Question:
    """A way to ask tc for everything, and what of its answer is a setting."""

    tc: tuple[str, ...]
    shows: Sequence[str]
    settings: Callable[[str], list[str]]


class Trials:
    """The last answer for each interface; one that cannot be had is asked for again later."""

    def __init__(self, runner: Runner, host_fs: HostFs, clock_s: Callable[[], float]) -> None:
        self._runner = runner
        self._host_fs = host_fs
        self._clock_s = clock_s
        self._tries = Retries(first_s=FIRST_TRY_AGAIN_S)

    def why_not(self, device: str, qdiscs: Sequence[Qdisc]) -> str | None:
        """Why this would not come back as it is; None if it would."""
        lines = [one.line for one in qdiscs]
        now_s = self._clock_s()
        why = self._tries.waiting(device, lines, now_s)
        if why is not None:
            return why
        is_privileged = may_make_namespaces(self._host_fs)
        why = _why_not(self._runner, device, qdiscs, own_namespace(is_privileged=is_privileged))
        if why is None:
            self._tries.succeeded(device)
        else:
            self._tries.failed(device, lines, now_s, error=why)
        return why


def _why_not(
    runner: Runner, device: str, qdiscs: Sequence[Qdisc], namespace: Sequence[str]
) -> str | None:
    known = set_by_somebody(qdiscs)
    making = [" ".join(making_words(device, one)) for one in in_making_order(known)]
    on_a_link = (*namespace, *_ON_A_LINK, device, str(_queues(qdiscs)), _PEER)
    shows = [f"qdisc show dev {device}", f"class show dev {device}"]
    shows += [f"filter show dev {device} parent {one.handle}" for one in known]
    text = _Question(tc=("tc", "-d", "-batch", "-"), shows=shows, settings=_settings)
    # What text rounds JSON has exactly.
    exact = _Question(tc=("tc", "-d", "-j", "-batch", "-"), shows=shows[:1], settings=_exactly)
    for one in (text, exact):
        try:
            found = one.settings(runner.run(one.tc, stdin=_lines(one.shows)))
            again = runner.run((*on_a_link, *one.tc), stdin=_lines([*making, *one.shows]))
            difference = _first_difference(found, one.settings(again))
        except CommandError as error:
            return f"made again as tc prints it, it is refused ({error.answer})"
        except ValueError as error:
            return f"what tc prints of it cannot be read ({error})"
        if difference is not None:
            return f"made again as tc prints it, it is another ({difference})"
    return None


def _queues(qdiscs: Sequence[Qdisc]) -> int:
    roots = [one.handle for one in qdiscs if one.parent == ROOT_PARENT]
    return sum(f"{one.parent.partition(':')[0]}:" in roots for one in qdiscs) or 1


def _lines(commands: Sequence[str]) -> str:
    return "\n".join(commands) + "\n"


def _settings(shown: str) -> list[str]:
    """Without what changes by itself, and without the other hook."""
    lines = _FLOW_CLASS.sub("", _REFCNT.sub("", shown)).splitlines()
    return [line for line in lines if line.split()[1:2] not in _OTHER_HOOK]


def _exactly(shown: str) -> list[str]:
    told = [one for one in json.loads(shown) if [one["kind"]] not in _OTHER_HOOK]
    return [json.dumps({**one, "refcnt": None}) for one in told]


def _first_difference(found: Sequence[str], again: Sequence[str]) -> str | None:
    for one, other in zip_longest(found, again, fillvalue=""):
        if one != other:
            return one.strip() or other.strip()
    return None
