"""Reads answers in parts as Python's http.client does. Usage: stream.py PORT. Exit 0: all is as expected.

Pipelines: count (adds 1 to x until `to`, emits each as token), breaks (fails above 4).
"""
import http.client
import json
import sys
import threading


class Stream:
    """The events of one answer, as they come."""

    def __init__(self, model, body, connection=None):
        self.connection = connection or http.client.HTTPConnection("127.0.0.1", int(sys.argv[1]), timeout=60)
        self.connection.request("POST", f"/v2/models/{model}/generate_stream", json.dumps(body))
        self.response = self.connection.getresponse()

    def __iter__(self):
        return self

    def __next__(self):
        line = self.response.readline()
        if not line:
            raise StopIteration
        expect(line.startswith(b"data: ") and self.response.readline() == b"\n", True)
        return json.loads(line[6:])


def expect(actual, wanted):
    if actual != wanted:
        raise AssertionError(f"expected {wanted!r}, got {actual!r}")


def reads_to_the_end_and_asks_again():
    connection = None
    for _ in range(3):
        stream = Stream("count", {"x": [0, 1], "to": 5}, connection)
        connection = stream.connection
        expect(stream.response.getheader("content-type"), "text/event-stream")
        events = list(stream)
        expect([event["token"] for event in events[:-1]], [[i, i + 1] for i in range(1, 5)])
        expect([event.get("triton_final_response") for event in events], [None] * 4 + [True])
        expect((events[-1]["y"], events[-1]["count"]), ([4, 5], 4))


def reads_an_error_behind_parts():
    events = list(Stream("breaks", {"x": [3, 3], "to": 9}))
    expect([event.get("token") for event in events], [[4, 4], [5, 5], None])
    expect("error" in events[-1], True)
    expect(Stream("breaks", {"x": [5, 5], "to": 9}).response.status, 400)


def reads_what_does_not_end():
    """Several at a time, of which each comes forward, and which end as the client goes."""
    def read(results, k):
        stream = Stream("count", {"x": [k, k], "to": 1e8})
        results[k] = [next(stream)["token"] for _ in range(100)]
        stream.response.close()
        stream.connection.close()

    results = {}
    threads = [threading.Thread(target=read, args=(results, k)) for k in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    expect(results, {k: [[k + i, k + i] for i in range(1, 101)] for k in range(3)})


failed = 0
for check in (reads_to_the_end_and_asks_again, reads_an_error_behind_parts, reads_what_does_not_end):
    try:
        check()
    except Exception as error:  # pylint: disable=broad-except
        failed += 1
        print(f"{check.__name__}: {type(error).__name__}: {error}", flush=True)
sys.exit(1 if failed else 0)
