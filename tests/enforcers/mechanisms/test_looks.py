"""What is asked of the kernel in a pass, where it tells what has changed."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from enforcers.errors import CommandError
from enforcers.host_fs import HostFs
from enforcers.kernel_news import Group, HasNews
from enforcers.ledger import LedgerEntry
from enforcers.mechanism import HostAccess
from enforcers.mechanisms.tc_htb.observed import LONGEST_TRUST_S, ROOT_THING, Looks
from tests.enforcers.fake_tc import FakeTc

_NUMBERS = "ceil 94000000bit quantum 1500 burst 1518 cburst 1518"
TREE = f"""\
qdisc add dev up0 root handle 51ce: htb default 2
class add dev up0 parent 51ce: classid 51ce:1 htb rate 94000000bit {_NUMBERS}
class add dev up0 parent 51ce:1 classid 51ce:10 htb rate 8000bit {_NUMBERS}
filter add dev up0 parent 51ce: protocol all pref 10 u32 match u32 0 0 indev p1 classid 51ce:10
"""
LINKS, QDISCS, CLASSES, FILTERS = (
    "ip -j -d link show",
    "tc qdisc show dev up0",
    "tc -s -d class show dev up0",
    "tc filter show dev up0 parent 51ce:",
)
OURS = (LedgerEntry(mechanism="tc_htb", device="up0", thing=ROOT_THING, found="", identity="7 x"),)


class Kernel(FakeTc):
    """Keeps what it was asked; `news` is of the groups that it will tell of once."""

    def __init__(self) -> None:
        super().__init__("up0", "p1")
        self.run(["tc", "-batch", "-"], stdin=TREE)
        self.asked: list[str] = []
        self.news: set[Group] = set()
        self.now_s = 0.0

    def run_one(self, argv: Sequence[str], stdin: str = "") -> str:
        if "show" in argv:
            self.asked.append(" ".join(argv))
        return super().run_one(argv, stdin)

    def hear(self, group: Group) -> HasNews:
        def has_news() -> bool:
            is_news = group in self.news
            self.news.discard(group)
            return is_news

        return has_news

    def looks(self) -> Looks:
        host = HostAccess(
            runner=self, host_fs=HostFs(), clock_s=lambda: self.now_s, hear=self.hear
        )
        return Looks(host)


def asked(kernel: Kernel, looks: Looks) -> set[str]:
    kernel.asked.clear()
    looks.at("up0", OURS)
    return set(kernel.asked)


@pytest.fixture
def kernel() -> Kernel:
    return Kernel()


def test_without_news_what_classes_count_is_asked_alone(kernel: Kernel) -> None:
    looks = kernel.looks()
    first = asked(kernel, looks)
    before = looks.at("up0", OURS)
    kernel.devices["up0"].classes["51ce:10"].sent_bytes = 5

    kernel.asked.clear()
    after = looks.at("up0", OURS)

    assert first == {LINKS, QDISCS, CLASSES, FILTERS}
    assert set(kernel.asked) == {CLASSES}
    assert after == before
    assert after.counters["51ce:10"].sent_bytes == 5


def test_class_that_somebody_changed_shows_even_without_news(kernel: Kernel) -> None:
    looks = kernel.looks()
    looks.at("up0", OURS)
    kernel.devices["up0"].classes["51ce:10"].options["rate"] = "16000bit"

    assert looks.at("up0", OURS).classes["51ce:10"].rate_bits_per_s == 16_000


@pytest.mark.parametrize(
    ("group", "expected"),
    [
        (Group.QUEUES, {QDISCS, CLASSES, FILTERS}),
        # An interface that is gone takes its name out of filters.
        (Group.LINKS, {LINKS, QDISCS, CLASSES, FILTERS}),
    ],
    ids=["queues", "interfaces"],
)
def test_what_there_is_news_of_is_asked_once(
    kernel: Kernel, group: Group, expected: set[str]
) -> None:
    looks = kernel.looks()
    looks.at("up0", OURS)
    kernel.news = {group}

    assert asked(kernel, looks) == expected
    assert asked(kernel, looks) == {CLASSES}


def test_news_are_kept_until_the_kernel_has_answered(kernel: Kernel) -> None:
    looks = kernel.looks()
    looks.at("up0", OURS)
    kernel.news = set(Group)
    kernel.refuse = "qdisc show"
    with pytest.raises(CommandError):
        looks.at("up0", OURS)
    kernel.refuse = None

    assert asked(kernel, looks) == {QDISCS, CLASSES, FILTERS}


def test_what_the_agent_changed_itself_is_asked_without_news(kernel: Kernel) -> None:
    looks = kernel.looks()
    looks.at("up0", OURS)

    looks.forget_queues()

    assert asked(kernel, looks) == {QDISCS, CLASSES, FILTERS}
    assert asked(kernel, looks) == {CLASSES}


def test_everything_is_asked_once_a_minute(kernel: Kernel) -> None:
    looks = kernel.looks()
    looks.at("up0", OURS)

    kernel.now_s = LONGEST_TRUST_S - 1
    soon = asked(kernel, looks)
    kernel.now_s = LONGEST_TRUST_S
    later = asked(kernel, looks)

    assert soon == {CLASSES}
    assert later == {LINKS, QDISCS, CLASSES, FILTERS}
    assert asked(kernel, looks) == {CLASSES}


def test_kernel_that_tells_nothing_is_asked_for_everything(kernel: Kernel) -> None:
    looks = Looks(HostAccess(runner=kernel, host_fs=HostFs()))
    looks.at("up0", OURS)

    assert asked(kernel, looks) == {LINKS, QDISCS, CLASSES, FILTERS}
