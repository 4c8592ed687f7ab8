#!/usr/bin/env python3
"""The serving benchmark: frazil serve beside ONNX Runtime behind the same transport, server and client on a core each.

    bench/serve/run.py [BUILD] [--json FILE] [--only SECTION,...] [--models NAME,...] [--long]

Sections: floor (the server's share of a small request), clients (p50 of one client), cost (processor time of a
request), rates (highest rate at which p99 stays within a bound), steady (p99.9 / p50 at half load), records (metrics
and path records on and off), overload (3 times the capacity). Both sides take turns. A measurement during which other
programs had more than a twentieth of the two cores is repeated; the least disturbed one counts, and the share of the
others is in the JSON. FRAZIL_PEER is the peer's library; --no-peer leaves its columns out. --long overloads for ten
minutes instead of one.
"""

import argparse
import contextlib
import json
import os
import pathlib
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
SERVER_CPU, CLIENT_CPU = "0", "1"
MODELS = ["silero", "bert_small", "digits", "lstm"]
DISTURBED = 0.05
TRIES = 4
TICKS = os.sysconf("SC_CLK_TCK")


def busy_ticks():
    """Ticks that the two cores were busy, or that the host gave to others."""
    total = 0
    for line in pathlib.Path("/proc/stat").read_text().splitlines():
        word, *numbers = line.split()
        if word in ("cpu" + SERVER_CPU, "cpu" + CLIENT_CPU):
            user, nice, system, _, _, irq, softirq, steal = map(int, numbers[:8])
            total += user + nice + system + irq + softirq + steal
    return total


def own_ticks(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return int(fields[11]) + int(fields[12])


class Server:
    """A server on its core, in a context."""

    def __init__(self, command):
        self.command = ["taskset", "-c", SERVER_CPU, *map(str, command)]
        self.command += ["--http-port", "0", "--grpc-port", "0", "--metrics-port", "0", "--workers", "1"]

    def __enter__(self):
        self.process = subprocess.Popen(self.command, stderr=subprocess.PIPE, text=True)
        line = ""
        for line in self.process.stderr:
            found = re.search(r"listening http=\S+:(\d+) grpc=\S+:(\d+)(?: metrics=\S+:(\d+))?", line)
            if found:
                self.ports = {"http": found[1], "grpc": found[2], "metrics": found[3]}
                threading.Thread(target=self.process.stderr.read, daemon=True).start()
                return self
        raise SystemExit(f"{self.command[3]}: did not start: {line.strip()}")

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()

    def memory(self):
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(r"VmRSS:\s+(\d+)", status)[1]) / 1024

    def processor_seconds(self):
        """Of its threads that are there now; finer than ticks."""
        threads = pathlib.Path(f"/proc/{self.process.pid}/task").glob("*/schedstat")
        return sum(int(thread.read_text().split()[0]) for thread in threads) / 1e9


