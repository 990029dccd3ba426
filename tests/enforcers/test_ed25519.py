"""Ed25519 by plain Python: the vectors of RFC 8032, and what must be refused."""

import hashlib

import pytest
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from hypothesis import given, settings
from hypothesis import strategies as st

from enforcers import ed25519

ORDER = 2**252 + 27742317777372353535851937790883648493
PRIME = 2**255 - 19
SECRET = bytes(range(32))
PUBLIC = ed25519.public_key(SECRET)
SIGNED = ed25519.sign(b"message", SECRET)
SMALL_ORDER = {
    "neutral": "01" + 31 * "00",
    "order 2": "ec" + 30 * "ff" + "7f",
    "order 4": 32 * "00",
    "order 4, other": 31 * "00" + "80",
    "order 8": "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
    "order 8, other": "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
}
# Section 7.1: name, secret key, public key, message, signature.
VECTORS = [
    (
        "TEST 1",
        "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
        "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
        "",
        (
            "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e06522490155"
            "5fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b"
        ),
    ),
    (
        "TEST 2",
        "4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb",
        "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
        "72",
        (
            "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da"
            "085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00"
        ),
    ),
    (
        "TEST 3",
        "c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7",
        "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025",
        "af82",
        (
            "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac"
            "18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a"
        ),
    ),
    (
        "TEST 1024",
        "f5e5767cf153319517630f226876b86c8160cc583bc013744c6bf255f5cc0ee5",
        "278117fc144c72340f67d0f2316e8386ceffbf2b2428c9c51fef7c597f1d426e",
        (
            "08b8b2b733424243760fe426a4b54908632110a66c2f6591eabd3345e3e4eb98fa6e264bf09efe12"
            "ee50f8f54e9f77b1e355f6c50544e23fb1433ddf73be84d879de7c0046dc4996d9e773f4bc9efe57"
            "38829adb26c81b37c93a1b270b20329d658675fc6ea534e0810a4432826bf58c941efb65d57a338b"
            "bd2e26640f89ffbc1a858efcb8550ee3a5e1998bd177e93a7363c344fe6b199ee5d02e82d522c4fe"
            "ba15452f80288a821a579116ec6dad2b3b310da903401aa62100ab5d1a36553e06203b33890cc9b8"
            "32f79ef80560ccb9a39ce767967ed628c6ad573cb116dbefefd75499da96bd68a8a97b928a8bbc10"
            "3b6621fcde2beca1231d206be6cd9ec7aff6f6c94fcd7204ed3455c68c83f4a41da4af2b74ef5c53"
            "f1d8ac70bdcb7ed185ce81bd84359d44254d95629e9855a94a7c1958d1f8ada5d0532ed8a5aa3fb2"
            "d17ba70eb6248e594e1a2297acbbb39d502f1a8c6eb6f1ce22b3de1a1f40cc24554119a831a9aad6"
            "079cad88425de6bde1a9187ebb6092cf67bf2b13fd65f27088d78b7e883c8759d2c4f5c65adb7553"
            "878ad575f9fad878e80a0c9ba63bcbcc2732e69485bbc9c90bfbd62481d9089beccf80cfe2df16a2"
            "cf65bd92dd597b0707e0917af48bbb75fed413d238f5555a7a569d80c3414a8d0859dc65a46128ba"
            "b27af87a71314f318c782b23ebfe808b82b0ce26401d2e22f04d83d1255dc51addd3b75a2b1ae078"
            "4504df543af8969be3ea7082ff7fc9888c144da2af58429ec96031dbcad3dad9af0dcbaaaf268cb8"
            "fcffead94f3c7ca495e056a9b47acdb751fb73e666c6c655ade8297297d07ad1ba5e43f1bca32301"
            "651339e22904cc8c42f58c30c04aafdb038dda0847dd988dcda6f3bfd15c4b4c4525004aa06eeff8"
            "ca61783aacec57fb3d1f92b0fe2fd1a85f6724517b65e614ad6808d6f6ee34dff7310fdc82aebfd9"
            "04b01e1dc54b2927094b2db68d6f903b68401adebf5a7e08d78ff4ef5d63653a65040cf9bfd4aca7"
            "984a74d37145986780fc0b16ac451649de6188a7dbdf191f64b5fc5e2ab47b57f7f7276cd419c17a"
            "3ca8e1b939ae49e488acba6b965610b5480109c8b17b80e1b7b750dfc7598d5d5011fd2dcc5600a3"
            "2ef5b52a1ecc820e308aa342721aac0943bf6686b64b2579376504ccc493d97e6aed3fb0f9cd71a4"
            "3dd497f01f17c0e2cb3797aa2a2f256656168e6c496afc5fb93246f6b1116398a346f1a641f3b041"
            "e989f7914f90cc2c7fff357876e506b50d334ba77c225bc307ba537152f3f1610e4eafe595f6d9d9"
            "0d11faa933a15ef1369546868a7f3a45a96768d40fd9d03412c091c6315cf4fde7cb68606937380d"
            "b2eaaa707b4c4185c32eddcdd306705e4dc1ffc872eeee475a64dfac86aba41c0618983f8741c5ef"
            "68d3a101e8a3b8cac60c905c15fc910840b94c00a0b9d0"
        ),
        (
            "0aab4c900501b3e24d7cdf4663326a3a87df5e4843b2cbdb67cbf6e460fec350"
            "aa5371b1508f9f4528ecea23c436d94b5e8fcd4f681e30a6ac00a9704a188a03"
        ),
    ),
    (
        "TEST SHA(abc)",
        "833fe62409237b9d62ec77587520911e9a759cec1d19755b7da901b96dca3d42",
        "ec172b93ad5e563bf4932c70e1245034c35467ef2efd4d64ebf819683467e2bf",
        hashlib.sha512(b"abc").hexdigest(),
        (
            "dc2a4459e7369633a52b1bf277839a00201009a3efbf3ecb69bea2186c26b589"
            "09351fc9ac90b3ecfdfbc7c66431e0303dca179c138ac17ad9bef1177331a704"
        ),
    ),
]


