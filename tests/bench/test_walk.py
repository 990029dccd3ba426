"""The way of a call through files of the product."""

from __future__ import annotations

from collections.abc import Callable
from types import CodeType

import pytest

from bench.fleet.walk import ROOT, Walk


def make(file: str, source: str, names: dict[str, object]) -> Callable[..., object]:
    """The function `asked` of a file with this source, which knows these names."""
    code: CodeType = compile(source, str(ROOT / file), "exec")
    exec(code, names)
    found = names["asked"]
    assert callable(found)
    return found


def followed(entry: str, ask: Callable[[], object]) -> Walk:
    walk = Walk(entry, "asked")
    walk.follow(ask)
    return walk


def test_files_below_the_function_are_counted_once_and_others_are_not() -> None:
    below = make("ingest/below.py", "def asked(): return len('x')", {})
    top = make("advisor/top.py", "def asked():\n    below()\n    return below()", {"below": below})
    outside = make("bench/outside.py", "def asked(): return top()", {"top": top})

    walk = followed("advisor/top.py", lambda: (outside(), below()))

    assert walk.files == {"advisor/top.py", "ingest/below.py"}
    assert walk.climbs == set()


def test_call_of_a_file_that_waits_is_a_climb() -> None:
    names: dict[str, object] = {}
    top = make("advisor/top.py", "def back(): return 1\ndef asked(): return below()", names)
    names["below"] = make("ingest/below.py", "def asked(): return back()", {"back": names["back"]})

    walk = followed("advisor/top.py", top)

    assert walk.climbs == {"ingest/below.py to advisor/top.py:back"}


@pytest.mark.parametrize("handed", ["(one for one in 'ab')", "map(lambda one: one, 'ab')"])
def test_what_is_handed_down_is_no_climb(handed: str) -> None:
    below = make("ingest/below.py", "def asked(ones): return list(ones)", {})
    source = f"def asked(): return below({handed})"
    top = make("advisor/top.py", source, {"below": below})

    walk = followed("advisor/top.py", top)

    assert walk.files == {"advisor/top.py", "ingest/below.py"}
    assert walk.climbs == set()


def test_function_that_is_never_called_has_no_way() -> None:
    walk = followed("advisor/top.py", make("advisor/other.py", "def asked(): return 1", {}))

    assert walk.files == set()


def test_generators_come_and_go_without_losing_the_way() -> None:
    source = "def ones():\n    yield 1\n    yield 2\ndef asked(): return below(ones())"
    below = make("ingest/below.py", "def asked(ones): return sum(ones)", {})
    last = make("web/last.py", "def asked(): return 1", {})
    names: dict[str, object] = {"below": lambda ones: (below(ones), last())}
    top = make("advisor/top.py", source, names)

    walk = followed("advisor/top.py", top)

    assert walk.files == {"advisor/top.py", "ingest/below.py", "web/last.py"}
    assert walk.climbs == set()
