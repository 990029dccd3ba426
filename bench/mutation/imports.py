"""Which test files import a module, read from the syntax of all files."""

import ast
from collections import deque
from collections.abc import Collection, Iterable
from pathlib import Path

REACH = 2
"""How many imports beyond the nearest tests are searched for a mutant that survived these."""


def module_name(path: Path) -> str:
    """The dotted name of a file, relative to the root."""
    parts = path.with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


class Importers:
    """The import graph of products and tests, read backwards.

    `through` are the folders whose modules lead to further tests; what imports a module from
    elsewhere, such as a page, is the end of a path.
    """

    def __init__(self, root: Path, folders: Iterable[str], *, through: Iterable[str]) -> None:
        files = {
            module_name(path.relative_to(root)): path.relative_to(root)
            for folder in folders
            for path in sorted((root / folder).rglob("*.py"))
        }
        self._files = files
        self._through = tuple(f"{module_name(Path(folder))}." for folder in through)
        self._importers: dict[str, set[str]] = {name: set() for name in files}
        for name, path in files.items():
            for imported in _imports((root / path).read_text()):
                if imported in files and imported != name:
                    self._importers[imported].add(name)

    def tests_that_reach(self, module: str) -> tuple[str, ...]:
        """The test files that import the module or what imports it, over any distance."""
        names = sorted(name for name in self._distances(module) if _is_test(name))
        return tuple(str(self._files[name]) for name in names)

    def tests_of(
        self, module: str, *, among: Collection[str]
    ) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The test files that are nearest to the module by imports, and those a little further.

        Nearest are those that import it; where `among` has none of them, those that import a
        module which imports it, and so on outwards.
        """
        distance = {
            str(self._files[name]): steps
            for name, steps in self._distances(module).items()
            if _is_test(name) and str(self._files[name]) in among
        }
        nearest = min(distance.values(), default=0)
        near, further = range(nearest, nearest + 1), range(nearest + 1, nearest + 1 + REACH)

        def files(steps: range) -> tuple[str, ...]:
            return tuple(sorted(file for file in distance if distance[file] in steps))

        return files(near), files(further)

    def _distances(self, module: str) -> dict[str, int]:
        """How many imports lie between each module and this one; helpers of the tests are none."""
        distance = {module: 0}
        queue = deque([module])
        while queue:
            name = queue.popleft()
            for importer in sorted(self._importers[name] - distance.keys()):
                is_helper = importer.startswith("tests.") and not _is_test(importer)
                if not (is_helper or _is_test(importer) or importer.startswith(self._through)):
                    continue
                distance[importer] = distance[name] + (not is_helper)
                (queue.appendleft if is_helper else queue.append)(importer)
        return distance


def _is_test(module: str) -> bool:
    return module.rpartition(".")[2].startswith("test_")


def _imports(source: str) -> set[str]:
    """Dotted names a file imports; of `from a import b` both `a` and `a.b`."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module)
            names.update(f"{node.module}.{alias.name}" for alias in node.names)
    return names
