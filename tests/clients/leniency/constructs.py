"""Graphs that are odd: names, types, control flow, functions, sequences, and the inputs of a run."""

from collections.abc import Iterator

import numpy as np
from onnx import ModelProto, TensorProto, helper

from building import (BOOL, F32, F64, I32, I64, counting, f32, graph, i64, info, initializer, model, node, scalar,
                      untyped)
from records import Case

X = counting(2, 3)
FLOAT, INT64, STRING = TensorProto.FLOAT, TensorProto.INT64, TensorProto.STRING


def relu(inputs=("x",), outputs=("y",), name=""):
    return node("Relu", inputs, outputs, name=name)


def simple(nodes, inputs=None, outputs=("y",), initializers=(), **more) -> ModelProto:
    """A model whose input x is X, unless inputs are given."""
    return model(graph(nodes, [info("x", X)] if inputs is None else inputs, outputs, initializers), **more)


# ---- names, inputs and outputs ----

def names() -> Iterator[Case]:
    x = {"x": X}
    w = initializer("w", f32(1, 2, 3))
    add = node("Add", ["x", "w"], ["y"])
    yield Case("no names", model(graph([relu()], [info("x", X)], ["y"], name="")), x)
    yield Case("equal node names", simple([relu(name="a"), relu(["y"], ["z"], name="a")], outputs=["z"]), x)
    yield Case("odd names", simple([relu(["x"], ["a/b:0 \t\"'{}%"], name="\n")], outputs=["a/b:0 \t\"'{}%"]), x)
    yield Case("output is input", simple([relu()], outputs=["y", "x"]), x)
    yield Case("output is only input", simple([], outputs=["x"]), x)
    yield Case("output is typed input", simple([], outputs=[info("x", X)]), x)
    yield Case("output is initializer", simple([relu()], outputs=["y", "w"], initializers=[w]), x)
    yield Case("output is a constant node",
               simple([node("Constant", [], ["y"], value=initializer("v", f32(1, 2)))], inputs=[]), {})
    yield Case("no inputs", simple([relu(["w"])], inputs=[], initializers=[w]), {})
    yield Case("no nodes, an initializer", simple([], inputs=[], outputs=["w"], initializers=[w]), {})
    yield Case("no outputs", simple([relu()], outputs=[]), x)
    yield Case("output twice", simple([relu()], outputs=["y", "y"]), x, ("y",))
    yield Case("output undefined", simple([relu()], outputs=["y", "z"]), x)
    yield Case("value defined twice", simple([relu(), node("Neg", ["x"], ["y"])]), x)
    yield Case("input defined by a node", simple([relu(["x"], ["x"])], outputs=["x"]), x)
    yield Case("input twice", simple([relu()], inputs=[info("x", X), info("x", X)]), x)
    yield Case("initializer twice", simple([add], initializers=[w, initializer("w", f32(7, 8, 9))]), x)
    yield Case("initializer defined by a node", simple([add, relu(["x"], ["w"])], initializers=[w]), x)
    yield Case("input without a type", simple([relu()], inputs=["x"]), x)
    yield Case("input without an element type", simple([relu()], inputs=[info("x", shape=(2, 3), element=0)]), x)
    yield Case("input without a name", simple([relu()], inputs=[info("x", X), info("", X)]), x)
    yield Case("unused input", simple([relu()], inputs=[info("x", X), info("u", X)]), x)
    yield Case("unused input given", simple([relu()], inputs=[info("x", X), info("u", X)]), {"x": X, "u": X})
    yield Case("unused undefined value", simple([relu(), node("Neg", ["nothing"], ["z"])]), x)
    yield Case("unsorted nodes", simple([node("Neg", ["t"], ["y"]), relu(["x"], ["t"])]), x)
    yield Case("cycle", simple([node("Add", ["x", "z"], ["y"]), node("Neg", ["y"], ["z"])]), x)
    yield Case("node without outputs", simple([relu(), node("Neg", ["x"], [])]), x)
    yield Case("node with an empty output", simple([relu(), node("Neg", ["x"], [""])]), x)
    yield Case("node without an operator", simple([relu(), node("", ["x"], ["z"])]), x)
    yield Case("unknown operator unused", simple([relu(), node("NoSuch", ["x"], ["z"])]), x)
    yield Case("unknown domain unused", simple([relu(), node("NoSuch", ["x"], ["z"], domain="a.b")]), x)
    yield Case("domain ai.onnx", simple([node("Relu", ["x"], ["y"], domain="ai.onnx")]), x)
    yield Case("constant unused and odd", simple([relu(), node("Constant", [], ["c"])]), x)
    yield Case("fetch an inner value", simple([relu(["x"], ["t"]), node("Neg", ["t"], ["y"])]), x, ("t",))
    yield Case("fetch twice", simple([relu()]), x, ("y", "y"))
    yield Case("fetch an input", simple([relu()]), x, ("x",))
    yield Case("fetch nothing known", simple([relu()]), x, ("nothing",))
    for ir in range(1, 14):
        yield Case(f"ir {ir}/initializer", simple([add], initializers=[w], ir=ir), x)
        both = simple([add], [info("x", X), info("w", f32(1, 2, 3))], initializers=[w], ir=ir)
        yield Case(f"ir {ir}/listed initializer", both, x)
        yield Case(f"ir {ir}/overridden initializer", both, {"x": X, "w": f32(7, 8, 9)})
    shapes = {"rank": info("w", shape=(1, 3)), "extent": info("w", shape=(4,)),
              "type": info("w", shape=(3,), element=INT64),
              "symbol": info("w", shape=("n",)), "no shape": info("w", shape=None), "nothing": untyped("w")}
    for kind, declared in shapes.items():
        for ir in (3, 8):
            yield Case(f"ir {ir}/initializer listed with other {kind}",
                       simple([add], [info("x", X), declared], initializers=[w], ir=ir), x)
    for element in (TensorProto.COMPLEX64, TensorProto.BFLOAT16, TensorProto.STRING):
        unused = helper.make_tensor("u", element, [1], [b"s"] if element == STRING else [1])
        yield Case(f"unused initializer of type {element}", simple([relu()], initializers=[unused]), x)


