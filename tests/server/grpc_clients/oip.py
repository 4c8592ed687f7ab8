"""Messages of oip.proto as classes of protobuf's Python package, and methods over a grpc channel.

There is no protoc where the tests run, so the few forms of the language that the file uses are read here.
"""
import pathlib
import re

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

FIELD = re.compile(r"(?:(repeated) )?(map<string, (\w+)>|\w+) (\w+) = (\d+);")
METHOD = re.compile(r"rpc (\w+)\((stream )?(\w+)\) returns \((stream )?(\w+)\);")
MESSAGE = re.compile(r"message (\w+) \{((?:[^{}]|\{[^{}]*\})*)\}")
Descriptor = descriptor_pb2.FieldDescriptorProto


def add_field(message, file, repeated, type_name, name, number):
    field = message.field.add(name=name, number=number)
    field.label = Descriptor.LABEL_REPEATED if repeated else Descriptor.LABEL_OPTIONAL
    scalar = getattr(Descriptor, "TYPE_" + type_name.upper(), None)
    if scalar is not None:
        field.type = scalar
    else:
        field.type, field.type_name = Descriptor.TYPE_MESSAGE, f".{file.package}.{type_name}"
    return field


def add_map(message, file, value, name, number):
    entry = message.nested_type.add(name=name.title().replace("_", "") + "Entry")
    entry.options.map_entry = True
    add_field(entry, file, False, "string", "key", 1)
    add_field(entry, file, False, value, "value", 2)
    add_field(message, file, True, f"{message.name}.{entry.name}", name, number)


def add_message(file, name, body):
    message = file.message_type.add(name=name)
    in_oneof = re.search(r"oneof (\w+) \{([^}]*)\}", body)
    if in_oneof:
        message.oneof_decl.add(name=in_oneof[1])
    for repeated, type_name, value, field, number in FIELD.findall(body):
        if value:
            add_map(message, file, value, field, int(number))
            continue
        added = add_field(message, file, repeated, type_name, field, int(number))
        if in_oneof and f" {field} = " in in_oneof[2]:
            added.oneof_index = 0


def read(path):
    text = re.sub(r"//[^\n]*", "", path.read_text())
    file = descriptor_pb2.FileDescriptorProto(name=path.name, package="inference", syntax="proto3")
    for name, body in MESSAGE.findall(text):
        add_message(file, name, body)
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    factory = message_factory.MessageFactory(pool)
    return ({message.name: factory.GetPrototype(pool.FindMessageTypeByName("inference." + message.name))
             for message in file.message_type}, METHOD.findall(text))


MESSAGES, METHODS = read(pathlib.Path(__file__).with_name("oip.proto"))


class Stub:
    """The service's methods as attributes."""

    def __init__(self, channel):
        for name, streams, request, _, response in METHODS:
            make = channel.stream_stream if streams else channel.unary_unary
            setattr(self, name, make("/inference.GRPCInferenceService/" + name,
                                     request_serializer=MESSAGES[request].SerializeToString,
                                     response_deserializer=MESSAGES[response].FromString))


def message(kind, **fields):
    return MESSAGES[kind](**fields)
