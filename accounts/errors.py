"""What ingest refuses to do.

IngestError
├── NotFound           a named row does not exist, or belongs to somebody else
└── AlreadyExists      a name is taken
"""


class IngestError(Exception):
    """A refusal whose text says what, which, and what to do."""


class NotFound(IngestError):
    pass


class AlreadyExists(IngestError):
    pass
