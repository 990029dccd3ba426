from ingest.models.host import Host
from ingest.models.organisation import Membership, Organisation, Role
from ingest.models.rejected_line import RejectedLine
from ingest.models.series import Series
from ingest.models.token import Scope, Token

__all__ = [
    "Host",
    "Membership",
    "Organisation",
    "RejectedLine",
    "Role",
    "Scope",
    "Series",
    "Token",
]
