"""frazil view: what it serves, and what a browser shows of it."""

import json
import os
import pathlib
import re
import signal
import subprocess
import urllib.error
import urllib.request

import browser
import frazil
import pytest

TOOL = os.environ["FRAZIL_TOOL"]
DIGITS = pathlib.Path(__file__).resolve().parents[2] / "examples" / "digits" / "model.onnx"

NESTED = """graph nested(%x: f32[N], %again: bool[], %n: i64[]) {
  %one: f32[N] = Relu(%x) "first"
  %y: f32[N] = If(%again) then_branch() {
    %a: f32[N] = Loop(%n, _, %one) body(%i, %c, %v) {
      %w: f32[N] = Add(%v, f32[] 1) "step"
      yield %c, %w
    } "count"
    yield %a
  } else_branch() {
    %b: f32[N] = Neg(%one) "negated"
    yield %b
  } "choice"
  return y = %y
}"""

RUN = ["--input", "x=4", "--input", "again==1", "--input", "n==3"]


class Server:
    """`frazil view` of a model, on a free port."""

    def __init__(self, *arguments):
        command = [TOOL, "view", *map(str, arguments), "--port", "0"]
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        line = self.process.stderr.readline()
        assert "listening" in line, line + self.process.stderr.read()
        self.port = int(re.search(r"http=127\.0\.0\.1:(\d+)", line)[1])
        self.at = f"http://127.0.0.1:{self.port}"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGTERM)
        assert self.process.wait() == 0

    def ask(self, path, method="GET", **headers):
        request = urllib.request.Request(self.at + path, method=method, headers=headers)
        with urllib.request.urlopen(request) as answer:
            return answer.status, answer.read()

    def graph(self):
        return json.loads(self.ask("/graph.json")[1])


@pytest.fixture(scope="module")
def nested(tmp_path_factory):
    path = tmp_path_factory.mktemp("view") / "nested.onnx"
    frazil.from_text(NESTED).save(path)
    return path


@pytest.fixture(scope="module")
def chromium():
    if not browser.installed():
        pytest.skip("no chromium and chromedriver: scripts/install-deps.sh --test")
    made = browser.Browser()
    yield made
    made.close()


def by_name(graph):
    return {node["name"]: node for node in graph["nodes"]}


def test_the_graph_has_bodies_types_and_steps(nested):
    with Server(nested) as server:
        graph = server.graph()
    nodes = by_name(graph)
    assert set(nodes) == {"first", "choice", "count", "step", "negated"}
    inside = {c["id"]: c for c in graph["containers"]}
    loop_body = inside[nodes["step"]["inside"]]
    assert loop_body["owner"] == nodes["count"]["id"]
    assert inside[loop_body["inside"]]["owner"] == nodes["choice"]["id"]
    assert len(loop_body["parameters"]) == 3
    assert graph["values"][nodes["first"]["out"][0]]["type"] == "f32[N]"
    assert any(nodes["step"]["id"] in step["nodes"] for step in graph["plan"]["steps"])
    assert "run" not in graph


def test_a_run_tells_counts_shares_times_and_values(nested):
    with Server(nested, *RUN) as server:
        graph = server.graph()
    nodes, run = by_name(graph), graph["run"]
    assert run["requests"] == 1
    assert run["flows"][nodes["choice"]["id"]] == {"entries": 1, "true": 1, "false": 0}
    assert run["flows"][nodes["count"]["id"]]["iterations"] == 3
    assert run["nodes"][nodes["step"]["id"]]["calls"] == 3
    assert run["nodes"][nodes["step"]["id"]]["us"] > 0
    assert nodes["negated"]["id"] not in run["nodes"]
    stepped = run["values"][nodes["step"]["out"][0]]
    assert stepped["count"] == 3 and stepped["shape"] == [4] and stepped["min"] >= 3


def test_only_this_host_is_answered(nested):
    with Server(nested) as server:
        assert server.ask("/")[0] == 200
        assert server.ask("/", method="HEAD") == (200, b"")
        for path, method, headers, status in [
            ("/", "GET", {"Host": "example.com"}, 403),
            ("/", "POST", {}, 405),
            ("/../etc/passwd", "GET", {}, 404),
        ]:
            with pytest.raises(urllib.error.HTTPError) as refused:
                server.ask(path, method, **headers)
            assert refused.value.code == status


def test_a_port_in_use_is_one_line_and_exit_2(nested):
    with Server(nested) as server:
        ended = subprocess.run(
            [TOOL, "view", nested, "--port", str(server.port)], capture_output=True, text=True, check=False
        )
    assert ended.returncode == 2
    assert re.fullmatch(rf"frazil: --port {server.port}: .+\n", ended.stderr)


