"""The tier that a label of a pod gives its workload."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from advisor.core.resource import Tier

Labels = Mapping[str, str]
_TIERS = {str(tier): tier for tier in Tier}


def labelled_tier(labels: Labels, name: str) -> Tier | None:
    """The tier that the label of this name states; None if it states none that there is."""
    return _TIERS.get(labels.get(name, "").lower())


def unknown_tiers(pods: Iterable[Labels], name: str) -> Counter[str]:
    """What labels of this name state that is no tier, and how many pods each of it."""
    stated = (labels[name] for labels in pods if name in labels)
    return Counter(one for one in stated if one.lower() not in _TIERS)