# ---- declared types ----

def types() -> Iterator[Case]:
    x = {"x": X}
    outputs = {"no type": untyped("y"), "no shape": info("y", shape=None), "rank": info("y", shape=(2, 3, 1)),
               "rank 0": info("y", shape=()), "extent": info("y", shape=(2, 4)), "symbol": info("y", shape=("a", "a")),
               "element": info("y", shape=(2, 3), element=INT64),
               "undefined element": info("y", shape=(2, 3), element=0),
               "negative": info("y", shape=(-1, -1)), "zero": info("y", shape=(0, 0)),
               "sequence": helper.make_tensor_sequence_value_info("y", FLOAT, None)}
    for kind, declared in outputs.items():
        yield Case(f"output declared with other {kind}", simple([relu()], outputs=[declared]), x)
        inner = graph([relu(["x"], ["t"]), node("Neg", ["t"], ["z"])], [info("x", X)], ["z"])
        declared.name = "t"
        inner.value_info.append(declared)
        yield Case(f"value_info with other {kind}", model(inner), x)
    stray = graph([relu()], [info("x", X)], ["y"])
    stray.value_info.append(info("nothing", X))
    stray.value_info.append(info("y", X))
    stray.value_info.append(info("y", f32(1)))
    yield Case("value_info of unknown and repeated names", model(stray), x)
    symbols = ["", "?", "-1", "unk__1", "N*2", "a b", "2", "batch size", "é", "None", "x" * 200, "floor(N/2)", "0"]
    for symbol in symbols:
        yield Case(f"extent named {symbol[:12]!r}", simple([relu()], [info("x", shape=(symbol, symbol))]), x)
    for shape in ((0, 3), (-1, 3), (-2, -2), (-1, -1), ("N", 0)):
        yield Case(f"input of {shape}", simple([relu()], [info("x", shape=shape)]), x)
    yield Case("input of open rank", simple([relu()], [info("x", shape=None)]), x)
    shapes = {"other extent": (5, 3), "other rank": (6,), "rank 0": (), "zero extent": (0, 3), "higher rank": (1, 2, 3)}
    for kind, shape in shapes.items():
        data = {"x": np.ones(shape, F32)}
        yield Case(f"run with {kind}", simple([relu()]), data)
        yield Case(f"run with {kind}, open", simple([relu()], [info("x", shape=("a", "b"))]), data)
        yield Case(f"run with {kind}, half open", simple([relu()], [info("x", shape=("a", 3))]), data)
        yield Case(f"run with {kind}, no rank", simple([relu()], [info("x", shape=None)]), data)
        yield Case(f"run with {kind}, declared as scalar", simple([relu()], [info("x", shape=())]), data)
    for dtype in (F64, I64, np.float16):
        yield Case(f"run with {np.dtype(dtype)}", simple([relu()]), {"x": X.astype(dtype)})
    yield Case("run without an input", simple([relu()]), {})
    yield Case("run with an unknown input", simple([relu()]), {"x": X, "u": X})
    ab = [info("a", shape=("N",)), info("b", shape=("N",))]
    data = {"a": f32(1, 2), "b": f32(1, 2, 3)}
    yield Case("equal names, other extents", simple([node("Concat", ["a", "b"], ["y"], axis=0)], ab), data)
    yield Case("equal names, 1", simple([node("Add", ["a", "b"], ["y"])], ab), {"a": f32(1), "b": f32(1, 2, 3)})
    declared = [info("y", shape=("N",))]
    yield Case("output has another extent than its name",
               simple([node("Concat", ["a", "a"], ["y"], axis=0)], ab[:1], declared),
               {"a": f32(1, 2)})
    fixed = simple([node("Concat", ["a", "a"], ["y"], axis=0)], ab[:1], [info("y", shape=(3,))])
    yield Case("output has another extent than its number", fixed, {"a": f32(1, 2)})


