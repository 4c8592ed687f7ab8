"""Writes the folder that is served: the model, and the pipeline around it.

    PYTHONPATH=build/python python3 examples/recommendation/model.py FOLDER
"""

import pathlib
import shutil
import sys

import frazil
import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
ITEMS, WIDTH = 1000, 32

# After the end of a history there is padding, which the mask excludes from the mean.
TEXT = """
graph score(%history: i64[N,L], %length: i64[N], %activity: f32[N], %candidates: i64[N,C]) {
  %sizes = Shape(%history)
  %longest = Gather(%sizes, i64[] 1)
  %places = Range(i64[] 0, %longest, i64[] 1)
  %lengths = Unsqueeze(%length, i64[1] 1)
  %is_item = Less(%places, %lengths)
  %one_or_zero = Cast(%is_item) {to = f32}
  %mask = Unsqueeze(%one_or_zero, i64[1] 2)
  %embedded = Gather(@items, %history)
  %used = Mul(%embedded, %mask)
  %sum = ReduceSum(%used, i64[1] 1) {keepdims = 0}
  %at_least_one = Max(%lengths, i64[] 1)
  %count = Cast(%at_least_one) {to = f32}
  %taste = Div(%sum, %count)
  %column = Unsqueeze(%taste, i64[1] 2)
  %offered = Gather(@items, %candidates)
  %matches = MatMul(%offered, %column)
  %match = Squeeze(%matches, i64[1] 2)
  %weight = Unsqueeze(%activity, i64[1] 1)
  %personal = Mul(%match, %weight)
  %popular = Gather(@popularity, %candidates)
  %scores = Add(%popular, %personal)
  return scores = %scores
}
"""


def weights():
    rng = np.random.default_rng(7)
    return {
        "items": rng.standard_normal((ITEMS, WIDTH), dtype=np.float32),
        "popularity": rng.random(ITEMS, dtype=np.float32),
    }


def expected(histories, activity, candidates):
    """Computes the same with NumPy, user by user."""
    known = weights()
    items, popularity = known["items"].astype(np.float64), known["popularity"].astype(np.float64)
    scores = []
    for history, weight, offered in zip(histories, activity, candidates):
        taste = items[history].mean(axis=0) if len(history) else np.zeros(WIDTH)
        scores.append(popularity[offered] + weight * (items[offered] @ taste))
    return np.array(scores)


def write(folder, redis=None):
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    tensors = weights()
    declared = [f"weight @{name}: f32[{','.join(map(str, w.shape))}]" for name, w in tensors.items()]
    frazil.from_text("\n".join(declared) + TEXT, tensors).save(folder / "score.onnx")
    if redis is None:
        shutil.copy(HERE / "recommend.yaml", folder)
    else:
        text = (HERE / "recommend.yaml").read_text()
        (folder / "recommend.yaml").write_text(text.replace("127.0.0.1:6379", redis))


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    write(sys.argv[1])
