"""Speaks to `frazil serve` as Debian's gRPC for Python does. Usage: client.py PORT. Exit 0: all is as expected.

Models: double (y = x + x, f32[N,2]), count (a loop of n rounds), types (one output per datatype), talk (a pipeline that
adds 1 to x until `to`, and emits each value as token).
"""
import struct
import sys
import threading
import time

import grpc
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

from oip import MESSAGES, Stub, message

PORT = sys.argv[1]
SMALL = {"name": "x", "datatype": "FP32", "shape": [1, 2]}
checks = []


def check(f):
    checks.append(f)
    return f


def expect(actual, wanted):
    if actual != wanted:
        raise AssertionError(f"expected {wanted!r}, got {actual!r}")


def infer_request(model="double", values=(1.0, 2.0), **more):
    rows = len(values) // 2
    return message("ModelInferRequest", model_name=model,
                   inputs=[{"name": "x", "datatype": "FP32", "shape": [rows, 2]}],
                   raw_input_contents=[struct.pack(f"<{len(values)}f", *values)], **more)


def count_request(n):
    return message("ModelInferRequest", model_name="count",
                   inputs=[{"name": "n", "datatype": "INT64", "shape": [], "contents": {"int64_contents": [n]}}])


def code_of(call, *arguments, **more):
    try:
        call(*arguments, **more)
    except grpc.RpcError as error:
        return error.code(), error.details()
    return grpc.StatusCode.OK, ""


@check
def tells_of_itself(stub):
    expect(stub.ServerLive(message("Empty")).live, True)
    expect(stub.ServerReady(message("Empty")).ready, True)
    expect(stub.ServerMetadata(message("Empty")).name, "frazil")
    expect(stub.ModelReady(message("ModelRequest", name="double")).ready, True)
    expect(stub.ModelReady(message("ModelRequest", name="none")).ready, False)
    model = stub.ModelMetadata(message("ModelRequest", name="double"))
    expect((model.name, list(model.versions), list(model.inputs[0].shape)), ("double", ["1"], [-1, 2]))
    config = stub.ModelConfig(message("ModelRequest", name="double")).config
    expect((config.name, config.input[0].data_type, config.output[0].name), ("double", 11, "y"))
    index = stub.RepositoryIndex(message("RepositoryIndexRequest"))
    expect({model.name for model in index.models} >= {"double", "count", "types"}, True)


@check
def answers_as_the_health_service(stub):
    call = channel.unary_unary("/grpc.health.v1.Health/Check")
    expect(call(b""), b"\x08\x01")
    expect(code_of(call, b"\x0a\x04none")[0], grpc.StatusCode.NOT_FOUND)


@check
def infers_on_raw_tensors(stub):
    answer = stub.ModelInfer(infer_request(id="seven"))
    expect((answer.model_name, answer.model_version, answer.id), ("double", "1", "seven"))
    expect((answer.outputs[0].name, answer.outputs[0].datatype, list(answer.outputs[0].shape)), ("y", "FP32", [1, 2]))
    expect(struct.unpack("<2f", answer.raw_output_contents[0]), (2.0, 4.0))


@check
def infers_on_typed_contents(stub):
    request = message("ModelInferRequest", model_name="types", inputs=[
        {"name": "b", "datatype": "BOOL", "shape": [1], "contents": {"bool_contents": [True]}},
        {"name": "i", "datatype": "INT8", "shape": [2], "contents": {"int_contents": [-128, 127]}},
        {"name": "u", "datatype": "UINT64", "shape": [1], "contents": {"uint64_contents": [2**64 - 1]}},
        {"name": "d", "datatype": "FP64", "shape": [1], "contents": {"fp64_contents": [0.1]}},
        {"name": "s", "datatype": "BYTES", "shape": [2], "contents": {"bytes_contents": [b"a", b"\xff\x00"]}}])
    for name in ("ob", "oi", "ou", "od", "os"):
        request.outputs.add(name=name)
    expect(code_of(stub.ModelInfer, request)[0], grpc.StatusCode.INVALID_ARGUMENT)  # h is missing
    request.inputs.add(name="h", datatype="FP16", shape=[2]).contents.int_contents.extend([1, 2])
    expect("raw_input_contents" in code_of(stub.ModelInfer, request)[1], True)