# ---- If ----

def branch(op: str, value: str, output: str, declared=None):
    return graph([node(op, [value], [output])], [], [declared or output], name=op)


def if_model(condition: np.ndarray, then, otherwise, outputs=("y",), opset: int = 17,
             inputs=None) -> tuple[ModelProto, dict]:
    made = node("If", ["c"], outputs, then_branch=then, else_branch=otherwise)
    ports = [info("c", condition), info("x", X)] if inputs is None else inputs
    return model(graph([made], ports, outputs), opset), {"c": condition, "x": X}


def ifs() -> Iterator[Case]:
    for kind, condition in {"[]": np.array(True), "[1]": np.array([True]), "[1,1]": np.array([[False]]),
                            "[2]": np.array([True, False]), "[0]": np.zeros(0, BOOL), "int": i64(1),
                            "float": f32(1)}.items():
        yield Case(f"If/condition {kind}", *if_model(condition, branch("Neg", "x", "a"), branch("Abs", "x", "b")))
    true = np.array(True)
    outer = graph([], [], ["x"], name="then")
    yield Case("If/output is an outer value", *if_model(true, outer, branch("Abs", "x", "b")))
    yield Case("If/output is a typed outer value",
               *if_model(true, graph([], [], [info("x", X)]), branch("Abs", "x", "b")))
    constant = graph([], [], ["w"], [initializer("w", X)], name="then")
    yield Case("If/output is an initializer", *if_model(true, constant, branch("Abs", "x", "b")))
    yield Case("If/shadows an outer name", *if_model(true, branch("Neg", "x", "x"), branch("Abs", "x", "b")))
    yield Case("If/initializer shadows an outer name",
               *if_model(true, graph([relu(["x"], ["a"])], [], ["a"], [initializer("x", f32(-1, 1))]),
                         branch("Abs", "x", "b")))
    yield Case("If/equal names in the branches", *if_model(true, branch("Neg", "x", "y"), branch("Abs", "x", "y")))
    yield Case("If/branch has an input",
               *if_model(true, graph([relu(["q"], ["a"])], [info("q", X)], ["a"]), branch("Abs", "x", "b")))
    yield Case("If/ranks differ", *if_model(true, branch("Neg", "x", "a"), branch("Flatten", "c", "b")))
    flat = graph([node("Flatten", ["x"], ["b"], axis=0)], [], ["b"])
    yield Case("If/extents differ", *if_model(np.array(False), branch("Neg", "x", "a"), flat))
    to_int = graph([node("Cast", ["x"], ["b"], to=7)], [], ["b"])
    yield Case("If/types differ", *if_model(true, branch("Neg", "x", "a"), to_int))
    wrong = branch("Neg", "x", "a", info("a", shape=(7,)))
    yield Case("If/branch declares another shape", *if_model(true, wrong, branch("Abs", "x", "b")))
    wrong = branch("Neg", "x", "a", info("a", shape=(2, 3), element=INT64))
    yield Case("If/branch declares another type", *if_model(true, wrong, branch("Abs", "x", "b")))
    more = graph([node("Neg", ["x"], ["a"])], [], ["a", "x"])
    yield Case("If/more outputs than the node", *if_model(true, more, more))
    yield Case("If/other count of outputs", *if_model(true, more, branch("Abs", "x", "b")))
    yield Case("If/branch unknown operator unused",
               *if_model(true, branch("Neg", "x", "a"), branch("NoSuch", "x", "b")))
    yield Case("If/constant condition, other branch wrong", model(graph(
        [node("If", ["c"], ["y"], then_branch=branch("Neg", "x", "a"),
              else_branch=graph([node("MatMul", ["x", "x"], ["b"])], [], ["b"]))],
        [info("x", X)], ["y"], [initializer("c", np.array(True))])), {"x": X})
    empty = graph([node("Identity", ["x"], ["a"])], [], ["a"], name="")
    yield Case("If/no name of the branch", *if_model(true, empty, branch("Abs", "x", "b")))
    yield Case("If/opset 1", *if_model(true, branch("Neg", "x", "a"), branch("Abs", "x", "b"), opset=1))
    squeezed = graph([node("Squeeze", ["x"], ["a"])], [], ["a"])
    yield Case("If/squeeze", *if_model(true, squeezed, branch("Identity", "x", "b")))


