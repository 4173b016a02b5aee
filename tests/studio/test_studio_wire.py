"""Attacks on the guard by fresh eyes: cookies, ports and keys, and what no page of ours sends, as bytes."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from chromium import KEY, serve
from clinic_studio import HOME, TOKEN, Browser, Client, open_clinic

from discreet.studio.studio import Studio


def test_browsers_send_the_cookie_to_no_other_server_of_this_machine(clinic, tmp_path):
    answer = clinic.get(f"/enter?token={TOKEN}")
    parts = answer.headers["set-cookie"].split("; ")
    # ports don't count for cookies, paths do: a server beside us would have to know ours
    assert f"Path={clinic.studio.base}" in parts
    assert len(clinic.studio.base) > 20
    assert Studio(tmp_path).base != clinic.studio.base
    for place in ("/", "/facts", "/static/studio.js", clinic.studio.base):
        with_cookie = {"cookie": parts[0]}
        found = httpx_send(clinic, place, with_cookie)
        assert found.status_code == 403
        assert clinic.studio.base not in found.text


def httpx_send(browser: Browser, place: str, headers: dict[str, str]) -> httpx.Response:
    """A request to exactly this address."""
    client = Client(browser.app, HOME)
    return client.send_exactly("GET", place, headers=headers)


def test_odd_cookies_of_other_programs_lock_nobody_out(clinic):
    cookies = "; ".join(f"{name}={value}" for name, value in clinic.client.cookies.items())
    other = Client(clinic.app, HOME)
    for odd in ('a[b]="x', "{json}={1}", "=;;,", "é=1"):
        headers = {"cookie": f"{odd}; {cookies}".encode()}
        assert other.send("GET", "/facts", headers=headers).status_code == 200, odd
    assert other.send("GET", "/facts", headers={"cookie": "a[b]=x"}).status_code == 403


def test_the_usual_port_is_left_out_by_browsers(tmp_path):
    browser = Browser(Studio(tmp_path), 80)
    found = Client(browser.app, "http://127.0.0.1").send("GET", f"/enter?token={TOKEN}")
    assert found.status_code == 200


def test_the_address_with_the_key_is_told_to_no_page(clinic):
    answer = clinic.get(f"/enter?token={TOKEN}")
    assert answer.headers["referrer-policy"] == "no-referrer"
    assert TOKEN not in answer.text


def test_bodies_of_unknown_length_are_limited_too(tmp_path):
    open_clinic(tmp_path)
    browser = Browser(Studio(tmp_path, "visits.csv"), max_upload=10_000).enter()

    async def pour() -> Any:
        for _ in range(200):
            yield b"x" * 1000

    headers = {"origin": HOME}
    answer = browser.client.send("PUT", "/upload?name=a.csv", content=pour(), headers=headers)
    assert "content-length" not in answer.request.headers
    assert answer.status_code == 413
    assert list((tmp_path / "discreet-uploads").iterdir()) == []


@pytest.fixture
def wire(tmp_path: Path) -> Iterator[tuple[Path, str, int, str]]:
    """A studio on a real port, its cookie, the port, and where its pages are."""
    studio = Studio(tmp_path)
    with serve(studio) as home:
        cookie = httpx.get(f"{home}/enter?token={KEY}").headers["set-cookie"].partition(";")[0]
        yield tmp_path, cookie, int(home.rpartition(":")[2]), studio.base


def send_raw(port: int, text: bytes) -> bytes:
    """Bytes as they are, and the beginning of what comes back."""
    with socket.create_connection(("127.0.0.1", port), timeout=10) as line:
        line.sendall(text)
        line.shutdown(socket.SHUT_WR)
        return line.recv(4096)


@pytest.mark.parametrize(
    "first",
    [
        "GET {base}/facts HTTP/1.0\r\n",
        "GET {base}/facts HTTP/1.1\r\nHost: evil.example\r\n",
        "GET http://evil.example{base}/facts HTTP/1.1\r\nHost: evil.example\r\n",
        "GET {base}/facts HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nHost: evil.example\r\n",
        "POST {base}/sample HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Length: 0\r\n",
        "POST {base}/sample HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nOrigin: null\r\nContent-Length: 0\r\n",
        "GET {base}/facts HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nX-Forwarded-For: 10.0.0.7\r\n",
        "GET {base}/start HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nUpgrade: websocket\r\n"
        "Connection: Upgrade\r\nSec-WebSocket-Key: eHh4eHh4eHh4eHh4eHh4eA==\r\n"
        "Sec-WebSocket-Version: 13\r\nOrigin: http://evil.example\r\n",
    ],
)
def test_what_no_page_of_ours_sends_is_refused_on_the_wire(wire, first):
    folder, cookie, port, base = wire
    text = f"{first.format(port=port, base=base)}Cookie: {cookie}\r\n\r\n"
    answer = send_raw(port, text.encode())
    assert answer.split()[1] in (b"400", b"403", b"421"), answer
    assert list(folder.iterdir()) == []


def test_a_body_in_chunks_is_limited_on_the_wire(wire):
    folder, cookie, port, base = wire
    head = (
        f"POST {base}/open HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nOrigin: http://127.0.0.1:{port}\r\n"
        f"Cookie: {cookie}\r\nTransfer-Encoding: chunked\r\n\r\n"
    )
    chunk = b"100000\r\n" + b"x" * 2**20 + b"\r\n"
    assert send_raw(port, head.encode() + 5 * chunk + b"0\r\n\r\n").split()[1] == b"413"
    assert list(folder.iterdir()) == []
