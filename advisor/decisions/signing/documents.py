"""Sign a policy document as its agent reads it."""

from __future__ import annotations

from advisor.core.signing_keys import KeyGone, KeyName
from advisor.decisions.signing.signer import SignerUnavailable, find_signer
from advisor.errors import DocumentRefused, DocumentUnavailable
from advisor.models import AgentKey
from enforcers.contract import PolicyDocument, sign
from enforcers.wire_signatures import SignatureKind, sign_by
from ingest.models import Host


def signed_for(
    document: PolicyDocument, *, host: Host, key: AgentKey | None, kind: SignatureKind
) -> PolicyDocument:
    """The document of a host with a signature of the kind that its agent reads.

    `key` belongs to the token that was shown; None is of an agent from before there were keys.
    Raises DocumentRefused if the host has no key of this kind, DocumentUnavailable if nobody
    signs now.
    """
    if key is None:
        if not host.enforcer.signing_key:
            raise DocumentRefused(
                f"{host.name} shares no secret with this server any more; enrol it again"
            )
        return sign(document, host.enforcer.signing_key.encode())
    if kind is not SignatureKind.ED25519:
        raise DocumentRefused(
            f"the keys of {host.name} are of Ed25519, which its agent does not read; "
            "update the agent, and give it the files of its enrolment"
        )
    assert key.host_id == host.pk, "a key signs for its own host alone"
    name = KeyName(organisation=host.organisation_id, host=host.name, salt=key.salt)
    public = bytes.fromhex(key.public_key)
    try:
        signer = find_signer()
        return sign_by(document, lambda message: signer.sign(name, message, public=public))
    except (KeyGone, SignerUnavailable) as error:
        raise DocumentUnavailable(str(error)) from error
