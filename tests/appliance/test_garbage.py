"""What a process of the web server leaves to its garbage collector."""

from __future__ import annotations

import subprocess
import sys

_SCRIPT = """
import gc, weakref
from appliance.web_server import make_application
make_application()
class Node: pass
node = Node()
node.itself, gone = node, weakref.ref(node)
del node
kept, left = gc.get_freeze_count(), len(gc.get_objects())
gc.collect()
print(left * 10 < kept, gone() is None)
"""


def test_modules_are_left_out_and_garbage_is_still_collected() -> None:
    found = subprocess.run(
        [sys.executable, "-c", _SCRIPT], capture_output=True, text=True, check=True
    )

    assert found.stdout.split() == ["True", "True"]
