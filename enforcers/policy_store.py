"""The last good policy on disk, so that a restart needs no service."""

import logging
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from enforcers import canonical_json
from enforcers.atomic_file import write_atomically
from enforcers.clocks import Moment
from enforcers.contract import (
    Allocation,
    ContractError,
    PolicyDocument,
    SignatureError,
    verify,
)
from enforcers.errors import StateError
from enforcers.lease import Lease, check_lease, taken_over
from enforcers.signature import DocumentKey

log = logging.getLogger(__name__)

FORMAT_VERSION = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldPolicy:
    """An accepted document and its lease by this host's clocks."""

    document: PolicyDocument
    lease: Lease

    def __post_init__(self) -> None:
        check_lease(self.document, self.lease.ends_at)


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldPolicies:
    """`latest` is the newest accepted, `enforced` the last that was in force on all devices."""

    schema_version: int = FORMAT_VERSION
    latest: HeldPolicy | None = None
    enforced: HeldPolicy | None = None


class HeldText:
    """The text of what is held; that of allocations which stay the very same is made once.

    A renewed lease is kept with each poll, and allocations are nearly all of the text.
    """

    def __init__(self) -> None:
        self._allocations: tuple[Allocation, ...] = ()
        self._of_allocations = b"[]"

    def of(self, held: HeldPolicies) -> bytes:
        """The canonical text."""
        enforced, latest = self._of(held.enforced), self._of(held.latest)
        version = held.schema_version
        return b'{"enforced":%b,"latest":%b,"schema_version":%d}' % (enforced, latest, version)

    def _of(self, policy: HeldPolicy | None) -> bytes:
        if policy is None:
            return b"null"
        allocations = policy.document.allocations
        if allocations is not self._allocations:
            self._allocations = allocations
            self._of_allocations = canonical_json.encode(allocations)
        rest = canonical_json.encode(replace(policy.document, allocations=()))
        document = rest.replace(b"[]", self._of_allocations, 1)
        return b'{"document":%b,"lease":%b}' % (document, canonical_json.encode(policy.lease))


class PolicyStore:
    """Reads and keeps the policies held."""

    def __init__(self, path: Path, *, key: DocumentKey | None, moment: Moment) -> None:
        """Go on with what is held, with leases of this boot.

        A damaged file, or one signed with another key, counts as missing: the server has it.
        `key` None: signatures are not checked, for one who looks at leases alone.
        """
        self._path = path
        self._text = HeldText()
        read = _read(path)
        self._noted_boot_id = None if read is None else _boot_id(read.enforced)
        self.was_in_force = self._noted_boot_id == moment.boot_id
        # What a damaged file told of the kernel nobody knows.
        self.may_have_been_in_force = self.was_in_force or read is None
        held = _usable(read or HeldPolicies(), key, path)
        self._held = replace(
            held,
            latest=_taken_over(held.latest, moment),
            enforced=_taken_over(held.enforced, moment),
        )

    @property
    def latest(self) -> HeldPolicy | None:
        """The newest accepted document."""
        return self._held.latest

    @property
    def enforced(self) -> HeldPolicy | None:
        """The document that governs the kernel."""
        return self._held.enforced

    def governing(self, *, is_dry: bool = False) -> HeldPolicy | None:
        """The policy whose lease lasts for what is in the kernel.

        A dry run, of the document or, by `is_dry`, of the agent, leaves there what was in force.
        """
        latest = self.latest
        is_dry = is_dry or (latest is not None and latest.document.dry_run)
        return self.enforced if is_dry else latest

    def keep_latest(self, policy: HeldPolicy) -> None:
        """Keep a newly accepted document. Raises StateError."""
        self._store(replace(self._held, latest=policy))

    def keep_enforced(self, policy: HeldPolicy | None) -> None:
        """Keep what is in force on all devices, None after a restore. Raises StateError."""
        before, held = self._held.enforced, replace(self._held, enforced=policy)
        is_noted = self._noted_boot_id == _boot_id(policy)
        if _revision(before) == _revision(policy) and is_noted:
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
        write_atomically(self._path, self._text.of(held))
        self._noted_boot_id = _boot_id(held.enforced)


def _boot_id(policy: HeldPolicy | None) -> str | None:
    return None if policy is None else policy.lease.boot_id


def _revision(policy: HeldPolicy | None) -> int | None:
    return None if policy is None else policy.document.revision


def _decode(data: bytes) -> HeldPolicies:
    """What was kept, also by an agent whose allocations had fewer fields."""
    plain = _in_present_format(canonical_json.parse(data))
    if isinstance(plain, dict) and "schema_version" in plain:
        canonical_json.check_version(plain["schema_version"], known=FORMAT_VERSION)
    return canonical_json.decode(HeldPolicies, plain, may_lack_defaults=True)


def _taken_over(policy: HeldPolicy | None, moment: Moment) -> HeldPolicy | None:
    if policy is None:
        return None
    return replace(policy, lease=taken_over(policy.lease, policy.document, moment))


def _read(path: Path) -> HeldPolicies | None:
    """None where the file is damaged."""
    try:
        return _decode(path.read_bytes())
    except FileNotFoundError:
        return HeldPolicies()
    except OSError as error:
        raise StateError(f"{path} cannot be read: {error.strerror}") from error
    except ContractError as error:
        _warn(path, error)
        return None


def _usable(held: HeldPolicies, key: DocumentKey | None, path: Path) -> HeldPolicies:
    """What is held, as far as its signatures are of the key."""
    try:
        for policy in (held.latest, held.enforced):
            if policy is not None and key is not None:
                verify(policy.document, key)
    except SignatureError as error:
        _warn(path, error)
        return HeldPolicies()
    return held


def _warn(path: Path, error: Exception) -> None:
    log.warning("held policy not usable", extra={"file": str(path), "error": str(error)})


def _in_present_format(plain: Any) -> Any:
    """Format 1 had the time of day alone, so its leases count as those of another boot."""
    if not isinstance(plain, dict) or plain.get("schema_version") != 1:
        return plain
    return plain | {
        "schema_version": FORMAT_VERSION,
        **{name: _lease_by_time_of_day(plain.get(name)) for name in ("latest", "enforced")},
    }


def _lease_by_time_of_day(policy: Any) -> Any:
    if not isinstance(policy, dict):
        return policy
    ends_at = policy.get("lease_ends_at")
    lease = {"ends_at": ends_at, "boot_id": "", "ends_at_boot_s": 0.0}
    return {"document": policy.get("document"), "lease": lease}