def test_the_page_opens_bodies_and_shows_a_run(chromium, nested):
    with Server(nested, *RUN) as server:
        chromium.open_page(server.at + "/")
        assert chromium.text("#status") == "2 of 5 nodes shown"
        chromium.type("#search", "choice")
        chromium.click("#found button")
        assert "1 (100 %)" in chromium.text("#details")
        chromium.click("#toggle")
        assert chromium.text("#status") == "4 of 5 nodes shown"
        chromium.click("#unfold")
        assert chromium.text("#status") == "5 of 5 nodes shown"
        chromium.type("#search", "\ue009a\ue000step")  # control-a
        chromium.click("#found button")
        assert "made 3 times" in chromium.text("#details")
        chromium.click("#fold")
        assert chromium.text("#status") == "2 of 5 nodes shown"
        assert chromium.messages() == []
        loaded = chromium.run("return performance.getEntriesByType('resource').map((e) => e.name)")
        assert loaded and all(name.startswith(server.at) for name in loaded)


def test_names_are_text(chromium, tmp_path):
    hostile = "<img src=x onerror=document.title=1>"
    frazil.from_text(f'graph "{hostile}"(%x: f32[2]) {{ %y = Relu(%x) "{hostile}" return y = %y }}').save(
        tmp_path / "m.onnx"
    )
    with Server(tmp_path / "m.onnx") as server:
        chromium.open_page(server.at + "/")
        chromium.type("#search", "Relu")
        chromium.click("#found button")
        assert hostile in chromium.text("#details h2")
        assert chromium.run("return document.querySelectorAll('img').length") == 0


def test_the_example_is_shown_whole(chromium):
    with Server(DIGITS, "--input", "image=1x1x8x8") as server:
        nodes = len(server.graph()["nodes"])
        chromium.open_page(server.at + "/")
        chromium.click("#unfold")
        assert chromium.text("#status") == f"{nodes} of {nodes} nodes shown"
        assert chromium.messages() == []


ROUTED = """graph routed(%x: f32[N], %id: i64[], %n: i64[]) {
  %who: bool[] = Equal(%id, i64[] 77) "who"
  %y: f32[N] = If(%who) then_branch() {
    %a: f32[N] = Loop(%n, _, %x) body(%i, %c, %v) { %w: f32[N] = Add(%v, f32[] 1) yield %c, %w } "count"
    yield %a
  } else_branch() { %b: f32[N] = Neg(%x) yield %b } "choice"
  return y = %y
}"""


@pytest.fixture(scope="module")
def routed(tmp_path_factory):
    path = tmp_path_factory.mktemp("routed") / "routed.onnx"
    frazil.from_text(ROUTED).save(path)
    return path


def test_the_report_is_that_of_the_command(routed):
    with Server(routed, "--extent", "N=1..8") as server:
        served = server.ask("/report.json")[1].decode()
    said = subprocess.run(
        [TOOL, "report", routed, "--extent", "N=1..8", "--json"], capture_output=True, text=True, check=True
    )
    assert served == said.stdout.rstrip("\n")


def test_the_page_shows_all_paths(chromium, routed):
    with Server(routed, "--extent", "N=1..8") as server:
        chromium.open_page(server.at + "/")
        chromium.click("#paths")
        report = chromium.text("#details")
        for part in ["All paths of routed", "the value of input 'n' has no upper bound", "compares", "77", "If"]:
            assert part in report
        captions = chromium.run("return [...document.querySelectorAll('caption')].map((c) => c.textContent)")
        assert "Selections by a constant" in captions and "What may influence" in captions
        assert chromium.run("return [...document.querySelectorAll('.report th')].every((h) => h.scope === 'col')")
        chromium.run("[...document.querySelectorAll('.decision')].find((b) => b.textContent.includes('choice')).click()")
        assert chromium.run("return document.querySelector('.decision[aria-pressed=true]').textContent") == (
            "node 'choice' (If)"
        )
        chromium.click(".link:not(.decision)")
        assert "All paths" in chromium.text("#details"), "the report stays beside the graph"
        chromium.click("#paths")
        assert "Inputs" in chromium.text("#details")
        assert chromium.messages() == []


def test_a_folder_has_the_reports_of_its_models_and_pipelines(chromium, routed, tmp_path):
    (tmp_path / "routed.onnx").write_bytes(routed.read_bytes())
    (tmp_path / "front.yaml").write_text(
        "inputs: {x: 'f32[N]', id: 'i64[]', n: 'i64[]'}\n"
        "steps: [{name: out, model: routed, inputs: {x: x, id: id, n: n}}]\n"
        "outputs: {y: out.y}\n"
    )
    with Server(tmp_path) as server:
        reports = json.loads(server.ask("/report.json")[1])
        assert [one["name"] for one in reports["pipelines"]] == ["front"]
        chromium.open_page(server.at + "/")
        assert "All paths of routed" in chromium.text("#details")
        chromium.run("const s = document.getElementById('report'); s.value = '1'; s.onchange()")
        assert "All paths of front" in chromium.text("#details")
        assert "tensor:id, tensor:n, tensor:x" in chromium.text("#details")
        assert chromium.messages() == []
