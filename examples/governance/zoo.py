"""The models and the pipeline of the demonstration, good and bad."""

import pathlib
import sys

import frazil

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "serving"))
import models  # noqa: E402

PIPELINE = """# A scanned digit. Unclear ones go to the large model, and on request to another company.
inputs: {image: 'f32[1,1,8,8]'}
steps:
  - {name: first, model: small, inputs: {image: image}}
  - name: answer
    switch:
      - name: clear
        when: max(first.probabilities) >= param('sure', 0.9)
        results: {probabilities: first.probabilities, label: first.label, stage: first.stage, steps: first.steps}
      - {name: unclear, model: large, inputs: {image: image}, cheaper: clear}
  - name: second
    switch:
      - name: asked
        when: param('opinion', 'no') == 'yes'
        steps:
          - name: other
            http: {url: 'http://127.0.0.1:PORT/v2/models/other/infer', inputs: {image: image}, outputs: {label: 'i64[1]'}}
        results: {label: other.label}
      - {name: own, results: {label: answer.label}}
outputs: {label: answer.label, probabilities: answer.probabilities, opinion: second.label}
"""

DEEP = 1000


def write(folder, port):
    """Writes the models and the pipeline that are approved at first."""
    models.save(models.small(), folder / "small" / "1" / "model.onnx")
    models.save(models.large(8), folder / "large" / "1" / "model.onnx")
    (folder / "read.yaml").write_text(PIPELINE.replace("PORT", str(port)))


def fewer_steps(path):
    """The large model with fewer steps of refinement: nothing that the envelope does not know."""
    models.save(models.large(4), path)


def with_top_k(path):
    """The large model, which sorts its answer by an operator that nobody approved."""
    model = models.large(4)
    with model.edit("ranked") as patch:
        _, order = patch.TopK(patch.tap("probabilities"), [1])
        patch.replace("label", patch.Squeeze(order, [1]))
    models.save(patch.model, path)


def one_byte_swapped(path, source):
    data = bytearray(source.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


def deep(path):
    """A model of DEEP nested branches."""
    text = ["graph deep(%c: bool[], %x: f32[2]) {"]
    for depth in range(DEEP):
        text.append(f"%y{depth} = If(%c) then_branch() {{")
    text.append("yield %x")
    for depth in reversed(range(DEEP)):
        text.append("} else_branch() {\nyield %x\n}")
        text.append(f"yield %y{depth}" if depth else "return y = %y0")
    models.save(frazil.from_text("\n".join([*text, "}"])), path)


def external_outside(path):
    """A model whose weight is said to be in a file outside of the folder."""
    outside = "../../../secret.bin"
    location = bytes([0x6A, 4 + len("location") + len(outside)])  # external_data of a tensor: one entry of two texts
    location += bytes([0x0A, len("location")]) + b"location" + bytes([0x12, len(outside)]) + outside.encode()
    weight = bytes([0x08, 2, 0x10, 1, 0x42, 1]) + b"w" + location + bytes([0x70, 1])
    node = bytes([0x0A, 1]) + b"x" + bytes([0x0A, 1]) + b"w" + bytes([0x12, 1]) + b"y" + bytes([0x22, 3]) + b"Add"
    value = bytes([0x12, 8, 0x0A, 6, 0x08, 1, 0x12, 2, 0x0A, 0])
    ports = [bytes([tag, 3 + len(value)]) + bytes([0x0A, 1]) + name + value for tag, name in ((0x5A, b"x"), (0x62, b"y"))]
    graph = bytes([0x0A, len(node)]) + node + bytes([0x12, 1]) + b"g" + bytes([0x2A, len(weight)]) + weight + b"".join(ports)
    path.write_bytes(bytes([0x08, 8, 0x3A, len(graph)]) + graph + bytes([0x42, 4, 0x0A, 0, 0x10, 13]))
