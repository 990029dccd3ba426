#!/usr/bin/env python3
"""Write the documentation, as the server shows it at /docs/, into a folder of HTML.

    scripts/docs.py FOLDER

With a wrong link, anchor, picture or heading nothing is written, and the status is 1.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))


def main(folder: Path) -> str:
    """Build; what to say."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    os.environ.setdefault("SLUICE_SECRET_KEY", "unused")
    import django

    django.setup()
    from web.documentation.site import DocumentationError, build

    if folder.exists() and not (folder / "files" / "docs.css").is_file():
        sys.exit(f"{folder} is there and holds something else; name another folder")
    try:
        count = build(folder)
    except DocumentationError as error:
        sys.exit(str(error))
    return f"{count} pages: {folder / 'index.html'}"


if __name__ == "__main__":
    print(main(Path(sys.argv[1])))
