#!/usr/bin/env python3
"""Train the digits demo model and write it as ONNX.

The model is an early-exit classifier for 8x8 grey images of handwritten
digits. A cheap first stage answers most images; an `If` runs a larger second
stage for the others; a nested `If` runs a `Loop` that refines the answer until
the two best classes are far enough apart, or eight steps have passed.

Needs NumPy, scikit-learn (for the data) and onnx (for the file format). There
is no training framework: forward and backward passes are written out below.

    python3 train.py            # trains, then writes the files next to itself
    python3 train.py --out DIR  # writes them elsewhere

Layouts. Training keeps images as [B, H, W, C] and convolution weights as
[3*3*C_in, C_out], rows ordered (ky, kx, c_in), so that a convolution is one
matrix product. The exporter turns both into ONNX's NCHW / OIHW.
"""

import argparse
import multiprocessing
import os
import pathlib
import time

# Several small trainings run side by side; one thread each is fastest.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np  # noqa: E402
import onnx  # noqa: E402
from onnx import TensorProto, helper, numpy_helper  # noqa: E402
from sklearn.datasets import load_digits  # noqa: E402

CLASSES = 10
C1 = 16  # channels of stage 1's convolution
HIDDEN1 = 32  # width of stage 1's hidden layer
C2 = 32  # channels of stage 2 and of the refinement state
MAX_STEPS = 8  # upper bound on refinement steps
DAMP = 0.25  # refinement starts from this share of stage 2's logits

# Candidate thresholds: the minimum probability of the best class to leave at an
# exit, and the minimum lead over the second best class to leave the refinement.
# The lowest entries are lower bounds for any choice.
GRIDS = {
    "exit1": (0.90, 0.92, 0.94, 0.95, 0.96, 0.97, 0.98, 0.99, 0.995),
    "exit2": (0.98, 0.985, 0.99, 0.995, 0.999),
    "margin": (0.80, 0.85, 0.90, 0.95, 0.98, 0.99, 0.995),
}

# Multiply-accumulates of each part for one image, in convolutions and matrix
# products. All other operations are negligible.
MACS_STAGE1 = 64 * 9 * C1 + 16 * C1 * HIDDEN1 + HIDDEN1 * CLASSES
MACS_STAGE2 = 64 * 9 * C1 * C2 + 16 * C2 * CLASSES
MACS_STEP = 16 * 9 * C2 * C2 + 16 * C2 * CLASSES

STAGE12 = ("conv1", "fc1", "out1", "conv2", "out2")
STAGE3 = ("conv3", "out3")


# --------------------------------------------------------------------- data


def load_data():
    """Return (images [N, 8, 8, 1] float32 in 0..1, labels [N] int64)."""
    digits = load_digits()
    images = (digits.images / 16.0).astype(np.float32)[..., None]
    return images, digits.target.astype(np.int64)


def stratified_parts(labels, fractions, rng):
    """Split indices so that each part has its fraction of every class.

    labels [N] -> one sorted index array per entry of `fractions`, which must
    sum to 1.
    """
    parts = [[] for _ in fractions]
    bounds = np.cumsum(fractions)[:-1]
    for digit in range(CLASSES):
        members = rng.permutation(np.flatnonzero(labels == digit))
        cuts = np.round(bounds * len(members)).astype(int)
        for part, chunk in zip(parts, np.split(members, cuts)):
            part.append(chunk)
    return [np.sort(np.concatenate(part)) for part in parts]


