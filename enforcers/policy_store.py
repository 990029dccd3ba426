"""The last good policy on disk, so that a restart needs no service."""

import logging
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from enforcers import canonical_json
from enforcers.atomic_file import write_atomically
from enforcers.contract import ContractError, PolicyDocument, SignatureError, verify
from enforcers.errors import StateError

log = logging.getLogger(__name__)

FORMAT_VERSION = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldPolicy:
    """An accepted document and when its lease ends by this host's clock."""

    document: PolicyDocument
    lease_ends_at: datetime

    def __post_init__(self) -> None:
        check_lease(self.document, self.lease_ends_at)


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldPolicies:
    """`latest` is the newest accepted, `enforced` the last one that took full effect."""

    schema_version: int = FORMAT_VERSION
    latest: HeldPolicy | None = None
    enforced: HeldPolicy | None = None


class PolicyStore:
    """Reads and keeps the policies held."""

    def __init__(self, path: Path, *, key: bytes) -> None:
        """A damaged file, or one signed with another key, counts as missing: the server has it."""
        self._path = path
        self._held = _read(path, key)

    @property
    def latest(self) -> HeldPolicy | None:
        """The newest accepted document."""
        return self._held.latest

    @property
    def enforced(self) -> HeldPolicy | None:
        """The document that governs the kernel."""
        return self._held.enforced

    def keep_latest(self, policy: HeldPolicy) -> None:
        """Keep a newly accepted document. Raises StateError."""
        self._store(replace(self._held, latest=policy))

    def keep_enforced(self, policy: HeldPolicy | None) -> None:
        """Keep what took full effect, None after a restore. Raises StateError."""
        before, held = self._held.enforced, replace(self._held, enforced=policy)
        if _revision(before) == _revision(policy):
            # A renewed lease alone is kept with the next document; until then it ends earlier.
            self._held = held
        else:
            self._store(held)

    def forget(self) -> None:
        """Hold nothing. Raises StateError."""
        self._store(HeldPolicies())

    def _store(self, held: HeldPolicies) -> None:
        # The document counts even if it cannot be stored.
        self._held = held
        write_atomically(self._path, canonical_json.encode(held))


def check_lease(document: PolicyDocument, ends_at: datetime) -> None:
    """Refuse a lease that outlives its document, before it is kept and after it is read."""
    if ends_at > document.expires_at:
        raise ContractError("$.lease_ends_at", "must not be after the document's expires_at")


def _revision(policy: HeldPolicy | None) -> int | None:
    return None if policy is None else policy.document.revision


def _read(path: Path, key: bytes) -> HeldPolicies:
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return HeldPolicies()
    except OSError as error:
        raise StateError(f"{path} cannot be read: {error.strerror}") from error
    try:
        held = canonical_json.decode_versioned(HeldPolicies, data, known=FORMAT_VERSION)
        for policy in (held.latest, held.enforced):
            if policy is not None:
                verify(policy.document, key)
    except (ContractError, SignatureError) as error:
        log.warning("held policy not usable", extra={"file": str(path), "error": str(error)})
        return HeldPolicies()
    return held
