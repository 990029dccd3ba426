"""That too little is known to recommend anything, and of what."""

from collections.abc import Sequence

from advisor.core.explanation.answer import InsufficientData, Missing


def too_little_of(
    needed: Sequence[Missing], *, about: str, model_version: str
) -> InsufficientData | None:
    """The answer that names what of the needed there is not enough of; None if all of it is."""
    missing = tuple(one for one in needed if one.have < one.need)
    if not missing:
        return None
    needs = "; ".join(f"{one.what}: {one.have} of {one.need}" for one in missing)
    return InsufficientData(
        summary=f"Too little is known of {about}: {needs}",
        missing=missing,
        model_version=model_version,
    )
