"""A problem explored: sliders, choices, positions of the page, one solve at a time; its server.

The server listens on this machine alone and holds no secrets. It answers requests of its own page
(Host, Origin and Sec-Fetch-Site are checked), takes values of its sliders and nothing else, and
reads no file after its start but those that the problem names.
"""

from __future__ import annotations

import contextlib
import json
import math
import re
import shlex
import socket
import threading
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from planner.errors import Finding, InputError, PlannerError
from planner.figures import capital
from planner.loader import read_document
from planner.loader.documents import dump
from planner.optimizer.search import Effort
from planner.schema.job import DEFAULT_FAILURES
from planner.sizing.availability import FAILURES_PER_GPU_DAY

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response

MOST_WAITING = 8
"""Pages that may wait for a solve."""
STEPS = 100
"""Positions of a slider, about."""
_AROUND, _RANGES = (0.25, 2.5), {"pue": (0.8, 1.6), "years": (0.25, 2.0)}
"""Ends of a slider as multiples of its value."""
_NUMBER = re.compile(r"([0-9.]+(?:[eE][-+]?[0-9]+)?)\s*(.*)\Z")
_OF_SITES = (
    "facility_power",
    "facility_power_from.*",
    "it_power",
    "pue",
    "electricity",
    "racks",
    "rack.power",
)
_INPUTS = {
    "Site": [f"{key}.{name}" for key in ("site", "sites.*") for name in _OF_SITES],
    "Money": [
        "budget.*",
        "budget.capex.total",
        "budget.capex.per_period.*",
        "term.years",
        "term.electricity",
        "term.discount_rate",
    ],
    "Targets": ["targets.*"],
    "Job": [
        "jobs.*.min_useful_pflops",
        "jobs.*.weight",
        "jobs.*.gpus",
        "jobs.*.tokens.count",
        "jobs.*.training.tokens",
        "jobs.*.training.mfu",
        "jobs.*.failures.per_gpu_day",
        "jobs.*.repair.time",
        "jobs.*.restore.max_time",
        "jobs.*.restore.restart",
        "jobs.*.checkpoint.stall",
        "jobs.*.checkpoint.max_overlap",
    ],
    "Storage": ["storage.delivered_fraction.*", "storage.fill_limit"],
}
"""Inputs of the file with a slider, by group; ``*`` is any key, a job or a site."""
_WORDS = {"capex": "capital budget", "tco": "TCO budget", "pflops": "PFLOP/s"} | {
    word.lower(): word for word in ("GPU", "GPUs", "IT", "MFU", "PUE")
}


class CancelledError(Exception):
    """A later move of the same page took the place of this request."""


@dataclass(frozen=True)
class Slider:
    """An input with the values it may take, in ``unit`` as the problem file writes it."""

    path: str
    label: str
    group: str
    unit: str
    values: tuple[float, ...]
    now: float

    def text(self, value: float) -> str:
        """A value as ``--set`` takes it."""
        return f"{value:.10g} {self.unit}".rstrip()


@dataclass(frozen=True)
class Choice:
    """Items of one kind, to which the problem may be narrowed: ids with their names."""

    path: str
    label: str
    options: tuple[tuple[str, str], ...]


class Asked(NamedTuple):
    """The position of the page: changed values by path, and chosen ids by path."""

    values: Mapping[str, float]
    chosen: Mapping[str, Sequence[str]]


AS_IT_IS = Asked({}, {})
"""The position of the problem file."""


@dataclass
class Explorer:
    """A problem with its settings; subclasses know its sliders and solve it."""

    path: Path
    settings: tuple[str, ...] = ()
    scenario: str | None = None
    sliders: tuple[Slider, ...] = ()
    choices: tuple[Choice, ...] = ()
    title: str = ""
    stages_s: tuple[float, ...] = ()
    """Time limits of the answer to a move, and of what follows while it is not proven."""
    _running: dict[str, Effort] = field(default_factory=dict)
    _one: threading.Lock = field(default_factory=threading.Lock)

    def asked(self, data: Any) -> Asked:
        """The position that a request gives.

        Raises:
            ValueError: it is no position of the sliders and choices.
        """
        if not isinstance(data, dict):
            raise ValueError("expected a mapping")
        values, chosen = data.get("values", {}), data.get("chosen", {})
        sliders = {each.path: each.values for each in self.sliders}
        choices = {each.path: dict(each.options) for each in self.choices}
        if not (isinstance(values, dict) and isinstance(chosen, dict)):
            raise ValueError("expected values and chosen")
        for path, value in values.items():
            number = isinstance(value, (int, float)) and math.isfinite(value)
            if not number or value not in sliders.get(path, ()):
                raise ValueError(f"no such value: {path[:80]}")
        for path, ids in chosen.items():
            if path not in choices or not isinstance(ids, list) or not ids:
                raise ValueError(f"choose at least one: {path[:80]}")
            if any(not isinstance(each, str) or each not in choices[path] for each in ids):
                raise ValueError(f"no such item: {path[:80]}")
        return Asked(values, chosen)

    def changed(self, asked: Asked) -> Iterator[tuple[str, str]]:
        """Yield path and text of each value that a position changes."""
        for slider in self.sliders:
            value = asked.values.get(slider.path, slider.now)
            if value != slider.now:
                yield slider.path, slider.text(value)
        for choice in self.choices:
            ids = set(asked.chosen.get(choice.path, ()))
            if ids and len(ids) < len(choice.options):
                kept = ", ".join(name for name, _ in choice.options if name in ids)
                yield choice.path, f"[{kept}]"

    def settings_of(self, asked: Asked) -> tuple[str, ...]:
        """The settings of a position, as ``--set`` takes them."""
        return tuple(f"{path}={text}" for path, text in self.changed(asked))

    def command(self, asked: Asked) -> str:
        """The command line that repeats the plan of a position."""
        scenario = ["--scenario", self.scenario] if self.scenario else []
        settings = (*self.settings, *self.settings_of(asked))
        sets = [word for each in settings for word in ("--set", each)]
        return shlex.join(["planner", "solve", self.path.name, *scenario, *sets])

    def answer(self, asked: Asked, tab: str, stage: int) -> dict[str, Any]:
        """The data of the page at a position.

        Raises:
            InputError: the values do not go together.
            CancelledError: another move took its place.
        """
        begun = time.perf_counter()
        with self.turn(tab, self.stages_s[stage]) as effort:
            found = self.shown(asked, effort, stage)
            go_on(effort)
        seconds = time.perf_counter() - begun
        return found | {"command": self.command(asked), "ms": round(1e3 * seconds)}

    @contextlib.contextmanager
    def turn(self, tab: str, seconds: float) -> Iterator[Effort]:
        """Wait for the turn of a page; the work before it of the same page ends.

        Raises:
            CancelledError: another move took its place meanwhile.
        """
        if tab not in self._running and len(self._running) >= MOST_WAITING:
            raise PlannerError("too many pages are waiting")
        effort, before = Effort(), self._running.get(tab)
        self._running[tab] = effort
        if before is not None:
            before.work = math.inf
        try:
            with self._one:
                go_on(effort)
                effort.deadline = time.monotonic() + seconds
                yield effort
        finally:
            if self._running.get(tab) is effort:
                del self._running[tab]

    def shown(self, asked: Asked, effort: Effort, stage: int) -> dict[str, Any]:
        """The plan of a position as data of the page."""
        raise NotImplementedError

    def curve(self, asked: Asked, tab: str) -> dict[str, Any]:
        """The objective along one input; without points where there is no curve."""
        return {"points": []}

    def workbook(self, asked: Asked) -> bytes:
        """The workbook of a position, as `planner solve` writes it."""
        raise NotImplementedError

    def problem_file(self, asked: Asked) -> bytes:
        """The problem file of a position; its comments are gone."""
        settings = (*self.settings, *self.settings_of(asked))
        head = f"# {self.path.name} as planner explore left it: {self.command(asked)}\n"
        return (head + dump(read_document(self.path, settings, self.scenario).data)).encode()


