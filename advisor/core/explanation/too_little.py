"""The answer that there is too little data for a recommendation."""

from collections.abc import Sequence

from advisor.core.explanation.answer import InsufficientData, Missing


def too_little_of(
    needed: Sequence[Missing], *, about: str, model_version: str
) -> InsufficientData | None:
    """The answer that names the missing data; None if there is enough."""
    missing = tuple(one for one in needed if one.have < one.need)
    if not missing:
        return None
    needs = "; ".join(f"{one.what}: {one.have} of {one.need}" for one in missing)
    return InsufficientData(
        summary=f"Too little is known of {about}: {needs}",
        missing=missing,
        model_version=model_version,
    )
