"""A client of the Open Inference Protocol over HTTP/1.1, which records the outcome of each request."""

import asyncio
import collections
import dataclasses
import json
import time

import numpy as np

DATATYPES = {"float32": "FP32", "int32": "INT32", "int64": "INT64"}
DTYPES = {name: dtype for dtype, name in DATATYPES.items()}


def encoded(inputs, outputs, **parameters):
    """Returns the body of a request with binary tensors, and the size of its JSON."""
    described = [
        {
            "name": name,
            "shape": array.shape,
            "datatype": DATATYPES[str(array.dtype)],
            "parameters": {"binary_data_size": array.nbytes},
        }
        for name, array in inputs.items()
    ]
    request = {
        "parameters": {"binary_data_output": True, **parameters},
        "inputs": described,
        "outputs": [{"name": name} for name in outputs],
    }
    head = json.dumps(request).encode()
    return head + b"".join(array.tobytes() for array in inputs.values()), len(head)


def decoded(headers, body):
    """Returns the version that answered, and its outputs."""
    size = int(headers["inference-header-content-length"])
    reply, outputs, at = json.loads(body[:size]), {}, size
    for output in reply["outputs"]:
        end = at + output["parameters"]["binary_data_size"]
        values = np.frombuffer(body[at:end], DTYPES[output["datatype"]])
        outputs[output["name"]], at = values.reshape(output["shape"]), end
    return reply["model_version"], outputs


@dataclasses.dataclass
class Outcome:
    """The outcome of a request. Status 0: there was no answer."""

    kind: str
    what: int  # index of the prepared input
    sent: float
    took: float = 0
    status: int = 0
    version: str = ""
    outputs: dict = dataclasses.field(default_factory=dict)
    replica: str = ""
    error: str = ""


class Client:
    """Keeps connections to one address open, as many as there are concurrent requests."""

    def __init__(self, port):
        self.port = port
        self.idle = []
        self.outcomes = collections.defaultdict(list)

    async def ask(self, method, path, body=b"", **headers):
        """Returns status, headers and body. Raises OSError or asyncio.IncompleteReadError without an answer."""
        connection = self.idle.pop() if self.idle else await asyncio.open_connection("127.0.0.1", self.port)
        reader, writer = connection
        try:
            lines = [f"{method} {path} HTTP/1.1", "Host: demo", f"Content-Length: {len(body)}"]
            lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
            writer.write("\r\n".join([*lines, "\r\n"]).encode() + body)
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
            fields = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:])}
            answer = await reader.readexactly(int(fields.get("content-length", 0)))
        except BaseException:
            writer.close()
            raise
        if fields.get("connection", "").lower() == "close":
            writer.close()
        else:
            self.idle.append(connection)
        return int(head[0].split()[1]), fields, answer

    async def infer(self, kind, model, what, message, **headers):
        """Sends a prepared request and records its outcome."""
        body, json_size = message
        outcome = Outcome(kind, what, time.monotonic())
        try:
            async with asyncio.timeout(30):
                outcome.status, fields, answer = await self.ask(
                    "POST",
                    f"/v2/models/{model}/infer",
                    body,
                    Content_Type="application/octet-stream",
                    Inference_Header_Content_Length=json_size,
                    **headers,
                )
            outcome.replica = fields.get("x-served-by", "")
            if outcome.status == 200:
                outcome.version, outcome.outputs = decoded(fields, answer)
            else:
                outcome.error = answer.decode(errors="replace").strip()[:200]
        except (OSError, EOFError, TimeoutError) as error:
            outcome.error = f"no answer: {type(error).__name__} {error}".strip()
        outcome.took = time.monotonic() - outcome.sent
        self.outcomes[kind].append(outcome)
        return outcome

    def close(self):
        for _, writer in self.idle:
            writer.close()
        self.idle.clear()
