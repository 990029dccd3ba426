"""Choose the mechanism that enforces a resource on a host, from its agent's report."""

from collections.abc import Sequence

from enforcers.contract import HOST_TRAFFIC, POOL, MechanismSupport, Unit


def choose_mechanism(
    support: Sequence[MechanismSupport], *, unit: Unit, selectors: Sequence[str]
) -> MechanismSupport | str:
    """The mechanism for a resource counted in `unit`, or the reason why there is none.

    `selectors` are the kinds by which its workloads are recognised. A supported mechanism that
    recognises most of them is preferred, then the order in which the agent reported. One that
    is not supported is chosen if there is no other: the agent then reports what is missing.
    """
    if not support:
        return "the agent has not reported yet what this host supports"
    fitting = [item for item in support if unit in item.units]
    if not fitting:
        names = ", ".join(item.mechanism for item in support)
        return f"no mechanism of its agent enforces {unit}; it has {names}"

    def preference(item: MechanismSupport) -> tuple[bool, int, bool]:
        recognised = sum(kind in item.selectors for kind in selectors)
        return item.supported and recognised > 0, recognised, item.supported

    return max(fitting, key=preference)


def known_selectors(support: Sequence[MechanismSupport]) -> frozenset[str]:
    """The kinds by which an agent recognises workloads; it may refuse a document with another."""
    return frozenset(kind for item in support for kind in item.selectors) - {HOST_TRAFFIC, POOL}