# ---- Loop and Scan ----

def loop_body(iteration=None, condition=None, state=None, outputs=None, nodes=None):
    return graph(nodes or [node("Identity", ["k"], ["k_out"]), node("Add", ["s", "one"], ["s_out"])],
                 [iteration or info("i", scalar(0)), condition or info("k", np.array(True)),
                  state or info("s", f32(0))],
                 outputs or ["k_out", "s_out"], [initializer("one", f32(1))], name="body")


def loop(inputs: dict, wired, body=None, outputs=("y",), **more) -> tuple[ModelProto, dict]:
    made = node("Loop", wired, outputs, body=body or loop_body())
    return model(graph([made], [info(n, a) for n, a in inputs.items()], outputs), **more), inputs


def loops() -> Iterator[Case]:
    start = {"s0": f32(1)}
    trips = {"[]": scalar(3), "[1]": i64(3), "int32": scalar(3, I32), "[0]": np.zeros(0, I64),
             "[1,1]": i64(3).reshape(1, 1),
             "negative": scalar(-3), "0": scalar(0)}
    for kind, trip in trips.items():
        yield Case(f"Loop/trip count {kind}", *loop({"m": trip, **start}, ["m", "", "s0"]))
    for kind, c in {"[]": np.array(True), "[1]": np.array([True]), "false": np.array(False), "int": scalar(1)}.items():
        yield Case(f"Loop/condition {kind}", *loop({"m": scalar(3), "c": c, **start}, ["m", "c", "s0"]))
    until = [node("Less", ["s", "three"], ["k_out"]), node("Add", ["s", "one"], ["s_out"])]
    limited = graph(until, [info("i", scalar(0)), info("k", np.array(True)), info("s", f32(0))], ["k_out", "s_out"],
                    [initializer("one", f32(1)), initializer("three", f32(3))], name="body")
    yield Case("Loop/no trip count, condition [1] of the body", *loop(start, ["", "", "s0"], limited))
    yield Case("Loop/no inputs but the state", *loop({"c": np.array(True), **start}, ["", "c", "s0"], limited))
    bodies = {
        "iteration [1]": loop_body(iteration=info("i", i64(0))),
        "iteration int32": loop_body(iteration=info("i", scalar(0, I32))),
        "iteration untyped": loop_body(iteration=untyped("i")),
        "condition [1]": loop_body(condition=info("k", np.array([True]))),
        "condition untyped": loop_body(condition=untyped("k")),
        "state untyped": loop_body(state=untyped("s")),
        "state rank 0": loop_body(state=info("s", shape=())),
        "state of another extent": loop_body(state=info("s", shape=(5,))),
        "state of another rank": loop_body(state=info("s", shape=(1, 1))),
        "state of another type": loop_body(state=info("s", shape=(1,), element=INT64)),
        "output of another shape": loop_body(outputs=[info("k_out", np.array(True)), info("s_out", shape=(7,))]),
        "output of another type": loop_body(outputs=[info("k_out", np.array(True)),
                                                     info("s_out", shape=(1,), element=INT64)]),
        "condition is passed through": loop_body(nodes=[node("Add", ["s", "one"], ["s_out"])], outputs=["k", "s_out"]),
        "state is passed through": loop_body(nodes=[node("Identity", ["k"], ["k_out"])], outputs=["k_out", "s"]),
        "scan output": loop_body(outputs=["k_out", "s_out", "s_out"]),
        "scan output is the iteration": loop_body(outputs=["k_out", "s_out", "i"]),
        "scan output is an initializer": loop_body(outputs=["k_out", "s_out", "one"]),
        "outer name is shadowed": loop_body(state=info("s0", f32(0)),
                                            nodes=[node("Identity", ["k"], ["k_out"]),
                                                   node("Add", ["s0", "one"], ["s_out"])]),
        "outer value in a body": loop_body(nodes=[node("Identity", ["k"], ["k_out"]),
                                                  node("Add", ["s", "s0"], ["s_out"])]),
        "growing state": loop_body(nodes=[node("Identity", ["k"], ["k_out"]),
                                          node("Concat", ["s", "one"], ["s_out"], axis=0)]),
        "growing state of open extent": loop_body(
            state=info("s", shape=("n",)),
            nodes=[node("Identity", ["k"], ["k_out"]), node("Concat", ["s", "one"], ["s_out"], axis=0)]),
    }
    for kind, body in bodies.items():
        outputs = ["y", "z"] if "scan" in kind else ["y"]
        yield Case(f"Loop/body: {kind}", *loop({"m": scalar(3), **start}, ["m", "", "s0"], body, outputs))
        if "scan" in kind:
            yield Case(f"Loop/body: {kind}, no iteration",
                       *loop({"m": scalar(0), **start}, ["m", "", "s0"], body, outputs))
    yield Case("Loop/fewer inputs than the body", *loop({"m": scalar(3)}, ["m"]))
    yield Case("Loop/trailing empty input", *loop({"m": scalar(3), **start}, ["m", "", "s0", ""]))
    yield Case("Loop/more outputs than the body", *loop({"m": scalar(3), **start}, ["m", "", "s0"], None, ["y", "z"]))
    yield Case("Loop/opset 1", *loop({"m": scalar(3), "c": np.array(True), **start}, ["m", "c", "s0"], opset=1))
    yield from scans()


