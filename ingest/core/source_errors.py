"""Why nothing can be read of a source.

SourceError
├── ExportError       the file holds no export that can be read
└── AnswerError       it cannot be reached, or does not answer as it should
    ├── FaultError    a vCenter refused, and says why
    └── StatusError   a Kubernetes cluster refused, by the status of its answer
"""


class SourceError(ValueError):
    """Base of these errors; the text says what, which, and what to do."""


class ExportError(SourceError):
    """The file as a whole is no export."""


class AnswerError(SourceError):
    """What came back is no answer that can be read."""


class FaultError(AnswerError):
    """A fault of the vSphere API; `fault` is its type, such as `InvalidLogin`."""

    def __init__(self, fault: str, text: str) -> None:
        super().__init__(f"{fault}: {text}" if text else fault)
        self.fault = fault


class StatusError(AnswerError):
    """An answer of Kubernetes' API that gives nothing.

    `token` is that by which a list goes on whose moment is not kept any more (410).
    """

    def __init__(self, status: int, text: str, *, token: str = "") -> None:
        super().__init__(text)
        self.status = status
        self.token = token