def augment(images, rng):
    """Shift, turn and scale each image a little (bilinear, zero outside).

    images [B, 8, 8, 1] -> [B, 8, 8, 1].
    """
    count, size = images.shape[0], images.shape[1]
    centre = (size - 1) / 2
    angle = rng.uniform(-0.2, 0.2, (count, 1, 1))
    scale = rng.uniform(0.9, 1.1, (count, 1, 1))
    shift_y, shift_x = rng.uniform(-1.0, 1.0, (2, count, 1, 1))
    grid_y, grid_x = np.mgrid[0:size, 0:size] - centre
    cos, sin = np.cos(angle) * scale, np.sin(angle) * scale
    # Two pixels of zeros on each side: every sample outside them is zero.
    y = np.clip(cos * grid_y - sin * grid_x + centre + shift_y, -1.5, size + 0.5) + 2
    x = np.clip(sin * grid_y + cos * grid_x + centre + shift_x, -1.5, size + 0.5) + 2
    y0, x0 = np.floor(y).astype(int), np.floor(x).astype(int)
    fy, fx = y - y0, x - x0
    padded = np.pad(images[..., 0], ((0, 0), (2, 2), (2, 2)))
    row = np.arange(count)[:, None, None]
    top = padded[row, y0, x0] * (1 - fx) + padded[row, y0, x0 + 1] * fx
    low = padded[row, y0 + 1, x0] * (1 - fx) + padded[row, y0 + 1, x0 + 1] * fx
    return (top * (1 - fy) + low * fy).astype(np.float32)[..., None]


# ------------------------------------------------------------------- layers


