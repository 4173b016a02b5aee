"""The studio as a web application: which page answers which address, behind the guard."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route, Router
from starlette.types import ASGIApp, Receive, Scope, Send

from discreet.studio import (
    asking,
    facts,
    ledger_page,
    protect,
    releases,
    results,
    start,
    trust,
)
from discreet.studio.desk import Desk
from discreet.studio.pages import Handler, list_steps
from discreet.studio.rendering import load_static, render
from discreet.studio.security import Guard
from discreet.studio.studio import DEFAULT_UPLOAD, Studio
from discreet.studio.tidying import Tidied
from discreet.studio.visits import (
    Download,
    FieldErrors,
    Form,
    NotFound,
    Page,
    Redirect,
    Visit,
    parse_form,
    tell_error,
)

__all__ = ["build_app"]

Answer = Page | Redirect | Download | dict[str, Any]


def build_app(studio: Studio, port: int, token: str, *, max_upload: int = DEFAULT_UPLOAD) -> Guard:
    """The application, which answers its own pages on this machine alone."""
    routes = [
        Route(path, _endpoint(studio, handler), methods=[method])
        for part in (start, facts, protect, asking, releases, results, ledger_page, trust)
        for method, path, handler in part.ROUTES
    ]
    routes.append(Route("/upload", _receive(studio), methods=["PUT"]))
    routes.append(Route("/static/{name}", _send_static, methods=["GET"]))
    # a bare router: an application of Starlette's would answer errors itself, and hand them to the log
    inner = Tidied(Router(routes, default=_tell_missing(studio)))
    return Guard(inner, port, token, max_upload, studio.base)


def _endpoint(studio: Studio, handler: Handler) -> Callable[[Request], Any]:
    async def answer(request: Request) -> Response:
        form = Form()
        if request.method == "POST":
            form = parse_form(await request.body())
        visit = Visit(
            {name: str(value) for name, value in request.path_params.items()},
            parse_form(request.url.query.encode()),
            form,
            request.headers.get("x-part") == "1",
            studio.desk,
        )
        return await run_in_threadpool(_answer, studio, handler, visit, request.method)

    return answer


def _answer(studio: Studio, handler: Handler, visit: Visit, method: str) -> Response:
    """What a page answers; whatever goes wrong is a sentence."""
    try:
        if method == "POST":
            _check_desk(visit)
        found = handler(studio, visit)
    except NotFound:
        found = _missing()
    except FieldErrors as error:
        found = _sentence(400, "This can't be used", " ".join(error.errors.values()))
    except Exception as error:
        found = _sentence(400, "This can't be done", tell_error(error))
    return _respond(studio, found, visit.desk)


def _check_desk(visit: Visit) -> None:
    """A form of a table that isn't open any more is refused: it was filled in for another one."""
    here = "" if visit.desk is None else visit.desk.id
    if visit.form.text("desk") != here:
        raise FieldErrors(
            {
                "": "Another table was opened in the meantime, perhaps in another tab; nothing was changed "
                "or charged. Go back to the start, and open this table again."
            }
        )


def _sentence(status: int, title: str, words: str) -> Page:
    return Page("sentence.html", {"title": title, "words": words}, status)


def _missing() -> Page:
    return _sentence(404, "There is no such page", "The menu leads to all pages.")


def _tell_missing(studio: Studio) -> ASGIApp:
    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        await _respond(studio, _missing(), studio.desk)(scope, receive, send)

    return answer


def _respond(studio: Studio, found: Answer, desk: Desk | None) -> Response:
    """The answer; a page is about the desk that was open when it was asked for, and its forms say so."""
    match found:
        case Redirect(place):
            return RedirectResponse(studio.base + place, 303)
        case Download():
            headers = {"content-disposition": found.disposition}
            return Response(found.body, media_type=found.kind, headers=headers)
        case Page(template, shown, status):
            frame = {"errors": {}, "typed": {}, "base": studio.base, **_frame(desk)}
            whole = {**frame, **shown}
            return Response(render(template, whole), status, media_type="text/html")
    return Response(json.dumps(found), media_type="application/json")


def _frame(desk: Desk | None) -> dict[str, Any]:
    """What every page shows around its own part."""
    if desk is None:
        return {"desk": None, "desk_id": "", "steps": [], "title": "discreet studio", "here": ""}
    return {
        "desk": desk,
        "desk_id": desk.id,
        "steps": list_steps(desk),
        "title": "discreet studio",
        "here": "",
    }


def _receive(studio: Studio) -> Callable[[Request], Any]:
    """Take an upload, piece by piece, into the folder of uploads."""

    async def answer(request: Request) -> Response:
        try:
            place = studio.places.new_upload(request.query_params.get("name", ""))
        except FieldErrors as error:
            return _respond(studio, {"error": " ".join(error.errors.values())}, None)
        is_whole = False
        try:
            with open(place, "xb", opener=start.open_private) as file:
                async for piece in request.stream():
                    await run_in_threadpool(file.write, piece)
            is_whole = True
        finally:
            if not is_whole:
                place.unlink(missing_ok=True)
        source = str(place.relative_to(studio.places.root))
        await run_in_threadpool(studio.open, source)
        return _respond(studio, {"place": f"{studio.base}/facts"}, None)

    return answer


async def _send_static(request: Request) -> Response:
    found = load_static(request.path_params["name"])
    if found is None:
        return Response(status_code=404)
    return Response(found[1], media_type=found[0])