def is_signed_by_library(message: bytes, signature: bytes, public: bytes) -> bool:
    """What OpenSSL says of the same three."""
    try:
        Ed25519PublicKey.from_public_bytes(public).verify(signature, message)
    except (InvalidSignature, ValueError):
        return False
    return True


@pytest.mark.parametrize(
    ("secret", "public", "message", "signature"),
    [[bytes.fromhex(part) for part in parts] for _, *parts in VECTORS],
    ids=[name for name, *_ in VECTORS],
)
def test_vector_of_the_rfc_holds(
    secret: bytes, public: bytes, message: bytes, signature: bytes
) -> None:
    assert ed25519.public_key(secret) == public
    assert ed25519.sign(message, secret) == signature
    assert ed25519.is_signed(message, signature, public)


@settings(max_examples=60)
@given(st.binary(min_size=32, max_size=32), st.binary(max_size=300))
def test_key_and_signature_are_those_of_the_library(secret: bytes, message: bytes) -> None:
    library = Ed25519PrivateKey.from_private_bytes(secret)

    signature = ed25519.sign(message, secret)

    assert ed25519.public_key(secret) == library.public_key().public_bytes_raw()
    assert signature == library.sign(message)
    assert ed25519.is_signed(message, signature, ed25519.public_key(secret))


@settings(max_examples=150)
@given(
    st.sampled_from(["message", "signature", "public"]), st.integers(0, 63), st.integers(1, 255)
)
def test_one_changed_byte_is_refused_as_by_the_library(part: str, place: int, change: int) -> None:
    parts = {"message": bytearray(b"message"), "signature": bytearray(SIGNED)}
    parts["public"] = bytearray(PUBLIC)
    parts[part][place % len(parts[part])] ^= change
    changed = {name: bytes(value) for name, value in parts.items()}

    assert not ed25519.is_signed(**changed)
    assert not is_signed_by_library(**changed)


@settings(max_examples=60)
@given(st.binary(max_size=80), st.binary(min_size=64, max_size=64), st.binary(max_size=40))
def test_bytes_by_chance_are_no_signature(message: bytes, signature: bytes, public: bytes) -> None:
    assert not ed25519.is_signed(message, signature, public)


@pytest.mark.parametrize("times", [1, 2, 7])
def test_answer_plus_the_order_is_refused(times: int) -> None:
    answer = int.from_bytes(SIGNED[32:], "little") + times * ORDER
    changed = SIGNED[:32] + answer.to_bytes(32, "little")

    assert not ed25519.is_signed(b"message", changed, PUBLIC)


@pytest.mark.parametrize("length", [0, 32, 63, 65, 128])
def test_signature_of_another_length_is_refused(length: int) -> None:
    assert not ed25519.is_signed(b"message", (SIGNED * 2)[:length], PUBLIC)


@pytest.mark.parametrize("length", [0, 31, 33])
def test_secret_key_of_another_length_is_an_error(length: int) -> None:
    with pytest.raises(ValueError, match="32 bytes"):
        ed25519.sign(b"message", bytes(length))


@pytest.mark.parametrize("point", SMALL_ORDER.values(), ids=SMALL_ORDER)
def test_public_key_of_small_order_is_none(point: str) -> None:
    assert not ed25519.is_public_key(bytes.fromhex(point))


def test_any_message_would_fit_the_neutral_point() -> None:
    # R = [S]B fits whatever is signed, for [k] times the neutral point adds nothing.
    base = ed25519.public_key(SECRET)
    scalar = int.from_bytes(hashlib.sha512(SECRET).digest()[:32], "little")
    scalar = scalar & ((1 << 254) - 8) | (1 << 254)
    forged = base + (scalar % ORDER).to_bytes(32, "little")

    assert not ed25519.is_signed(b"anything", forged, bytes.fromhex(SMALL_ORDER["neutral"]))


@pytest.mark.parametrize("sign", [0, 1 << 255], ids=["plus", "minus"])
@pytest.mark.parametrize("y", [*range(PRIME, 2**255)])
def test_point_in_another_than_its_canonical_form_is_no_key(y: int, sign: int) -> None:
    assert not ed25519.is_public_key((y | sign).to_bytes(32, "little"))


@pytest.mark.parametrize("y", [1, PRIME - 1], ids=["y is 1", "y is -1"])
def test_zero_has_no_minus_sign(y: int) -> None:
    assert not ed25519.is_public_key((y | 1 << 255).to_bytes(32, "little"))


def test_nonce_in_another_than_its_canonical_form_is_refused() -> None:
    # Both name the neutral point; the second is its y plus the prime.
    for point in (1, 1 + PRIME):
        nonce = point.to_bytes(32, "little")
        number = int.from_bytes(hashlib.sha512(nonce + PUBLIC + b"message").digest(), "little")
        scalar = int.from_bytes(hashlib.sha512(SECRET).digest()[:32], "little")
        scalar = scalar & ((1 << 254) - 8) | (1 << 254)
        answer = (number * scalar % ORDER).to_bytes(32, "little")

        assert ed25519.is_signed(b"message", nonce + answer, PUBLIC) is (point == 1)