def im2col(x):
    """3x3 patches with one pixel of padding: [B,H,W,C] -> [B*H*W, 9*C]."""
    b, h, w, c = x.shape
    padded = np.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0)))
    cols = np.empty((b, h, w, 9, c), x.dtype)
    for k in range(9):
        cols[:, :, :, k] = padded[:, k // 3 : k // 3 + h, k % 3 : k % 3 + w]
    return cols.reshape(b * h * w, 9 * c)


def col2im(cols, shape):
    """Adjoint of im2col: [B*H*W, 9*C] -> [B,H,W,C]."""
    b, h, w, c = shape
    cols = cols.reshape(b, h, w, 9, c)
    padded = np.zeros((b, h + 2, w + 2, c), cols.dtype)
    for k in range(9):
        padded[:, k // 3 : k // 3 + h, k % 3 : k % 3 + w] += cols[:, :, :, k]
    return padded[:, 1:-1, 1:-1]


def conv(x, params, name):
    """3x3 convolution: [B,H,W,C] -> ([B,H,W,C_out], patches for backward)."""
    cols = im2col(x)
    y = cols @ params[name + ".w"] + params[name + ".b"]
    return y.reshape(x.shape[:3] + (-1,)), cols


def accumulate(grads, name, inputs, d_out):
    """Add a linear layer's weight gradients: inputs [N,K], d_out [N,M]."""
    grads[name + ".w"] += inputs.T @ d_out
    grads[name + ".b"] += d_out.sum(axis=0)


def max_pool(x):
    """2x2 maximum, stride 2: [B,H,W,C] -> [B,H/2,W/2,C]."""
    b, h, w, c = x.shape
    return x.reshape(b, h // 2, 2, w // 2, 2, c).max(axis=(2, 4))


def max_pool_backward(d_out, x, y):
    """Send d_out [B,H/2,W/2,C] to the positions of the maxima in x [B,H,W,C]."""
    b, h, w, c = x.shape
    blocks = x.reshape(b, h // 2, 2, w // 2, 2, c)
    won = blocks == y[:, :, None, :, None]
    share = d_out / won.sum(axis=(2, 4))
    return (won * share[:, :, None, :, None]).reshape(x.shape).astype(np.float32)


def softmax(logits):
    """Row-wise softmax: [B,10] -> [B,10]."""
    exp = np.exp(logits - logits.max(axis=1, keepdims=True))
    return exp / exp.sum(axis=1, keepdims=True)


def loss_gradient(logits, labels):
    """Gradient of the mean cross-entropy: [B,10], [B] -> [B,10]."""
    grad = softmax(logits)
    grad[np.arange(len(labels)), labels] -= 1
    return grad / len(labels)


# -------------------------------------------------------------------- model


def init_params(rng):
    """Fresh weights, He-initialised; each layer has `name.w` and `name.b`."""
    sizes = {
        "conv1": (9 * 1, C1),
        "fc1": (16 * C1, HIDDEN1),
        "out1": (HIDDEN1, CLASSES),
        "conv2": (9 * C1, C2),
        "out2": (16 * C2, CLASSES),
        "conv3": (9 * C2, C2),
        "out3": (16 * C2, CLASSES),
    }
    # The last two start small: refinement should begin as "change nothing".
    gain = {"conv3": 0.3, "out3": 0.3}
    params = {}
    for name, (rows, cols) in sizes.items():
        std = gain.get(name, 1.0) * np.sqrt(2.0 / rows)
        params[name + ".w"] = rng.normal(0, std, (rows, cols)).astype(np.float32)
        params[name + ".b"] = np.zeros(cols, np.float32)
    return params


def forward12(params, images):
    """Stages 1 and 2: images [B,8,8,1] -> dict with every value of interest.

    "logits1" and "logits2" are [B,10]; "pool2" [B,4,4,C2] feeds stage 3.
    """
    v = {}
    a1, v["cols1"] = conv(images, params, "conv1")
    v["relu1"] = np.maximum(a1, 0)
    v["pool1"] = max_pool(v["relu1"])
    v["flat1"] = v["pool1"].reshape(len(images), -1)
    v["hidden1"] = np.maximum(v["flat1"] @ params["fc1.w"] + params["fc1.b"], 0)
    v["logits1"] = v["hidden1"] @ params["out1.w"] + params["out1.b"]
    a2, v["cols2"] = conv(v["relu1"], params, "conv2")
    v["relu2"] = np.maximum(a2, 0)
    v["pool2"] = max_pool(v["relu2"])
    v["flat2"] = v["pool2"].reshape(len(images), -1)
    delta = v["flat2"] @ params["out2.w"] + params["out2.b"]
    v["logits2"] = v["logits1"] + delta
    return v


def backward12(params, v, labels):
    """Gradients of loss(logits1) + loss(logits2) for stages 1 and 2."""
    grads = {k: np.zeros_like(p) for k, p in params.items()}
    d_logits2 = loss_gradient(v["logits2"], labels)
    d_logits1 = loss_gradient(v["logits1"], labels) + d_logits2

    accumulate(grads, "out2", v["flat2"], d_logits2)
    d_pool2 = (d_logits2 @ params["out2.w"].T).reshape(v["pool2"].shape)
    d_a2 = max_pool_backward(d_pool2, v["relu2"], v["pool2"]) * (v["relu2"] > 0)
    d_a2 = d_a2.reshape(-1, C2)
    accumulate(grads, "conv2", v["cols2"], d_a2)
    d_relu1 = col2im(d_a2 @ params["conv2.w"].T, v["relu1"].shape)

    accumulate(grads, "out1", v["hidden1"], d_logits1)
    d_hidden1 = (d_logits1 @ params["out1.w"].T) * (v["hidden1"] > 0)
    accumulate(grads, "fc1", v["flat1"], d_hidden1)
    d_pool1 = (d_hidden1 @ params["fc1.w"].T).reshape(v["pool1"].shape)
    d_relu1 = d_relu1 + max_pool_backward(d_pool1, v["relu1"], v["pool1"])
    d_a1 = (d_relu1 * (v["relu1"] > 0)).reshape(-1, C1)
    accumulate(grads, "conv1", v["cols1"], d_a1)
    return grads


def forward3(params, pool2, logits2, steps=MAX_STEPS):
    """Refinement: pool2 [B,4,4,C2], logits2 [B,10] -> one dict per step.

    Each step computes

        h      <- relu(conv3(h) + pool2)
        logits <- logits + tanh(out3(h))

    starting from h = pool2 and logits = DAMP * logits2: the doubtful answer of
    stage 2 is taken with a pinch of salt, and as a step's vote moves no logit by
    more than one, being sure takes several steps that agree.
    """
    trace, h, logits = [], pool2, logits2 * DAMP
    for _ in range(steps):
        a3, cols = conv(h, params, "conv3")
        h = np.maximum(a3 + pool2, 0)
        flat = h.reshape(len(h), -1)
        vote = np.tanh(flat @ params["out3.w"] + params["out3.b"])
        logits = logits + vote
        step = {"cols": cols, "h": h, "flat": flat, "vote": vote, "logits": logits}
        trace.append(step)
    return trace


def backward3(params, trace, labels):
    """Gradients of the steps' losses, later steps counting more, for stage 3."""
    weights = np.arange(1, len(trace) + 1)
    weights = (weights / weights.sum()).astype(np.float32)
    grads = {k: np.zeros_like(p) for k, p in params.items()}
    d_h = np.zeros_like(trace[0]["h"])
    d_logits = np.zeros_like(trace[0]["logits"])
    for v, weight in zip(reversed(trace), reversed(weights)):
        d_logits = d_logits + weight * loss_gradient(v["logits"], labels)
        d_vote = d_logits * (1 - v["vote"] ** 2)
        accumulate(grads, "out3", v["flat"], d_vote)
        d_h = d_h + (d_vote @ params["out3.w"].T).reshape(v["h"].shape)
        d_a3 = (d_h * (v["h"] > 0)).reshape(-1, C2)
        accumulate(grads, "conv3", v["cols"], d_a3)
        d_h = col2im(d_a3 @ params["conv3.w"].T, v["h"].shape)
    return grads


# ----------------------------------------------------------------- training


class Adam:
    """Adam with decoupled weight decay, over the named layers only."""

    def __init__(self, params, layers, decay):
        self.keys = [n + s for n in layers for s in (".w", ".b")]
        self.first = {k: np.zeros_like(params[k]) for k in self.keys}
        self.second = {k: np.zeros_like(params[k]) for k in self.keys}
        self.decay, self.count = decay, 0

    def step(self, params, grads, rate):
        """Update params in place."""
        self.count += 1
        fix1, fix2 = 1 - 0.9**self.count, 1 - 0.99**self.count
        for k in self.keys:
            self.first[k] += 0.1 * (grads[k] - self.first[k])
            self.second[k] += 0.01 * (grads[k] ** 2 - self.second[k])
            move = (self.first[k] / fix1) / (np.sqrt(self.second[k] / fix2) + 1e-8)
            if k.endswith(".w"):
                move = move + self.decay * params[k]
            params[k] -= (rate * move).astype(np.float32)


def train(images, labels, args, seed):
    """Train all three stages: images [N,8,8,1], labels [N] -> params.

    Stages 1 and 2 learn together; then they are frozen and stage 3 learns to
    improve on what they leave.
    """
    rng = np.random.default_rng(seed)
    params = init_params(rng)
    phases = (
        (STAGE12, args.epochs, 0.01),
        (STAGE3, args.refine_epochs, 0.0),
    )
    peak = 3e-3
    for layers, epochs, decay in phases:
        adam = Adam(params, layers, decay)
        batches = len(images) // args.batch
        for epoch in range(epochs):
            order = rng.permutation(len(images))
            for i in range(batches):
                pick = order[i * args.batch : (i + 1) * args.batch]
                v = forward12(params, augment(images[pick], rng))
                if layers is STAGE12:
                    grads = backward12(params, v, labels[pick])
                else:
                    trace = forward3(params, v["pool2"], v["logits2"])
                    grads = backward3(params, trace, labels[pick])
                done = (epoch + i / batches) / epochs
                rate = peak * 0.5 * (1 + np.cos(np.pi * done))
                adam.step(params, grads, rate)
    return params


def all_probabilities(params, images):
    """Answers of every exit: images [N,8,8,1] -> [2 + MAX_STEPS, N, 10].

    Rows: stage 1, stage 2, then refinement after 1, 2, ... steps.
    """
    v = forward12(params, images)
    trace = forward3(params, v["pool2"], v["logits2"])
    logits = [v["logits1"], v["logits2"]] + [t["logits"] for t in trace]
    return np.stack([softmax(x) for x in logits])


# --------------------------------------------------------------- early exit


def margin(probabilities):
    """Best minus second best: [N,10] -> [N]."""
    top = np.sort(probabilities, axis=1)
    return top[:, -1] - top[:, -2]


def early_exit(every, thresholds):
    """Replay the early-exit graph on the answers of all_probabilities.

    every [2 + MAX_STEPS, N, 10] -> (probabilities [N,10], stage [N], steps [N]).
    """
    count = every.shape[1]
    steps = np.full(count, MAX_STEPS)
    for k in reversed(range(1, MAX_STEPS)):
        steps[margin(every[1 + k]) >= thresholds["margin"]] = k
    stage = np.full(count, 3)
    stage[every[1].max(axis=1) > thresholds["exit2"]] = 2
    stage[every[0].max(axis=1) > thresholds["exit1"]] = 1
    steps[stage < 3] = 0
    row = np.where(stage < 3, stage - 1, 1 + steps)
    return every[row, np.arange(count)], stage, steps


def choose_thresholds(every, labels):
    """Pick the thresholds from answers to images the models did not learn from.

    One after the other, each is the lowest on its grid at which no image leaves
    there with a wrong answer that the full model would have put right; failing
    that, the highest on its grid.
    """
    full_right = every[-1].argmax(axis=1) == labels
    chosen = {name: 2.0 for name in GRIDS}  # 2: no image leaves
    lost_before = 0
    for name, grid in GRIDS.items():
        for value in grid:
            chosen[name] = np.float32(value)
            answer = early_exit(every, chosen)[0].argmax(axis=1)
            lost = int(((answer != labels) & full_right).sum())
            if lost <= lost_before:
                break
        lost_before = lost
    return chosen


def macs(stage, steps):
    """Mean multiply-accumulates per image, from stage [N] and steps [N]."""
    return MACS_STAGE1 + np.mean((stage > 1) * MACS_STAGE2 + steps * MACS_STEP)


# --------------------------------------------------------------------- ONNX


class Builder:
    """Collects the nodes of one (sub)graph; every value is named as its node."""

    def __init__(self):
        self.nodes = []

    def add(self, kind, name, inputs, outputs=None, **attributes):
        """Append a node and return the name of its first output."""
    
        outputs = outputs or [name]
        node = helper.make_node(kind, inputs, outputs, name=name, **attributes)
        self.nodes.append(node)
        return outputs[0]


def onnx_weights(params):
    """Weights in ONNX layouts, by initializer name.

    Convolutions become OIHW; matrices that read a flattened [H,W,C] map have
    their rows reordered to read [C,H,W].
    """
    names = {
        "conv1": "stage1/conv",
        "fc1": "stage1/hidden",
        "out1": "stage1/logits",
        "conv2": "stage2/conv",
        "out2": "stage2/vote",
        "conv3": "refine/conv",
        "out3": "refine/vote",
    }
    tensors = {}
    for layer, name in names.items():
        w = params[layer + ".w"]
        rows, cols = w.shape
        if layer.startswith("conv"):
            w = w.reshape(3, 3, rows // 9, cols).transpose(3, 2, 0, 1)
        elif layer in ("fc1", "out2", "out3"):
            w = w.reshape(16, rows // 16, cols).transpose(1, 0, 2).reshape(rows, cols)
        tensors[name + ".weight"] = np.ascontiguousarray(w)
        tensors[name + ".bias"] = params[layer + ".b"]
    return tensors


def add_conv(g, name, x):
    """3x3 convolution with one pixel of padding."""
    weights = [name + ".weight", name + ".bias"]
    return g.add("Conv", name, [x] + weights, kernel_shape=[3, 3], pads=[1] * 4)


def add_gemm(g, name, x):
    """Matrix product with bias: [1,K] -> [1,M]."""
    return g.add("Gemm", name, [x, name + ".weight", name + ".bias"])


def add_stage1(g):
    """image [1,1,8,8] -> logits [1,10]; leaves stage1/relu [1,C1,8,8]."""
    x = g.add("Relu", "stage1/relu", [add_conv(g, "stage1/conv", "image")])
    pool = {"kernel_shape": [2, 2], "strides": [2, 2]}
    x = g.add("MaxPool", "stage1/pool", [x], **pool)
    x = g.add("Flatten", "stage1/flatten", [x])
    x = g.add("Relu", "stage1/hidden_relu", [add_gemm(g, "stage1/hidden", x)])
    return add_gemm(g, "stage1/logits", x)


def add_stage2(g):
    """stage1/relu -> logits [1,10]; leaves stage2/pool [1,C2,4,4]."""
    x = g.add("Relu", "stage2/relu", [add_conv(g, "stage2/conv", "stage1/relu")])
    pool = {"kernel_shape": [2, 2], "strides": [2, 2]}
    x = g.add("MaxPool", "stage2/pool", [x], **pool)
    x = g.add("Flatten", "stage2/flatten", [x])
    x = add_gemm(g, "stage2/vote", x)
    return g.add("Add", "stage2/logits", ["stage1/logits", x])


def add_sure(g, stage, logits):
    """Softmax, and whether its maximum is above the stage's threshold."""
    probabilities = g.add("Softmax", f"stage{stage}/softmax", [logits], axis=1)
    best = g.add("ReduceMax", f"stage{stage}/confidence", [probabilities], keepdims=0)
    threshold = f"exit{stage}/threshold"
    return probabilities, g.add("Greater", f"stage{stage}/sure", [best, threshold])


def value(name, shape, kind="FLOAT"):
    """Type and shape of a graph input or output."""
    return helper.make_tensor_value_info(name, getattr(TensorProto, kind), shape)


def step_body(until_sure):
    """Graph of one refinement step.

    With until_sure it also computes the margin, and asks for another step
    while that is below refine/margin_threshold; else it always asks.
    """
    g = Builder()
    inputs = [
        value("refine/iteration", [], "INT64"),
        value("refine/continue_in", [], "BOOL"),
        value("refine/state_in", [1, C2, 4, 4]),
        value("refine/logits_in", [1, CLASSES]),
    ]
    x = add_conv(g, "refine/conv", "refine/state_in")
    x = g.add("Add", "refine/inject", [x, "stage2/pool"])
    state = g.add("Relu", "refine/state", [x])
    x = g.add("Flatten", "refine/flatten", [state])
    x = g.add("Tanh", "refine/vote_tanh", [add_gemm(g, "refine/vote", x)])
    logits = g.add("Add", "refine/logits", ["refine/logits_in", x])
    carried = [value(state, [1, C2, 4, 4]), value(logits, [1, CLASSES])]
    if until_sure:
        inputs.append(value("refine/probabilities_in", [1, CLASSES]))
        inputs.append(value("refine/steps_in", [1], "INT64"))
        p = g.add("Softmax", "refine/softmax", [logits], axis=1)
        steps = g.add("Add", "refine/count", ["refine/steps_in", "one"])
        top = ["refine/top2", "refine/top2_index"]
        x = g.add("TopK", "refine/top2", [p, "two"], top, axis=1)
        x = g.add("MatMul", "refine/margin", [x, "refine/difference"])
        x = g.add("Squeeze", "refine/margin_scalar", [x])
        again = g.add("Less", "refine/continue", [x, "refine/margin_threshold"])
        carried += [value(p, [1, CLASSES]), value(steps, [1], "INT64")]
    else:
        again = g.add("Identity", "refine/continue", ["refine/continue_in"])
    outputs = [value(again, [], "BOOL")] + carried
    return helper.make_graph(g.nodes, "refine_step", inputs, outputs)


def add_refine(g, until_sure):
    """The Loop; returns its final [logits] or [probabilities, steps]."""
    start = g.add("Mul", "refine/damp", ["stage2/logits", "refine/damp_factor"])
    inputs = ["refine/max_steps", "true", "stage2/pool", start]
    outputs = ["refine/final_state", "refine/final_logits"]
    if until_sure:
        inputs += ["stage2/softmax", "zero"]
        outputs += ["refine/final_probabilities", "refine/final_steps"]
    g.add("Loop", "refine", inputs, outputs, body=step_body(until_sure))
    return outputs[2:] if until_sure else outputs[1:]


def exit_branch(g, name, results):
    """Close a branch of an If: results are (probabilities, stage, steps).

    A branch may only return values of its own, so others pass an Identity.
    """
    kinds = (
        ("probabilities", [1, CLASSES], "FLOAT"),
        ("stage", [1], "INT64"),
        ("steps", [1], "INT64"),
    )
    outputs = []
    for result, (what, shape, kind) in zip(results, kinds):
        made_here = any(result in node.output for node in g.nodes)
        if not made_here:
            result = g.add("Identity", f"{name}/{what}", [result])
        outputs.append(value(result, shape, kind))
    return helper.make_graph(g.nodes, name.replace("/", "_"), [], outputs)


def early_exit_nodes():
    """Nodes of the early-exit model."""
    g = Builder()
    p1, sure1 = add_sure(g, 1, add_stage1(g))
    leave1 = exit_branch(Builder(), "exit1/leave", (p1, "one", "zero"))

    go_on1 = Builder()
    p2, sure2 = add_sure(go_on1, 2, add_stage2(go_on1))
    leave2 = exit_branch(Builder(), "exit2/leave", (p2, "two", "zero"))
    go_on2 = Builder()
    p3, steps = add_refine(go_on2, until_sure=True)
    refine = exit_branch(go_on2, "exit2/go_on", (p3, "three", steps))

    inner = ["exit2/probabilities", "exit2/stage", "exit2/steps"]
    go_on1.add("If", "exit2", [sure2], inner, then_branch=leave2, else_branch=refine)
    rest = exit_branch(go_on1, "exit1/go_on", inner)
    outer = ["probabilities", "stage", "steps"]
    g.add("If", "exit1", [sure1], outer, then_branch=leave1, else_branch=rest)
    g.add("ArgMax", "answer", ["probabilities"], ["label"], axis=1, keepdims=0)
    return g.nodes


def full_nodes():
    """Nodes of the full model: all stages, all steps, no test anywhere."""
    g = Builder()
    add_stage1(g)
    add_stage2(g)
    (logits,) = add_refine(g, until_sure=False)
    g.add("Softmax", "refine/softmax", [logits], ["probabilities"], axis=1)
    g.add("ArgMax", "answer", ["probabilities"], ["label"], axis=1, keepdims=0)
    g.add("Identity", "stage", ["three"])
    g.add("Identity", "steps", ["eight"])
    return g.nodes


def used_names(nodes):
    """Names of all values read by nodes, those in subgraphs included."""
    names = set()
    for node in nodes:
        names.update(node.input)
        for attribute in node.attribute:
            names |= used_names(attribute.g.node)
            names.update(out.name for out in attribute.g.output)
    return names


def write_model(path, nodes, tensors, title):
    """Assemble, check and save one model; unused tensors are left out."""
    used = used_names(nodes)
    weights = [
        numpy_helper.from_array(np.asarray(tensor), name)
        for name, tensor in tensors.items()
        if name in used
    ]
    graph = helper.make_graph(
        nodes,
        title,
        [value("image", [1, 1, 8, 8])],
        [
            value("probabilities", [1, CLASSES]),
            value("label", [1], "INT64"),
            value("stage", [1], "INT64"),
            value("steps", [1], "INT64"),
        ],
        weights,
    )
    model = helper.make_model(
        graph,
        opset_imports=[helper.make_opsetid("", 17)],
        ir_version=8,
        producer_name="frazil examples/digits",
    )
    onnx.checker.check_model(model, full_check=True)
    onnx.save(model, str(path))


def export(params, thresholds, out):
    """Write model.onnx and model_full.onnx into directory out."""
    tensors = onnx_weights(params)
    tensors.update(
        {
            "exit1/threshold": np.float32(thresholds["exit1"]),
            "exit2/threshold": np.float32(thresholds["exit2"]),
            "refine/margin_threshold": np.float32(thresholds["margin"]),
            "refine/difference": np.array([[1], [-1]], np.float32),
            "refine/damp_factor": np.float32(DAMP),
            "refine/max_steps": np.int64(MAX_STEPS),
            "true": np.bool_(True),
            "zero": np.array([0], np.int64),
            "one": np.array([1], np.int64),
            "two": np.array([2], np.int64),
            "three": np.array([3], np.int64),
            "eight": np.array([MAX_STEPS], np.int64),
        }
    )
    write_model(out / "model.onnx", early_exit_nodes(), tensors, "digits_early_exit")
    write_model(out / "model_full.onnx", full_nodes(), tensors, "digits_full")


# --------------------------------------------------------------------- main


def train_job(job):
    """One training in a worker: (images, labels, args, seed) -> params."""
    return train(*job)


def report(every, labels, thresholds):
    """Print accuracies, exits and cost on images with labels [N]."""

    def accuracy(probabilities):
        return 100 * np.mean(probabilities.argmax(axis=1) == labels)

    chosen, stage, steps = early_exit(every, thresholds)
    full = MACS_STAGE1 + MACS_STAGE2 + MAX_STEPS * MACS_STEP
    mean = macs(stage, steps)
    print(f"  stage 1 alone  {accuracy(every[0]):6.2f} %  {MACS_STAGE1:9,} MACs")
    both = MACS_STAGE1 + MACS_STAGE2
    print(f"  stages 1 + 2   {accuracy(every[1]):6.2f} %  {both:9,} MACs")
    print(f"  full           {accuracy(every[-1]):6.2f} %  {full:9,} MACs")
    print(f"  early exit     {accuracy(chosen):6.2f} %  {mean:9,.0f} MACs on average")
    for k in (1, 2, 3):
        print(f"    leave at stage {k}: {100 * np.mean(stage == k):5.1f} %")
    spread = np.bincount(steps, minlength=MAX_STEPS + 1)[1:]
    print(f"    images by refinement steps, 1 to {MAX_STEPS}: {spread}")


def main():
    """Train, choose thresholds, report, write the files."""
    parser = argparse.ArgumentParser(description="Train and export the digits model.")
    here = pathlib.Path(__file__).resolve().parent
    add = parser.add_argument
    add("--out", type=pathlib.Path, default=here, help="output directory")
    add("--seed", type=int, default=2024, help="seed of everything random")
    add("--epochs", type=int, default=80, help="epochs for stages 1 and 2")
    add("--refine-epochs", type=int, default=15, help="epochs for stage 3")
    add("--batch", type=int, default=32, help="images per batch")
    add("--jobs", type=int, default=2, help="trainings side by side")
    args = parser.parse_args()
    began = time.time()

    images, labels = load_data()
    rng = np.random.default_rng(args.seed)
    learn, held_out = stratified_parts(labels, (0.7, 0.3), rng)
    x, y = images[learn], labels[learn]

    # The final model is trained on all of x. Three more models are each trained
    # without a third of x and answer that third. The thresholds are chosen from
    # those answers.
    folds = stratified_parts(y, (1 / 3, 1 / 3, 1 / 3), rng)
    jobs = [(x, y, args, args.seed)]
    for k, fold in enumerate(folds):
        rest = np.setdiff1d(np.arange(len(x)), fold)
        jobs.append((x[rest], y[rest], args, args.seed + 1 + k))
    with multiprocessing.Pool(args.jobs) as pool:
        params, *fold_params = pool.map(train_job, jobs, chunksize=1)

    every = np.empty((2 + MAX_STEPS, len(x), CLASSES), np.float32)
    for fold, p in zip(folds, fold_params):
        every[:, fold] = all_probabilities(p, x[fold])
    thresholds = choose_thresholds(every, y)
    print("thresholds:", ", ".join(f"{k} {v:.3f}" for k, v in thresholds.items()))
    print(f"cross-validation on the {len(x)} training images:")
    report(every, y, thresholds)
    print(f"held out, {len(held_out)} images:")
    report(all_probabilities(params, images[held_out]), labels[held_out], thresholds)

    args.out.mkdir(parents=True, exist_ok=True)
    export(params, thresholds, args.out)
    np.save(args.out / "images.npy", images[held_out].transpose(0, 3, 1, 2).copy())
    np.save(args.out / "labels.npy", labels[held_out])
    print(f"wrote {args.out} after {time.time() - began:.0f} s")


if __name__ == "__main__":
    main()
