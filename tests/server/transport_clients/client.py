"""Talks to a server by TLS as others would, with Python's ssl and grpc: prints what is not as expected.

    client.py HTTP_PORT GRPC_PORT CA CERTIFICATE KEY
"""

import http.client
import json
import ssl
import sys

import grpc

http_port, grpc_port, ca, certificate, key = sys.argv[1:]


def expect(what, found, wanted):
    if found != wanted:
        sys.exit(f"{what}: expected {wanted!r}, found {found!r}")


def over_http():
    context = ssl.create_default_context(cafile=ca)
    context.load_cert_chain(certificate, key)
    connection = http.client.HTTPSConnection("localhost", int(http_port), context=context)
    for _ in range(2):  # on one connection
        body = {"inputs": [{"name": "x", "datatype": "FP32", "shape": [1, 2], "data": [1, 2]}]}
        connection.request("POST", "/v2/models/double/infer", json.dumps(body))
        response = connection.getresponse()
        expect("status", response.status, 200)
        expect("results", json.load(response)["outputs"][0]["data"], [2, 4])
    connection.request("GET", "/v2/live/events?every_ms=100")
    events = connection.getresponse()
    for _ in range(2):
        expect("an event", events.readline()[:7], b"data: {")
        expect("behind it", events.readline(), b"\n")


def over_grpc():
    read = [open(file, "rb").read() for file in (ca, key, certificate)]
    with grpc.secure_channel(f"localhost:{grpc_port}", grpc.ssl_channel_credentials(*read)) as channel:
        plain = lambda message: message
        check = channel.unary_unary("/grpc.health.v1.Health/Check", request_serializer=plain, response_deserializer=plain)
        expect("health", check(b"", timeout=20), b"\x08\x01")


over_http()
over_grpc()