# Sliders


def sliders_of(data: Mapping[str, Any]) -> Iterator[Slider]:
    """Yield a slider for each number of a problem file that is listed in `_INPUTS`."""
    data = {**data, "jobs": [_with_rate(job) for job in data.get("jobs", ())]}
    for group, pattern in ((group, each) for group, found in _INPUTS.items() for each in found):
        for path, value, label in _places(data, pattern.split(".")):
            match = _NUMBER.match(str(value))
            if match is None or isinstance(value, Mapping) or not float(match[1]) > 0.0:
                continue
            whole = isinstance(value, int) and not match[2]
            now, unit = float(match[1]), match[2].strip()
            values = _positions(path.rpartition(".")[2], now, unit, whole)
            if len(values) > 1:
                yield Slider(path, capital(label), group, unit, values, now)


def _with_rate(job: Mapping[str, Any]) -> Mapping[str, Any]:
    """A job with its failures as a rate."""
    given = job.get("failures", {})
    given = given if isinstance(given, Mapping) else {"per_gpu_day": given}
    known = FAILURES_PER_GPU_DAY.get(given.get("per_gpu_day", DEFAULT_FAILURES))
    return job if known is None else {**job, "failures": {**given, "per_gpu_day": known.value}}


def _positions(name: str, now: float, unit: str, whole: bool) -> tuple[float, ...]:
    """Values about the present one in round steps; a share ends at 1, PUE begins there."""
    low, high = (each * now for each in _RANGES.get(name, _AROUND))
    if unit == "%" or (not unit and now < 1.0):
        high = min(high, 100.0 if unit else 1.0)
    least = (high - low) / STEPS
    size = 10.0 ** math.floor(math.log10(least))
    step = size * next(each for each in (1.0, 2.0, 5.0, 10.0) if least <= each * size * 1.0001)
    step = max(1.0, step) if whole else step
    low = max(low, 1.0) if name == "pue" else low
    places = range(math.ceil(low / step), math.floor(high / step) + 1)
    return tuple(sorted({float(f"{place * step:.10g}") for place in places} | {now}))


def _places(
    data: Any, steps: Sequence[str], path: str = "", label: str = ""
) -> Iterator[tuple[str, Any, str]]:
    """Yield path, value and label of the places of a pattern; one job alone has no name."""
    if not steps:
        yield path, data, label
        return
    first, *rest = steps
    several = isinstance(data, (list, tuple))
    inside: Iterable[tuple[Any, Any]] = enumerate(data) if several else ()
    if isinstance(data, Mapping):
        inside = data.items()
    for key, value in inside:
        if first in ("*", key):
            words = " ".join(_WORDS.get(word, word) for word in str(key).split("_"))
            if several:
                words = str(key + 1) if len(data) > 1 else ""
            if first == "*" and isinstance(value, Mapping):
                words = f"{value.get('name', key)}:" if not several or len(data) > 1 else ""
            below = f"{label} {words}".strip() if path else ""
            yield from _places(value, rest, f"{path}.{key}".removeprefix("."), below)


def go_on(effort: Effort) -> None:
    """Raise CancelledError where another move took the place of this one."""
    if math.isinf(effort.work):
        raise CancelledError


# The server.

Handler = Callable[["Request"], Awaitable["Response"]]
MOST_REQUEST_BYTES = 16_384
"""Most bytes of a request."""
SECURITY = {
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
        response.headers.update(SECURITY)
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
            if len(body) > MOST_REQUEST_BYTES:
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
