"""Policies: what may be loaded, edited and run."""

import gc
import hashlib
import os
import subprocess
import sys
import threading
import weakref
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import frazil
import numpy as np
import pytest

TEXT = """graph g(%x: f32[N]) {
            %a: f32[N] = Mul(%x, f32[] 2) "double"
            %y: f32[N] = Add(%a, f32[] 1) "shift"
            return y = %y
          }"""


class Recorder(frazil.Policy):
    """Refuses what it is told to refuse."""

    def __init__(self):
        self.calls = []
        self.load = self.edit = self.run = None

    def check_load(self, model):
        self.calls.append(("load", model.operators))
        return self.load

    def check_edit(self, before, after):
        self.calls.append(("edit", before.operators, after.operators))
        return self.edit

    def check_run(self, model):
        self.calls.append(("run", model.name))
        return self.run


def test_loading(tmp_path):
    policy = Recorder()
    model = frazil.from_text(TEXT, policy=policy)
    model.save(tmp_path / "m.onnx")
    loads = [
        lambda: frazil.load(tmp_path / "m.onnx", policy=policy),
        lambda: frazil.from_bytes((tmp_path / "m.onnx").read_bytes(), policy=policy),
        lambda: frazil.from_text(TEXT, policy=policy, threads=1),
    ]
    for load in loads:
        load()
    assert policy.calls == [("load", ["Add", "Mul"])] * 4
    policy.load = "not today"
    for load in loads:
        with pytest.raises(frazil.BadInput, match="the policy refuses model 'g': not today"):
            load()
    assert frazil.from_text(TEXT, policy=None)([1]) == 3


def test_building():
    policy = Recorder()
    policy.load = "no graphs"
    g = frazil.Graph()
    g.output("y", g.input("x", "float32") + 1)
    with pytest.raises(frazil.BadInput, match="no graphs"):
        g.build(policy=policy)
    policy.load = None
    assert g.build(policy=policy, threads=1)(1) == 2 and policy.calls[-1][0] == "run"


def test_running():
    policy = Recorder()
    model = frazil.from_text(TEXT, policy=policy)
    assert model([1]) == 3
    policy.run = "closed"
    for run in (lambda: model([1]), lambda: model.session()([1]), lambda: model.with_options(threads=1)([1])):
        with pytest.raises(frazil.BadInput, match="refuses to run 'g': closed"):
            run()
    policy.run = None
    assert model([1]) == 3


def test_editing():
    policy = Recorder()
    model = frazil.from_text(TEXT, policy=policy)

    def edit():
        with model.edit() as patch:
            patch.replace("y", patch.Tanh(patch.tap("y")))
        return patch.model

    edited = edit()
    assert [call[0] for call in policy.calls] == ["load", "load", "edit"]
    assert policy.calls[-1][1:] == (["Add", "Mul"], ["Add", "Mul", "Tanh"])
    policy.run = "closed"
    with pytest.raises(frazil.BadInput, match="closed"):
        edited([1])
    policy.run, policy.edit = None, "frozen"
    with pytest.raises(frazil.BadInput, match="refuses to edit 'g': frozen"):
        edit()


def test_live_models():
    policy = Recorder()
    live = frazil.LiveModel(frazil.from_text(TEXT, policy=policy))
    session = live.open()
    add_tanh = lambda patch: patch.replace("y", patch.Tanh(patch.tap("y")))
    assert live.edit(add_tanh).number == 2
    policy.edit = "frozen"
    for edit in (
        lambda: live.edit(add_tanh),
        lambda: live.roll_back(1),
        lambda: live.publish(frazil.from_text(TEXT)),
    ):
        with pytest.raises(frazil.BadInput, match="frozen"):
            edit()
    assert live.current.number == 2 and len(live.history()) == 2
    policy.edit, policy.load = None, "no Tanh here"
    with pytest.raises(frazil.BadInput, match="no Tanh here"):
        live.edit(add_tanh)
    policy.run = "closed"
    with pytest.raises(frazil.BadInput, match="closed"):
        session([1])
    policy.run = policy.load = None
    assert live.edit(lambda patch: patch.remove_output("y") or patch.add_output("z", patch.tap("a"))).number == 3
    assert session([1]) == 2


def test_exceptions():
    fault = RuntimeError("broken policy")

    class Broken(frazil.Policy):
        def check_run(self, model):
            raise fault

    class Wrong(frazil.Policy):
        def check_load(self, model):
            return False

    with pytest.raises(frazil.BadInput, match=r"check_run\(\): RuntimeError: broken policy") as caught:
        frazil.from_text(TEXT, policy=Broken())([1])
    assert caught.value.__cause__ is fault
    with pytest.raises(frazil.BadInput, match=r"check_load\(\) must return a text or None, got False"):
        frazil.from_text(TEXT, policy=Wrong())
    for wrong in (5, Recorder):
        with pytest.raises(TypeError, match="must derive from frazil.Policy"):
            frazil.from_text(TEXT, policy=wrong)


