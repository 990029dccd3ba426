"""Programs that lie in a closed home, such as a Python of root's own, where every user finds them.

A command after `WITHIN_REACH` runs in a namespace of mounts in which that home is a folder that
everybody may pass through, with the same content at the same place.
"""

from __future__ import annotations

import stat
import sys
from pathlib import Path

SCRIPT = """
keep=$(mktemp -d)
mount --bind "$1" "$keep"
mount -t tmpfs -o mode=755 none "$1"
cd "$keep"
for entry in .[!.]* *; do
    if [ -d "$entry" ]; then
        mkdir "$1/$entry"
        mount --bind "$entry" "$1/$entry"
    elif [ -e "$entry" ]; then
        touch "$1/$entry"
        mount --bind "$entry" "$1/$entry"
    fi
done
cd /
shift
exec "$@"
"""


def _closed(program: Path) -> Path | None:
    """The outermost folder that other users may not pass through."""
    for folder in reversed(program.parents):
        if not folder.stat().st_mode & stat.S_IXOTH:
            return folder
    return None


_HOME = _closed(Path(sys.executable).resolve())
WITHIN_REACH: tuple[str, ...] = (
    ()
    if _HOME is None
    else (
        "unshare", "--mount", "--propagation", "private",
        "sh", "-ec", SCRIPT, "within-reach", str(_HOME),
    )
)  # fmt: skip
