"""Texts that a body names things by."""


def is_storable(text: str) -> bool:
    """Whether a text can be stored: it holds no NUL and no half of a surrogate pair."""
    if "\0" in text:
        return False
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
