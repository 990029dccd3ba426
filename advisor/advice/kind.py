"""What a kind of advice is: everything that pages, commands, tasks and documents ask of it.

A kind lives in one folder, `advisor/advice/<name>/`: `gather.py` reads the database, `decide`
computes (it knows no framework, database or clock), `show.py` puts the answer into words and
pictures, `kind.py` joins them into one `Kind`, and `README.md` says what it needs, by which
formula it answers, and with which outcomes. `advisor.advice.registry` lists the kinds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from django.db.models import Q

from advisor.advice.shared.shown import Shown
from advisor.core.canonical import dumps, loads
from advisor.core.explanation.explained import ExplainedAnswer

if TYPE_CHECKING:
    from advisor.models import Resource

Inputs = TypeVar("Inputs")
Advice = TypeVar("Advice", bound=ExplainedAnswer)
Stored = Mapping[str, Any]
"""A stored text as JSON says it: an earlier version may have written it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """What `Recommendation.kind` says of advice of a kind, and its row in docs/advice.md."""

    name: str
    words: str
    needs_samples: str
    needs_stated: str
    approving: str


def _is_about_the_resource(_inputs: Stored) -> str:
    return ""


def _everywhere(_now: datetime) -> Q:
    return Q(pk__isnull=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class HostMove:
    """A workload that is to run on another host."""

    workload: str
    source: str
    target: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitToHold:
    """What a workload is to get at most on the resource, and at least, in the resource's unit."""

    workload: str
    limit: float
    reservation: float = 0.0


def _limits_nobody(_answer: Stored, _subject: str) -> tuple[LimitToHold, ...]:
    return ()


def _moves_nothing(_answer: Stored) -> tuple[HostMove, ...]:
    return ()


def _sets_nothing(_answer: Stored) -> Mapping[str, Mapping[str, Any]]:
    return {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind(Generic[Inputs, Advice]):
    """One kind of advice, from its inputs to the page that shows it.

    A resource has one open recommendation for each `topic` and subject: kinds of the same topic
    take each other's place. `words` say what the topic is about. `advice` is the answer that
    recommends something; `decide` may also say that nothing helps, or that too little is known.
    """

    name: str
    topic: str
    words: str
    variants: tuple[Variant, ...]
    inputs: type[Inputs]
    advice: type[Advice]
    decide: Callable[[Inputs], object]
    essence: Callable[[Stored], object]
    """What an answer says to do, without its evidence: the same essence is the same advice."""
    tolerance_ratio: float = 0.0
    """Where the essence is one number, two that differ by less are the same."""
    subject: Callable[[Stored], str] = _is_about_the_resource
    """Whom inputs are about, where a resource may have several recommendations at a time."""
    gather: Callable[[Resource, datetime], Sequence[Inputs]] | None = None
    """The inputs of each look at a resource; empty where the kind does not apply.

    None: the scheduler of other advice does not look for it.
    """
    applies: Callable[[datetime], Q] = _everywhere
    """The resources for which `gather` may give inputs: none of them may be missing."""
    has_news: Callable[[datetime], Q] = _everywhere
    """Those of them of which another look may say something else than the one before."""
    show: Callable[[Inputs, Advice, str], Shown] | None = None
    """What people see of it, for the resource of that name. None: the page of policies has it."""
    publishes: bool = False
    """Whether approving publishes a policy to the agents."""
    sets: Callable[[Stored], Mapping[str, Mapping[str, Any]]] = _sets_nothing
    """What approving states of resources, by their names: what `change_resource` takes."""
    moves: Callable[[Stored], tuple[HostMove, ...]] = _moves_nothing
    """What a command moves, where one is configured and who approves may have it run."""

    limits: Callable[[Stored, str], tuple[LimitToHold, ...]] = _limits_nobody
    """Which limits it would have held, of an answer and whom it is about: by classes of volumes,
    where a cluster has some and who approves may have them changed."""

    def answer(self, inputs_text: str) -> str:
        """The canonical text of the answer to the canonical text of the inputs.

        The same text in gives the same bytes out, so an answer can be computed again at any time.
        A text that is not the inputs of this kind is refused with a `CanonicalError` that names
        the path.
        """
        return dumps(self.decide(loads(self.inputs, inputs_text)))
