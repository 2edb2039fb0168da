"""The page with sliders: driven in Chromium as a person does, and its guards by bare requests."""

import csv
import json
import os
import shutil
import threading
import time
from collections.abc import Mapping
from contextlib import closing, contextmanager
from http.client import HTTPConnection
from importlib.resources import files
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlencode

import pytest

from planner.errors import InputError
from planner.explore import explorer as explore
from planner.explore.problems import SingleExplorer
from planner.loader import load
from tests.report import studies
from tests.world.commands import ran
from tests.world.known_plans import CASES, plan
from tests.world.solved import solve

PROBLEM = Path(__file__).parents[1] / "problems" / "10MW.yaml"
POWER = "site.facility_power"
TYPES = "consider.gpu_systems"


@pytest.fixture(scope="module")
def explorer() -> SingleExplorer:
    return SingleExplorer(PROBLEM, load(PROBLEM))


@contextmanager
def served(explorer):
    """Yield the address of a running server."""
    uvicorn = pytest.importorskip("uvicorn")
    with closing(explore.listen(0)) as listening:
        port = listening.getsockname()[1]
        app = explore.app(explorer, frozenset({f"127.0.0.1:{port}"}))
        running = uvicorn.Server(uvicorn.Config(app, log_level="error"))
        thread = threading.Thread(target=running.run, kwargs={"sockets": [listening]})
        thread.start()
        try:
            yield f"http://127.0.0.1:{port}/"
        finally:
            running.should_exit = True
            thread.join(10)


@pytest.fixture(scope="module")
def url(explorer):
    with served(explorer) as found:
        yield found


class Answer(NamedTuple):
    status: int
    content: bytes
    headers: Mapping[str, str]

    def json(self):
        return json.loads(self.content)


JSON = {"content-type": "application/json"}


def get(url, path, headers=(), at=None):
    """Return the answer to a bare request; ``at`` is a position of the page."""
    query = "" if at is None else "?" + urlencode({"at": json.dumps(at)})
    return request(url, "GET", path + query, None, headers)


def post(url, path, body, headers=()):
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    return request(url, "POST", path, content, JSON | dict(headers))


def request(url, method, path, body, headers):
    with closing(HTTPConnection(url.split("/")[2], timeout=120)) as connection:
        connection.request(method, path, body, dict(headers))
        found = connection.getresponse()
        return Answer(found.status, found.read(), found.headers)


def ask(url, path="/solve", values=(), chosen=(), **more):
    return post(
        url,
        path,
        {"values": dict(values), "chosen": dict(chosen), "tab": "one", "stage": 2, **more},
    )


def test_a_move_gives_the_plan_of_the_command_it_shows(url):
    found = ask(url, values={POWER: 12.5}, chosen={TYPES: ["nvidia_dgx_h200"]}).json()
    assert "--set 'site.facility_power=12.5 MW'" in found["command"]
    plan = solve(PROBLEM, settings=("site.facility_power=12.5 MW", f"{TYPES}=[nvidia_dgx_h200]"))
    bought = [line for line in plan.lines if line.section == "Compute"]
    assert found["buys"].startswith(f"{bought[0].quantity:,} × NVIDIA DGX H200")
    assert found["tiles"][0]["text"] == f"{plan.jobs[0].useful_pflops:,.0f} PFLOP/s"


def test_differences_are_to_the_problem_as_it_is(url):
    assert all(not tile["change"] for tile in ask(url).json()["tiles"])
    more = {each["label"]: each for each in ask(url, values={POWER: 12}).json()["tiles"]}
    assert more["Useful work"]["better"] == 1
    assert more["Days to train"]["better"] == 1


def test_no_plan_names_the_limit_that_is_too_low(small):
    path = Path(small)
    inputs = load(path, settings=("targets={min_useful_gpus: 480}", "budget.capex=12 MUSD"))
    with served(SingleExplorer(path, inputs)) as url:
        found = ask(url).json()
    assert found["status"] == "infeasible"
    assert "capital budget" in found["message"]
    assert "--set" not in found["command"]


