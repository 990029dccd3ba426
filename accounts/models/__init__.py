from accounts.models.audit import AuditEntry
from accounts.models.invitation import Invitation
from accounts.models.join_token import Collects, JoinMode, JoinToken, Runs
from accounts.models.kept_answer import KeptAnswer
from accounts.models.organisation import Membership, Organisation
from accounts.models.profile import Profile
from accounts.models.token import Scope, Token
from accounts.roles import Role

__all__ = [
    "AuditEntry",
    "Collects",
    "Invitation",
    "JoinMode",
    "JoinToken",
    "KeptAnswer",
    "Membership",
    "Organisation",
    "Profile",
    "Role",
    "Runs",
    "Scope",
    "Token",
]
