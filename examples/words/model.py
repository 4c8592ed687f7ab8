"""Writes the folder that is served: a model that predicts the next word, and the loop around it.

    PYTHONPATH=build/python python3 examples/words/model.py FOLDER

The model knows what it was told in CORPUS: a state is a pair of words that follow each other, and each state has the
states that came behind it there.
"""

import pathlib
import shutil
import sys

import frazil
import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
CORPUS = """
The water flows under the ice. The ice forms as loose crystals inside the water. Loose crystals rise and freeze
together. The river carries the crystals to the lake. The lake holds still and the ice grows into sheets. In spring
the sheets break and the river carries the ice away. The water that flows does not freeze. What holds still freezes
first. In the lake the loose crystals meet and grow. The river flows and the ice breaks into crystals.
"""

BEGIN = """
graph begin(%prompt: string[N]) {
  %column = Unsqueeze(%prompt, i64[1] 1)
  %is_word = Equal(%column, @words)
  %numbers = Cast(%is_word) {to = i64}
  %state = ArgMax(%numbers) {axis = 1, keepdims = 0}
  %done = Gather(@ends, %state)
  return state = %state, done = %done
}
"""

NEXT = """
graph next(%state: i64[N]) {
  %odds = Gather(@odds, %state)
  %drawn = RandomUniformLike(%state) {dtype = f32}
  %column = Unsqueeze(%drawn, i64[1] 1)
  %is_before = Less(%odds, %column)
  %numbers = Cast(%is_before) {to = i64}
  %choice = ReduceSum(%numbers, i64[1] 1) {keepdims = 1}
  %choices = Gather(@next, %state)
  %chosen = GatherElements(%choices, %choice) {axis = 1}
  %after = Squeeze(%chosen, i64[1] 1)
  %word = Gather(@words, %after)
  %done = Gather(@ends, %after)
  return word = %word, after = %after, done = %done
}
"""


def tables():
    """Returns per state: its word, whether a sentence ends with it, the next states, and their cumulative odds."""
    told = CORPUS.split()
    pairs = list(zip(["", *told], told))
    states = {pair: i for i, pair in enumerate(dict.fromkeys(pairs))}
    behind = [[] for _ in states]
    for pair, after in zip(pairs, [*pairs[1:], pairs[0]]):
        behind[states[pair]].append(states[after])
    most = max(map(len, behind))
    return {
        "words": np.array([word for _, word in states], dtype=object),
        "ends": np.array([word.endswith(".") for _, word in states]),
        "next": np.array([(list_ + [list_[-1]] * most)[:most] for list_ in behind]),
        "odds": np.array([np.minimum(np.arange(1, most + 1) / len(list_), 1) for list_ in behind], dtype=np.float32),
    }


def model_of(text, tensors):
    used = {name: tensor for name, tensor in tensors.items() if "@" + name in text}
    types = {"O": "string", "b": "bool", "i": "i64", "f": "f32"}
    declared = [f"weight @{n}: {types[t.dtype.kind]}[{','.join(map(str, t.shape))}]" for n, t in used.items()]
    return frazil.from_text("\n".join(declared) + text, used)


def write(folder):
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    tensors = tables()
    model_of(BEGIN, tensors).save(folder / "begin.onnx")
    model_of(NEXT, tensors).save(folder / "next.onnx")
    shutil.copy(HERE / "story.yaml", folder)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    write(sys.argv[1])
