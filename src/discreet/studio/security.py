"""Who may talk to the studio: this machine's own browser, from the studio's own pages, with its cookie.

Every request passes `Guard` before anything else sees it. It looks at addresses and headers alone.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, final
from urllib.parse import parse_qs

from starlette.types import ASGIApp, Message, Receive, Scope, Send

__all__ = ["ENTRANCE", "HEADERS", "MAX_FORM", "Guard"]

#: Where the address with the token leads.
ENTRANCE = "/enter"
#: The largest form, in bytes.
MAX_FORM = 4 * 2**20
_LOOPBACK = ("127.0.0.1", "::1")
_SAFE = ("GET", "HEAD")
_UNSAFE = ("POST", "PUT")
#: What every answer carries: no script, style, picture or connection but the studio's own; no frames, no
#: other page may read or embed it, nothing is kept.
HEADERS = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
    "cache-control": "no-store",
}
_PAGE = (
    '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>discreet studio</title>'
    "{head}</head>"
    "<body><main><h1>{title}</h1><p>{words}</p></main></body></html>"
)


class TooLarge(Exception):
    """A request's body is larger than it may be."""


@final
class Guard:
    """Refuses whatever doesn't come from the studio's own pages in the browser of whoever started it.

    Parameters
    ----------
    app : ASGI application
    port : int
    token : str
        The secret in the address that the terminal shows.
    max_upload : int
        The largest upload, in bytes.
    base : str
        What the addresses of pages begin with: the cookie is sent there alone. It must not be guessed.
    """

    def __init__(self, app: ASGIApp, port: int, token: str, max_upload: int, base: str) -> None:
        self._app, self._token, self._max_upload = app, token, max_upload
        self.base = base
        names = ("127.0.0.1", "localhost")
        self._hosts = tuple(f"{name}:{port}" for name in names)
        if port == 80:  # browsers leave it out
            self._hosts += names
        self._cookie = f"discreet-studio-{port}"
        self._session = secrets.token_urlsafe(32)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
            return
        reply = Reply(send)
        headers = _read_headers(scope)
        refusal = self._refuse(scope, headers)
        if refusal is not None:
            await reply.write(*refusal)
        elif scope["path"] == ENTRANCE:
            await self._enter(scope, reply)
        elif not scope["path"].startswith(f"{self.base}/") or not self._knows(headers):
            await reply.write(
                403,
                "This page is private",
                "Open the address that the terminal shows: it holds the key to this page.",
            )
        else:
            await self._pass({**scope, "root_path": self.base}, receive, reply)

    def _refuse(
        self, scope: Scope, headers: Mapping[str, list[str]]
    ) -> tuple[int, str, str] | None:
        """Why a request isn't even looked at; None if it may be."""
        client = scope.get("client")
        if client is None or client[0] not in _LOOPBACK:
            return 403, "Refused", "The studio answers this machine alone."
        hosts = headers.get("host", [])
        if len(hosts) != 1 or hosts[0].lower() not in self._hosts:
            return 421, "Refused", "The studio is not at this address."
        method = scope["method"]
        if method not in _SAFE + _UNSAFE:
            return 405, "Refused", "Nothing here is asked in this way."
        own = f"http://{hosts[0].lower()}"
        origins = headers.get("origin", [])
        if any(origin.lower() != own for origin in origins) or len(origins) > 1:
            return 403, "Refused", "The request comes from another page."
        sites = headers.get("sec-fetch-site", [])
        is_entering = method == "GET" and scope["path"] == ENTRANCE
        if any(site not in ("same-origin", "none") for site in sites) and not is_entering:
            return 403, "Refused", "The request comes from another page."
        if method in _UNSAFE and not origins:
            return 403, "Refused", "The request doesn't say from which page it comes."
        return None

    async def _enter(self, scope: Scope, reply: Reply) -> None:
        given = parse_qs(scope["query_string"].decode("latin-1")).get("token", [])
        if len(given) != 1 or not secrets.compare_digest(given[0].encode(), self._token.encode()):
            await reply.write(
                403,
                "This page is private",
                "The address holds another key: start the studio again.",
            )
            return
        # a page that goes on by itself, and no redirect: a strict cookie isn't sent after one from elsewhere
        cookie = f"{self._cookie}={self._session}; Path={self.base}; HttpOnly; SameSite=Strict"
        await reply.write(
            200,
            "Welcome",
            f'<a href="{self.base}/">Go on to the studio</a>',
            head=f'<link rel="icon" href="{self.base}/static/icon.svg">'
            f'<meta http-equiv="refresh" content="0; url={self.base}/">',
            # not even our own next page is told the address with the key
            more={"set-cookie": cookie, "referrer-policy": "no-referrer"},
        )

    def _knows(self, headers: Mapping[str, list[str]]) -> bool:
        # by hand: one odd cookie of another program on this machine makes Python's parser drop all
        parts = [part for text in headers.get("cookie", []) for part in text.split(";")]
        pairs = [part.strip().partition("=") for part in parts]
        given = [value for name, _, value in pairs if name == self._cookie]
        return any(
            secrets.compare_digest(value.encode(), self._session.encode()) for value in given
        )

    async def _pass(self, scope: Scope, receive: Receive, reply: Reply) -> None:
        """Hand the request on, with its body counted and every answer under our headers."""
        left = self._max_upload if scope["method"] == "PUT" else MAX_FORM

        async def count() -> Message:
            nonlocal left
            message = await receive()
            left -= len(message.get("body", b""))
            if left < 0:
                raise TooLarge
            return message

        try:
            await self._app(scope, count, reply.send)
        except TooLarge:
            await reply.fail(413, "Too large", "What was sent is larger than this page takes.")
        except Exception as error:  # nothing of it may reach a log: it could hold a cell or a name
            await reply.fail(
                500,
                "Something went wrong",
                f"An error of discreet itself ({type(error).__name__}); its message is withheld, since it "
                "could hold a value of a row. What was charged is on the page of the ledger.",
            )


def _read_headers(scope: Scope) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name, value in scope["headers"]:
        found.setdefault(name.decode("latin-1").lower(), []).append(value.decode("latin-1"))
    return found


@final
class Reply:
    """Sends answers under the studio's headers."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._has_begun = False

    async def send(self, message: Message) -> None:
        """Pass a message of the application on."""
        if message["type"] == "http.response.start":
            self._has_begun = True
            own = {name.encode() for name in HEADERS}
            kept = [pair for pair in message.get("headers", []) if pair[0].lower() not in own]
            message = {**message, "headers": [*kept, *_encode(HEADERS.items())]}
        await self._send(message)

    async def write(
        self,
        status: int,
        title: str,
        words: str,
        *,
        head: str = "",
        more: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        """Answer with a short page of the guard's own; `more` headers go before the studio's."""
        body = _PAGE.format(title=title, words=words, head=head).encode()
        headers = {"content-type": "text/html; charset=utf-8", "content-length": str(len(body))}
        start = {"type": "http.response.start", "status": status}
        await self._send({**start, "headers": _encode({**HEADERS, **headers, **more}.items())})
        await self._send({"type": "http.response.body", "body": body})

    async def fail(self, status: int, title: str, words: str) -> None:
        """Answer with an error, unless an answer has begun: then it ends here."""
        if not self._has_begun:
            await self.write(status, title, words)


def _encode(pairs: Any) -> list[tuple[bytes, bytes]]:
    return [(name.encode("latin-1"), value.encode("latin-1")) for name, value in pairs]