def scans() -> Iterator[Case]:
    data = {"s0": f32(0, 0, 0), "x": X}

    def scan(body, outputs=("y", "z"), **attributes):
        made = node("Scan", ["s0", "x"], outputs, body=body, num_scan_inputs=1, **attributes)
        return model(graph([made], [info(n, a) for n, a in data.items()], outputs)), data

    def body(state=info("s", shape=(3,)), row=info("r", shape=(3,)), outputs=("t", "u")):
        return graph([node("Add", ["s", "r"], ["t"]), node("Neg", ["t"], ["u"])], [state, row], outputs, name="body")

    bodies = {"plain": body(), "untyped": body(untyped("s"), untyped("r")),
              "other extents": body(info("s", shape=(5,)), info("r", shape=(5,))),
              "other rank": body(info("s", shape=(1, 3)), info("r", shape=(1, 3))),
              "other type": body(info("s", shape=(3,), element=INT64), info("r", shape=(3,), element=INT64)),
              "whole input declared": body(row=info("r", shape=(2, 3))),
              "outputs of other shapes": body(outputs=[info("t", shape=(9,)), info("u", shape=(9,))]),
              "input passed through": body(outputs=["s", "r"])}
    for kind, made in bodies.items():
        yield Case(f"Scan/body: {kind}", *scan(made))
    yield Case("Scan/directions", *scan(body(), scan_input_directions=[1], scan_output_directions=[1]))
    yield Case("Scan/directions short", *scan(body(), scan_input_directions=[]))
    yield Case("Scan/axis 1", *scan(body(info("s", shape=None), info("r", shape=None)), scan_input_axes=[0]))
    yield Case("Scan/axis -2", *scan(body(), scan_input_axes=[-2], scan_output_axes=[-1]))


