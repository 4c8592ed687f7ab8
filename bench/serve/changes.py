#!/usr/bin/env python3
"""Models, pipelines and the configuration change while requests come.

    bench/serve/changes.py [BUILD] [--changes N] [--clients N]

A pipeline calls a model two times and multiplies by a constant of its own. In turns the model is swapped, the pipeline
edited, and the configuration changed and read again, N times in all (10,000). Every answer must be the product of one
model's factor, two times, and one pipeline's constant; and path records with one digest, which is of the pipeline and its
models, must have one product. Ends with 1 where that is not so. Needs frazil's Python package.
"""

import argparse
import http.client
import json
import multiprocessing
import pathlib
import statistics
import sys
import tempfile
import time

import frazil
import robust

FACTORS = [2, 3, 5, 7, 11]
CONSTANTS = [13, 17, 19, 23]
ALLOWED = {float(f * f * c) for f in FACTORS for c in CONSTANTS}
PIPELINE = """
inputs: {{x: 'f32[1]'}}
steps:
  - {{name: first, model: factor, inputs: {{x: x}}}}
  - {{name: second, model: factor, inputs: {{x: first.y}}}}
  - {{name: third, model: constant{0}, inputs: {{x: second.y}}}}
outputs: {{y: third.y}}
"""
CONFIG = """
models: {{factor: {{batching: {{max_batch_size: {size}, delay_us: {delay}}}}}}}
tenants:
  - {{name: everybody, keys: [secret], requests_per_second: {rate}, admin: true}}
network: {{model_control: true, tensors: true}}
paths: {{ring: 20000, inputs: true}}
"""
KEY = {"Authorization": "Bearer secret"}


def write(path, text):
    part = path.with_suffix(".part")
    part.write_text(text)
    part.rename(path)


def save(path, factor):
    path.parent.mkdir(exist_ok=True)
    model = frazil.from_text(f"graph g(%x: f32[N]) {{ %y = Mul(%x, f32[] {factor}) return y = %y }}")
    part = path.with_name("part.onnx")
    model.save(part)
    part.rename(path)


def ask(connection, method, path, body=None):
    connection.request(method, path, body, KEY)
    answer = connection.getresponse()
    return answer.status, answer.read()


def client(port, stop, results):
    connection = http.client.HTTPConnection("127.0.0.1", port)
    body = json.dumps({"inputs": [{"name": "x", "datatype": "FP32", "shape": [1], "data": [1]}]})
    count, wrong, times, seen = 0, [], [], set()
    while not stop.is_set():
        begun = time.monotonic()
        status, answer = ask(connection, "POST", "/v2/models/both/infer", body)
        times.append(time.monotonic() - begun)
        count += 1
        value = json.loads(answer)["outputs"][0]["data"][0] if status == 200 else None
        seen.add(value)
        if value not in ALLOWED and len(wrong) < 5:
            wrong.append((status, answer[:300]))
    results.put((count, wrong, statistics.median(times), max(times), seen))


def expect(answer, what):
    status, body = answer
    if status != 200:
        sys.exit(f"{what}: {status} {body[:300]}")


def change(i, folder, config, connection):
    turn, kind = divmod(i, 3)
    if kind == 0:
        save(folder / "factor.onnx", FACTORS[turn % len(FACTORS)])
        expect(ask(connection, "POST", "/v2/repository/models/factor/load", "{}"), "swap of the model")
    elif kind == 1:
        write(folder / "both.yaml", PIPELINE.format(CONSTANTS[turn % len(CONSTANTS)]))
        expect(ask(connection, "POST", "/v2/repository/models/both/load", "{}"), "edit of the pipeline")
    else:
        write(config, CONFIG.format(size=1 + turn % 16, delay=turn % 3 * 100, rate=1_000_000 + turn))
        expect(ask(connection, "POST", "/v2/repository/config/load", "{}"), "change of the configuration")


def judge_paths(connection, products):
    """How many of the last requests are on record, and those whose digest, which is of the pipeline's text and its models,
    had another product before."""
    status, body = ask(connection, "GET", "/v2/paths?model=both&limit=1000")
    assert status == 200, body
    mixed = []
    kept = [path for path in json.loads(body) if path["status"] == 200]
    for path in kept:
        product = str(path["outputs"]["y"])
        if products.setdefault(path["digest"], product) != product:
            mixed.append(path["number"])
    return len(kept), mixed


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", nargs="?", default="build", type=pathlib.Path)
    parser.add_argument("--changes", type=int, default=10_000)
    parser.add_argument("--clients", type=int, default=4)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder, config = pathlib.Path(temporary) / "models", pathlib.Path(temporary) / "config.yaml"
        save(folder / "factor.onnx", FACTORS[0])
        for constant in CONSTANTS:
            save(folder / f"constant{constant}.onnx", constant)
        write(folder / "both.yaml", PIPELINE.format(CONSTANTS[0]))
        write(config, CONFIG.format(size=1, delay=0, rate=1_000_000))
        with robust.Server(options.build.resolve(), folder, "--config", config) as server:
            run(server, folder, config, options)
    sys.exit(bool(robust.failures))


def run(server, folder, config, options):
    stop, results = multiprocessing.Event(), multiprocessing.Queue()
    clients = [
        multiprocessing.Process(target=client, args=(server.http, stop, results)) for _ in range(options.clients)
    ]
    for each in clients:
        each.start()
    connection = http.client.HTTPConnection("127.0.0.1", server.http)
    memory, begun, looked, mixed, products = server.memory(), time.monotonic(), 0, [], {}
    for i in range(options.changes):
        change(i, folder, config, connection)
        if i % 500 == 499:
            kept, found = judge_paths(connection, products)
            looked, mixed = looked + kept, mixed + found
    seconds = time.monotonic() - begun
    stop.set()
    answers = [results.get() for _ in clients]
    for each in clients:
        each.join()
    count = sum(answer[0] for answer in answers)
    wrong = [fault for answer in answers for fault in answer[1]]
    seen = set().union(*(answer[4] for answer in answers))
    robust.row("changes", f"{options.changes} changes in {seconds:.0f} s: answers", count, count > 0)
    robust.row("changes", "answers that are none of what there was", len(wrong), not wrong)
    for fault in wrong:
        print(fault)
    robust.row("changes", "different products among them", len(seen), len(seen) > 1 or options.changes < 100)
    robust.row("changes", f"path records of {len(products)} digests whose product was another", f"{len(mixed)} of {looked}",
               not mixed)
    median, worst = statistics.median(a[2] for a in answers), max(a[3] for a in answers)
    robust.row("changes", "a request took", f"p50 {1e3 * median:.2f} ms, at most {1e3 * worst:.1f} ms")
    robust.row("changes", "memory before and after", f"{memory / 1e6:.0f} and {server.memory() / 1e6:.0f} MB")


if __name__ == "__main__":
    main()