class Bench:
    def __init__(self, arguments):
        self.arguments = arguments
        self.build = pathlib.Path(arguments.build).resolve()
        self.folder = self.build / "bench" / "serve_models_dir"
        self.results = {}
        self.peer = None if arguments.no_peer else self.build / "bench" / "serve_ort"
        subprocess.run([self.build / "bench" / "serve_models", self.folder], check=True, cwd=ROOT)
        config = json.loads((HERE / "config.json").read_text())
        have = {path.stem for path in self.folder.glob("*.onnx")}
        self.config = {name: value for name, value in config["models"].items() if name in have}
        self.models = [name for name in arguments.models if name in have]

    # ---- servers ----

    def config_file(self, name, **more):
        file = self.build / "bench" / f"serve_{name}.yaml"
        file.write_text(json.dumps({"models": self.config, **more}))  # JSON is YAML
        return file

    def ours(self, name="ours", **more):
        return Server([self.build / "frazil", "serve", self.folder, "--config", self.config_file(name, **more)])

    def sides(self, stack):
        """Both servers; one that waits costs the other nothing."""
        sides = {"ours": stack.enter_context(self.ours())}
        if self.peer:
            sides["peer"] = stack.enter_context(Server([self.peer, self.folder, "--config", self.config_file("peer")]))
        return sides

    # ---- measurements ----

    def load_once(self, server, model, protocol="http", **options):
        command = [self.build / "bench" / "serve_load", model, "--port", server.ports[protocol]]
        command += ["--cpu", CLIENT_CPU, "--images", ROOT / "examples/digits/images.npy"]
        command += ["--grpc"] if protocol == "grpc" else []
        for name, value in options.items():
            option = "--" + name.replace("_", "-")
            command += [option] if value is True else [option, str(value)]
        with tempfile.NamedTemporaryFile(suffix=".json") as out:
            before = busy_ticks(), own_ticks(server.process.pid), time.time()
            children, spent = sum(os.times()[2:4]), server.processor_seconds()
            subprocess.run([*map(str, command), "--json", out.name], check=True, stdout=subprocess.DEVNULL)
            wall = (time.time() - before[2]) * TICKS
            server_ticks = own_ticks(server.process.pid) - before[1]
            own = server_ticks + (sum(os.times()[2:4]) - children) * TICKS
            figures = json.load(open(out.name))
        answers = sum(a["count"] for a in figures["answers"].values())
        counted = figures["seconds"] / (figures["seconds"] + figures["warm"])
        figures["server_us"] = (server.processor_seconds() - spent) * counted / max(1, answers) * 1e6
        figures["disturbed"] = max(0, (busy_ticks() - before[0] - own) / (2 * wall))
        return figures

    def load(self, server, model, **options):
        """The least disturbed of some tries."""
        tries = []
        while len(tries) < TRIES and (not tries or tries[-1]["disturbed"] > DISTURBED):
            tries.append(self.load_once(server, model, **options))
        return min(tries, key=lambda figures: figures["disturbed"])

    @staticmethod
    def ok(figures):
        none = {"count": 0, "per_second": 0, "us": dict.fromkeys(("p50", "p99", "p999"), 1e9)}
        return figures["answers"].get("200", none)

    # ---- sections ----

    def clients(self):
        """p50 of one client: the median of rounds in which the sides take turns."""
        rows = {}
        with contextlib.ExitStack() as stack:
            sides = self.sides(stack)
            for model, protocol in [(m, "http") for m in self.models] + [("small", "http"), ("small", "grpc")]:
                rounds = {side: [] for side in sides}
                for _ in range(self.arguments.rounds):
                    for side, server in sides.items():
                        rounds[side].append(self.load(server, model, protocol=protocol, seconds=1, warm=0.3))
                p50 = {s: statistics.median(self.ok(f)["us"]["p50"] for f in r) for s, r in rounds.items()}
                rows[f"{model} {protocol}"] = {"p50_us": p50, "rounds": rounds}
                self.print_row("clients", f"{model} {protocol}", p50, "us", higher=False)
        return rows

    def cost(self):
        """The server's processor time for a request under load: the throughput of a core that it has alone."""
        rows = {}
        with contextlib.ExitStack() as stack:
            sides = self.sides(stack)
            for model, protocol in [(m, "http") for m in self.models] + [("small", "http"), ("small", "grpc")]:
                rounds = {side: [] for side in sides}
                many = {"connections": 8, "streams": 8} if protocol == "grpc" else {"connections": 64}
                for _ in range(self.arguments.rounds):
                    for side, server in sides.items():
                        rounds[side].append(self.load_once(server, model, protocol=protocol, seconds=1.5, **many))
                us = {side: statistics.median(f["server_us"] for f in r) for side, r in rounds.items()}
                rows[f"{model} {protocol}"] = {"us": us, "rounds": rounds}
                self.print_row("cost", f"{model} {protocol}", us, "us", higher=False)
        return rows

    def rates(self):
        """The highest rate of arrivals at which p99 stays within one bound for both sides."""
        rows = {}
        with contextlib.ExitStack() as stack:
            sides = self.sides(stack)
            for model in self.models:
                for server in sides.values():  # what is compiled in the background is ready then
                    self.load_once(server, model, connections=16, seconds=3)
                slowest = max(self.ok(self.load(s, model, seconds=1))["us"]["p50"] for s in sides.values())
                bound = max(10 * slowest, 10_000)
                search = {side: Search(self.capacity(server, model)) for side, server in sides.items()}
                for _ in range(self.arguments.steps):
                    for side, server in sides.items():
                        rate = search[side].next()
                        f = self.load(server, model, rate=rate, connections=64, seconds=2)
                        kept = self.ok(f)["us"]["p99"] <= bound and f["unsent"] + f["unanswered"] < 0.02 * rate
                        search[side].add(rate, kept, f)
                best = {side: s.best for side, s in search.items()}
                rows[model] = {"bound_us": bound, "rate": best, "steps": {k: s.steps for k, s in search.items()}}
                self.print_row("rates", f"{model} p99 <= {bound / 1000:.0f} ms", best, "/s", higher=True)
        return rows

    def capacity(self, server, model, **options):
        return self.ok(self.load(server, model, connections=64, seconds=2, **options))["per_second"]

    def floor(self):
        command = [self.build / "bench" / "serve_floor", self.folder / "small.onnx"]
        runs = [json.loads(subprocess.check_output(command)) for _ in range(self.arguments.rounds)]
        floor = {key: min(run[key] for run in runs) for key in runs[0]}
        with self.ours() as server:
            loads = [self.load(server, "small", protocol="grpc", seconds=1) for _ in range(self.arguments.rounds)]
        p50 = statistics.median(self.ok(f)["us"]["p50"] for f in loads)
        row = {**floor, "grpc_p50_us": p50, "over_run_us": p50 - floor["run_us"], "loads": loads}
        row["over_echo_us"] = row["over_run_us"] - floor["echo_us"]
        print(f"floor     Session::run {floor['run_us']:.1f}, echo {floor['echo_us']:.1f}, gRPC {p50:.1f} us: ", end="")
        print(f"{row['over_run_us']:.1f} over run, {row['over_echo_us']:.1f} over run and echo")
        return row

    def overload(self):
        rows = {}
        for model in self.models:
            with self.ours() as server:
                rows[model] = self.overload_one(server, model)
        return rows

    def overload_one(self, server, model):
        """Goodput, and what a second of the server's core yields: the second is less disturbed by other programs."""
        timeout_us = 500_000 if model == "bert_small" else 100_000
        options = {"connections": 600, "timeout_us": timeout_us, "drop": True}
        capacity = self.capacity(server, model)
        tries = [self.load(server, model, rate=share * capacity, **options) for share in (0.8, 0.9, 1, 1.1)]
        peak, best = max(f["goodput"] for f in tries), max(map(self.in_time_per_second, tries))
        with Memory(server) as memory:
            seconds = 600 if self.arguments.long else 60
            f = self.load_once(server, model, rate=3 * capacity, seconds=seconds, **options)
        refused = f["answers"].get("429", {}).get("us", {})
        counts = {status: answers["count"] for status, answers in f["answers"].items()}
        counts["never sent"] = f["due"] - sum(counts.values())
        late = memory.megabytes[len(memory.megabytes) // 5 :]
        print(
            f"overload  {model}: goodput {f['goodput']:.0f} of {peak:.0f}/s ({f['goodput'] / peak:.3f}; for the same "
            f"processor time {self.in_time_per_second(f) / best:.3f}), "
            f"p99 of accepted {self.ok(f)['us']['p99'] / 1000:.1f} of {timeout_us / 1000:.0f} ms, "
            f"refusals p50 {refused.get('p50', 0) / 1000:.2f} p99 {refused.get('p99', 0) / 1000:.2f} ms, "
            f"memory {late[0]:.0f} to {late[-1]:.0f} MB, disturbed {f['disturbed']:.2f}, {counts}",
            flush=True,
        )
        return {"capacity": capacity, "peak": tries, "load": f, "memory_mb": memory.megabytes}

    @staticmethod
    def in_time_per_second(figures):
        answers = sum(a["count"] for a in figures["answers"].values())
        return figures["goodput"] * figures["seconds"] / (answers * figures["server_us"] * 1e-6)

    def steady(self):
        """One path: requests of one shape at half load, at equal distances, so that none waits for another."""
        rows = {}
        with self.ours() as server:
            for model, options in {"small": {}, "silero": {}, "bert_small": {"length": 32}}.items():
                if model not in self.models and model != "small":
                    continue
                rate = self.capacity(server, model, **options) / 2
                options |= {"rate": rate, "connections": 64, "even": True}
                loads = [self.load(server, model, **options) for _ in range(self.arguments.rounds)]
                ratios = sorted(self.ok(f)["us"]["p999"] / self.ok(f)["us"]["p50"] for f in loads)
                rows[model] = {"ratios": ratios, "loads": loads}
                shown = " ".join(f"{r:.2f}" for r in ratios)
                print(f"steady    {model} at {rate:.0f}/s: p99.9 / p50 {shown}", flush=True)
        return rows

    def records(self):
        """The processor's time for a request is compared: it is less disturbed than throughput."""
        cost = {"on": [], "off": []}
        with self.ours() as on, self.ours("plain", paths={"ring": 0}) as off:
            scraper = Scraper(on.ports["metrics"])
            for _ in range(self.arguments.rounds * 2):
                for name, server in (("on", on), ("off", off)):
                    f = self.load_once(server, "small", protocol="grpc", streams=16, seconds=1)
                    cost[name].append(f["server_us"])
            scraper.stop()
        middle = {name: statistics.median(values) for name, values in cost.items()}
        share = middle["on"] / middle["off"] - 1
        print(f"records   {middle['on']:.2f} us a request with, {middle['off']:.2f} without: {100 * share:+.1f} %")
        return {"us_per_request": cost, "share": share}

    @staticmethod
    def print_row(section, name, values, unit, higher):
        text = f"{section:9} {name:28} ours {values['ours']:9.1f}{unit}"
        if "peer" in values and values["peer"] > 0 and values["ours"] > 0:
            ratio = values["ours"] / values["peer"] if higher else values["peer"] / values["ours"]
            text += f"  peer {values['peer']:9.1f}{unit}  {ratio:.2f} times as good"
        print(text, flush=True)


class Search:
    """Bisects rates, beginning around the throughput of a closed loop."""

    def __init__(self, guess):
        self.low, self.high, self.best, self.steps = 0.3 * guess, 1.1 * guess, 0.0, []

    def next(self):
        return (self.low + self.high) / 2

    def add(self, rate, kept, figures):
        self.steps.append({"rate": rate, "kept": kept, "load": figures})
        if kept:
            self.best = max(self.best, rate)
            self.low = rate
            self.high = max(self.high, 1.1 * rate)
        else:
            self.high = rate


class Memory:
    """A server's resident memory once a second, in a context."""

    def __init__(self, server):
        self.server, self.megabytes, self.ended = server, [server.memory()], threading.Event()
        self.thread = threading.Thread(target=self.run)

    def run(self):
        while not self.ended.wait(1):
            self.megabytes.append(self.server.memory())

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.ended.set()
        self.thread.join()


class Scraper:
    """Reads the metrics once a second, as Prometheus does."""

    def __init__(self, port):
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self.run, args=(f"http://127.0.0.1:{port}/metrics",))
        self.thread.start()

    def run(self, url):
        while not self.ended.wait(1):
            urllib.request.urlopen(url, timeout=5).read()

    def stop(self):
        self.ended.set()
        self.thread.join()


SECTIONS = ["floor", "clients", "cost", "rates", "steady", "records", "overload"]


def words(text):
    return text.split(",")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", nargs="?", default="build")
    parser.add_argument("--json", help="file of all figures")
    parser.add_argument("--only", type=words, default=SECTIONS)
    parser.add_argument("--models", type=words, default=MODELS)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=6, help="of a search")
    parser.add_argument("--no-peer", action="store_true")
    parser.add_argument("--long", action="store_true")
    arguments = parser.parse_args()
    unknown = [name for name in arguments.only if name not in SECTIONS]
    if unknown:
        parser.error(f"no section {unknown[0]}; there are {', '.join(SECTIONS)}")
    bench = Bench(arguments)
    for section in arguments.only:
        bench.results[section] = getattr(bench, section)()
        if arguments.json:
            pathlib.Path(arguments.json).write_text(json.dumps(bench.results, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
