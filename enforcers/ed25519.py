"""Ed25519 signatures (RFC 8032, section 5.1) in plain Python, made and checked.

A signature has one form alone: S below the order of the base point, points in their canonical
form. What is computed takes a time that depends on its numbers, so a secret key is used only
where nobody else measures single calls: on its own host.
"""

import hashlib
from collections.abc import Iterator, Sequence
from functools import lru_cache

SECRET_BYTES = PUBLIC_BYTES = 32
SIGNATURE_BYTES = 64

_P = 2**255 - 19
_L = 2**252 + 27742317777372353535851937790883648493
"""The order of the base point."""
_D = -121665 * pow(121666, -1, _P) % _P
_ROOT_OF_MINUS_1 = pow(2, (_P - 1) // 4, _P)
_WINDOW = 5
"""Bits of one digit: a point has eight multiples in memory."""
_PARTS, _PART_BITS = 4, 64
"""A number is summed in four parts side by side, which takes a quarter of the doublings."""
_KEYS_KNOWN = 8
"""An agent has two, of its service and its own."""

_Point = tuple[int, int, int, int]
"""X, Y, Z and T with x = X/Z, y = Y/Z and xy = T/Z."""
_NEUTRAL: _Point = (0, 1, 1, 0)


def public_key(secret: bytes) -> bytes:
    """The public key of a secret one of 32 bytes. ValueError for another length."""
    scalar, _ = _expanded(secret)
    return _public(scalar)


def sign(message: bytes, secret: bytes) -> bytes:
    """The signature of 64 bytes, always the same for the same message and key."""
    scalar, prefix = _expanded(secret)
    public = _public(scalar)
    nonce = _number(prefix + message) % _L
    point = _encoded(_sum([(nonce, _tables(_BASE))]))
    answer = (nonce + _number(point + public + message) * scalar) % _L
    return point + answer.to_bytes(32, "little")


def is_signed(message: bytes, signature: bytes, public: bytes) -> bool:
    """Whether the secret key of this public one made exactly this signature of this message."""
    if len(signature) != SIGNATURE_BYTES or not is_public_key(public):
        return False
    point, answer = signature[:32], int.from_bytes(signature[32:], "little")
    if answer >= _L:
        # S + L would satisfy the equation too.
        return False
    challenge = _number(point + public + message) % _L
    negated = _tables(_negated(_decoded(public) or _NEUTRAL))
    # Compared as bytes: R is so in its canonical form, or refused.
    return _encoded(_sum([(answer, _tables(_BASE)), (challenge, negated)])) == point


@lru_cache(_KEYS_KNOWN)
def is_public_key(public: bytes) -> bool:
    """Whether these are a point in its canonical form, and not one of the few of small order.

    For a key of small order there are signatures that fit nearly any message.
    """
    point = _decoded(public)
    if point is None:
        return False
    for _ in range(3):
        point = _doubled(point)
    return _encoded(point) != _encoded(_NEUTRAL)


@lru_cache(_KEYS_KNOWN)
def _public(scalar: int) -> bytes:
    return _encoded(_sum([(scalar, _tables(_BASE))]))


def _expanded(secret: bytes) -> tuple[int, bytes]:
    """The scalar of a secret key, and what its nonces begin with."""
    if len(secret) != SECRET_BYTES:
        raise ValueError(f"a secret key has {SECRET_BYTES} bytes, not {len(secret)}")
    digest = hashlib.sha512(secret).digest()
    scalar = int.from_bytes(digest[:32], "little")
    return scalar & ((1 << 254) - 8) | (1 << 254), digest[32:]


def _number(data: bytes) -> int:
    return int.from_bytes(hashlib.sha512(data).digest(), "little")


@lru_cache(_KEYS_KNOWN)
def _decoded(data: bytes) -> _Point | None:
    """The point of 32 bytes; None if there is none, or if these are not its canonical form."""
    if len(data) != PUBLIC_BYTES:
        return None
    number = int.from_bytes(data, "little")
    sign, y = number >> 255, number & ((1 << 255) - 1)
    if y >= _P:
        return None
    x = _recovered_x(y, sign)
    return None if x is None else (x, y, 1, x * y % _P)


def _recovered_x(y: int, sign: int) -> int | None:
    """The x of this y and sign (RFC 8032, section 5.1.3); None if there is none."""
    square = (y * y - 1) * pow(_D * y * y + 1, -1, _P) % _P
    x = pow(square, (_P + 3) // 8, _P)
    if (x * x - square) % _P:
        x = x * _ROOT_OF_MINUS_1 % _P
    if (x * x - square) % _P or (x == 0 and sign):
        return None
    return x if x & 1 == sign else _P - x


def _encoded(point: _Point) -> bytes:
    x, y, z, _ = point
    inverse = pow(z, -1, _P)
    number = y * inverse % _P | (x * inverse % _P & 1) << 255
    return number.to_bytes(32, "little")


def _added(one: _Point, other: _Point) -> _Point:
    """The sum, also of a point with itself (RFC 8032, section 5.1.4)."""
    a = (one[1] - one[0]) * (other[1] - other[0]) % _P
    b = (one[1] + one[0]) * (other[1] + other[0]) % _P
    c = 2 * one[3] * other[3] * _D % _P
    d = 2 * one[2] * other[2] % _P
    e, f, g, h = b - a, d - c, d + c, b + a
    return e * f % _P, g * h % _P, f * g % _P, e * h % _P


def _doubled(point: _Point) -> _Point:
    x, y, z, _ = point
    a, b = x * x % _P, y * y % _P
    h = a + b
    e = h - (x + y) * (x + y) % _P
    g = a - b
    f = 2 * z * z % _P + g
    return e * f % _P, g * h % _P, f * g % _P, e * h % _P


def _negated(point: _Point) -> _Point:
    x, y, z, t = point
    return -x % _P, y, z, -t % _P


@lru_cache(_KEYS_KNOWN)
def _tables(point: _Point) -> Sequence[Sequence[_Point]]:
    """Multiples of the point for each part of a number, the lowest part first."""
    found = [_multiples(point)]
    while len(found) < _PARTS:
        for _ in range(_PART_BITS):
            point = _doubled(point)
        found.append(_multiples(point))
    return found


def _multiples(point: _Point) -> Sequence[_Point]:
    """1, 3, 5, ... times the point, as many as a digit can ask for."""
    twice, found = _doubled(point), [point]
    while len(found) < 1 << (_WINDOW - 2):
        found.append(_added(found[-1], twice))
    return found


def _digits(number: int) -> list[int]:
    """Odd digits below 2^(window-1), or 0, of which few are not 0; the lowest first (NAF)."""
    return list(_each_digit(number))


def _each_digit(number: int) -> Iterator[int]:
    while number:
        digit = 0
        if number & 1:
            digit = number & ((1 << _WINDOW) - 1)
            if digit >> (_WINDOW - 1):
                digit -= 1 << _WINDOW
            number -= digit
        yield digit
        number >>= 1


def _sum(terms: Sequence[tuple[int, Sequence[Sequence[_Point]]]]) -> _Point:
    """The sum of numbers times points, each by its tables, with one run of doublings."""
    rows = [
        (_digits(part), multiples)
        for number, tables in terms
        for part, multiples in zip(_parts(number), tables, strict=True)
    ]
    total = _NEUTRAL
    for place in reversed(range(max(len(digits) for digits, _ in rows))):
        total = _doubled(total)
        for digits, multiples in rows:
            digit = digits[place] if place < len(digits) else 0
            if digit > 0:
                total = _added(total, multiples[digit >> 1])
            elif digit < 0:
                total = _added(total, _negated(multiples[-digit >> 1]))
    return total


def _parts(number: int) -> list[int]:
    """The number in parts, the lowest first; the highest takes what is left."""
    most = (1 << _PART_BITS) - 1
    lower = [number >> place * _PART_BITS & most for place in range(_PARTS - 1)]
    return [*lower, number >> (_PARTS - 1) * _PART_BITS]


_BASE_Y = 4 * pow(5, -1, _P) % _P
_BASE_X = _recovered_x(_BASE_Y, 0) or 0
_BASE: _Point = (_BASE_X, _BASE_Y, 1, _BASE_X * _BASE_Y % _P)
