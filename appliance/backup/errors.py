"""Errors of backups.

BackupError
├── TargetAway      the place of backups does not answer, or refuses
├── NoSpace         a disk has no room for what was to be written
├── WrongVersion    no PostgreSQL that is installed can serve the backup
├── Damaged         something that was stored is not what is there
├── NotReachable    no backup leads to the moment that was asked for
└── Refused         what was asked for is not done here, or not so
"""


class BackupError(Exception):
    """A backup cannot be made, used or trusted; the text says what, which and what to do."""


class TargetAway(BackupError):
    """The place of backups does not answer, or refuses."""


class NoSpace(BackupError):
    """A disk has no room for what was to be written."""


class WrongVersion(BackupError):
    """No PostgreSQL that is installed can serve the backup."""


class Damaged(BackupError):
    """Something that was stored is not what is there."""


class NotReachable(BackupError):
    """No backup leads to the moment that was asked for."""


class Refused(BackupError):
    """What was asked for is not done here, or not so."""
