"""A body in pieces, as a stream brings it."""

from collections.abc import Iterator
from itertools import pairwise


def split_at(body: bytes, places: list[int]) -> Iterator[bytes]:
    """The body cut at the places, each taken modulo its length; pieces may be empty."""
    edges = [0, *sorted(place % (len(body) + 1) for place in places), len(body)]
    for start, end in pairwise(edges):
        yield body[start:end]
