"""Starting the studio: a server on the loopback address, and a browser that is shown in."""

from __future__ import annotations

import os
import secrets
import socket
import tempfile
import webbrowser
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import uvicorn

from discreet.progress import SWITCH
from discreet.studio.application import build_app
from discreet.studio.security import ENTRANCE, Guard
from discreet.studio.studio import DEFAULT_UPLOAD, Studio
from discreet.studio.tidying import keep_tidy

__all__ = ["make_server", "open_socket", "serve"]

LOOPBACK = "127.0.0.1"
_GO = (
    '<!DOCTYPE html><meta charset="utf-8"><meta name="referrer" content="no-referrer">'
    '<meta http-equiv="refresh" content="0; url={address}"><a href="{address}">discreet studio</a>'
)


def open_socket(port: int) -> socket.socket:
    """A socket that listens on the loopback address; port 0 takes any that is free."""
    # named as TCP, for asyncio then sends without delay: a page would wait 40 ms for an acknowledgement
    found = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    found.bind((LOOPBACK, port))
    found.listen()  # whoever is told the address before the server runs waits, and isn't refused
    return found


def serve(
    root: Path,
    source: str | None = None,
    schema: str | None = None,
    ledger: str | None = None,
    *,
    port: int = 0,
    shows: bool = True,
    max_upload: int = DEFAULT_UPLOAD,
    tell: Callable[[str], None] = lambda words: None,
) -> None:
    """Serve the studio until somebody ends it.

    Parameters
    ----------
    root : Path
        Where it was started.
    source, schema, ledger : str, optional
        What was named at the start.
    port : int
        0 for any that is free.
    shows : bool
        Whether to open the browser.
    max_upload : int
        The largest upload, in bytes.
    tell : callable
        Is told the address of the studio.
    """
    os.environ[SWITCH] = "0"  # no bars on the terminal: pages show how far work is
    token = secrets.token_urlsafe(32)
    here = open_socket(port)
    number = here.getsockname()[1]
    address = f"http://{LOOPBACK}:{number}{ENTRANCE}?token={token}"
    app = build_app(Studio(root, source, schema, ledger), number, token, max_upload=max_upload)
    tell(address)
    with tempfile.TemporaryDirectory(prefix="discreet-studio-") as folder:
        if shows:
            _show(address, Path(folder))
        with suppress(KeyboardInterrupt), keep_tidy():
            make_server(app).run(sockets=[here])


def make_server(app: Guard) -> uvicorn.Server:
    """A server that writes no log: addresses could name files, and errors could hold cells."""
    return uvicorn.Server(
        uvicorn.Config(app, access_log=False, log_config=None, server_header=False, lifespan="off")
    )


def _show(address: str, folder: Path) -> None:
    """Open the browser by way of a file: an address on a command line can be read by others."""
    page = folder / "open.html"
    handle = os.open(page, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    with open(handle, "w", encoding="utf-8") as file:
        file.write(_GO.format(address=address))
    with suppress(webbrowser.Error):
        webbrowser.open(page.as_uri())
