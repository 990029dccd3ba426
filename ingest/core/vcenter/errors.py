"""Why nothing can be read of a vCenter.

VcenterError
├── ExportError       the file holds no export that can be read
└── AnswerError       the server answered, and not as a vCenter does
    └── FaultError    it refused, and says why
"""


class VcenterError(ValueError):
    """Base of these errors; the text says what, which, and what to do."""


class ExportError(VcenterError):
    """The file as a whole is no export."""


class AnswerError(VcenterError):
    """What came back is no answer of the vSphere API."""


class FaultError(AnswerError):
    """A fault of the vSphere API; `fault` is its type, such as `InvalidLogin`."""

    def __init__(self, fault: str, text: str) -> None:
        super().__init__(f"{fault}: {text}" if text else fault)
        self.fault = fault
