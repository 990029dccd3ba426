"""Why a whole body gives no points.

DecodeError
├── FormatError            the body is not of this format
├── BodyTooLargeError      unpacked, it would be larger than what is allowed
└── QuestionError          the file does not say it, and a guess could be wrong
    ├── NeedsHostError     ... which host it is of
    ├── NeedsZoneError     ... the time zone of its times
    ├── NeedsTimeError     ... when it was made
    └── NeedsDateOrderError  ... whether 03/04 is in March or in April

A bad part of a body is no error: it is a `Rejection`, and the rest gives points.
"""


class DecodeError(ValueError):
    """The body as a whole gives no points; the text is the reason."""


class FormatError(DecodeError):
    """The body is not of the format that the decoder reads."""


class BodyTooLargeError(DecodeError):
    """The body would unpack to more bytes than are allowed."""


class QuestionError(DecodeError):
    """The file does not say what the decoder needs: ask, and decode again with the answer."""


class NeedsHostError(QuestionError):
    """Answer with the argument `host`."""


class NeedsZoneError(QuestionError):
    """Answer with the argument `zone`."""


class NeedsTimeError(QuestionError):
    """Answer with the argument that gives the times of the file."""


class NeedsDateOrderError(QuestionError):
    """Answer with the argument `date_order`."""
