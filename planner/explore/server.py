"""The server of the page of `planner explore`.

It listens on this machine alone and holds no secrets. It answers requests of its own page (Host,
Origin and Sec-Fetch-Site are checked), takes values of its sliders and nothing else, and reads no
file after its start but those that the problem names.
"""

from __future__ import annotations

import contextlib
import json
import socket
from collections.abc import Awaitable, Callable
from dataclasses import asdict
from importlib import resources
from typing import TYPE_CHECKING, Any

from planner.errors import Finding, InputError, PlannerError
from planner.explore.explorer import Asked, CancelledError, Explorer

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response

Handler = Callable[["Request"], Awaitable["Response"]]
MOST_BYTES = 16_384
"""Most bytes of a request."""
_SECURITY = {
    "content-security-policy": "default-src 'none'; img-src data:; script-src 'unsafe-inline'; "
    "style-src 'unsafe-inline'; connect-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
}


def app(explorer: Explorer, hosts: frozenset[str]) -> Starlette:
    """The server's application.

    Args:
        explorer: the problem.
        hosts: values of the Host header that are answered.
    """
    from starlette.applications import Starlette
    from starlette.middleware import Middleware
    from starlette.middleware.base import BaseHTTPMiddleware
    from starlette.responses import HTMLResponse, Response
    from starlette.routing import Route

    async def guard(request: Request, go_on: Callable[[Request], Awaitable[Response]]) -> Response:
        response = await go_on(request) if is_own(request, hosts) else Response("not allowed", 403)
        response.headers.update(_SECURITY)
        return response

    async def page(_: Request) -> Response:
        return HTMLResponse(html(explorer))

    def curve(asked: Asked, tab: str, _: int) -> dict[str, Any]:
        return explorer.curve(asked, tab)

    routes = [
        Route("/", page),
        Route("/solve", _posted(explorer, explorer.answer), methods=["POST"]),
        Route("/curve", _posted(explorer, curve), methods=["POST"]),
        Route("/plan.xlsx", _file(explorer, "xlsx", explorer.workbook)),
        Route("/problem.yaml", _file(explorer, "yaml", explorer.problem_file)),
    ]
    return Starlette(routes=routes, middleware=[Middleware(BaseHTTPMiddleware, dispatch=guard)])


def is_own(request: Request, hosts: frozenset[str]) -> bool:
    """True of a request from this server's own page, or from its address line."""
    host, origin = request.headers.get("host", ""), request.headers.get("origin")
    site = request.headers.get("sec-fetch-site", "none")
    return host in hosts and origin in (None, f"http://{host}") and site in ("none", "same-origin")


def _posted(explorer: Explorer, work: Callable[[Asked, str, int], Any]) -> Handler:
    """The handler of a move: position, tab and stage as JSON."""
    from starlette.responses import Response

    async def handle(request: Request) -> Response:
        if request.headers.get("content-type") != "application/json":
            return Response("expected application/json", 415)
        body = b""
        async for chunk in request.stream():
            body += chunk
            if len(body) > MOST_BYTES:
                return Response("request too large", 413)
        try:
            data = json.loads(body)
            asked = explorer.asked(data)
            tab, stage = str(data.get("tab", ""))[:40], data.get("stage", 0)
            if stage not in range(len(explorer.stages_s)):
                raise ValueError("no such stage")
        except (ValueError, RecursionError) as error:
            return Response(str(error), 400)
        return await _response(lambda: work(asked, tab, stage))

    return handle


def _file(explorer: Explorer, ending: str, work: Callable[[Asked], bytes]) -> Handler:
    """The handler of a download of the position in its address."""
    from starlette.responses import Response

    async def handle(request: Request) -> Response:
        try:
            asked = explorer.asked(json.loads(request.query_params.get("at", "{}")))
        except (ValueError, RecursionError) as error:
            return Response(str(error), 400)
        response = await _response(lambda: work(asked))
        stem = "".join(c if c.isascii() and c.isalnum() else "_" for c in explorer.path.stem)
        name = f'attachment; filename="{stem}.explore.{ending}"'
        response.headers["content-disposition"] = name
        return response

    return handle


async def _response(work: Callable[[], Any]) -> Response:
    """The result of work in a thread; expected failures are messages."""
    from starlette.concurrency import run_in_threadpool
    from starlette.responses import JSONResponse, Response

    try:
        done = await run_in_threadpool(work)
    except CancelledError:
        return JSONResponse({"cancelled": True})
    except PlannerError as error:
        return JSONResponse({"status": "refused", "message": str(error)}, 422)
    return Response(done) if isinstance(done, bytes) else JSONResponse(done)


def html(explorer: Explorer) -> str:
    """The page."""
    data = {
        "title": explorer.title,
        "sliders": [asdict(each) for each in explorer.sliders],
        "choices": [asdict(each) for each in explorer.choices],
    }
    text = json.dumps(data, ensure_ascii=False).replace("<", "\\u003c").replace("\u2028", " ")
    template = resources.files("planner.explore").joinpath("page.html").read_text("utf-8")
    return template.replace("{{data}}", text)


def serve(make: Callable[[], Explorer], port: int, tell: Callable[[str], None]) -> None:
    """Serve the page until Ctrl-C.

    Args:
        make: makes the explorer of the problem.
        port: of 127.0.0.1; 0 for any that is free.
        tell: takes the address.

    Raises:
        InputError: the problem is wrong, the port is in use, or the extra is not installed.
    """
    try:
        import uvicorn
    except ImportError:
        fix = "pip install 'goldilocks-planner[web]'"
        raise InputError(Finding("web", "explore needs the extra 'web'", fix=fix)) from None
    explorer = make()
    with contextlib.closing(listen(port)) as listening:
        port = listening.getsockname()[1]
        hosts = frozenset(f"{name}:{port}" for name in ("127.0.0.1", "localhost"))
        config = uvicorn.Config(
            app(explorer, hosts), log_level="warning", timeout_graceful_shutdown=1
        )
        tell(f"http://127.0.0.1:{port}/")
        uvicorn.Server(config).run(sockets=[listening])


def listen(port: int) -> socket.socket:
    """A socket on this machine alone.

    Raises:
        InputError: the port is in use.
    """
    found = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        found.bind(("127.0.0.1", port))
        found.listen()
    except OSError as error:
        found.close()
        reason = (error.strerror or str(error)).lower()
        fix = "choose another with --port, 0 for any"
        raise InputError(Finding("web", f"port {port}: {reason}", fix=fix)) from None
    return found