@check
def gives_every_datatype_back(stub):
    raw = [b"\x01", b"\x80\x7f", b"\xff" * 8, b"\x00\x3c\x00\xc0", struct.pack("<d", 0.1),
           b"\x01\x00\x00\x00a\x02\x00\x00\x00\xff\x00"]
    kinds = [("b", "BOOL", 1), ("i", "INT8", 2), ("u", "UINT64", 1), ("h", "FP16", 2), ("d", "FP64", 1),
             ("s", "BYTES", 2)]
    answer = stub.ModelInfer(message(
        "ModelInferRequest", model_name="types", raw_input_contents=raw,
        inputs=[{"name": name, "datatype": datatype, "shape": [size]} for name, datatype, size in kinds]))
    expect(list(answer.raw_output_contents), raw)
    expect([output.datatype for output in answer.outputs], [datatype for _, datatype, _ in kinds])


@check
def names_what_is_wrong(stub):
    wrong = infer_request()
    wrong.inputs[0].shape[0] = 2
    expect(code_of(stub.ModelInfer, wrong),
           (grpc.StatusCode.INVALID_ARGUMENT, "input 'x': its shape has 16 bytes, its data have 8"))
    expect(code_of(stub.ModelInfer, infer_request(model="näme %"))[0:2],
           (grpc.StatusCode.NOT_FOUND, "there is no model 'näme %'"))
    expect(code_of(stub.CudaSharedMemoryStatus, message("Empty"))[0], grpc.StatusCode.UNIMPLEMENTED)
    expect(code_of(channel.unary_unary("/other.Service/Method"), b"")[0], grpc.StatusCode.UNIMPLEMENTED)
    expect(code_of(channel.unary_unary("/inference.GRPCInferenceService/ModelInfer"), b"\x0a\xff")[0],
           grpc.StatusCode.INVALID_ARGUMENT)


@check
def carries_large_tensors(stub):
    values = [float(i % 1000) for i in range(1_000_000)]
    answer = stub.ModelInfer(infer_request(values=values))
    expect(struct.unpack("<1000000f", answer.raw_output_contents[0])[-1], 1998.0)


@check
def refuses_what_is_too_large(stub):
    request = message("ModelInferRequest", model_name="double", raw_input_contents=[bytes(65 << 20)])
    expect(code_of(stub.ModelInfer, request)[0], grpc.StatusCode.RESOURCE_EXHAUSTED)
    infers_on_raw_tensors(stub)


@check
def takes_compressed_messages(stub):
    request = infer_request(values=[0.0] * 100_000)
    for compression in (grpc.Compression.Gzip, grpc.Compression.Deflate):
        expect(stub.ModelInfer(request, compression=compression).raw_output_contents, request.raw_input_contents)


@check
def ends_at_the_deadline(stub):
    begun = time.monotonic()
    expect(code_of(stub.ModelInfer, count_request(2_000_000_000), timeout=0.2)[0], grpc.StatusCode.DEADLINE_EXCEEDED)
    slow = count_request(2_000_000_000)
    slow.parameters["timeout"].int64_param = 100_000
    expect(code_of(stub.ModelInfer, slow)[0], grpc.StatusCode.DEADLINE_EXCEEDED)
    expect(time.monotonic() - begun < 5, True)


@check
def ends_runs_of_callers_that_go(stub):
    call = stub.ModelInfer.future(count_request(2_000_000_000))
    time.sleep(0.1)
    call.cancel()
    for _ in range(500):
        statistics = stub.ModelStatistics(message("ModelRequest", name="count")).model_stats[0]
        if statistics.inference_stats.fail.count >= 1:
            return
        time.sleep(0.01)
    raise AssertionError("the run did not end")


@check
def answers_a_stream_in_order(stub):
    requests = [infer_request(id=str(i), values=[float(i), 0.0]) for i in range(100)]
    requests[50].model_name = "none"
    answers = list(stub.ModelStreamInfer(iter(requests)))
    expect([answer.infer_response.id for answer in answers], [str(i) for i in range(100)])
    expect(answers[50].error_message, "there is no model 'none'")
    expect(struct.unpack("<2f", answers[99].infer_response.raw_output_contents[0])[0], 198.0)