# ---- functions ----

def function_model(function_nodes, opsets=(("", 17),), inputs=("a",), outputs=("b",), attributes=(), used=("x",),
                   given=None,
                   imports=("local",), **fields):
    made = helper.make_function("local", "F", list(inputs), list(outputs), list(function_nodes),
                                [helper.make_opsetid(d, v) for d, v in opsets], list(attributes))
    call = node("F", used, ["y"], domain="local", **(given or {}))
    return model(graph([call], [info("x", X)], ["y"]), domains=imports, functions=[made], **fields), {"x": X}


def functions() -> Iterator[Case]:
    neg = [node("Neg", ["a"], ["b"])]
    yield Case("function", *function_model(neg))
    yield Case("function/no opset import", *function_model(neg, opsets=()))
    yield Case("function/other opset", *function_model(neg, opsets=(("", 13),)))
    yield Case("function/newer opset", *function_model(neg, opsets=(("", 20),)))
    yield Case("function/domain not imported by the model", *function_model(neg, imports=()))
    yield Case("function/domain imported by itself", *function_model(neg, opsets=(("", 17), ("local", 1))))
    yield Case("function/fewer arguments", *function_model([node("Clip", ["a", "l"], ["b"])], inputs=("a", "l")))
    yield Case("function/empty argument",
               *function_model([node("Clip", ["a", "l"], ["b"])], inputs=("a", "l"), used=("x", "")))
    yield Case("function/more arguments", *function_model(neg, used=("x", "x")))
    yield Case("function/output is an input", *function_model([], outputs=("a",)))
    leaky = node("LeakyRelu", ["a"], ["b"])
    reference = leaky.attribute.add()
    reference.name, reference.ref_attr_name, reference.type = "alpha", "slope", 1
    yield Case("function/attribute", *function_model([leaky], attributes=("slope",), given={"slope": 0.5}))
    yield Case("function/attribute not given", *function_model([leaky], attributes=("slope",)))
    yield Case("function/attribute unknown", *function_model(neg, given={"slope": 0.5}))
    yield Case("function/attribute undeclared", *function_model([leaky], given={"slope": 0.5}))
    yield Case("function/input unused",
               *function_model([node("Neg", ["a"], ["b"])], inputs=("a", "u"), used=("x", "x")))
    yield Case("function/ir 7", *function_model(neg, ir=7))
    yield Case("function/recursive", *function_model([node("F", ["a"], ["b"], domain="local")],
                                                     opsets=(("", 17), ("local", 1))))
    twice, data = function_model(neg)
    twice.functions.add().CopyFrom(function_model([node("Exp", ["a"], ["b"])])[0].functions[0])
    yield Case("function/twice", twice, data)
    unused, data = function_model([node("NoSuch", ["a"], ["b"])])
    unused.graph.node[0].CopyFrom(relu())
    yield Case("function/unused and unknown", unused, data)
    builtin = helper.make_function("", "Relu", ["a"], ["b"], [node("Neg", ["a"], ["b"])], [helper.make_opsetid("", 17)],
                                   [])
    yield Case("function/named like an operator", model(graph([relu()], [info("x", X)], ["y"]), functions=[builtin]),
               {"x": X})
    for name, arguments in {"Gelu": ["x"], "BiasGelu": ["x", "x"], "NoSuchOperator": ["x"]}.items():
        inputs = ["a", "c"][:len(arguments)]
        made = helper.make_function("com.microsoft", name, inputs, ["b"], neg, [helper.make_opsetid("", 17)], [])
        call = node(name, arguments, ["y"], domain="com.microsoft")
        yield Case(f"function/com.microsoft.{name}",
                   model(graph([call], [info("x", X)], ["y"]), domains=["com.microsoft"], functions=[made]), {"x": X})


# ---- sequences and optionals ----

