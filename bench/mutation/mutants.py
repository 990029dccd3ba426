"""Small faults that can be planted in a module, one at a time, on its syntax tree."""

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice, takewhile
from typing import Any

Plant = Callable[[], None]
"""Puts one fault into the tree that it was made from."""

COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult,
    ast.Pow: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
}
# Of these the opposite comparison is the opposite test.
DECIDED_BY_COMPARISON = (ast.Eq, ast.NotEq, ast.Is, ast.IsNot, ast.In, ast.NotIn)
BUILT_IN_TYPES = frozenset({"int", "float", "str", "bytes", "bool", "dict", "list", "tuple"})
CONTEXT = 40
"""How many characters are shown on either side of a change."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutant:
    """One fault: where it is, and the source there before and after (as `ast.unparse` has it)."""

    path: str
    number: int
    """Its place among the mutants of its module."""
    line: int
    before: str
    after: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}  {self.before}  ->  {self.after}"


def count_mutants(source: str) -> int:
    """How many faults can be planted in a module."""
    return sum(1 for _ in _faults(ast.parse(source)))


def mutated(source: str, number: int) -> ast.Module:
    """The module's tree with fault `number` in it."""
    tree = ast.parse(source)
    _, plant = next(islice(_faults(tree), number, None))
    plant()
    return ast.fix_missing_locations(tree)


def describe(path: str, source: str, number: int) -> Mutant:
    """What fault `number` changes."""
    tree = ast.parse(source)
    former = ast.unparse(tree).splitlines()
    node, plant = next(islice(_faults(tree), number, None))
    plant()
    changed = ast.unparse(ast.fix_missing_locations(tree)).splitlines()
    pair = next(pair for pair in zip(former, changed, strict=False) if pair[0] != pair[1])
    before, after = _around_the_difference(*pair)
    return Mutant(path=path, number=number, line=node.lineno, before=before, after=after)


def _around_the_difference(before: str, after: str) -> tuple[str, str]:
    """Both lines without what is far from where they differ."""
    start = _same_at_start(before, after)
    end = _same_at_start(before[start:][::-1], after[start:][::-1])
    first, last = max(start - CONTEXT, 0), max(end - CONTEXT, 0)
    return _short(before[first : len(before) - last]), _short(after[first : len(after) - last])


def _same_at_start(one: str, other: str) -> int:
    pairs = zip(one, other, strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def _short(text: str) -> str:
    text = text.strip()
    return text if len(text) <= 3 * CONTEXT else f"{text[:CONTEXT]} … {text[-CONTEXT:]}"


def _faults(tree: ast.Module) -> Iterator[tuple[ast.expr | ast.stmt, Plant]]:
    """Every fault of a module with the node it lies in, in the order of the source."""
    for node in _executed(tree):
        match node:
            case ast.Compare():
                for place, operator in enumerate(node.ops):
                    yield node, _put(node.ops, place, COMPARISONS[type(operator)]())
            case ast.comprehension():
                for place, test in enumerate(node.ifs):
                    if _is_own_branch(test):
                        yield test, _put(node.ifs, place, _opposite(test))
            case ast.If() | ast.While() | ast.IfExp() if _is_own_branch(node.test):
                yield node.test, _set(node, "test", _opposite(node.test))
            case ast.expr() | ast.stmt() if change := _other_field(node):
                yield node, _set(node, *change)


def _other_field(node: ast.expr | ast.stmt) -> tuple[str, object] | None:
    """The field of a node that carries a fault, with the faulty value."""
    match node:
        case ast.BinOp(op=op) | ast.AugAssign(op=op) if type(op) in ARITHMETIC:
            return "op", ARITHMETIC[type(op)]()
        case ast.BoolOp(op=op):
            return "op", ast.Or() if isinstance(op, ast.And) else ast.And()
        case ast.UnaryOp(op=ast.USub()):
            return "op", ast.UAdd()
        case ast.Constant(value=bool() | int() | float() as value):
            return "value", _other_value(value)
        case ast.Return(value=ast.expr() as value) if not isinstance(value, ast.Constant):
            return "value", ast.Constant(None)
    return None


def _executed(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes a test could notice: no annotation, decorator, assertion, log line or layout."""
    for name, value in ast.iter_fields(node):
        if name in {"annotation", "returns", "decorator_list"}:
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST) and not _is_unseen(child):
                yield child
                yield from _executed(child)


def _is_unseen(node: ast.AST) -> bool:
    match node:
        case ast.Assert() | ast.keyword(arg="strict" | "indent"):
            return True
        case ast.Call(func=ast.Attribute(value=ast.Name(id="log"))):
            return True
        case ast.BinOp(op=ast.BitOr(), right=right):
            return _is_type(right)
    return False


def _is_type(node: ast.expr) -> bool:
    """Whether a union with it joins types, not values."""
    match node:
        case ast.Constant(value=None) | ast.Subscript():
            return True
        case ast.Name(id=name):
            return name in BUILT_IN_TYPES or (name[0].isupper() and not name.isupper())
    return False


def _is_own_branch(test: ast.expr) -> bool:
    """Whether the opposite of a test differs from every fault within it."""
    match test:
        case ast.Compare(ops=[operator]):
            return not isinstance(operator, DECIDED_BY_COMPARISON)
    return True


def _opposite(test: ast.expr) -> ast.expr:
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return test.operand
    return ast.UnaryOp(ast.Not(), test)


def _other_value(value: bool | float) -> bool | float:
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + 1
    return value * 2 or 1.0


def _set(node: ast.AST, field: str, value: object) -> Plant:
    return lambda: setattr(node, field, value)


def _put(items: list[Any], place: int, value: object) -> Plant:
    return lambda: items.__setitem__(place, value)
