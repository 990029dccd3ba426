"""What pyproject.toml cannot say: a package brings the documentation along.

In a checkout the server shows the Markdown of the repository (web/documentation/sources.py).
"""

import importlib.util
import shutil
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

SOURCES = Path(__file__).parent / "web/documentation/sources.py"


class BuildWithDocumentation(build_py):
    """Copies all Markdown that is a page, and what it shows, into the package."""

    def run(self) -> None:
        super().run()
        spec = importlib.util.spec_from_file_location("sources", SOURCES)
        assert spec is not None
        assert spec.loader is not None
        sources = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sources)
        copy = Path(self.build_lib) / "web/documentation/copy"
        for name in (*sources.page_paths(), *sources.file_paths()):
            if (origin := sources.root() / name).is_file():
                (copy / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(origin, copy / name)


if __name__ == "__main__":
    setup(cmdclass={"build_py": BuildWithDocumentation})
