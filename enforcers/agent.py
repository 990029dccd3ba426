"""The loop: pull, enforce, measure, report."""

import logging
from collections.abc import Callable
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Protocol

from enforcers import acceptance
from enforcers.atomic_file import write_atomically
from enforcers.clocks import Clocks, Moment
from enforcers.config import AgentConfig, OnExit
from enforcers.contract import (
    EnforcementState,
    MechanismSupport,
    encode_report,
)
from enforcers.enforcement import Enforcement, PassResult
from enforcers.errors import EnforcerError, StateError
from enforcers.following import following
from enforcers.lease import begin
from enforcers.metrics.figures import Figures, Round, Trouble
from enforcers.outbox import Outbox
from enforcers.outcome_log import OutcomeLog
from enforcers.policy_store import HeldPolicy, PolicyStore
from enforcers.reporting import Reporter
from enforcers.request_id import of_newest_exchange
from enforcers.signals import Call
from enforcers.signed_document import DocumentReader

log = logging.getLogger(__name__)


class Service(Protocol):
    """The service as the agent needs it."""

    def fetch_document(self) -> bytes:
        """The current policy document. Raises ServerError."""
        ...

    def send_report(self, report: bytes) -> None:
        """Deliver a report. Raises ServerError."""
        ...


class Agent:
    """Enforces the policy of one host, also without the server."""

    def __init__(
        self,
        *,
        config: AgentConfig,
        service: Service,
        enforcement: Enforcement,
        store: PolicyStore,
        support: Callable[[], tuple[MechanismSupport, ...]],
        clocks: Clocks,
        status_file: Path,
        figures: Figures | None = None,
    ) -> None:
        """`support` is asked for each report: what failed at first may work later.

        `figures` are for /metrics, written by the agent alone; None if nobody can ask.
        """
        self._config = config
        self._service = service
        self._enforcement = enforcement
        self._store = store
        self._support = support
        self._clocks = clocks
        self._status_file = status_file
        self._figures = figures
        self._reader = DocumentReader(config.server.document_key)
        self._outcomes = OutcomeLog()
        self._outbox = Outbox(service.send_report)
        self._reporter = Reporter(host=config.host, window_s=config.report_s)
        self._reported_at_s: float | None = None
        self._reported_as: tuple[int | None, EnforcementState, str | None] | None = None
        self._refusal: str | None = None

    def run(self, wait: Callable[[float], Call | None]) -> Call:
        """Work until `wait` (seconds) gives a call; at a stop leave the kernel as configured."""
        call = wait(0.0)
        with following(self._follow, look=self._look):
            while call is None:
                try:
                    self.tick()
                except Exception:
                    # One bad round must not end enforcement.
                    log.exception("round failed")
                    if self._figures is not None:
                        self._figures.count(Trouble.ROUND)
                call = wait(self._config.poll_s)
        if call is Call.STOP:
            self.stop()
        else:
            self._enforcement.hand_over()
        return call

    def tick(self) -> None:
        """One round; errors of the server never stop enforcement."""
        began_s = self._clocks.monotonic_s()
        refusal = self._pull()
        self._tell_once(refusal)
        pulled_s = self._clocks.monotonic_s()
        state, result = self._enforce()
        at_s = self._clocks.monotonic_s()
        self._reporter.take(result, at_s=at_s)
        if state is EnforcementState.ENFORCING and self._store.latest is not None:
            self._outcomes.take(result, self._store.latest.document)
        revision = self._store.latest.document.revision if self._store.latest else None
        standing = (revision, state, refusal)
        is_due = (
            self._reported_at_s is None
            or at_s - self._reported_at_s >= self._config.report_s
            or result.is_changed
            or standing != self._reported_as
        )
        if is_due:
            self._reported_at_s, self._reported_as = at_s, standing
            self._report(revision, state, refusal)
        self._outbox.flush()
        if self._figures is not None:
            self._figures.take_round(
                self._round(state, result, refusal),
                round_s=self._clocks.monotonic_s() - began_s,
                pass_s=at_s - pulled_s,
            )

    def stop(self) -> None:
        """Leave the kernel as configured, and report to the server."""
        if self._config.on_exit is OnExit.KEEP:
            self._enforcement.leave()
            return
        result = self._restore(at_once=True)
        self._reporter.take(result, at_s=self._clocks.monotonic_s())
        revision = self._store.latest.document.revision if self._store.latest else None
        self._report(revision, EnforcementState.IDLE, "the agent was stopped")
        self._outbox.flush()

    def _round(self, state: EnforcementState, result: PassResult, refusal: str | None) -> Round:
        return Round(
            at=self._clocks.moment(),
            state=state,
            held=self._store.latest,
            is_refused=refusal is not None,
            result=result,
            measured=self._reporter.measured(),
            writes=self._enforcement.writes,
            corrected=tuple(chain(*self._enforcement.corrected().values())),
            reports_waiting=len(self._outbox),
            reports_dropped=self._outbox.dropped,
        )

    def _follow(self) -> None:
        began_s = self._clocks.monotonic_s()
        is_followed = False
        try:
            is_followed = self._enforcement.follow(clock_s=self._clocks.monotonic_s)
        finally:
            if self._figures is not None:
                spent_s = self._clocks.monotonic_s() - began_s
                self._figures.take_period(spent_s, has_failed=not is_followed)

    def _look(self) -> None:
        self._enforcement.look(clock_s=self._clocks.monotonic_s)

    def _tell_once(self, refusal: str | None) -> None:
        """Log a problem when it begins and when it is over, not every round."""
        if refusal == self._refusal:
            return
        if refusal is None:
            log.info("policies come again")
        else:
            log.warning("no new policy", extra={"reason": refusal, **of_newest_exchange()})
        self._refusal = refusal

    def _pull(self) -> str | None:
        """Take the newest document if it may be taken, else say why not."""
        try:
            document = self._reader.read(self._service.fetch_document())
            held = self._store.latest
            moment = self._clocks.moment()
            lease_ends_at = acceptance.accept(
                document,
                host=self._config.host,
                held=held.document if held else None,
                now=moment.now,
            )
            if held is not None and held.document is document:
                # The very one of before, and its lease goes on.
                return None
            if held is None or held.document.revision != document.revision:
                about = {"revision": document.revision, **of_newest_exchange()}
                log.info("policy accepted", extra=about)
            lease = begin(lease_ends_at, moment)
            self._store.keep_latest(HeldPolicy(document=document, lease=lease))
        except EnforcerError as error:
            return str(error)
        return None

    def _enforce(self) -> tuple[EnforcementState, PassResult]:
        latest = self._store.latest
        moment = self._clocks.moment()
        if latest is None:
            return EnforcementState.IDLE, self._restore()
        if latest.lease.is_over(moment):
            return EnforcementState.EXPIRED, self._restore()
        if latest.document.dry_run or self._config.dry_run:
            return EnforcementState.DRY_RUN, self._rehearse(latest, moment)
        previous = self._store.enforced
        if previous is not None and previous.lease.is_over(moment):
            # Nobody ran when it ended, so it was not put back.
            previous = None
        result = self._enforcement.run(
            latest.document,
            previous=previous.document if previous else None,
            now_s=self._clocks.monotonic_s(),
        )
        if result.is_in_force:
            self._keep_enforced(latest)
        is_idle = not latest.document.allocations and not result.problems
        return (EnforcementState.IDLE if is_idle else EnforcementState.ENFORCING), result

    def _rehearse(self, latest: HeldPolicy, moment: Moment) -> PassResult:
        """Report what would be done; earlier enforced settings end with their own lease."""
        enforced = self._store.enforced
        if enforced is None or enforced.lease.is_over(moment):
            self._restore()
        return self._enforcement.run(
            latest.document,
            previous=None,
            now_s=self._clocks.monotonic_s(),
            dry_run=True,
        )

    def _restore(self, *, at_once: bool = False) -> PassResult:
        now_s = self._clocks.monotonic_s()
        result = self._enforcement.run(None, previous=None, now_s=now_s, at_once=at_once)
        if not result.problems:
            self._keep_enforced(None)
        return result

    def _keep_enforced(self, policy: HeldPolicy | None) -> None:
        try:
            self._store.keep_enforced(policy)
        except StateError as error:
            log.warning("state not kept", extra={"error": str(error)})

    def _report(self, revision: int | None, state: EnforcementState, refusal: str | None) -> None:
        report = self._reporter.report(
            now=self._clocks.now(),
            revision=revision,
            state=state,
            refusal=refusal,
            reports_dropped=self._outbox.dropped,
            support=self._supported(),
        )
        encoded = encode_report(report)
        self._outbox.put(encoded)
        self._show_status(encoded)

    def _supported(self) -> tuple[MechanismSupport, ...]:
        """What mechanisms say, with the models that they had to lower."""
        corrected = self._enforcement.corrected()
        return tuple(
            replace(one, corrected=corrected.get(one.mechanism)) for one in self._support()
        )

    def _show_status(self, report: bytes) -> None:
        try:
            write_atomically(self._status_file, report)
        except StateError as error:
            log.warning("status not written", extra={"error": str(error)})
