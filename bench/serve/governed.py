#!/usr/bin/env python3
"""Compares the latency of requests to servers without governance, with a policy, and with an audit log too.

The servers take random turns.

    bench/serve/governed.py [BUILD] [SECONDS]

Prints medians, 99th percentiles, and their ratios to the server without governance."""

import http.client
import json
import pathlib
import random
import re
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
POLICY = """policy "bench" serial 1;
permit all on file, load, run, dispatch, config, admin reason "it is a bench";
forbid one on run when tenant == "nobody" reason "a rule that reads the tenant";
"""


class Server:
    def __init__(self, frazil, folder, name, *words):
        self.log = folder / f"{name}.log"
        ports = ["--http-port", "0", "--grpc-port", "0", "--metrics-port", "0"]
        with self.log.open("w") as errors:
            self.process = subprocess.Popen([frazil, "serve", folder / "models", *ports, *words], stderr=errors)
        while not (found := re.search(r"listening http=\S+:(\d+) grpc", self.log.read_text())):
            if self.process.poll() is not None:
                sys.exit(f"{name}: {self.log.read_text()}")
            time.sleep(0.02)
        self.connection = http.client.HTTPConnection("127.0.0.1", int(found[1]))
        self.times = []

    def ask(self, body):
        begun = time.perf_counter()
        self.connection.request("POST", "/v2/models/digits/infer", body, {"Content-Type": "application/json"})
        reply = self.connection.getresponse()
        reply.read()
        if reply.status != 200:
            sys.exit(f"status {reply.status}")
        self.times.append(time.perf_counter() - begun)

    def quantile(self, share):
        return sorted(self.times)[int(len(self.times) * share)] * 1e6


def main():
    build = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "build").resolve()
    seconds = float(sys.argv[2]) if len(sys.argv) > 2 else 20
    frazil = build / "frazil"
    image = {"name": "image", "shape": [1, 1, 8, 8], "datatype": "FP32", "data": [0.5] * 64}
    body = json.dumps({"inputs": [image]})
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "models").mkdir()
        (folder / "models" / "digits.onnx").write_bytes((ROOT / "examples/digits/model_full.onnx").read_bytes())
        (folder / "bench.policy").write_text(POLICY)
        keygen = [frazil, "keygen", "-o", folder / "audit", "--kind", "ed25519"]
        subprocess.run(keygen, check=True, stdout=subprocess.DEVNULL)
        policy = ["--policy", folder / "bench.policy"]
        audit = ["--audit", folder / "log", "--audit-key", folder / "audit.pem"]
        servers = {
            "none": Server(frazil, folder, "none"),
            "policy": Server(frazil, folder, "policy", *policy),
            "policy and audit": Server(frazil, folder, "audit", *policy, *audit),
        }
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            for server in random.sample(list(servers.values()), len(servers)):  # no order favours one of them
                server.ask(body)
        for server in servers.values():
            server.times = server.times[300:]  # after the warm-up
        plain = servers["none"]
        for name, server in servers.items():
            p50, p99 = server.quantile(0.5), server.quantile(0.99)
            ratios = f"{p50 / plain.quantile(0.5):.3f} {p99 / plain.quantile(0.99):.3f}"
            print(f"{name:18} {len(server.times)} requests, p50 {p50:.1f} us, p99 {p99:.1f} us, ratios {ratios}")
            server.process.terminate()
            server.process.wait()


if __name__ == "__main__":
    main()