@check
def answers_a_stream_while_it_is_open(stub):
    more = threading.Semaphore(0)

    def requests():
        for i in range(3):
            yield infer_request(id=str(i))
            more.acquire()

    seen = []
    for answer in stub.ModelStreamInfer(requests()):
        seen.append(answer.infer_response.id)
        more.release()
    expect(seen, ["0", "1", "2"])


@check
def streams_more_than_a_window(stub):
    values = [1.0] * 500_000
    answers = list(stub.ModelStreamInfer(infer_request(id=str(i), values=values) for i in range(8)))
    expect([answer.infer_response.id for answer in answers], [str(i) for i in range(8)])


def talk_request(to, **more):
    request = infer_request(model="talk", values=(0.0, 1.0), **more)
    request.parameters["to"].int64_param = to
    return request


def said(answer):
    """The id, whether it is the last one, and the outputs with their first values."""
    response = answer.infer_response
    return (response.id, response.parameters["triton_final_response"].bool_param,
            {output.name: struct.unpack("<f", raw[:4])[0] if output.datatype == "FP32" else struct.unpack("<q", raw)[0]
             for output, raw in zip(response.outputs, response.raw_output_contents)})


@check
def answers_in_parts(stub):
    expect(stub.ModelConfig(message("ModelRequest", name="talk")).config.model_transaction_policy.decoupled, True)
    expect([said(answer) for answer in stub.ModelStreamInfer(iter([talk_request(4, id="a")]))],
           [("a", False, {"token": 1.0}), ("a", False, {"token": 2.0}), ("a", False, {"token": 3.0}),
            ("a", True, {"y": 3.0, "count": 3})])
    with_end = talk_request(2, id="b")
    with_end.parameters["triton_enable_empty_final_response"].bool_param = True
    expect([said(answer) for answer in stub.ModelStreamInfer(iter([with_end]))],
           [("b", False, {"token": 1.0}), ("b", False, {"y": 1.0, "count": 1}), ("b", True, {})])
    expect(said(next(stub.ModelStreamInfer(iter([infer_request(id="c")])))), ("c", True, {"y": 2.0}))
    expect(list(stub.ModelInfer(talk_request(2)).parameters), [])


@check
def answers_in_parts_at_the_same_time(stub):
    requests = [talk_request(20 * (i + 1), id=str(i)) for i in range(20)]
    answers = [said(answer) for answer in stub.ModelStreamInfer(iter(requests))]
    for i in range(20):
        expect([outputs.get("token", "end") for name, _, outputs in answers if name == str(i)],
               [float(k) for k in range(1, 20 * (i + 1))] + ["end"])


@check
def ends_answers_of_callers_that_go(stub):
    before = stub.ModelStatistics(message("ModelRequest", name="talk")).model_stats[0].inference_stats.fail.count
    calls = [stub.ModelStreamInfer(iter([talk_request(100_000_000, id=str(i))])) for i in range(2)]
    for call in calls:
        expect([said(next(call))[2]["token"] for _ in range(50)], [float(i) for i in range(1, 51)])
        call.cancel()
    for _ in range(500):
        statistics = stub.ModelStatistics(message("ModelRequest", name="talk")).model_stats[0]
        if statistics.inference_stats.fail.count == before + 2:
            return
        time.sleep(0.01)
    raise AssertionError("the runs did not end")


