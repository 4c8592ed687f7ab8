"""The demonstration's requests, their senders, and the checks of their answers."""

import asyncio
import itertools
import random
import time

import client
import models
import numpy as np
import reference

OUTPUTS = ("probabilities", "label", "stage", "steps")
SHORTEST, LONGEST, PREPARED = 32, 256, 48  # lines of the reader's requests, and the number of prepared requests
DEADLINE_S = 1.0  # of the reader's requests
SESSIONS, PAUSE_S = 16, 0.02
CLOSE = {"rtol": 1e-3, "atol": 1e-4}


class Digits:
    """Requests with images, which a pipeline routes."""

    def __init__(self):
        self.expected = reference.Digits()
        self.messages = [client.encoded({"image": image[None]}, OUTPUTS) for image in self.expected.images]

    async def all_once(self, to, connections=4):
        todo = iter(range(len(self.messages)))
        await asyncio.gather(*(self._send(to, todo, asyncio.Event()) for _ in range(connections)))

    async def until(self, to, stop, connections=2):
        shuffled = [random.Random(seed) for seed in range(connections)]
        endless = [(r.randrange(len(self.messages)) for _ in itertools.count()) for r in shuffled]
        await asyncio.gather(*(self._send(to, todo, stop) for todo in endless))

    async def _send(self, to, todo, stop):
        for image in todo:
            if stop.is_set():
                return
            await to.infer("digits", "router", image, self.messages[image])

    def wrong(self, outcome, thresholds, steps):
        """Returns why the answer is impossible with these thresholds and numbers of steps, or an empty text."""
        stage, taken = int(outcome.outputs["stage"][0]), int(outcome.outputs["steps"][0])
        sure = self.expected.sure(outcome.what)
        allowed = {1 if sure >= threshold else 3 for threshold in thresholds}
        if stage not in allowed and min(abs(sure - threshold) for threshold in thresholds) > 1e-5:
            return f"stage {stage} answered image {outcome.what}, of which the small model is {sure:.4f} sure"
        if stage == 3 and taken not in steps:
            return f"a large model of {taken} steps answered"
        expected = self.expected.answers[stage, taken][outcome.what]
        if not np.allclose(outcome.outputs["probabilities"][0], expected, **CLOSE):
            return f"image {outcome.what} has other probabilities than a run in this process"
        return ""


class Reader:
    """Sequences of mixed lengths, one per request, with a deadline."""

    def __init__(self):
        rng = np.random.default_rng(7)
        lengths = rng.integers(SHORTEST, LONGEST + 1, PREPARED)
        lines = rng.standard_normal((PREPARED, LONGEST, models.LINE)).astype(np.float32)
        self.expected = reference.reader(lines, lengths)
        timeout = int(DEADLINE_S * 1e6)
        self.messages = [
            client.encoded({"lines": x[None, :length]}, ("summary",), timeout=timeout)
            for x, length in zip(lines, lengths)
        ]

    async def capacity(self, to, seconds, connections=16):
        """Returns the answers per second with one request in progress on each connection."""
        end = time.monotonic() + seconds

        async def send(at):
            while time.monotonic() < end:
                at = (at + 1) % PREPARED
                await to.infer("capacity", "reader", at, self.messages[at])

        began = time.monotonic()
        await asyncio.gather(*(send(i * PREPARED // connections) for i in range(connections)))
        answered = sum(outcome.status == 200 for outcome in to.outcomes["capacity"])
        return answered / (time.monotonic() - began)

    async def at_rate(self, to, kind, rate, seconds=None, stop=None):
        """Sends requests at random times, without waiting for earlier answers."""
        rng, began = random.Random(3), time.monotonic()
        due, sent = 0.0, []
        while not (stop and stop.is_set()) and (seconds is None or due < seconds):
            await asyncio.sleep(max(0, began + due - time.monotonic()))
            what = rng.randrange(PREPARED)
            sent.append(asyncio.create_task(to.infer(kind, "reader", what, self.messages[what])))
            due += rng.expovariate(rate)
        if sent:
            await asyncio.wait(sent)

    def wrong(self, outcome):
        if np.allclose(outcome.outputs["summary"][0], self.expected[outcome.what], **CLOSE):
            return ""
        return f"sequence {outcome.what} has another summary than NumPy computes"


class Sessions:
    """Clients that send one step after the other."""

    def __init__(self):
        self.told = [np.random.default_rng(100 + i) for i in range(SESSIONS)]
        self.steps = {i: [] for i in range(SESSIONS)}  # (outcome, input)

    async def until(self, to, stop):
        await asyncio.gather(*(self._one(to, i, stop) for i in range(SESSIONS)))

    async def _one(self, to, session, stop):
        for step in itertools.count(1):
            if stop.is_set():
                return
            told = self.told[session].standard_normal((1, models.TOLD)).astype(np.float32)
            message = client.encoded({"told": told, "step": np.array([step], np.int64)}, ("answer", "steps"))
            outcome = await to.infer("sessions", "session", session, message, X_Session_Id=f"client-{session}")
            self.steps[session].append((outcome, told))
            if outcome.status != 200:
                return  # the next request would start another sequence
            await asyncio.sleep(PAUSE_S)

    def wrong(self):
        """Yields a message for each session whose answers differ from NumPy's."""
        for session, steps in self.steps.items():
            computed = reference.Session()
            for number, (outcome, told) in enumerate(steps, 1):
                if outcome.status != 200:
                    break
                expected = computed(told[0].astype(np.float64))
                if outcome.outputs["steps"][0] != number or not np.allclose(
                    outcome.outputs["answer"][0], expected, **CLOSE
                ):
                    yield f"session {session} goes wrong at step {number}"
                    break

    def moves(self):
        """Returns the number of sessions that moved to another replica, and of those that moved again."""
        moved = back = 0
        for steps in self.steps.values():
            replicas = [replica for replica, _ in itertools.groupby(o.replica for o, _ in steps if o.status == 200)]
            moved += len(replicas) > 1
            back += len(replicas) > 2
        return moved, back
