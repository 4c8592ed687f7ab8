"""Governs a server for a compliance officer: ten steps, from signed models to the proof of one request.

    make demo-governance

Prints what happened, and in the last line the folder of the audit log, which `frazil audit verify` verifies. Ends with
status 1 if something did not happen as it must.
"""

import argparse
import collections
import http.server
import json
import os
import pathlib
import shutil
import subprocess
import sys
import threading
import time

import damage
import numpy as np
import zoo
from stage import Fault, Officer, Server, Stage

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
ORIGIN, ENVIRONMENT = "example.org/readers", "production"
TENANTS = {name: f"key-of-{name}" for name in ("branch", "kiosk", "poor", "ops")}
CONFIGURATION = """
tenants:
  - {{name: branch, keys: [{branch}]}}
  - {{name: kiosk, keys: [{kiosk}], budget: {{per_request: {{cost_ms: {kiosk_ms}}}}}}}
  - {{name: poor, keys: [{poor}], budget: {{per_day: {{cost_ms: 0.000001}}}}}}
  - {{name: ops, keys: [{ops}], admin: true}}
governance:
  payloads: true
  keys: {keys}
  subject: {{parameter: user}}
  personal: [image, user]
  shown: [id]
"""
STRICTER = """
forbid large_for_branches
  on dispatch mode {mode}
  when model == "large" && tenant == "branch"
  reason "branches may use the small model only";
"""
IMAGES = np.load(HERE.parent / "digits" / "images.npy").reshape(-1, 1, 1, 8, 8)


def say(text="", indent=4):
    for line in str(text).splitlines():
        print(" " * indent + line[:200], flush=True)


def check(condition, text):
    if not condition:
        raise Fault(text)


class OtherCompany:
    """A server of the Open Inference Protocol that always answers 3."""

    def __init__(self):
        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                self.rfile.read(int(self.headers["Content-Length"]))
                output = {"name": "label", "datatype": "INT64", "shape": [1], "data": [3]}
                body = json.dumps({"model_name": "other", "outputs": [output]}).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def stop(self):
        self.server.shutdown()
        self.server.server_close()


