"""A provider of OpenID Connect on loopback: it asks nobody for a password, and lies if told to."""

from __future__ import annotations

import base64
import hashlib
import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import jwt
from cryptography.hazmat.primitives.asymmetric import rsa

CLIENT_ID, SECRET = "sluice-at-test", "only between the two"
KEY = rsa.generate_private_key(public_exponent=65537, key_size=2048)
OTHER_KEY = rsa.generate_private_key(public_exponent=65537, key_size=2048)


@dataclass(slots=True)
class Company:
    """Who logs in next, and what is wrong with the answers."""

    issuer: str = ""
    person: dict[str, Any] = field(default_factory=lambda: {"sub": "4711"})
    change_token: Callable[[dict[str, Any]], dict[str, Any]] = lambda claims: claims
    change_answer: Callable[[str, Any], Any] = lambda _path, answer: answer
    signs_with: Any = KEY
    algorithm: str = "RS256"
    stalls_at: str = ""
    drips_s: float = 0.0
    goes_on: threading.Event = field(default_factory=threading.Event)
    asked: dict[str, dict[str, str]] = field(default_factory=dict)

    def metadata(self) -> dict[str, Any]:
        return {
            "issuer": self.issuer,
            "authorization_endpoint": f"{self.issuer}/authorize",
            "token_endpoint": f"{self.issuer}/token",
            "userinfo_endpoint": f"{self.issuer}/userinfo",
            "jwks_uri": f"{self.issuer}/keys",
            "token_endpoint_auth_methods_supported": ["client_secret_post"],
        }

    def keys(self) -> dict[str, Any]:
        key = json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(KEY.public_key()))
        return {"keys": [{**key, "kid": "first", "alg": "RS256"}]}

    def token(self, request: dict[str, str]) -> dict[str, Any]:
        """Each code once, to who has its verifier and the secret."""
        question = self.asked.pop(request["code"])
        digest = hashlib.sha256(request["code_verifier"].encode()).digest()
        challenge = base64.urlsafe_b64encode(digest).decode().rstrip("=")
        assert challenge == question["code_challenge"]
        assert (request["client_id"], request["client_secret"]) == (CLIENT_ID, SECRET)
        now_s = int(time.time())
        claims = {
            "iss": self.issuer, "aud": CLIENT_ID, "iat": now_s, "exp": now_s + 300,
            "nonce": question["nonce"], **self.person,
        }  # fmt: skip
        token = jwt.encode(
            self.change_token(claims), self.signs_with, self.algorithm, headers={"kid": "first"}
        )
        return {"access_token": "opens nothing", "token_type": "Bearer", "id_token": token}

    def code_for(self, question: dict[str, str]) -> str:
        code = f"code-{len(self.asked)}-{question['state']}"
        self.asked[code] = question
        return (
            f"{question['redirect_uri']}?{urlencode({'code': code, 'state': question['state']})}"
        )


def _first(query: str) -> dict[str, str]:
    return {name: values[0] for name, values in parse_qs(query).items()}


def _handler(company: Company) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            place = urlsplit(self.path)
            match place.path:
                case "/authorize":
                    self.send_response(302)
                    self.send_header("Location", company.code_for(_first(place.query)))
                    self.end_headers()
                case "/.well-known/openid-configuration":
                    self._answer(company.metadata())
                case "/keys":
                    self._answer(company.keys())
                case _:
                    self.send_error(404)

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"])).decode()
            self._answer(company.token(_first(body)))

        def _answer(self, value: Any) -> None:
            path = urlsplit(self.path).path
            value = company.change_answer(path, value)
            body = value if isinstance(value, bytes) else json.dumps(value).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            if path == company.stalls_at:
                company.goes_on.wait(timeout=30)
            size = 1 if company.drips_s else len(body) or 1
            with suppress(OSError):  # Who asked may be gone.
                for at in range(0, len(body), size):
                    self.wfile.write(body[at : at + size])
                    time.sleep(company.drips_s)

        def log_message(self, *_: object) -> None:
            """Tests tell what went wrong."""

    return Handler


@contextmanager
def company_at_work() -> Iterator[Company]:
    """The provider, until the block ends."""
    company = Company()
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(company))
    company.issuer = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield company
    finally:
        company.goes_on.set()
        server.shutdown()
        thread.join()
        server.server_close()
