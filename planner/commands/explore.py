"""`planner explore PROBLEM`: a page of sliders in a browser; each move solves the problem again.

The server listens on this machine alone and holds no secrets. It answers requests of its own page
(Host, Origin and Sec-Fetch-Site are checked), takes values of its sliders and nothing else, reads
no file after its start but the catalogs and price books of the problem, and works on one solve at a
time. A move of the same page cancels the solve before it.
"""

from __future__ import annotations

import contextlib
import io
import json
import math
import shlex
import socket
import threading
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from importlib import resources
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from planner import api
from planner.case import Case, resolve
from planner.errors import Finding, InputError, PlannerError
from planner.figures import FIGURES, OBJECTIVES, capital
from planner.inputs import Change, Inputs, inputs_to_text
from planner.levers import levers
from planner.levers.model import written
from planner.loader import with_settings
from planner.loader.axes import Variable
from planner.loader.overrides import checked
from planner.loader.places import NoPlaceError, name_unit, number_of
from planner.loader.yaml12 import dump
from planner.optimizer.effort import Effort
from planner.optimizer.objective import natural
from planner.optimizer.optimise import Certificate, optimise
from planner.paths import job_path
from planner.plan import assemble
from planner.report import scope, words
from planner.report.restated import restated
from planner.report.views.plan import reached, used_share
from planner.schema.job import DEFAULT_FAILURES
from planner.schema.plan import LimitReport, Plan
from planner.sizing.goodput import FAILURES_PER_GPU_DAY
from planner.verifier import verify

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response

SOLVE_S = (0.5, 10.0, 60.0)
"""Time limits: of the answer to a move, and of what follows while it is not proven."""
CURVE_S, CURVE_AT = 4.0, (0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 4.0)
"""Time limit of the curve, s, and its storage units as multiples of the plan's."""
MOST_BYTES, MOST_WAITING = 16_384, 8
STEPS = 100
"""Positions of a slider, about."""
_AROUND = (0.25, 2.5)
_RANGES = {"site.pue": (0.8, 1.6), "term.years": (0.25, 2.0)}
"""Ends of a slider as multiples of its value; values that the problem file refuses are left out."""
_FACTS = {
    "site.pue": "PUE",
    "term.electricity": "electricity price",
    "term.years": "term, years",
    job_path("failures.per_gpu_day"): "failures per GPU and day",
    job_path("training.mfu"): "MFU",
    job_path("training.tokens"): "tokens",
    job_path("checkpoint.stall"): "checkpoint stall",
    job_path("restore.restart"): "restart time",
    job_path("repair.time"): "repair time",
    "storage.delivered_fraction.write": "delivered share of nameplate write",
    "storage.delivered_fraction.read": "delivered share of nameplate read",
}
"""Inputs besides the limits, with their labels."""
_GROUPS = {"site": "Site", "budget": "Money", "term": "Money", "targets": "Targets",
           "jobs": "Job", "storage": "Storage"}  # fmt: skip
_TILES = ("useful_pflops", "useful_gpus", "gpus_used", "goodput", "days_to_train", "capex_usd",
          "tco_usd", "usd_per_useful_gpu_hour", "facility_power_kw")  # fmt: skip
