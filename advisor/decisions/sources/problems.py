"""A source as people write it, and why it could not be read."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from ipaddress import ip_address

from advisor.core.notifying import problems_of_name
from advisor.core.volume_classes import MeaningError, read_meanings
from advisor.decisions.kubernetes.own_cluster import SETTING, is_by_own_account
from advisor.models import ReadSource
from advisor.models.source import (
    LEAST_EVERY_MIN,
    LONGEST_ADDRESS,
    LONGEST_AUTHORITY,
    LONGEST_PASSWORD,
    LONGEST_RATES,
    LONGEST_TOKEN,
    LONGEST_USER,
    MOST_EVERY_MIN,
    USUAL_EVERY_MIN,
    SourceKind,
)
from ingest.core.kubernetes.cluster import LONGEST_LABEL
from ingest.core.source_errors import AnswerError
from ingest.imports.connection import authority_problem, place_of
from ingest.imports.reachable import Addresses, address_problem
from ingest.imports.vcenter import PATHS

SAME_PLACE_ONLY = (
    "give the {0} again: the stored one is sent to no other address, for no other user and "
    "by no other certificate than it was given for"
)
OWN_ACCOUNT_IS_FOR = (
    f"the server's own account in its cluster is for organisations that {SETTING} names"
)
_FINGERPRINT = re.compile(r"[0-9a-f]{64}")
_NAME = r"[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?"
_LABEL = re.compile(rf"([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?{_NAME}")
"""As Kubernetes has it: a name, before it the domain of who gave it."""
_TOKEN = re.compile(r"[!-~]+")
"""What a header of HTTP can hold."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StatedSource:
    """A source as people write it; an empty password keeps the one that is stored.

    The password of a Kubernetes cluster is a token, and there is no user.
    """

    name: str
    address: str
    user: str = ""
    password: str = field(default="", repr=False)
    kind: SourceKind = SourceKind.VCENTER
    fingerprint: str = ""
    authority: str = ""
    every_min: int = USUAL_EVERY_MIN
    takes_over: bool = False
    tier_label: str = ""
    class_rates: str = ""

    @property
    def secret(self) -> str:
        """What the password is called."""
        return "token" if self.kind == SourceKind.KUBERNETES else "password"

    def tidy(self) -> StatedSource:
        """The same without what people copy along."""
        is_token = self.kind == SourceKind.KUBERNETES
        return replace(
            self,
            name=self.name.strip(),
            address=self.address.strip().rstrip("/"),
            user=self.user.strip(),
            password=self.password.strip() if is_token else self.password,
            fingerprint=self.fingerprint.strip().replace(":", "").lower(),
            authority=self.authority.strip(),
            tier_label=self.tier_label.strip(),
            class_rates=" ".join(self.class_rates.split()),
        )


def problems_of(stated: StatedSource, allowed: Addresses) -> list[str]:
    """Why a source could not be read as it is stated, whatever there is beside it."""
    found = problems_of_name(stated.name)
    longest = LONGEST_TOKEN if stated.kind == SourceKind.KUBERNETES else LONGEST_PASSWORD
    for what, text, most in (
        ("an address", stated.address, LONGEST_ADDRESS),
        ("a user", stated.user, LONGEST_USER),
        (f"a {stated.secret}", stated.password, longest),
    ):
        if len(text) > most or not text.isprintable():
            found.append(f"{what} has at most {most} letters that can be printed")
    if problem := _address_problem(stated, allowed):
        found.append(problem)
    if not LEAST_EVERY_MIN <= stated.every_min <= MOST_EVERY_MIN:
        found.append(f"it is read each {LEAST_EVERY_MIN} to {MOST_EVERY_MIN} minutes")
    return found + _problems_of_kind(stated) + _problems_of_trust(stated)


def problems_of_password(
    stated: StatedSource, row: ReadSource | None, *, has_own_account: bool
) -> list[str]:
    """Why there is no password for it; `row` is the source of its name that there is."""
    if row is not None and row.kind != stated.kind:
        return [f"{row} is a source of another kind; remove it first, or give another name"]
    is_same = row is not None and (row.address, row.user, row.fingerprint, row.authority) == (
        stated.address, stated.user, stated.fingerprint, stated.authority,
    )  # fmt: skip
    if stated.password or (is_same and row is not None and row.has_password):
        return []
    is_cluster = stated.kind == SourceKind.KUBERNETES
    if is_cluster and is_by_own_account(stated.address, stated.password):
        if has_own_account:
            return [] if row is None or not row.has_password else [SAME_PLACE_ONLY.format("token")]
        return [f"it needs a token; {OWN_ACCOUNT_IS_FOR}"]
    if row is not None:
        return [SAME_PLACE_ONLY.format(stated.secret)]
    return ["it needs a token" if is_cluster else "it needs the password of the user"]


def _address_problem(stated: StatedSource, allowed: Addresses) -> str:
    """What can be told without asking for the addresses of a name, which a worker does."""
    paths = PATHS if stated.kind == SourceKind.VCENTER else None
    try:
        host = place_of(stated.address, paths=paths).host
    except AnswerError as error:
        return str(error)
    try:
        ip_address(host.partition("%")[0])
    except ValueError:
        return ""
    problem = address_problem(host, allowed)
    return problem and f"{host} is an address {problem}"


def _problems_of_kind(stated: StatedSource) -> list[str]:
    if stated.kind == SourceKind.VCENTER:
        found = [] if stated.user else ["it needs a user, with the role Read-only on the vCenter"]
        of_clusters = stated.tier_label or stated.class_rates
        return found + (["a vCenter has no labels and no classes"] if of_clusters else [])
    found = ["a Kubernetes cluster has no user; give a token"] if stated.user else []
    if stated.password and not _TOKEN.fullmatch(stated.password):
        found.append("a token has no letters but those of ASCII, and no spaces")
    label = stated.tier_label
    if label and not (len(label) <= LONGEST_LABEL and _LABEL.fullmatch(label)):
        found.append(f'"{label[:60]}" is no name of a label, such as sluice.io/tier')
    if len(stated.class_rates) > LONGEST_RATES:
        found.append(f"what parameters of classes mean has at most {LONGEST_RATES} letters")
    else:
        try:
            read_meanings(stated.class_rates)
        except MeaningError as error:
            found.append(str(error))
    return found


def _problems_of_trust(stated: StatedSource) -> list[str]:
    if stated.fingerprint and not _FINGERPRINT.fullmatch(stated.fingerprint):
        return ["a fingerprint is the SHA-256 of the certificate: 64 hexadecimal digits"]
    if len(stated.authority) > LONGEST_AUTHORITY:
        return [f"the authority's certificate has at most {LONGEST_AUTHORITY} letters"]
    problem = authority_problem(stated.authority) if stated.authority else ""
    return [problem] if problem else []
