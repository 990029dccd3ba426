"""First program of a guest after its mounts: takes orders from the host and answers them.

An order is one line of JSON, `{"module": NAME, "arguments": {...}}`. What the module's function
`run` answers goes back as `{"answer": ...}`, and what it raises as `{"error": TEXT}`.
"""

from __future__ import annotations

import importlib
import json
import traceback
from pathlib import Path
from typing import Any

PORT = "sluice.orders"


def serve(port: Path) -> None:
    """Answer one order after the other, for as long as the guest runs."""
    with port.open("r+b", buffering=0) as line:
        _write(line, {"answer": "ready"})
        left = b""
        while True:
            left += line.read(65536) or b""
            while b"\n" in left:
                order, left = left.split(b"\n", 1)
                _write(line, _answer(json.loads(order)))


def _answer(order: dict[str, Any]) -> dict[str, Any]:
    try:
        return {"answer": importlib.import_module(order["module"]).run(**order["arguments"])}
    except Exception as error:  # noqa: BLE001  (whatever it is, who gave the order reads it)
        # First what a row of the testbed has room for.
        return {"error": f"{type(error).__name__}: {error}\n{traceback.format_exc()}"}


def _write(line: Any, said: dict[str, Any]) -> None:
    data = json.dumps(said).encode() + b"\n"
    while data:
        data = data[line.write(data) :]


def _port() -> Path:
    for name in Path("/sys/class/virtio-ports").glob("*/name"):
        if name.read_text().strip() == PORT:
            return Path("/dev") / name.parent.name
    raise FileNotFoundError(f"no port {PORT}")


if __name__ == "__main__":
    serve(_port())
