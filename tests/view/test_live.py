"""The live view of frazil serve: what a browser shows while requests run."""

import itertools
import json
import os
import re
import signal
import subprocess
import threading
import time
import urllib.request

import browser
import frazil
import pytest

TOOL = os.environ["FRAZIL_TOOL"]
PATIENCE = 20  # seconds

DOUBLE = "graph g(%x: f32[N,2]) { %y = Add(%x, %x) return y = %y }"
TRIPLE = "graph g(%x: f32[N,2]) { %y = Mul(%x, f32[] 3) return y = %y }"
SEED = "graph g(%x: f32[N,2]) { %r = RandomUniformLike(%x) %y = Add(%x, %r) return y = %y }"
PIPELINE = """inputs: {x: 'f32[N,2]'}
steps:
  - name: choice
    switch:
      - {name: small, when: max(x) < 10, model: double, inputs: {x: x}}
      - {name: large, model: triple, inputs: {x: x}}
  - {name: last, model: double, inputs: {x: choice.y}}
outputs: {y: last.y}
"""
HOSTILE = "<img src=x onerror=document.title=1>"
CONFIG = "paths: {inputs: true, redact: [secret]}\nnetwork: {replay: true, tensors: true}\n"


class Server:
    """`frazil serve` of a folder, on free ports."""

    def __init__(self, folder, config=CONFIG):
        (folder / "frazil.yaml.txt").write_text(config)
        ports = ["--http-port", "0", "--grpc-port", "0", "--metrics-port", "0"]
        command = [TOOL, "serve", folder / "models", *ports, "--config", folder / "frazil.yaml.txt", "--workers", "2"]
        self.process = subprocess.Popen(list(map(str, command)), stderr=subprocess.PIPE, text=True)
        line = self.process.stderr.readline()
        assert "listening" in line, line + self.process.stderr.read()
        self.at = "http://127.0.0.1:" + re.search(r"http=127\.0\.0\.1:(\d+)", line)[1]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end()

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        assert self.process.wait(timeout=PATIENCE) == 0

    def infer(self, model, value, **headers):
        body = {"inputs": [{"name": "x", "datatype": "FP32", "shape": [1, 2], "data": [value, 1]}]}
        request = urllib.request.Request(
            f"{self.at}/v2/models/{model}/infer", json.dumps(body).encode(), headers, method="POST"
        )
        with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
            return json.load(answer)


class Load:
    """Requests one after the other, three small ones for each large one."""

    def __init__(self, server):
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self._run, args=(server,))

    def _run(self, server):
        for value in itertools.cycle([1, 2, 3, 20]):
            server.infer("p", value)
            if self.ended.wait(0.01):
                return

    def __enter__(self):
        self.thread.start()

    def __exit__(self, *_):
        self.ended.set()
        self.thread.join()


@pytest.fixture(scope="module", autouse=True)
def can_serve():
    if subprocess.run([TOOL, "serve", "--help"], capture_output=True, check=False).returncode != 0:
        pytest.skip("built without frazil serve")


@pytest.fixture
def folder(tmp_path):
    models = tmp_path / "models"
    models.mkdir()
    for name, text in [("double", DOUBLE), ("triple", TRIPLE), ("chance", SEED)]:
        frazil.from_text(text).save(models / f"{name}.onnx")
    (models / "p.yaml").write_text(PIPELINE)
    return tmp_path


@pytest.fixture(scope="module")
def chromium():
    if not browser.installed():
        pytest.skip("no chromium and chromedriver: scripts/install-deps.sh --test")
    made = browser.Browser()
    yield made
    made.close()


def wait_for(ask, what):
    """Its first answer that is true; what it answered last is told otherwise."""
    until = time.monotonic() + PATIENCE
    while not (answer := ask()):
        assert time.monotonic() < until, f"{what}: {answer!r}"
        time.sleep(0.05)
    return answer


def open_live(chromium, server):
    chromium.open_page(server.at + "/v2/live")
    chromium.run("const e = document.getElementById('every'); e.value = 250; e.dispatchEvent(new Event('change'))")


def row(chromium, model):
    """The cells of a model's row."""
    return chromium.run(
        "return [...document.querySelectorAll('#models tbody tr')]"
        f".filter((row) => row.dataset.name === '{model}').map((row) => [...row.cells].map((c) => c.innerText))[0]"
    )


def click(chromium, selector):
    """In the page's own time, in which elements are not replaced."""
    chromium.run(f"document.querySelector({json.dumps(selector)}).dispatchEvent(new MouseEvent('click'))")


