"""Governs a server for a compliance officer: ten steps, from signed models to the proof of one request.

    make demo-governance

Prints what happened, and in the last line the folder of the audit log, which `frazil audit verify` verifies. Ends with
status 1 if something did not happen as it must.
"""

import argparse
import http.server
import json
import pathlib
import re
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
ORIGIN, ENVIRONMENT = "example.org/readers", "production"
TENANTS = {"branch": "key-of-the-branch", "ops": "key-of-operations"}
IMAGES = np.load(HERE.parent / "digits" / "images.npy").reshape(-1, 1, 1, 8, 8).astype(np.float32) / 16


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
        self.other = OtherCompany()
        self.server = None
        self.number = 0

    # ---- what several steps need ----

    def title(self, text):
        self.number += 1
        print(f"{self.number:2}. {text}", flush=True)

    def sign_policy(self, name, officers):
        signed = self.stage.path(name + ".dsse")
        signed.unlink(missing_ok=True)
        serial = re.search(r"serial (\d+)", self.stage.path(name).read_text())[1]
        for officer in officers:
            self.stage.run(
                "sign", name, "--as", "policy", "--serial", serial, "--days", 90, "--key", officer.key, "-o", signed
            )
        return signed

    def serve(self, name, log, *more):
        """Starts a server on a log."""
        return Server(self.stage, name, [
            self.models, "--config", "server.yaml", "--model-control", "--replay", "--environment", ENVIRONMENT,
            "--policy", "served.policy.dsse", "--policy-signers", 2, "--trust", "persons.json",
            "--envelope", "envelope.json.dsse", "--approvals", "approvals",
            "--audit", log, "--audit-key", "keys/audit.pem", "--audit-origin", ORIGIN, *more,
        ])  # fmt: skip

    def verify(self, log=None, expect=0):
        """Verifies a log with two files and no server, and returns what was said."""
        words = ["audit", "verify", log or self.log, "--policy", "log.policy"]
        kept = self.stage.path("kept.checkpoint")
        return self.stage.run(*words, *(["--checkpoint", kept] if kept.exists() else []), expect=expect)

    def entries(self, *filters):
        """Returns the log's entries by index."""
        lines = self.stage.run("audit", "show", self.log, "--json", *filters).splitlines()
        return {entry["index"]: entry["event"] for entry in map(json.loads, lines)}

    def refused(self, model):
        """Loads a model, which must be refused, and returns the reason."""
        answer = self.server.load(model, TENANTS["ops"])
        check(answer.status != 200, f"{model} was loaded")
        return answer.text

    def read(self, image, **parameters):
        return self.server.infer("read", {"image": image}, TENANTS["branch"], **parameters)
