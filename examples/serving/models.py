"""Writes the models that the demonstration serves: the digits model in two sizes, and two recurrent models.

    PYTHONPATH=build/python python3 examples/serving/models.py FOLDER

The classifiers are parts of examples/digits, made ready for batches. The recurrent models have random weights: they
have learnt nothing, but each number that they answer depends on all that they were told.
"""

import pathlib
import re
import shutil
import sys

import frazil
import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
DIGITS = HERE.parent / "digits"
LINE, READER = 16, 512  # the reader: numbers in a line, width of its state
TOLD, SESSION = 16, 32  # the session model: numbers in a request, width of its state

READER_TEXT = """
graph reader(%lines: f32[N,L,16], %lengths: i32[N]) {
  %by_time = Transpose(%lines) {perm = [1, 0, 2]}
  _, %last = GRU(%by_time, @w, @r, @b, %lengths) {hidden_size = 512} "gru"
  %state = Squeeze(%last, i64[1] 0)
  %summary = MatMul(%state, @out) "out"
  return summary = %summary
}
"""

# A balancer may send a request a second time if a replica dies before its answer has arrived. Each request therefore
# has the number of its step, and a step that the state already contains changes nothing.
SESSION_TEXT = """
graph session(%told: f32[N,16], %step: i64[N], %state: f32[N,32], %done: i64[N]) {
  %both = Concat(%told, %state) {axis = 1}
  %gates_sum = MatMul(%both, @gates)
  %gates = Sigmoid(%gates_sum)
  %keep, %reset = Split(%gates) {axis = 1, num_outputs = 2}
  %used = Mul(%reset, %state)
  %both_used = Concat(%told, %used) {axis = 1}
  %new_sum = MatMul(%both_used, @new)
  %new = Tanh(%new_sum)
  %change = Sub(%state, %new)
  %kept = Mul(%keep, %change)
  %moved = Add(%new, %kept)
  %is_new = Greater(%step, %done)
  %is_new_row = Unsqueeze(%is_new, i64[1] 1)
  %state_out = Where(%is_new_row, %moved, %state)
  %done_out = Max(%step, %done)
  %answer = MatMul(%state_out, @out)
  return answer = %answer, steps = %done_out, state_out = %state_out, done_out = %done_out
}
"""


def weights(seed, **shapes):
    """Returns random weights, scaled so that states use the range -1 to 1."""
    rng = np.random.default_rng(seed)
    return {
        name: (rng.standard_normal(shape) / np.sqrt(shape[-1])).astype(np.float32) for name, shape in shapes.items()
    }


READER_WEIGHTS = weights(1, w=(1, 3 * READER, LINE), r=(1, 3 * READER, READER), b=(1, 6 * READER), out=(READER, 8))
SESSION_WEIGHTS = weights(
    2, gates=(TOLD + SESSION, 2 * SESSION), new=(TOLD + SESSION, SESSION), out=(SESSION, 4)
)


def batched(text):
    """Returns the digits model's text for N images: leading extents of 1 become N, inner types are inferred."""
    head, body = text.split("{\n", 1)
    body = re.sub(r"(%[\w/]+): f32\[1,[\d,]*\]", r"\1", body)
    body = re.sub(r"(%[\w/]+): i64\[1\]", r"\1", body)
    return head.replace("f32[1,1,8,8]", "f32[N,1,8,8]") + "{\n" + body


def returning(text, stage, steps):
    """Ends the text with the outputs of examples/digits."""
    body = text[: text.rindex("  return")]
    return body + (
        f"  %one_each = Shape(%label)\n"
        f"  %stage = Expand(i64[1] [{stage}], %one_each)\n"
        f"  %steps = Expand(i64[1] [{steps}], %one_each)\n"
        f"  return probabilities = %probabilities, label = %label, stage = %stage, steps = %steps\n}}\n"
    )


def small():
    """Returns only the first stage, about a hundredth of the large model's work."""
    model = frazil.load(DIGITS / "model.onnx")
    text = batched(model.text())
    end = text.index("\n", text.index('"stage1/softmax"'))
    text = text[:end].replace("%stage1/softmax", "%probabilities") + (
        "\n  %label = ArgMax(%probabilities) {axis = 1, keepdims = 0}\n  return"
    )
    return frazil.from_text(returning(text, 1, 0), only_used(model.weights(), text))


def large(steps):
    """Returns all stages, and `steps` steps of refinement."""
    model = frazil.load(DIGITS / "model_full.onnx")
    text = batched(model.text())
    assert "Loop(i64[] 8," in text
    text = text.replace("Loop(i64[] 8,", f"Loop(i64[] {steps},")
    return frazil.from_text(returning(text, 3, steps), model.weights())


def only_used(tensors, text):
    return {name: tensor for name, tensor in tensors.items() if f"@{name}" in text.split("graph", 1)[1]}


def recurrent(text, tensors):
    """Returns the text after a declaration of each weight."""
    declared = [f"weight @{name}: f32[{','.join(map(str, t.shape))}]" for name, t in tensors.items()]
    return frazil.from_text("\n".join(declared) + text, tensors)


def save(model, path):
    """Writes a file atomically: a server that reads meanwhile sees the whole file or none."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(path.name + ".part")
    model.save(part)
    part.rename(path)
    return path.stat().st_size


def make(folder):
    """Fills the folder and returns the models' sizes in bytes."""
    folder = pathlib.Path(folder)
    sizes = {
        "small": save(small(), folder / "small.onnx"),
        "large": save(large(8), folder / "large" / "1" / "model.onnx"),
        "reader": save(recurrent(READER_TEXT, READER_WEIGHTS), folder / "reader.onnx"),
        "session": save(recurrent(SESSION_TEXT, SESSION_WEIGHTS), folder / "session.onnx"),
    }
    shutil.copy(HERE / "router.yaml", folder / "router.yaml")
    return sizes


if __name__ == "__main__":
    for name, size in make(sys.argv[1]).items():
        print(f"{name:8} {size / 1000:8.1f} kB")
