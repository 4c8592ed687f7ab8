"""Governors: rules of a policy file for loads, edits and runs, and their audit log."""

import os
import subprocess
import sys
from pathlib import Path

import frazil
import pytest

TEXT = """graph g(%x: f32[N]) {
            %y: f32[N] = {op}(%x) "only"
            return y = %y
          }"""
POLICY = """
policy "tested" serial {serial};

permit anything
  on file, load, run, edit, publish, roll_back, register, dispatch
  when true
  reason "it is a test";

forbid no_random
  on load, edit, publish
  when report.operators.exists(op, op == "{forbidden}")
  reason "it is not approved here";
"""


def text(op):
    return TEXT.replace("{op}", op)


def write_policy(path, serial=1, forbidden="Sin"):
    path.write_text(POLICY.replace("{serial}", str(serial)).replace("{forbidden}", forbidden))
    return path


@pytest.fixture
def policy(tmp_path):
    return write_policy(tmp_path / "tested.policy")


def make_key(tmp_path):
    openssl = ["openssl", "genpkey", "-algorithm", "ed25519", "-out", str(tmp_path / "audit.pem")]
    subprocess.run(openssl, check=True, capture_output=True)
    return tmp_path / "audit.pem"


def test_loads_and_edits_are_decided(policy):
    governor = frazil.Governor(policy)
    assert frazil.from_text(text("Abs"), policy=governor)([-1]) == 1
    with pytest.raises(frazil.BadInput, match="rule 'no_random': it is not approved here"):
        frazil.from_text(text("Sin"), policy=governor)
    live = frazil.LiveModel(frazil.from_text(text("Abs"), policy=governor))
    with pytest.raises(frazil.BadInput, match="rule 'no_random'"):
        live.publish(frazil.from_text(text("Sin")))
    assert frazil.from_text(text("Sin"))([0]) == 0, "without the governor"


def test_rules_are_replaced_by_a_higher_serial(policy):
    governor = frazil.Governor(policy)
    governor.replace(policy)  # the same text
    with pytest.raises(frazil.BadInput, match="serial"):
        governor.replace(write_policy(policy, forbidden="Abs"))
    governor.replace(write_policy(policy, serial=2, forbidden="Abs"))
    with pytest.raises(frazil.BadInput, match="rule 'no_random'"):
        frazil.from_text(text("Abs"), policy=governor)


def test_decisions_are_recorded(policy, tmp_path):
    with frazil.Governor(policy, audit=tmp_path / "log", key=make_key(tmp_path), origin="example.org/t") as governor:
        frazil.from_text(text("Abs"), policy=governor)
        with pytest.raises(frazil.BadInput):
            frazil.from_text(text("Sin"), policy=governor)
    files = (tmp_path / "log" / "tile" / "entries").rglob("*")
    entries = b"".join(path.read_bytes() for path in files if path.is_file())
    for kind in ("boot", "policy", "load", "refuse", "shutdown"):
        assert f'"kind":"{kind}"'.encode() in entries, kind
    with pytest.raises(frazil.Error, match="it is closed"):
        frazil.from_text(text("Abs"), policy=governor)


def test_files_that_cannot_be_used(tmp_path, policy):
    with pytest.raises(frazil.BadInput, match="missing.policy"):
        frazil.Governor(tmp_path / "missing.policy")
    with pytest.raises(frazil.BadInput, match="expected both 'audit' and 'key'"):
        frazil.Governor(policy, audit=tmp_path / "log")
    with pytest.raises(TypeError, match="must derive from frazil.Policy"):
        frazil.from_text(text("Abs"), policy="tested.policy")


def test_the_process_is_governed_for_good(policy):
    script = f"""
import frazil
governor = frazil.govern({str(policy)!r})
try:
    frazil.from_text({text("Sin")!r})
except frazil.BadInput as error:
    print(error)
try:
    frazil.govern({str(policy)!r})
except frazil.BadInput as error:
    print(error)
"""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(Path(__file__).parent), *sys.path])}
    done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "the policy refuses model 'g': rule 'no_random': it is not approved here",
        "install_policy: the process has a policy, which cannot be replaced",
    ]
