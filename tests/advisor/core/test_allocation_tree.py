"""The hierarchical solver: reference trees, sums at every node, and ambiguous or bad trees."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.core.allocation import (
    Allocation,
    Node,
    ReservationMode,
    entitlements,
    entitlements_tree,
)

MODES = list(ReservationMode)
VECTOR_KEY = {ReservationMode.FLOOR: "MAX", ReservationMode.ADDITIVE: "SUM"}


def node_of(row):
    return Node(
        name=row["name"],
        reservation=row.get("r", 0.0),
        limit=row.get("l"),
        shares=row.get("s", 1.0),
        demand=row.get("d"),
        children=tuple(node_of(child) for child in row.get("children", [])),
    )


amounts = st.one_of(st.just(0.0), st.floats(1e-2, 1e3))


@st.composite
def nodes(draw, depth=3, name="root"):
    fan = draw(st.integers(0, 3)) if depth else 0
    return Node(
        name=name,
        reservation=draw(amounts),
        limit=draw(st.none() | amounts),
        shares=draw(st.just(0.0) | st.floats(1e-1, 1e2)),
        demand=draw(st.none() | amounts) if not fan else None,
        children=tuple(draw(nodes(depth=depth - 1, name=f"child{i}")) for i in range(fan)),
    )


def walk(node, path=""):
    yield f"{path}/{node.name}", node
    for child in node.children:
        yield from walk(child, f"{path}/{node.name}")


def most(node):
    """All that a node can take: a child without shares takes what is reserved for it."""
    own = min(math.inf if x is None else x for x in (node.limit, node.demand))
    if not node.children:
        return own
    return min(own, sum(most(child) if child.shares else least(child) for child in node.children))


def reserved(node):
    """The reservation a node allocations: at least what its children can use of theirs."""
    return max(node.reservation, sum(map(least, node.children)))


def least(node):
    """The reservation that counts: at most what the node can take."""
    return min(most(node), reserved(node))


trees = nodes()
capacities = st.floats(1e-1, 1e4)
modes = st.sampled_from(MODES)


@pytest.mark.parametrize("mode", MODES)
def test_tree_allocation_agrees_with_the_reference(tree_vector, mode):
    result = entitlements_tree(tree_vector["capacity"], node_of(tree_vector["tree"]), mode)

    assert result == pytest.approx(tree_vector[VECTOR_KEY[mode]], rel=1e-9, abs=1e-9)


@given(capacities, trees, modes)
def test_children_share_exactly_what_their_parent_gets(capacity, root, mode):
    result = entitlements_tree(capacity, root, mode)

    for path, node in walk(root):
        if node.children:
            inside = sum(result[f"{path}/{child.name}"] for child in node.children)
            assert inside == pytest.approx(result[path], rel=1e-9, abs=1e-9 * capacity)


@given(capacities, trees, modes)
def test_no_node_exceeds_what_it_can_take(capacity, root, mode):
    result = entitlements_tree(capacity, root, mode)

    assert all(result[path] <= most(node) * (1 + 1e-9) for path, node in walk(root))


@given(trees, modes)
def test_every_node_gets_its_reservation_where_the_root_can_hold_them(root, mode):
    capacity = least(root) + 1.0

    result = entitlements_tree(capacity, root, mode)

    for path, node in walk(root):
        if all(sum(map(least, n.children)) <= most(n) for _, n in walk(root)):
            assert result[path] >= least(node) * (1 - 1e-9) - 1e-9 * capacity


@given(
    capacities,
    st.lists(st.tuples(amounts, st.none() | amounts, st.floats(0.1, 9)), min_size=1),
    modes,
)
def test_a_tree_of_one_level_equals_the_flat_allocation(capacity, rows, mode):
    children = tuple(
        Node(name=str(i), reservation=r, limit=limit, shares=s)
        for i, (r, limit, s) in enumerate(rows)
    )
    flat = entitlements(capacity, [Allocation(r, limit, s) for r, limit, s in rows], mode)

    tree = entitlements_tree(capacity, Node(name="root", children=children), mode)

    assert [tree[f"/root/{i}"] for i in range(len(rows))] == pytest.approx(
        flat, rel=1e-9, abs=1e-9 * capacity
    )


@given(st.floats(1e-3, 1e4), trees, modes)
def test_children_divide_their_parents_amount_as_flat_allocations_do(capacity, root, mode):
    result = entitlements_tree(capacity, root, mode)

    for path, node in walk(root):
        allocations = [Allocation(reserved(one), most(one), one.shares) for one in node.children]
        inside = [result[f"{path}/{one.name}"] for one in node.children]
        assert inside == pytest.approx(
            entitlements(result[path], allocations, mode), rel=1e-9, abs=1e-9 * capacity
        )


@pytest.mark.parametrize("mode", MODES)
def test_classes_shrink_in_proportion_where_each_reservation_exceeds_the_capacity(mode):
    # 4 and 2 + 2 reserved on a link that fell to 1: the classes are worth the same.
    one = Node(name="one", children=(Node(name="vm", reservation=4),))
    pair = tuple(Node(name=name, reservation=2) for name in ("a", "b"))
    root = Node(name="nic", children=(one, Node(name="two", children=pair)))

    result = entitlements_tree(1, root, mode)

    assert [result[path] for path in ("/nic/one", "/nic/two", "/nic/two/a")] == [0.5, 0.5, 0.25]


def test_idle_children_leave_their_shares_inside_the_parent():
    busy, idle = Node(name="busy"), Node(name="idle", demand=0)
    pool, other = Node(name="pool", children=(busy, idle)), Node(name="other")

    result = entitlements_tree(100, Node(name="ds", children=(pool, other)), ReservationMode.FLOOR)

    assert result["/ds/pool/busy"] == 50.0  # Half of the datastore, all of its pool.


@pytest.mark.parametrize("mode", MODES)
def test_a_class_takes_no_more_than_its_members_without_shares_can(mode):
    # Nobody in the pool may have more than the 10 reserved there, so the other 90 are for "other".
    member = Node(name="vm", reservation=10, shares=0)
    root = Node(name="ds", children=(Node(name="pool", children=(member,)), Node(name="other")))

    result = entitlements_tree(100, root, mode)

    assert (result["/ds/pool"], result["/ds/other"]) == (10, 90)


def test_a_very_deep_tree_is_solved_without_recursion():
    node = Node(name="leaf")
    for _ in range(10_000):
        node = Node(name="n", children=(node,))

    result = entitlements_tree(7, node, ReservationMode.ADDITIVE)

    assert set(result.values()) == {7.0}


def test_a_bad_number_in_a_tree_is_refused_with_its_path():
    root = Node(name="nic", children=(Node(name="vm", limit=-1),))

    with pytest.raises(ValueError, match=r"^/nic/vm: limit is -1"):
        entitlements_tree(10, root, ReservationMode.FLOOR)


@pytest.mark.parametrize("name", ["", "a/b"])
def test_a_name_that_makes_paths_ambiguous_is_refused(name):
    with pytest.raises(ValueError, match=r"^/nic: the name "):
        entitlements_tree(10, Node(name="nic", children=(Node(name=name),)), ReservationMode.FLOOR)


def test_two_children_of_the_same_name_are_refused():
    twins = (Node(name="vm"), Node(name="vm"))

    with pytest.raises(ValueError, match=r"^/nic: two children have the same name"):
        entitlements_tree(10, Node(name="nic", children=twins), ReservationMode.FLOOR)