@check
def describes_its_services(_):
    """What reflection tells is enough to call a model, without any .proto file."""
    files = {name: reflected(name) for name in ("inference.GRPCInferenceService", "grpc.health.v1.Health")}
    expect(sorted(one.name for one in ask_reflection(list_services="").list_services_response.service),
           ["grpc.health.v1.Health", "grpc.reflection.v1.ServerReflection", "grpc.reflection.v1alpha.ServerReflection",
            "inference.GRPCInferenceService"])
    pool = descriptor_pool.DescriptorPool()
    for file in files.values():
        pool.Add(file)
    service = pool.FindServiceByName("inference.GRPCInferenceService")
    method = service.methods_by_name["ModelInfer"]
    factory = message_factory.MessageFactory(pool)
    request = factory.GetPrototype(method.input_type)(
        model_name="double", inputs=[{**SMALL, "contents": {"fp32_contents": [1.5, 2]}}])
    request.parameters["timeout"].int64_param = 1_000_000
    response = channel.unary_unary("/inference.GRPCInferenceService/ModelInfer",
                                   request_serializer=lambda m: m.SerializeToString(),
                                   response_deserializer=factory.GetPrototype(method.output_type).FromString)(request)
    expect((response.outputs[0].name, response.outputs[0].datatype, list(response.outputs[0].shape)),
           ("y", "FP32", [1, 2]))
    expect(response.raw_output_contents[0], struct.pack("<2f", 3, 4))
    for kind in ("InferParameter", "InferTensorContents", "InferStatistics", "StatisticDuration"):
        described = pool.FindMessageTypeByName("inference." + kind).fields
        written = MESSAGES[kind].DESCRIPTOR.fields
        expect([(f.name, f.number, f.type, f.label) for f in described],
               [(f.name, f.number, f.type, f.label) for f in written])
    watch = pool.FindServiceByName("grpc.health.v1.Health").methods_by_name["Watch"]
    health = channel.unary_stream("/grpc.health.v1.Health/Watch",
                                  request_serializer=lambda m: m.SerializeToString(),
                                  response_deserializer=factory.GetPrototype(watch.output_type).FromString)(
        factory.GetPrototype(watch.input_type)())
    expect(next(health).status, watch.output_type.fields_by_name["status"].enum_type.values_by_name["SERVING"].number)
    health.cancel()


def ask_reflection(**asked):
    kinds = reflection_types()
    call = channel.stream_stream("/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
                                 request_serializer=lambda m: m.SerializeToString(),
                                 response_deserializer=kinds["ServerReflectionResponse"].FromString)
    return next(iter(call(iter([kinds["ServerReflectionRequest"](**asked)]))))


def reflected(symbol):
    files = ask_reflection(file_containing_symbol=symbol).file_descriptor_response.file_descriptor_proto
    expect(len(files), 1)
    return descriptor_pb2.FileDescriptorProto.FromString(files[0])


def reflection_types():
    """The few messages of grpc.reflection.v1alpha that a client needs, by their numbers in gRPC's documentation."""
    field = descriptor_pb2.FieldDescriptorProto
    file = descriptor_pb2.FileDescriptorProto(name="test_reflection.proto", package="test.reflection", syntax="proto3")
    rows = {"ServerReflectionRequest": [("file_containing_symbol", 4, field.TYPE_STRING, 1, ""),
                                        ("list_services", 7, field.TYPE_STRING, 1, "")],
            "ServiceResponse": [("name", 1, field.TYPE_STRING, 1, "")],
            "ListServiceResponse": [("service", 1, field.TYPE_MESSAGE, 3, "ServiceResponse")],
            "FileDescriptorResponse": [("file_descriptor_proto", 1, field.TYPE_BYTES, 3, "")],
            "ServerReflectionResponse": [
                ("file_descriptor_response", 4, field.TYPE_MESSAGE, 1, "FileDescriptorResponse"),
                ("list_services_response", 6, field.TYPE_MESSAGE, 1, "ListServiceResponse")]}
    for name, fields in rows.items():
        kind = file.message_type.add(name=name)
        for index, (field_name, number, type_number, label, type_name) in enumerate(fields):
            added = kind.field.add(name=field_name, number=number, type=type_number, label=label)
            if type_name:
                added.type_name = ".test.reflection." + type_name
            if name == "ServerReflectionRequest":
                if index == 0:
                    kind.oneof_decl.add(name="message_request")
                added.oneof_index = 0
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    factory = message_factory.MessageFactory(pool)
    return {name: factory.GetPrototype(pool.FindMessageTypeByName("test.reflection." + name)) for name in rows}


@check
def answers_many_calls_at_once(stub):
    calls = [stub.ModelInfer.future(infer_request(id=str(i))) for i in range(200)]
    expect([call.result().id for call in calls], [str(i) for i in range(200)])


channel = grpc.insecure_channel(f"127.0.0.1:{PORT}", options=[("grpc.max_receive_message_length", -1),
                                                              ("grpc.max_send_message_length", -1)])
failed = 0
for f in checks:
    try:
        f(Stub(channel))
    except Exception as error:  # pylint: disable=broad-except
        failed += 1
        print(f"{f.__name__}: {type(error).__name__}: {error}", flush=True)
sys.exit(1 if failed else 0)
