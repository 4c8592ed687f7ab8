"""Talks to a server by TLS and with gzip as others would, by Python's ssl, gzip and grpc: prints what is not as expected.

    client.py HTTP_PORT GRPC_PORT CA CERTIFICATE KEY
"""

import gzip
import http.client
import json
import pathlib
import ssl
import struct
import sys

import grpc

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "grpc_clients"))
from oip import Stub, message  # noqa: E402

http_port, grpc_port, ca, certificate, key = sys.argv[1:]


def expect(what, found, wanted):
    if found != wanted:
        sys.exit(f"{what}: expected {wanted!r}, found {found!r}")


def over_http():
    context = ssl.create_default_context(cafile=ca)
    context.load_cert_chain(certificate, key)
    connection = http.client.HTTPSConnection("localhost", int(http_port), context=context)
    count = 10_000
    body = {"inputs": [{"name": "x", "datatype": "FP32", "shape": [count // 2, 2], "data": list(range(count))}]}
    for coding in ("identity", "gzip", "identity"):  # on one connection
        sent = json.dumps(body).encode()
        headers = {"Content-Encoding": coding, "Accept-Encoding": coding}
        connection.request("POST", "/v2/models/double/infer", gzip.compress(sent) if coding == "gzip" else sent, headers)
        response = connection.getresponse()
        expect("status", response.status, 200)
        expect("coding", response.getheader("Content-Encoding", "identity"), coding)
        received = response.read()
        results = json.loads(gzip.decompress(received) if coding == "gzip" else received)
        expect("results", results["outputs"][0]["data"], [2 * x for x in range(count)])
    connection.request("GET", "/v2/live/events?every_ms=100")
    events = connection.getresponse()
    for _ in range(2):
        expect("an event", events.readline()[:7], b"data: {")
        expect("behind it", events.readline(), b"\n")


def over_grpc():
    read = [open(file, "rb").read() for file in (ca, key, certificate)]
    values = range(10_000)
    request = message("ModelInferRequest", model_name="double",
                      inputs=[{"name": "x", "datatype": "FP32", "shape": [len(values) // 2, 2]}],
                      raw_input_contents=[struct.pack(f"<{len(values)}f", *values)])
    for compression in grpc.Compression:
        with grpc.secure_channel(f"localhost:{grpc_port}", grpc.ssl_channel_credentials(*read),
                                 compression=compression) as channel:
            results = Stub(channel).ModelInfer(request, timeout=20).raw_output_contents[0]
            expect(f"results with {compression}", struct.unpack(f"<{len(values)}f", results), tuple(2 * x for x in values))


over_http()
over_grpc()