@pytest.mark.parametrize(
    "headers",
    [
        {"host": "planner.example:8400"},
        {"host": "127.0.0.1:9"},
        {"origin": "http://planner.example"},
        {"origin": "null"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
    ],
)
def test_requests_of_other_pages_are_refused(url, headers):
    for path in ("/", "/plan.xlsx", "/problem.yaml"):
        assert get(url, path, headers=headers).status == 403
    assert post(url, "/solve", {}, headers=headers).status == 403


def test_a_form_of_another_page_cannot_post(url):
    found = post(url, "/solve", b"{}", headers={"content-type": "text/plain"})
    assert found.status == 415


@pytest.mark.parametrize(
    "body",
    [
        [],
        {"values": {"@/etc/passwd": 1}},
        {"values": {"prices": 1}},
        {"values": {POWER: "12 MW"}},
        {"values": {POWER: 12.345678}},
        {"values": {POWER: True}},
        {"chosen": {TYPES: []}},
        {"chosen": {TYPES: ["x]\ncatalogs: [/etc/passwd]"]}},
        {"chosen": {"catalogs": ["/etc/passwd"]}},
        {"stage": 7},
        {"stage": [0]},
    ],
)
def test_only_positions_of_the_sliders_are_taken(url, body):
    assert post(url, "/solve", body).status == 400
    if not isinstance(body, dict) or "stage" not in body:
        assert get(url, "/plan.xlsx", at=body).status == 400


def test_a_large_or_deep_request_is_refused(url):
    large = b'{"tab": "' + b"x" * explore.MOST_REQUEST_BYTES + b'"}'
    deep = b"[" * 10_000
    assert post(url, "/solve", large).status == 413
    assert post(url, "/solve", deep).status == 400


def test_the_problem_file_of_a_plan_gives_that_plan(url, tmp_path):
    at = {"values": {POWER: 8, "jobs.0.failures.per_gpu_day": 0.0005}, "chosen": {}}
    found = get(url, "/problem.yaml", at=at)
    path = tmp_path / "kept.yaml"
    path.write_bytes(found.content)
    own = f"{POWER}=8 MW", "jobs.0.failures={per_gpu_day: 0.0005}"
    assert solve(path).lines == solve(PROBLEM, settings=own).lines


def test_a_named_rate_with_shares_has_a_slider():
    job = {"failures": {"per_gpu_day": "llama3", "shares": {"node": 1}}}
    assert "jobs.0.failures.per_gpu_day" in {s.path for s in explore.sliders_of({"jobs": [job]})}


def test_the_workbook_of_a_plan_downloads(url):
    found = get(url, "/plan.xlsx", at={"values": {POWER: 8}})
    assert found.content[:2] == b"PK"
    assert "10MW.explore.xlsx" in found.headers["content-disposition"]


def test_a_move_cancels_the_one_before_it(explorer):
    asked, ended = explore.Asked({POWER: 11.0}, {}), []

    def first():
        try:
            explorer.answer(asked, "two", 0)
        except explore.CancelledError:
            ended.append("cancelled")

    with explorer._one:  # the first waits for its turn until the second has come
        threads = [threading.Thread(target=first)]
        threads[0].start()
        while "two" not in explorer._running:
            time.sleep(0.01)
        before = explorer._running["two"]
        threads.append(threading.Thread(target=explorer.answer, args=(asked, "two", 0)))
        threads[1].start()
        while explorer._running["two"] is before:
            time.sleep(0.01)
    for each in threads:
        each.join(30)
    assert ended == ["cancelled"]


def test_the_plan_lies_at_or_below_its_curve(url):
    found = ask(url, "/curve").json()
    plan, best = found["plan"], {point["x"]: point["y"] for point in found["points"]}
    assert len(best) >= 3
    assert best[plan["x"]] * 0.995 <= plan["y"] <= best[plan["x"]]  # objective.indifference


def test_the_page_has_every_colour_of_a_chart():
    """Charts take the colours of the page by name, so that they are right by night, too."""
    from planner.report.charts import _OF_THE_PAGE

    page = files("planner.explore").joinpath("page.html").read_text("utf-8")
    assert [name for name in _OF_THE_PAGE.values() if f"--{name}: " not in page] == []


def test_a_port_in_use_is_named():
    with closing(explore.listen(0)) as taken, pytest.raises(InputError, match="--port"):
        explore.listen(taken.getsockname()[1])


@pytest.fixture(scope="module")
def browser():
    driver = shutil.which("chromedriver")
    if driver is None:
        if os.environ.get("CI"):
            pytest.fail("CI needs chromium-driver")
        pytest.skip("chromedriver is not installed")
    webdriver = pytest.importorskip("selenium.webdriver")
    options = webdriver.ChromeOptions()
    for each in ("headless=new", "no-sandbox", "disable-dev-shm-usage", "window-size=1300,1000"):
        options.add_argument(f"--{each}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    service = webdriver.ChromeService(driver)
    found = webdriver.Chrome(options=options, service=service)
    yield found
    found.quit()


def settled(browser):
    """Return the headline once the last move is answered."""
    deadline = time.monotonic() + 60
    while browser.find_element("id", "main").get_attribute("aria-busy") == "true":
        assert time.monotonic() < deadline, browser.find_element("id", "state").text
        time.sleep(0.05)
    return browser.find_element("id", "buys").text


def test_a_person_explores_a_problem(browser, url, explorer):
    """Moves a slider by keys, takes a vendor's type away, shares the link, goes back."""
    browser.get(url)
    as_is = settled(browser)
    bought = next(line for line in explorer.base.lines if line.section == "Compute")
    type_box = f"input[value={bought.sku}]"
    assert bought.model in as_is
    power = browser.find_element("name", POWER)
    power.send_keys("\ue014" * 3)  # arrow right
    assert settled(browser) != as_is
    assert "site.facility_power=11.5" in browser.current_url
    assert browser.find_elements("css selector", ".tile .up"), "no tile shows its difference"
    browser.find_element("css selector", type_box).click()
    other = settled(browser)
    assert f"{bought.model} and" not in other
    link = browser.current_url
    browser.get(url)
    assert settled(browser) == as_is
    browser.get(link)
    assert settled(browser) == other
    assert power_of(browser) == "11.5 MW"
    assert not browser.find_element("css selector", type_box).is_selected()
    browser.find_element("id", "reset").click()
    assert settled(browser) == as_is
    assert browser.current_url == url
    assert [each for each in browser.get_log("browser") if each["level"] == "SEVERE"] == []


def power_of(browser):
    return browser.find_element("name", POWER).get_attribute("aria-valuetext")


def test_a_phone_shows_the_page_without_sideways_scrolling(browser, url):
    metrics = {"width": 375, "height": 800, "deviceScaleFactor": 1, "mobile": True}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    try:
        browser.get(url)
        settled(browser)
        wide = browser.execute_script("return document.documentElement.scrollWidth")
        assert wide <= 375
        power = browser.find_element("name", POWER)
        browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", power)
        head = browser.find_element("id", "head").rect
        top = browser.execute_script(
            "return arguments[0].getBoundingClientRect().top",
            browser.find_element("id", "head"),
        )
        assert 0 <= top < 800 - head["height"], "the plan is out of sight while a slider moves"
    finally:
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


@pytest.mark.exhaustive(keep=2)
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("page", ["explorer", "report"])
def test_axe_finds_no_barrier(browser, url, scheme, page, tmp_path):
    """Names, contrast, headings and focus by day and by night; the page's policy is set aside."""
    pytest.importorskip("axe_core_python")
    report = studies.report("x", plan(CASES["complete"]), studies.all_kinds())
    (tmp_path / "report.html").write_text(report, "utf-8")
    axe = files("axe_core_python").joinpath("axe.min.js").read_text("utf-8")
    colours = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
    browser.execute_cdp_cmd("Page.setBypassCSP", {"enabled": True})
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", colours)
    try:
        browser.get(url if page == "explorer" else (tmp_path / "report.html").as_uri())
        if page == "explorer":
            settled(browser)
        browser.execute_script(axe)
        found = browser.execute_async_script("axe.run().then(arguments[0])")
        assert "color-contrast" in {each["id"] for each in found["passes"]}
        assert [(each["id"], each["nodes"][0]["html"]) for each in found["violations"]] == []
    finally:
        browser.execute_cdp_cmd("Page.setBypassCSP", {"enabled": False})
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {})


def test_a_mailed_sweep_shows_the_plan_of_each_position(browser, tmp_path):
    found = tmp_path / "gpt3_octet.sweep.html"
    problem = str(PROBLEM.with_name("gpt3_octet.yaml"))
    vary = ("--vary", "site.pue=1.1,1.2,1.3", "--vary", "jobs.0.training.mfu=30%,40%")
    ended = ran("sweep", problem, *vary, "--html", "-o", str(tmp_path), "-q")
    assert ended.code == 0, ended.err
    assert [*tmp_path.iterdir()] == [found]  # one file, for mail
    ended = ran("sweep", problem, *vary, "-o", str(tmp_path), "-q")
    assert ended.code == 0, ended.err
    table = (tmp_path / "gpt3_octet.sweep.csv").read_text("utf-8")
    rows = csv.DictReader(table.splitlines())
    browser.get(found.as_uri())
    for _ in range(3):
        browser.find_element("name", "axis1").send_keys("\ue012")  # arrow left
    browser.find_element("name", "axis1").send_keys("\ue014")  # arrow right
    row = next(each for each in rows if float(each["jobs.0.training.mfu [share]"]) == 0.4)
    tile = browser.find_element("css selector", ".tile b").text
    assert float(tile.split()[0]) == pytest.approx(float(row["objective"]), rel=1e-3)
    assert [each for each in browser.get_log("browser") if each["level"] == "SEVERE"] == []