_BETTER = {"useful_pflops": 1, "useful_gpus": 1, "goodput": 1, "gpus_used": 0}
"""Whether more is better (1) or neither; of all other figures less is."""
_SECURITY = {
    "content-security-policy": "default-src 'none'; img-src data:; script-src 'unsafe-inline'; "
    "style-src 'unsafe-inline'; connect-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
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
        """Return a value as ``--set`` takes it."""
        return f"{value:.10g} {self.unit}".rstrip()


@dataclass(frozen=True)
class Choice:
    """Items of one kind of which the problem may be narrowed to some: ids with their names."""

    path: str
    label: str
    options: tuple[tuple[str, str], ...]


class Asked(NamedTuple):
    """The position of the page: changed values by path, and chosen ids by path."""

    values: Mapping[str, float]
    chosen: Mapping[str, Sequence[str]]


@dataclass
class Explorer:
    """A problem, its sliders, and the solves in work."""

    path: Path
    inputs: Inputs
    settings: tuple[str, ...] = ()
    scenario: str | None = None
    _running: dict[str, Effort] = field(default_factory=dict)
    _one: threading.Lock = field(default_factory=threading.Lock)

    @cached_property
    def sliders(self) -> tuple[Slider, ...]:
        """The limits and inputs of the problem that are numbers."""
        return tuple(_sliders(self.inputs))

    @cached_property
    def choices(self) -> tuple[Choice, ...]:
        """GPU systems and storage families on offer, where there are several."""
        return tuple(each for each in _choices(self.inputs) if len(each.options) > 1)

    @cached_property
    def base(self) -> Plan:
        """The plan of the problem as it is, to compare with."""
        return self.solve(Asked({}, {}), Effort.within(SOLVE_S[-1]))[0]

    def asked(self, data: Any) -> Asked:
        """Return the position that a request gives.

        Raises:
            ValueError: it is no position of the sliders and choices.
        """
        if not isinstance(data, dict):
            raise ValueError("expected a mapping")
        values, chosen = data.get("values", {}), data.get("chosen", {})
        sliders = {each.path: each for each in self.sliders}
        choices = {each.path: dict(each.options) for each in self.choices}
        if not (isinstance(values, dict) and isinstance(chosen, dict)):
            raise ValueError("expected values and chosen")
        for path, value in values.items():
            number = isinstance(value, (int, float)) and math.isfinite(value)
            if path not in sliders or not number or value not in sliders[path].values:
                raise ValueError(f"no such value: {path[:80]}")
        for path, ids in chosen.items():
            if path not in choices or not isinstance(ids, list) or not ids:
                raise ValueError(f"choose at least one: {path[:80]}")
            if any(not isinstance(each, str) or each not in choices[path] for each in ids):
                raise ValueError(f"no such item: {path[:80]}")
        return Asked(values, chosen)

    def changes(self, asked: Asked) -> Iterator[Change]:
        """Yield the changes of a position."""
        for slider in self.sliders:
            value = asked.values.get(slider.path, slider.now)
            if value != slider.now:
                text = slider.text(value)
                yield from Variable(self.inputs, slider.path).read(text).changes
        for choice in self.choices:
            ids = set(asked.chosen.get(choice.path, ()))
            if ids and len(ids) < len(choice.options):
                kept = ", ".join(name for name, _ in choice.options if name in ids)
                yield from Variable(self.inputs, choice.path).read(f"[{kept}]").changes

    def inputs_of(self, asked: Asked) -> Inputs:
        """Return the problem at a position.

        Raises:
            InputError: its values do not go together.
        """
        changes = tuple(self.changes(asked))
        return checked(self.inputs, changes, recorded=True) if changes else self.inputs

    def command(self, asked: Asked) -> str:
        """Return the command line that repeats the plan of a position."""
        settings = [*self.settings, *(change.setting for change in self.changes(asked))]
        scenario = ["--scenario", self.scenario] if self.scenario else []
        sets = [word for each in settings for word in ("--set", each)]
        return shlex.join(["planner", "solve", self.path.name, *scenario, *sets])

    def solve(self, asked: Asked, effort: Effort) -> tuple[Plan, Case]:
        """Return the plan of a position, verified, and its case.

        Raises:
            InputError: the values do not go together.
            CancelledError: another move took its place.
        """
        inputs = self.inputs_of(asked)
        case = resolve(inputs)
        answer = optimise(case, gap=api.DEFAULT_GAP, effort=effort)
        go_on(effort)
        message = _without_plan(answer, inputs, effort) if answer.operation is None else None
        gap = api.DEFAULT_GAP
        plan = assemble(inputs, case, answer, solver="highs", gap=gap, message=message)
        verify(inputs, plan)
        return plan, case

    def answer(self, asked: Asked, tab: str, stage: int) -> dict[str, Any]:
        """The data of the page at a position."""
        begun = time.perf_counter()
        with self._turn(tab, SOLVE_S[stage]) as effort:
            base = self.base if asked != Asked({}, {}) or "base" in vars(self) else None
            plan, _ = self.solve(asked, effort)
        if base is None:
            vars(self)["base"] = base = plan
        seconds = time.perf_counter() - begun
        found = shown(restated(plan), restated(base))
        found["proving"] |= plan.status == "infeasible" and not stage  # the reason takes longer
        return found | {"command": self.command(asked), "ms": round(1e3 * seconds)}

    def curve(self, asked: Asked, tab: str) -> dict[str, Any]:
        """Return the objective by storage units, each point solved with exactly so many."""
        with self._turn(tab, CURVE_S) as effort:
            plan, case = self.solve(asked, effort)
            lines = [line for line in scope.decided_lines(plan, "Storage") if not line.installed]
            if plan.status != "optimal" or len(lines) != 1:
                return {"points": []}
            line, points = lines[0], []
            inputs = self.inputs_of(asked)
            fixed = Variable(inputs, f"items.{line.sku}.fixed")
            for count in sorted({max(1, round(part * line.quantity)) for part in CURVE_AT}):
                with contextlib.suppress(InputError):
                    case = resolve(checked(inputs, fixed.read(str(count)).changes))
                    found = optimise(case, gap=api.DEFAULT_GAP, effort=effort, ties=False)
                    go_on(effort)
                    if found.status == "optimal" and found.value is not None:
                        points.append((count, natural(case.objective, found.value)))
        each = line.write_gb_per_s * plan.site.delivered_fraction_write / line.quantity
        figure = OBJECTIVES[plan.objective.name].figure
        return {
            "title": f"{capital(figure.label)} by number of {words.product(line)}",
            "x": "delivered write bandwidth, GB/s",
            "y": plan.objective.unit,
            "points": [{"x": count * each, "y": y, "n": count} for count, y in points],
            "at": line.quantity,
        }

    @contextlib.contextmanager
    def _turn(self, tab: str, seconds: float) -> Iterator[Effort]:
        """Wait for the turn of a page; the work before it of the same page ends.

        Raises:
            CancelledError: another move took its place meanwhile.
        """
        if tab not in self._running and len(self._running) >= MOST_WAITING:
            raise PlannerError("too many pages are waiting")
        effort = Effort()
        before = self._running.get(tab)
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

    def workbook(self, asked: Asked) -> bytes:
        """Return the workbook of a position, as `planner solve` writes it."""
        from planner.commands.deliver import created_today
        from planner.workbook import write

        with self._one:
            inputs = self.inputs_of(asked)
            plan = api.solve_with(inputs, api.Options(time_limit_s=SOLVE_S[-1]))
        stream = io.BytesIO()
        write(plan, stream, created=created_today(), inputs=inputs_to_text(inputs))
        return stream.getvalue()

    def problem_file(self, asked: Asked) -> bytes:
        """Return the problem file of a position; its comments are gone."""
        settings = tuple(change.setting for change in self.changes(asked))
        document = with_settings(self.inputs, settings).document
        assert document is not None
        head = f"# {self.path.name} as planner explore left it: {self.command(asked)}\n"
        return (head + dump(document.data)).encode()


def go_on(effort: Effort) -> None:
    """Raise CancelledError where another move took the place of this one."""
    if math.isinf(effort.work):
        raise CancelledError


def _without_plan(answer: Certificate, inputs: Inputs, effort: Effort) -> str:
    """The reason for no plan, as far as the time allows."""
    if answer.status == "unbounded":
        return "Nothing limits the purchase: set a power, space or cost budget."
    if answer.status != "infeasible":
        return "No plan found yet."
    options = api.Options(time_limit_s=max(effort.left_s, 0.1)).started()
    return api.why_infeasible(inputs, options).summary


def _sliders(inputs: Inputs) -> Iterator[Slider]:
    """Yield a slider for each limit and fact of the problem that is a number."""
    found = {
        lever.path: lever.label
        for lever in levers(inputs)
        if lever.value is not None and not lever.path.startswith(("items.", job_path("par")))
    }
    for path, label in (found | _FACTS).items():
        try:
            variable = Variable(inputs, path)
        except NoPlaceError:
            continue
        base = number_of(variable.first.standing)
        if path == job_path("failures.per_gpu_day"):
            rate = inputs.problem.job.failure_rate or DEFAULT_FAILURES
            base = FAILURES_PER_GPU_DAY[rate].value if isinstance(rate, str) else rate
        if base:
            slider = _slider(variable, path, label, float(base))
            if len(slider.values) > 1:
                yield slider


def _slider(variable: Variable, path: str, label: str, base: float) -> Slider:
    """Return the slider of a number, about its value as it is."""
    slot = variable.first.slot
    unit = name_unit(base, slot) or "number"
    text = str(round(base)) if slot.whole else written(base, unit, variable.money)
    number, _, unit = text.partition(" ")
    now, (low, high) = float(number), _RANGES.get(path, _AROUND)
    step = _nice((high - low) * now / STEPS)
    step = max(1.0, step) if slot.whole else step
    places = range(math.ceil(low * now / step), math.floor(high * now / step) + 1)
    values = {float(f"{place * step:.10g}") for place in places} | {now}
    group = _GROUPS.get(path.partition(".")[0], "Other")
    slider = Slider(path, capital(label), group, unit, (), now)
    good = [value for value in sorted(values) if not variable.read(slider.text(value)).faults]
    return Slider(path, slider.label, group, unit, tuple(good), now)


def _nice(step: float) -> float:
    """Return 1, 2 or 5 times a power of ten, near a step."""
    size = 10.0 ** math.floor(math.log10(step))
    return size * next(each for each in (1.0, 2.0, 5.0, 10.0) if step <= each * size * 1.0001)


def _choices(inputs: Inputs) -> Iterator[Choice]:
    """Yield GPU systems and storage families of the problem."""
    consider = inputs.problem.consider

    def offered(item: Any) -> bool:
        rule = inputs.problem.items.get(item.id)
        vendors = consider.vendors is None or item.vendor in consider.vendors
        return vendors and item.id in inputs.prices and not (rule is not None and rule.exclude)

    systems = [
        (item.id, item.product)
        for item in inputs.items
        if item.category == "gpu_system"
        and offered(item)
        and (consider.gpu_systems is None or item.id in consider.gpu_systems)
    ]
    yield Choice("consider.gpu_systems", "GPU systems", tuple(systems))
    there = {item.family for item in inputs.items if item.category == "storage" and offered(item)}
    families = [
        (each.id, words.with_vendor(each.vendor, each.name))
        for each in inputs.families
        if each.id in there
        and (consider.storage_families is None or each.id in consider.storage_families)
    ]
    yield Choice("consider.storage_families", "Storage", tuple(sorted(families, key=itemgetter(1))))


def shown(plan: Plan, base: Plan) -> dict[str, Any]:
    """The data of the page for a plan beside the base plan."""
    cut = plan.status in ("feasible", "no_solution") or any(
        v.code == "search" for v in plan.verdict
    )
    head = {"status": plan.status, "proving": cut, "proof": words.status(plan)}
    if plan.totals is None or not plan.jobs:
        return head | {"message": plan.message or words.STATUS_WORDS[plan.status]}
    bought = [
        words.so_many(line.working, words.product(line)) for line in scope.decided_lines(plan)
    ]
    sections = plan.totals.capex_by_section_usd
    whole, amounts = sum(sections.values()) or 1.0, words.results(sections.values(), "USD")
    limits = sorted(plan.limits, key=lambda each: not each.binding)
    return head | {
        "buys": words.listed(bought),
        "tiles": list(_tiles(plan, base)),
        "limits": [_bar(each) for each in limits if scope.can_run_short(each)],
        "sections": [
            {"label": name, "share": usd / whole, "text": amounts.with_unit(usd)}
            for name, usd in sections.items()
        ],
        "notes": len(plan.warnings),
    }


def _value(plan: Plan, name: str) -> float | None:
    if plan.totals is None or not plan.jobs:
        return None
    return getattr(plan.jobs[0], name, None) or getattr(plan.totals, name, None)


def _tiles(plan: Plan, base: Plan) -> Iterator[dict[str, Any]]:
    """Yield figures of a plan with their differences to the plan as it was."""
    for name in _TILES:
        value, before, figure = _value(plan, name), _value(base, name), FIGURES[name]
        if value is None or (name == "useful_gpus" and _value(plan, "useful_pflops")):
            continue
        text, change = _short(value, figure.unit), 0.0 if before is None else value - before
        same = before is None or text == _short(before, figure.unit)
        better = _BETTER.get(name, -1) * change
        yield {
            "label": capital(figure.label),
            "text": text,
            "change": "" if same else _signed(change, figure.unit),
            "better": 0 if same else (better > 0) - (better < 0),
        }


def _short(value: float, unit: str) -> str:
    """Return a figure with its unit, from 1,000 on without decimals."""
    bare = unit not in ("share", "s") and "USD" not in unit
    return f"{value:,.0f} {unit}" if bare and abs(value) >= 1e3 else words.valued(value, unit)


def _signed(change: float, unit: str) -> str:
    """Return a difference with its sign and unit; of shares in percentage points."""
    text = _short(abs(change), unit)
    return f"{'+' if change > 0 else '−'}{text.replace(' %', ' points')}"


def _bar(limit: LimitReport) -> dict[str, Any]:
    return {"label": capital(limit.label), "share": used_share(limit), "text": reached(limit),
            "binding": limit.binding}  # fmt: skip


def app(explorer: Explorer, hosts: frozenset[str]) -> Starlette:
    """Return the server's application.

    Args:
        explorer: the problem.
        hosts: values of the Host header that are answered.
    """
    from starlette.applications import Starlette
    from starlette.middleware import Middleware
    from starlette.middleware.base import BaseHTTPMiddleware
    from starlette.responses import Response
    from starlette.routing import Route

    async def guard(request: Request, go_on: Callable[[Request], Awaitable[Response]]) -> Response:
        response = await go_on(request) if own(request, hosts) else Response("not allowed", 403)
        response.headers.update(_SECURITY)
        return response

    server = Server(explorer)
    routes = [
        Route("/", server.page),
        Route("/solve", server.solve, methods=["POST"]),
        Route("/curve", server.curve, methods=["POST"]),
        Route("/plan.xlsx", server.workbook),
        Route("/problem.yaml", server.problem_file),
    ]
    return Starlette(routes=routes, middleware=[Middleware(BaseHTTPMiddleware, dispatch=guard)])


@dataclass(frozen=True)
class Server:
    """The pages of an explorer."""

    explorer: Explorer

    async def page(self, _: Request) -> Response:
        """Return the page."""
        from starlette.concurrency import run_in_threadpool
        from starlette.responses import HTMLResponse

        return HTMLResponse(await run_in_threadpool(html, self.explorer))

    async def solve(self, request: Request) -> Response:
        """The data of the page at a position."""
        return await self._posted(request, self.explorer.answer)

    async def curve(self, request: Request) -> Response:
        """Return the curve through a position."""
        return await self._posted(request, lambda asked, tab, _: self.explorer.curve(asked, tab))

    async def workbook(self, request: Request) -> Response:
        """Return the workbook of a position."""
        return await self._file(request, "xlsx", self.explorer.workbook)

    async def problem_file(self, request: Request) -> Response:
        """Return the problem file of a position."""
        return await self._file(request, "yaml", self.explorer.problem_file)

    async def _posted(self, request: Request, work: Callable[[Asked, str, int], Any]) -> Response:
        from starlette.responses import Response

        if request.headers.get("content-type") != "application/json":
            return Response("expected application/json", 415)
        body = b""
        async for chunk in request.stream():
            body += chunk
            if len(body) > MOST_BYTES:
                return Response("request too large", 413)
        try:
            data = json.loads(body)
            asked = self.explorer.asked(data)
            tab, stage = str(data.get("tab", ""))[:40], data.get("stage", 0)
            if stage not in range(len(SOLVE_S)):
                raise ValueError("no such stage")
        except (ValueError, RecursionError) as error:
            return Response(str(error), 400)
        return await _response(lambda: work(asked, tab, stage))

    async def _file(
        self, request: Request, ending: str, work: Callable[[Asked], bytes]
    ) -> Response:
        from starlette.responses import Response

        try:
            asked = self.explorer.asked(json.loads(request.query_params.get("at", "{}")))
        except (ValueError, RecursionError) as error:
            return Response(str(error), 400)
        response = await _response(lambda: work(asked))
        stem = "".join(c if c.isascii() and c.isalnum() else "_" for c in self.explorer.path.stem)
        name = f'attachment; filename="{stem}.explore.{ending}"'
        response.headers["content-disposition"] = name
        return response


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


def own(request: Request, hosts: frozenset[str]) -> bool:
    """Return whether a request comes from this server's own page, or from its address line."""
    host, origin = request.headers.get("host", ""), request.headers.get("origin")
    site = request.headers.get("sec-fetch-site", "none")
    return host in hosts and origin in (None, f"http://{host}") and site in ("none", "same-origin")


def html(explorer: Explorer) -> str:
    """Return the page."""
    data = {
        "title": explorer.inputs.problem.name,
        "sliders": [asdict(each) for each in explorer.sliders],
        "choices": [asdict(each) for each in explorer.choices],
    }
    text = json.dumps(data, ensure_ascii=False).replace("<", "\\u003c").replace("\u2028", " ")
    template = resources.files("planner.commands").joinpath("explore.html").read_text("utf-8")
    return template.replace("{{data}}", text)


def serve(make: Callable[[], Explorer], port: int, tell: Callable[[str], None]) -> None:
    """Serve the page until Ctrl-C.

    Args:
        make: returns the problem with its sliders.
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
    with contextlib.closing(_listening(port)) as listening:
        port = listening.getsockname()[1]
        hosts = frozenset(f"{name}:{port}" for name in ("127.0.0.1", "localhost"))
        config = uvicorn.Config(
            app(explorer, hosts), log_level="warning", timeout_graceful_shutdown=1
        )
        tell(f"http://127.0.0.1:{port}/")
        uvicorn.Server(config).run(sockets=[listening])


def explorer_of(path: Path, settings: tuple[str, ...], scenario: str | None) -> Explorer:
    """Return the explorer of a problem file of one job.

    Raises:
        InputError: the problem is wrong.
    """
    return Explorer(path, api.load(path, settings=settings, scenario=scenario), settings, scenario)


def _listening(port: int) -> socket.socket:
    """Return a socket on this machine alone.

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
