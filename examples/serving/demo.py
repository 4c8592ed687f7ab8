"""Serves models under load behind HAProxy while models change and replicas die. Prints a report.

    make demo-serve

Ends with status 1 if a request that was accepted is lost or has a wrong answer.
"""

import argparse
import asyncio
import collections
import os
import pathlib
import re
import signal
import statistics
import sys
import tempfile
import time

import client
import fleet
import models
import traffic

ROOT = pathlib.Path(__file__).resolve().parents[2]
FIRST_THRESHOLD, LATER_THRESHOLD = 0.9, 0.99
FIRST_STEPS, LATER_STEPS = 8, 4
OVERLOAD, OVERLOAD_S, CAPACITY_S = 3, 5, 3
KEY = 13  # width of the first column


def say(key, text):
    lines = text.splitlines()
    print(f"{key:<{KEY}}{lines[0]}")
    for line in lines[1:]:
        print(" " * KEY + line)
    sys.stdout.flush()


def milliseconds(seconds):
    """Returns the median and the 99th percentile as text."""
    if not seconds:
        return "-"
    times = sorted(1000 * s for s in seconds)
    return f"median {statistics.median(times):.1f} ms, p99 {times[int(len(times) * 0.99)]:.1f} ms"


class Span:
    """The time when a change of a model began, and the time when all replicas had it."""

    def __init__(self):
        self.begin = self.end = float("inf")

    def possible(self, outcome, before, after):
        """Returns the versions that may have served a request."""
        seen = set()
        if outcome.sent < self.end:
            seen.add(before)
        if outcome.sent + outcome.took > self.begin:
            seen.add(after)
        return seen