class Demo:
    def __init__(self, frazil, folder):
        self.stage = Stage(frazil, folder)
        self.models, self.log = self.stage.path("models"), self.stage.path("log")
        self.large = self.models / "large" / "1" / "model.onnx"
        self.other = OtherCompany()
        self.number = 0

    def run(self):
        self.prepare()
        for step in (self.start, self.report, self.edit_inside, self.edit_outside, self.bad_artefacts, self.traffic,
                     self.replay, self.erase, self.attacks, self.stricter):  # fmt: skip
            step()
        check(self.server.stop() == 0, "the server did not end in order")
        say(self.verify().splitlines()[-1], 0)

    # ---- what several steps need ----

    def title(self, text):
        self.number += 1
        print(f"\n{self.number:2}. {text}", flush=True)

    def sign_policy(self, name, officers):
        signed = self.stage.path(name + ".dsse")
        signed.unlink(missing_ok=True)
        for officer in officers:
            self.stage.run("sign", name, "--as", "policy", "--key", officer.key, "-o", signed)
        return signed

    def serve(self, name, log, *more):
        """Starts a server that writes a log."""
        return Server(self.stage, name, [
            self.models, "--config", "server.yaml", "--model-control", "--environment", ENVIRONMENT,
            "--policy", "served.policy.dsse", "--policy-signers", 2, "--policy-serials", name + ".serials.json",
            "--trust", "persons.json", "--extent", "N=1..8", "--envelope", "envelope.json.dsse", "--approvals", "approvals",
            "--audit", log, "--audit-key", "keys/audit.pem", "--audit-origin", ORIGIN, *more,
        ])  # fmt: skip

    def verify(self, log=None, expect=0):
        """Verifies a log with two files and no server, and returns what was said."""
        words = ["audit", "verify", log or self.log, "--policy", "readers.policy"]
        kept = self.stage.path("kept.checkpoint")
        return self.stage.run(*words, *(["--checkpoint", kept] if kept.exists() else []), expect=expect)

    def entries(self, *filters):
        """Returns the entries of the log by index, as soon as a checkpoint covers what happened before."""
        time.sleep(1.5)
        lines = self.stage.run("audit", "show", self.log, "--json", *filters).splitlines()
        return {entry["index"]: entry["event"] for entry in map(json.loads, lines)}

    def newest(self, kind):
        return list(self.entries("--kind", kind).values())[-1]

    def load(self, model):
        answer = self.server.load(model, TENANTS["ops"])
        check(answer.status == 200, f"{model} was not loaded: {answer.text}")

    def refused(self, model):
        """Loads a model, which must be refused, and returns the reason."""
        answer = self.server.load(model, TENANTS["ops"])
        check(answer.status != 200, f"{model} was loaded")
        return answer.text

    def read(self, image, tenant="branch", **parameters):
        return self.server.infer("read", {"image": image}, TENANTS[tenant], **parameters)

    def sign(self, model):
        """Signs the folder of a model with the release key."""
        folder = self.models / model / "1"
        (folder / "model.sig").unlink(missing_ok=True)
        self.stage.run("sign", folder, "--key", self.release.key)

    def report_of(self, model, most=8):
        path = self.models / model / "1" / "model.onnx"
        report = self.stage.run("report", path, "--extent", f"N=1..{most}", "--json")
        return json.loads(report.splitlines()[-1])["models"][0]

    # ---- the ten steps ----

    def prepare(self):
        stage = self.stage
        self.release = Officer(stage, "release", "author")
        self.ada = Officer(stage, "ada", "risk", "policy", "envelope")
        self.ben = Officer(stage, "ben", "compliance", "policy")
        stage.write("persons.json", json.dumps({"persons": [one.entry() for one in (self.release, self.ada, self.ben)]}))
        for name in ("audit", "witness"):
            stage.run("keygen", "-o", stage.path("keys", name), "--kind", "ed25519")
        zoo.write(self.models, self.other.port)
        for model in ("small", "large"):
            self.sign(model)
        shutil.copy(HERE / "served.policy", stage.path("served.policy"))
        stage.path("approvals").mkdir()
        stage.write("envelope.json", json.dumps(self.envelope()))
        stage.run("sign", "envelope.json", "--as", "envelope", "--serial", 1, "--key", self.ada.key)
        # A kiosk's requests can pay the small model, and not the large one.
        small, large = (self.report_of(model, 1)["worst_cost_ns"] for model in ("small", "large"))
        kiosk_ms = (small + large / 2) / 1e6
        stage.write("server.yaml", CONFIGURATION.format(kiosk_ms=kiosk_ms, keys=stage.path("subjects"), **TENANTS))

    def envelope(self):
        """Returns the boundary of edits: the operators of the large model, and twice its cost."""
        report = self.report_of("large")
        named = [{"domain": op["domain"], "name": op["name"], "opset": [1, 30]} for op in report["operators"]]
        return {
            "operators": named, "models": [], "endpoints": [], "code": [], "extents": {"N": 1 << 40},
            "worst_cost_ns": 2 * report["worst_cost_ns"], "worst_memory_bytes": 2 * report["worst_memory_bytes"],
            "max_steps": None, "influence": {"*": ["image"]},
        }  # fmt: skip

    def start(self):
        self.title("A policy that two officers signed, a witness, and signed models")
        stage = self.stage
        self.witness = stage.start(
            ["witness", "--state", "witness", "--key", "keys/witness.pem", "--name", "example.com/w1",
             "--log", f"{ORIGIN}=keys/audit.pub.pem", "--port", 0],
            "witness.log", r"(example\.com/w1\+\S+)[\s\S]*?:(\d+)",
        )  # fmt: skip
        check(self.witness.is_ready, "the witness did not start: " + self.witness.log.read_text())
        key, port = self.witness.found.groups()
        stage.write("witnesses", f"witness w1 {key} http://127.0.0.1:{port}\nquorum w1\n")
        for text, officers in (("not signed", []), ("signed by one officer", [self.ada])):
            policy = self.sign_policy("served.policy", officers) if officers else stage.path("served.policy")
            words = ["serve", self.models, "--policy", policy, "--policy-signers", 2, "--trust", "persons.json"]
            said = stage.run(*words, "--policy-serials", "none.json", expect=2)
            say(f"a policy that is {text}: {said.strip().removeprefix('frazil: ')}")
        self.sign_policy("served.policy", [self.ada, self.ben])
        self.server = self.serve("server", self.log, "--witness-policy", "witnesses")
        check(self.server.is_ready, "the server did not start: " + self.server.last_line())
        shutil.copy(self.log / "log.policy", stage.path("readers.policy"))
        say("signed by both: the server starts. Bill of materials:")
        say(stage.run("bom", self.models, "--key", self.release.public), 8)

    def report(self):
        self.title("The report over all paths, before any of them is taken")
        say(self.stage.run("report", self.models, "--extent", "N=1..8"))

    def edit_inside(self):
        self.title("An edit inside the signed envelope takes effect without another signature")
        zoo.fewer_steps(self.large)
        self.sign("large")
        self.load("large")
        event = self.newest("publish")
        check(event["rule"] == "inside_the_envelope", f"another rule decided: {event}")
        say(f"published '{event['model']}' in place of {event['parent'][:19]}..., by rule '{event['rule']}'")

    def edit_outside(self):
        self.title("An edit with an operator that nobody approved is refused, until two officers sign it")
        before = self.stage.path("before.onnx")
        shutil.copy(self.large, before)
        zoo.with_top_k(self.large)
        self.sign("large")
        say("without signatures: " + self.refused("large"))
        self.stage.write("report.json", self.stage.run("report", self.large, "--extent", "N=1..8", "--json").splitlines()[-1])
        self.approve(self.ada, before)
        say("signed by ada: " + self.refused("large"))
        for text, officer, parent, more in (
            ("and by the author of the edit", self.release, before, []),
            ("and by ben, for another parent", self.ben, self.large, []),
            ("and by ben, for another environment", self.ben, before, ["--environment", "laboratory"]),
        ):
            output = self.approve(officer, parent, *more)
            say(f"{text}: {self.refused('large')}")
            output.unlink()
        self.approve(self.ben, before)
        self.load("large")
        event = self.newest("publish")
        check(event["rule"] == "signed_by_two", f"another rule decided: {event}")
        say(f"signed by both: published by rule '{event['rule']}', approvals {event['approvals']['counted']}")

    def approve(self, officer, parent, *more):
        output = self.stage.path("approvals", officer.name + ".approval")
        place = [] if "--environment" in more else ["--environment", ENVIRONMENT]
        self.stage.run("approve", self.large, "--name", "large", "--parent", parent, "--report", "report.json",
                       "--envelope", "envelope.json", "--policy", "served.policy", *place, *more, "--key", officer.key,
                       "--approver", officer.name, "--role", officer.roles[0], "-o", output)  # fmt: skip
        return output

    def bad_artefacts(self):
        self.title("Five bad artefacts are refused, and the log has each")
        good = self.models / "small" / "1" / "model.onnx"
        for name, text in (
            ("swapped", "a byte of a weight differs from the signed one"),
            ("extra", "a file beside the model is not signed"),
            ("machine", "machine code that was compiled elsewhere"),
            ("outside", "weights in a file outside of the folder"),
            ("deep", f"{zoo.DEEP} branches inside each other"),
        ):
            folder = self.models / name / "1"
            folder.mkdir(parents=True)
            path = folder / "model.onnx"
            if name == "machine":
                self.stage.run("compile", good, "-o", folder / "model.frzc", "--shapes", "image=1x1x8x8")
            elif name in ("outside", "deep"):
                {"outside": zoo.external_outside, "deep": zoo.deep}[name](path)
            else:
                shutil.copy(good, path)
            self.sign(name)
            if name == "swapped":
                zoo.one_byte_swapped(path, good)
            elif name == "extra":
                (folder / "notes.txt").write_text("nobody signed this")
            say(f"{text}: {self.refused(name)}")
            shutil.rmtree(self.models / name)
        known = {event.get("model") for event in self.entries("--kind", "refuse").values()}
        missing = {"swapped", "extra", "machine", "outside", "deep"} - known
        check(not missing, f"the log lacks refusals of {missing}")

    def traffic(self):
        self.title("Traffic: branches, a budget that takes the cheap branch, and one that cannot pay at all")
        for number, image in enumerate(IMAGES[:60]):
            answer = self.read(image, user="mr-smith" if number % 3 == 0 else "mrs-jones", sure=0.98)
            check(answer.status == 200, answer.text)
        answer = self.read(IMAGES[3], user="mrs-jones", opinion="yes")
        check(answer.status == 200 and answer.output("opinion") == [3], f"no second opinion: {answer.text}")
        check(self.read(IMAGES[0], tenant="kiosk", user="mrs-jones", sure=1.1).status == 200, "the kiosk was refused")
        poor = self.read(IMAGES[0], tenant="poor")
        check(poor.status == 429, f"expected status 429, got {poor.status}")
        self.requests = self.entries("--kind", "request")
        taken = collections.Counter()
        for event in self.requests.values():
            for step in event.get("steps", []):
                if step["kind"] == "switch":
                    taken[(event["tenant"], step["node"], step["taken"])] += 1
        for (tenant, node, branch), count in sorted(taken.items()):
            say(f"{tenant}: {node} took '{branch}' {count} times")
        check(("kiosk", "answer", "clear") in taken, "the kiosk's request took the expensive branch")
        say(f"poor: {poor.text}")
        metrics = self.server.metric("frazil_cost_ns_total", TENANTS["ops"])
        say(f"costs are attributed to {len(metrics)} accounts; by tenant, from the log:")
        say(self.stage.run("audit", "cost", self.log), 8)

    def replay(self):
        self.title("An old request is replayed bit for bit, with the other company away; and as it might have been")
        self.other.stop()
        asked = [i for i, event in self.requests.items() if any(s["kind"] == "http" for s in event.get("steps", []))]
        unclear = [i for i, event in self.requests.items()
                   if any(s.get("taken") == "unclear" for s in event.get("steps", []))]  # fmt: skip
        for entry in (asked[-1], unclear[0]):
            result = json.loads(self.replayed(entry).splitlines()[-1])
            check(result["result"] in ("equal", "close"), f"entry {entry}: {result}")
            say(f"entry {entry}: {result}")
        result = json.loads(self.replayed(unclear[0], "--override", "sure=0.0", expect=None).splitlines()[-1])
        check(result["mode"] == "what if", f"{result}")
        say(f"entry {unclear[0]}, had everything been clear: {json.dumps(result)[:300]}")
        self.old = unclear[0]

    def replayed(self, entry, *more, expect=0):
        return self.stage.run("replay", self.log, entry, "--keys", "subjects", *more, expect=expect)

    def erase(self):
        self.title("A person is erased, and the log still verifies")
        smiths = list(self.requests)[0]
        say(f"entry {smiths} before: {self.replayed(smiths).splitlines()[-1]}")
        answer = self.server.ask("/v2/governance/erase", {"subject": "mr-smith"}, TENANTS["ops"])
        check(answer.status == 200, f"not erased: {answer.text}")
        time.sleep(1.5)
        said = self.replayed(smiths, expect=2).strip().splitlines()[-1]
        say(f"entry {smiths} after:  {said}")
        say(self.verify().splitlines()[-1])

    def attacks(self):
        self.title("What somebody with the disk and the key can do to the log is found, with two files and no server")
        stage = self.stage
        yesterday = damage.copy(self.log, stage.path("yesterday"))
        check(self.read(IMAGES[5], user="mrs-jones").status == 200, "a request failed")
        time.sleep(2.5)
        shutil.copy(self.log / "checkpoint", stage.path("kept.checkpoint"))
        check("0 violations" in self.verify(), "the sound log does not verify")

        flipped = damage.copy(self.log, stage.path("flipped"))
        file = damage.flip_byte(flipped)
        self.found(f"a flipped byte in {file}", flipped)
        self.found("a cut tail", yesterday)
        rewritten = damage.copy(yesterday, stage.path("rewritten"))
        self.rewrite(rewritten)
        self.found("a tail that was written anew with the log's own key", rewritten)
        old = self.serve("old", damage.copy(yesterday, stage.path("restored")), "--witness-policy", "witnesses")
        check(not old.is_ready, "a restored disk was accepted")
        say("yesterday's disk: the server does not start: " + old.last_line().removeprefix("frazil: "))

    def rewrite(self, log):
        thief = self.serve("thief", log)
        check(thief.is_ready, "the second server did not start: " + thief.last_line())
        thief.infer("read", {"image": IMAGES[7]}, TENANTS["branch"])
        check(thief.stop() == 0, "the second server did not end")

    def found(self, text, log):
        said = self.verify(log, expect=1)
        say(f"{text}: {said.splitlines()[0]}")

    def stricter(self):
        self.title("A stricter policy: compared with the log, in shadow, in force; and the proof of one request")
        stage = self.stage
        usual = (HERE / "served.policy").read_text()
        for serial, mode in ((2, "shadow"), (3, "enforce")):
            edition = usual.replace("serial 1;", f"serial {serial};") + STRICTER.format(mode=mode)
            stage.write(f"edition-{serial}.policy", edition)
        say(stage.run("policy", "diff", "served.policy", "edition-3.policy", "--log", self.log, expect=1))
        for serial, text in ((2, "in shadow"), (3, "in force")):
            shutil.copy(stage.path(f"edition-{serial}.policy"), stage.path("served.policy"))
            self.sign_policy("served.policy", [self.ada, self.ben])
            self.server.reload()
            self.server.wait_for(f"serial {serial}, is in force")
            answer = self.read(IMAGES[0], user="mrs-jones", sure=1.1)
            check(answer.status == (200 if serial == 2 else 403), f"{text}: status {answer.status}: {answer.text}")
            say(f"{text}: status {answer.status}" + (f": {answer.text}" if answer.status != 200 else ""))
        warnings = [line for line in self.server.process.log.read_text().splitlines() if "mode shadow" in line]
        check(warnings, "the shadow rule was not reported")
        say("log of the server: " + warnings[-1])
        time.sleep(2.5)
        proof = stage.path("request.tlog-proof")
        stage.run("audit", "prove", self.log, self.old, "-o", proof)
        script = ROOT / "tests" / "govern" / "audit" / "check_proof.py"
        words = [sys.executable, script, proof, "--key", stage.path("keys", "audit.pub.pem"),
                 "--witness", f"example.com/w1={stage.path('keys', 'witness.pub.pem')}"]  # fmt: skip
        ended = subprocess.run(words, capture_output=True, text=True, timeout=60)
        check(ended.returncode == 0, f"the second verifier: {ended.stdout}{ended.stderr}")
        say("a second verifier, with two public keys: " + ended.stdout)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--frazil", default="build/frazil")
    parser.add_argument("--folder", default="build/governance")
    arguments = parser.parse_args()
    shutil.rmtree(arguments.folder, ignore_errors=True)
    os.environ["FRAZIL_MAX_NESTING"] = "64"
    demo = Demo(arguments.frazil, arguments.folder)
    try:
        demo.run()
    except Fault as fault:
        print(f"\nFAILED in step {demo.number}: {fault}")
        return 1
    finally:
        demo.stage.stop_all()
    print(f"audit log: {demo.log}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