def test_numbers_move_and_edges_show_shares(chromium, folder):
    with Server(folder) as server:
        open_live(chromium, server)
        with Load(server):
            first = int(wait_for(lambda: row(chromium, "p")[11], "requests of p"))
            wait_for(lambda: int(row(chromium, "p")[11]) > first + 5, "more requests of p")
            wait_for(lambda: float(row(chromium, "p")[1]) > 0, "a rate")
            assert re.fullmatch(r"[\d.]+ (µs|ms|s)", row(chromium, "double")[4])
            shares = "return [...document.querySelectorAll('.branch')].map((label) => label.textContent)"
            wait_for(lambda: any(re.match(r"small 7\d", text) for text in chromium.run(shares)), chromium.run(shares))
            nodes = chromium.run("return [...document.querySelectorAll('.node')].map((node) => node.dataset.node)")
            assert set(nodes) == {"choice", "choice.small", "choice.large", "last"}
            widths = chromium.run(
                "return [...document.querySelectorAll('.edge')].map((edge) => +edge.getAttribute('stroke-width'))"
            )
            assert max(widths) == 8 and min(widths) < 4
        assert chromium.messages() == []
        loaded = chromium.run("return performance.getEntriesByType('resource').map((e) => e.name)")
        assert loaded and all(name.startswith(server.at) for name in loaded)


def test_a_click_on_a_node_lists_its_requests_and_one_on_them_shows_the_path(chromium, folder):
    with Server(folder) as server:
        open_live(chromium, server)
        for value in [1, 20, 2]:
            server.infer("p", value)
        wait_for(lambda: chromium.run("return document.querySelectorAll('#paths li').length") == 3, "three requests")
        click(chromium, ".node[data-node='choice.large']")
        wait_for(lambda: chromium.run("return document.querySelectorAll('#paths li').length") == 1, "one request")
        assert chromium.text("#paths-of") == "Latest requests of p, choice.large"
        click(chromium, "#paths button")
        wait_for(lambda: "Request 2" in chromium.text("#details"), "its path")
        details = chromium.text("#details")
        assert "switch: large" in details and "max(x) < 10 is false for 20" in details
        assert "f32[1,2]" in details
        assert chromium.run("return document.querySelectorAll('#details .gantt .run').length") == 2
        click(chromium, "#replay")
        assert wait_for(lambda: chromium.run("return document.querySelector('#replayed')?.textContent"), "a replay") == (
            "equal: the same bits"
        )
        assert chromium.messages() == []


def test_a_replay_repeats_what_was_drawn(chromium, folder):
    with Server(folder) as server:
        open_live(chromium, server)
        server.infer("chance", 1)
        wait_for(lambda: chromium.run("return document.querySelectorAll('#paths li').length") == 1, "a request")
        click(chromium, "#paths button")
        wait_for(lambda: "Request 1" in chromium.text("#details"), "its path")
        click(chromium, "#replay")
        said = wait_for(lambda: chromium.run("return document.querySelector('#replayed')?.textContent"), "a replay")
        assert said == "equal: the same bits"


def test_a_breakpoint_holds_what_meets_it(chromium, folder):
    with Server(folder) as server:
        open_live(chromium, server)
        server.infer("p", 30)
        wait_for(lambda: chromium.run("return document.querySelectorAll('#paths li').length") == 1, "a request")
        chromium.type("#break-taken", "large")
        chromium.click("#break-set")
        for value in [1, 20, 2, 3]:
            server.infer("p", value)
        wait_for(lambda: chromium.text("#break-state") == "1 caught", "the one that came after it was set")
        click(chromium, "#caught button")
        assert "Request 3" in chromium.text("#details") and "f32[1,2]" in chromium.text("#details")
        chromium.click("#break-clear")
        assert chromium.run("return document.querySelectorAll('#caught li').length") == 0


def test_names_are_text_and_redacted_values_are_not_shown(chromium, folder):
    (folder / "models" / "p.yaml").write_text(PIPELINE.replace("small", HOSTILE))
    with Server(folder, CONFIG.replace("secret", "x")) as server:
        open_live(chromium, server)
        server.infer("p", 7.25)
        wait_for(lambda: chromium.run("return document.querySelectorAll('#paths li').length") == 1, "a request")
        click(chromium, "#paths button")
        wait_for(lambda: "Request 1" in chromium.text("#details"), "its path")
        assert HOSTILE in chromium.text("#details")
        assert "(redacted)" in chromium.text("#details") and "7.25" not in chromium.text("#details")
        assert chromium.run("return document.querySelectorAll('img').length") == 0
        assert chromium.run("return document.title") == "Frazil live"


def test_the_page_asks_for_a_key_and_tells_the_end(chromium, folder):
    server = Server(folder, "tenants: [{name: a, keys: [open-sesame]}]\n")
    chromium.open(server.at + "/v2/live")
    wait_for(lambda: chromium.run("return !document.getElementById('key-form').hidden"), "the form")
    chromium.type("#key", "open-sesame")
    chromium.click("#key-form button")
    wait_for(lambda: chromium.text("#status") == "connected", "an event")
    assert row(chromium, "p") is not None
    server.end()
    wait_for(lambda: chromium.text("#status") != "connected", "the end")