class Demo:
    def __init__(self, running):
        self.fleet = running
        self.to = client.Client(running.http)
        self.digits, self.reader, self.sessions = traffic.Digits(), traffic.Reader(), traffic.Sessions()
        self.edit, self.swap = Span(), Span()
        self.faults = []
        self.started = self.memory()
        self.browser = None

    def check(self, ok, fault):
        if not ok:
            self.faults.append(fault)

    async def run(self):
        await self.quiet()
        capacity = await self.overload()
        await self.changes(capacity)
        await asyncio.to_thread(self.metrics)
        self.to.close()
        self.judge()

    # ---- phases ----

    async def quiet(self):
        began = time.monotonic()
        await self.digits.all_once(self.to)
        seconds = time.monotonic() - began
        outcomes = [o for o in self.to.outcomes["digits"] if o.status == 200]
        early = [o.took for o in outcomes if o.outputs["stage"][0] == 1]
        late = [o.took for o in outcomes if o.outputs["stage"][0] == 3]
        right = sum(int(o.outputs["label"][0]) == self.digits.expected.labels[o.what] for o in outcomes)
        say(
            "digits",
            f"{len(outcomes)} images in {seconds:.1f} s, {100 * right / len(outcomes):.1f} % right\n"
            f"{100 * len(early) / len(outcomes):.1f} % took the early exit: {milliseconds(early)}\n"
            f"the others went on to the larger model: {milliseconds(late)}",
        )

    async def overload(self):
        capacity = await self.reader.capacity(self.to, CAPACITY_S)
        rate = OVERLOAD * capacity
        say("capacity", f"{capacity:.0f} sequences of {traffic.SHORTEST} to {traffic.LONGEST} lines per second")
        await self.reader.at_rate(self.to, "overload", rate, seconds=OVERLOAD_S)
        by_status = collections.defaultdict(list)
        for outcome in self.to.outcomes["overload"]:
            by_status[outcome.status].append(outcome.took)
        in_time = len(by_status[200]) / OVERLOAD_S
        say(
            "overload",
            f"{len(self.to.outcomes['overload'])} requests in {OVERLOAD_S} s, {OVERLOAD} times the capacity\n"
            f"{len(by_status[200])} answered, {100 * in_time / capacity:.0f} % of the capacity: "
            f"{milliseconds(by_status[200])}\n"
            f"{len(by_status[429])} refused with 429, {len(by_status[503])} with 503: "
            f"{milliseconds(by_status[429] + by_status[503])}\n"
            f"{len(by_status[504])} too late for their deadline of {1000 * traffic.DEADLINE_S:.0f} ms",
        )
        return capacity

    async def changes(self, capacity):
        stop = asyncio.Event()
        load = [
            asyncio.create_task(self.digits.until(self.to, stop)),
            asyncio.create_task(self.sessions.until(self.to, stop)),
            asyncio.create_task(self.reader.at_rate(self.to, "background", capacity / 4, stop=stop)),
        ]
        before = self.memory()
        try:
            await asyncio.to_thread(self.open_live_view, self.fleet.replicas["second"])
            await asyncio.sleep(1)
            await self.edit_router()
            await asyncio.sleep(1)
            await self.swap_large()
            await asyncio.sleep(1)
            say(
                "memory",
                f"replicas {self.started} MB at the start, {before} MB after the overload, "
                f"{self.memory()} MB after the changes",
            )
            await self.kill("first")
            await asyncio.sleep(1)
            await asyncio.to_thread(self.look_at_live_view)
            await self.end("second")
            await asyncio.sleep(1)
        finally:
            stop.set()
            await asyncio.gather(*load)

    async def edit_router(self):
        path = self.fleet.models / "router.yaml"
        self.edit.begin = time.monotonic()
        text, edits = re.subn(rf">= {FIRST_THRESHOLD}\b", f">= {LATER_THRESHOLD}", path.read_text())
        assert edits == 1
        part = path.with_suffix(".part")
        part.write_text(text)
        part.rename(path)
        await self.load_everywhere("router")
        self.edit.end = time.monotonic()
        say(
            "edit",
            f"the router lets images out early from {LATER_THRESHOLD} on instead of {FIRST_THRESHOLD}: "
            f"on both replicas after {1000 * (self.edit.end - self.edit.begin):.0f} ms",
        )

    async def swap_large(self):
        await asyncio.to_thread(
            models.save, models.large(LATER_STEPS), self.fleet.models / "large" / "2" / "model.onnx"
        )
        self.swap.begin = time.monotonic()
        await self.load_everywhere("large")
        self.swap.end = time.monotonic()
        say(
            "swap",
            f"version 2 of the larger model, with {LATER_STEPS} steps instead of {FIRST_STEPS}: "
            f"on both replicas after {1000 * (self.swap.end - self.swap.begin):.0f} ms",
        )

    async def load_everywhere(self, model):
        for replica in self.fleet.replicas.values():
            await asyncio.to_thread(replica.load, model)

    async def kill(self, name):
        replica = self.fleet.replicas[name]
        mine = self.sessions_at(name)
        running = self.running_at(name)
        replica.process.send_signal(signal.SIGKILL)
        replica.process.wait()
        killed = time.monotonic()
        await asyncio.sleep(1.5)
        went_on = [i for i in mine if self.went_on(i, name, killed)]
        balancer = await asyncio.to_thread(self.fleet.balancer)
        say(
            "kill -9",
            f"replica {name} dies with {len(mine)} sessions{running}\n"
            f"{len(went_on)} of them went on at the other one with the state from Redis; "
            f"the slowest answer took {self.slowest(killed):.0f} ms\n"
            f"HAProxy gave {int(balancer[name]['wredis'])} requests that {name} did not answer to the other one",
        )
        self.check(len(went_on) == len(mine), f"{len(mine) - len(went_on)} sessions did not go on after kill -9")
        await self.bring_back(name)

    async def end(self, name):
        replica = self.fleet.replicas[name]
        mine = self.sessions_at(name)
        began = time.monotonic()
        replica.process.send_signal(signal.SIGTERM)
        code = await asyncio.to_thread(replica.process.wait, 20)
        took = 1000 * (time.monotonic() - began)
        say("SIGTERM", f"replica {name}, with {len(mine)} sessions, ended with {code} after {took:.0f} ms")
        self.check(code == 0, f"replica {name} ended with {code} after SIGTERM")
        await asyncio.sleep(0.5)
        await self.bring_back(name)

    async def bring_back(self, name):
        began = time.monotonic()
        self.fleet.replicas[name].start()
        await self.fleet.until_up(name)
        say("", f"started again, requests after {1000 * (time.monotonic() - began):.0f} ms")

    def sessions_at(self, name):
        steps = self.sessions.steps
        return [i for i in steps if steps[i] and steps[i][-1][0].replica == name]

    def went_on(self, session, name, since):
        return any(o.status == 200 and o.sent > since and o.replica != name for o, _ in self.sessions.steps[session])

    def slowest(self, since):
        """Returns the longest time in ms of the answers to images and sessions since then."""
        outcomes = self.to.outcomes["digits"] + self.to.outcomes["sessions"]
        return 1000 * max((o.took for o in outcomes if o.sent + o.took > since), default=0)

    def running_at(self, name):
        try:
            return f" and {self.fleet.balancer()[name]['scur']} requests on the way"
        except (OSError, KeyError):
            return ""

    def memory(self):
        return " and ".join(f"{replica.memory():.0f}" for replica in self.fleet.replicas.values())

    # ---- observation ----

    def metrics(self):
        batches, requests, states = 0, 0, 0
        for replica in self.fleet.replicas.values():
            status, text = replica.ask("GET", "/metrics", replica.metrics)
            self.check(status == 200, f"GET /metrics of replica {replica.name} answers {status}")
            for size, count in re.findall(r'^frazil_batches_total\{model="reader".*size="(\d+)"\} (\d+)', text, re.M):
                batches += int(count)
                requests += int(size) * int(count)
            states += sum(map(int, re.findall(r"^frazil_sequences_written_total (\d+)", text, re.M)))
        say(
            "metrics",
            f"since the restarts: {requests} sequences in {batches} runs of the reader, "
            f"{states} states written to Redis",
        )

    def open_live_view(self, replica):
        """Opens the live view in a browser, if the server has the view and a browser is installed."""
        if replica.ask("GET", "/v2/live")[0] != 200:
            return say("live view", "this server has none")
        sys.path.append(str(ROOT / "tests" / "view"))
        import browser

        if not browser.installed():
            return say("live view", "no chromium and chromedriver: scripts/install-deps.sh --demo")
        self.browser = browser.Browser()
        self.browser.open(f"http://127.0.0.1:{replica.http}/v2/live")

    def look_at_live_view(self):
        if self.browser is None:
            return
        shown = self.browser.run("return document.body.textContent")
        said = [text for text in self.browser.messages() if "favicon" not in text]
        self.close()
        missing = [name for name in ("router", "small", "large") if name not in shown]
        self.check(not missing, f"the live view does not show {', '.join(missing)}")
        self.check(not said, f"the live view says on the console: {said[:1]}")
        say("live view", f"a browser showed it under load: {len(shown.split())} words, {len(said)} errors on its console")

    def close(self):
        """Closes the browser if it is still open, for example after an interrupt."""
        page, self.browser = self.browser, None
        if page is not None:
            page.close()

    # ---- checks ----

    def judge(self):
        counts = collections.Counter()
        for kind, outcomes in self.to.outcomes.items():
            for outcome in outcomes:
                self.judge_one(kind, outcome, counts)
        for fault in self.sessions.wrong():
            counts["wrong"] += 1
            self.faults.append(fault)
        moved, back = self.sessions.moves()
        steps = sum(len(s) for s in self.sessions.steps.values())
        say("sessions", f"{steps} steps of {traffic.SESSIONS} sessions; {moved} changed the replica, {back} came back")
        self.check(moved > 0, "no session changed the replica")
        self.say_versions()
        say(
            "in all",
            f"{counts['sent']} requests: {counts['answered']} answered, {counts['refused']} refused, "
            f"{counts['late']} too late for their deadline\n"
            f"{counts['lost']} accepted and lost, {counts['wrong']} wrong",
        )

    def judge_one(self, kind, outcome, counts):
        counts["sent"] += 1
        may_be_refused = kind in ("overload", "background", "capacity")
        if outcome.status == 200:
            counts["answered"] += 1
            if fault := self.fault_of(kind, outcome):
                counts["wrong"] += 1
                self.faults.append(f"{kind}: {fault}")
        elif outcome.status in (429, 503) and may_be_refused:
            counts["refused"] += 1
        elif outcome.status == 504 and may_be_refused:
            counts["late"] += 1
        else:
            counts["lost"] += 1
            self.faults.append(f"{kind}: {outcome.status or ''} {outcome.error}")

    def fault_of(self, kind, outcome):
        if kind == "digits":
            thresholds = self.edit.possible(outcome, FIRST_THRESHOLD, LATER_THRESHOLD)
            return self.digits.wrong(outcome, thresholds, self.swap.possible(outcome, FIRST_STEPS, LATER_STEPS))
        return "" if kind == "sessions" else self.reader.wrong(outcome)

    def say_versions(self):
        answered = [o for o in self.to.outcomes["digits"] if o.status == 200]

        def early(outcomes):
            return f"{100 * sum(o.outputs['stage'][0] == 1 for o in outcomes) / max(1, len(outcomes)):.1f} %"

        before = [o for o in answered if o.sent + o.took < self.edit.begin]
        after = [o for o in answered if o.sent > self.edit.end]
        steps = collections.Counter(int(o.outputs["steps"][0]) for o in answered)
        say(
            "versions",
            f"early exits: {early(before)} of {len(before)} before the edit, {early(after)} of {len(after)} after it\n"
            f"larger model: {steps[FIRST_STEPS]} answers of version 1, {steps[LATER_STEPS]} of version 2; "
            f"none of version 1 after the swap",
        )


def ended(*_):
    raise KeyboardInterrupt


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--frazil", type=pathlib.Path, default=ROOT / "build" / "frazil", help="the command")
    args = parser.parse_args()
    signal.signal(signal.SIGTERM, ended)
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="frazil-demo-") as folder:
        sizes = models.make(pathlib.Path(folder) / "models")
        say("models", ", ".join(f"{name} {size / 1000:.0f} kB" for name, size in sizes.items()) + ", and a router")
        with fleet.Fleet(folder, args.frazil.resolve()) as running:
            started = time.monotonic()
            running.start_all()
            demo = Demo(running)
            say("started", f"Redis, 2 replicas and HAProxy in {time.monotonic() - started:.1f} s")
            try:
                asyncio.run(demo.run())
            finally:
                demo.close()
    for fault, times in collections.Counter(demo.faults).most_common(10):
        print(f"fault: {fault}" + (f" ({times} times)" if times > 1 else ""))
    say("time", f"{time.monotonic() - began:.0f} s, {os.cpu_count()} processors")
    return 1 if demo.faults else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit("ended")