def test_only_what_is_overridden_is_called():
    class Sees(frazil.Policy):
        def __init__(self):
            self.seen = []

        def check_edit(self, before, after):
            self.seen.append((before([1]).item(), after([1]).item()))

    policy = Sees()
    model = frazil.from_text(TEXT, policy=policy)
    with model.edit() as patch:
        patch.replace("y", patch.tap("a"))
    assert policy.seen == [(3, 2)], "it may run models unless it is asked about runs"


def test_policies_live_as_long_as_their_models():
    policy = Recorder()
    alive = weakref.ref(policy)
    model = frazil.from_text(TEXT, policy=policy)
    del policy
    gc.collect()
    assert model([1]) == 3 and ("run", "g") in alive().calls
    live = frazil.LiveModel(model)
    del model
    live.publish(frazil.from_text(TEXT))
    live.forget(1)
    gc.collect()
    assert alive().calls[-1][0] == "edit"  # a model without a policy takes that of the version before
    del live
    gc.collect()
    assert alive() is None


def test_several_threads():
    class Counts(frazil.Policy):
        def __init__(self):
            self.lock, self.runs = threading.Lock(), 0

        def check_run(self, model):
            with self.lock:
                self.runs += 1
            return "odd" if self.runs % 2 else None

    policy = Counts()
    model = frazil.from_text(TEXT, policy=policy)

    def work(_):
        refused = 0
        for _ in range(50):
            try:
                assert model(np.ones(4, np.float32)).tolist() == [3] * 4
            except frazil.BadInput:
                refused += 1
        return refused

    with ThreadPoolExecutor(6) as pool:
        refused = sum(pool.map(work, range(6)))
    assert policy.runs == 300 and 0 < refused < 300


class Watcher(frazil.Policy):
    """Overrides the functions of files, changes, calls and operators."""

    def __init__(self):
        self.lines = []
        self.refused = None

    def answer(self, *line):
        self.lines.append(line)
        return "no " + line[0] if line[0] == self.refused else None

    def check_file(self, file):
        return self.answer("file", file.kind, file.path, file.size, file.digest, file.operators)

    def check_change(self, change):
        names = change.before.name, change.after.name
        return self.answer("change", change.kind, *names, change.author, change.reason)

    def check_dispatch(self, name, version, model):
        return self.answer("dispatch", name, version, model.name)

    def check_operator(self, domain, name):
        return self.answer("operator", domain, name)


def test_files(tmp_path):
    path = tmp_path / "m.onnx"
    frazil.from_text(TEXT).save(path)
    digest = "sha256:" + hashlib.sha256(path.read_bytes()).hexdigest()
    watcher = Watcher()
    frazil.load(path, policy=watcher)
    operators = (frazil.FileOperator("", "Add", 7, 1), frazil.FileOperator("", "Mul", 7, 1))
    assert watcher.lines == [("file", "model", str(path), path.stat().st_size, digest, operators)]
    watcher.refused = "file"
    with pytest.raises(frazil.BadInput, match="the policy refuses the file: no file"):
        frazil.load(path, policy=watcher)


def test_changes_and_calls():
    watcher = Watcher()
    live = frazil.LiveModel(frazil.from_text(TEXT, policy=watcher))
    with live.edit(author="ada", reason="sign") as patch:
        patch.replace("y", -patch.tap("y"))
    live.roll_back(1, author="bob")
    assert watcher.lines == [
        ("change", "edit", "g", "g", "ada", "sign"),
        ("change", "roll back", "g", "g", "bob", ""),
    ]
    frazil.registry["watched"] = live
    caller = frazil.from_text(
        """graph c(%x: f32[N]) {
             %y = frazil::Call(%x) {model = "watched", takes = ["f32[N]"], gives = ["f32[N]"]}
             return y = %y
           }""",
        policy=watcher,
    )
    assert caller([1]) == 3 and watcher.lines[-1] == ("dispatch", "watched", 3, "g")
    watcher.refused = "dispatch"
    with pytest.raises(frazil.BadInput, match="refuses the call of 'watched', version 3: no dispatch"):
        caller([1])
    del frazil.registry["watched"]


def test_the_policy_of_the_process():
    script = """
import frazil
from test_policy import TEXT, Watcher

watcher = Watcher()
frazil.install_policy(watcher)
live = frazil.LiveModel(frazil.from_text(TEXT))
live.publish(frazil.from_text(TEXT, policy=frazil.Policy()), author="ada")
assert watcher.lines == [("change", "publish", "g", "g", "ada", "")], watcher.lines
watcher.refused = "operator"
for refused in (
    lambda: frazil.host_operator("com.acme.New")(lambda x: x),
    lambda: frazil.install_policy(Watcher()),
    lambda: frazil.install_policy(None),
):
    try:
        refused()
    except frazil.BadInput as error:
        print(error)
"""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(Path(__file__).parent), *sys.path])}
    done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "the policy refuses operator 'com.acme.New': no operator",
        "install_policy: the process has a policy, which cannot be replaced",
        "install_policy: there is no policy",
    ]