def sequences() -> Iterator[Case]:
    make = node("SequenceConstruct", ["x", "x"], ["s"])
    for kind, position in {"[]": scalar(1), "[1]": i64(1), "int32": scalar(1, I32), "negative": scalar(-1),
                           "beyond": scalar(2)}.items():
        made = simple([make, node("SequenceAt", ["s", "p"], ["y"])], [info("x", X), info("p", position)])
        yield Case(f"sequence/position {kind}", made, {"x": X, "p": position})
        made = simple([make, node("SequenceErase", ["s", "p"], ["y"])], [info("x", X), info("p", position)])
        yield Case(f"sequence/erase at {kind}", made, {"x": X, "p": position})
    flat = node("Flatten", ["x"], ["f"], axis=0)
    yield Case("sequence/other ranks", simple([node("Shape", ["x"], ["h"]), node("Cast", ["h"], ["f"], to=1),
                                               node("SequenceConstruct", ["x", "f"], ["y"])]), {"x": X})
    yield Case("sequence/concat of other extents", simple([flat, node("SequenceConstruct", ["x", "f"], ["s"]),
                                                           node("ConcatFromSequence", ["s"], ["y"], axis=0)]), {"x": X})
    yield Case("sequence/concat of none", simple([node("SequenceEmpty", [], ["s"]),
                                                  node("ConcatFromSequence", ["s"], ["y"], axis=0)], []), {})
    yield Case("sequence/insert another type", simple([node("SequenceEmpty", [], ["s"], dtype=7),
                                                       node("SequenceInsert", ["s", "x"], ["y"])]), {"x": X})
    yield Case("sequence/split", simple([node("SplitToSequence", ["x"], ["y"], keepdims=0)]), {"x": X})
    yield Case("sequence/split scalar", simple([node("SplitToSequence", ["x", "n"], ["y"], keepdims=0, axis=1)],
                                               initializers=[initializer("n", scalar(2))]), {"x": X})
    yield Case("optional/of a value",
               simple([node("Optional", ["x"], ["o"]), node("OptionalGetElement", ["o"], ["y"])]), {"x": X})
    yield Case("optional/of none", simple([node("Optional", [], ["o"], type=helper.make_tensor_type_proto(1, None)),
                                           node("OptionalHasElement", ["o"], ["y"])], []), {})
    yield Case("optional/tensor", simple([node("OptionalGetElement", ["x"], ["y"])], opset=18), {"x": X})
    yield Case("optional/no input", simple([node("OptionalHasElement", [], ["y"])], [], opset=18), {})


# ---- constants ----

def constants() -> Iterator[Case]:
    def of(name, opset=17, **attributes):
        return Case(f"Constant/{name}", simple([node("Constant", [], ["y"], **attributes)], [], opset=opset), {})

    value = initializer("v", f32(1, 2))
    yield of("tensor", value=value)
    yield of("two values", value=value, value_float=1.0)
    yield of("ints in 11", opset=11, value_ints=[1, 2])
    yield of("float", value_float=1.0)
    yield of("floats", value_floats=[1.0, 2.0])
    yield of("int", value_int=3)
    yield of("empty ints", value_ints=[])
    yield of("text", value_string="a")
    made = node("Constant", [], ["y"], value=value)
    made.attribute.append(helper.make_attribute("odd", 1))
    yield Case("Constant/unknown attribute", simple([made], []), {})
    yield of("nothing")
    yield Case("Constant/an input", simple([node("Constant", ["x"], ["y"], value=value)]), {"x": X})
    sparse = helper.make_sparse_tensor(initializer("s", f32(5, 6)), initializer("i", i64(1, 3)), [5])
    yield of("sparse", sparse_value=sparse)
    yield Case("ConstantOfShape/value [2]",
               simple([node("ConstantOfShape", ["h"], ["y"], value=value)], [info("h", i64(2))]),
               {"h": i64(2)})
    yield Case("ConstantOfShape/value scalar",
               simple([node("ConstantOfShape", ["h"], ["y"], value=initializer("v", scalar(2, F32)))],
                      [info("h", i64(2))]),
               {"h": i64(2)})
    for op in ("RandomNormal", "RandomUniform"):
        yield Case(f"{op}/shape",
                   simple([node(op, [], ["r"], shape=[2, 3], seed=1.0), node("Shape", ["r"], ["y"])], []), {})
    yield Case("Identity/with an attribute", simple([node("Identity", ["x"], ["y"], odd=1)]), {"x": X})
    yield Case("Identity/two inputs", simple([node("Identity", ["x", ""], ["y"])]), {"x": X})


def cases() -> Iterator[Case]:
    for table in (names, types, ifs, loops, functions, sequences, constants):
        for case in table():
            case.name = f"graph/{case.name}"
            yield case
