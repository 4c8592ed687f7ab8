"""Writes the model of the dialogue: causal attention over all earlier words, with keys and values as state.

    PYTHONPATH=build/python python3 examples/dialogue/model.py FOLDER

Its weights are constructed, not learnt. One head of the first layer finds the last earlier occurrence of the last two
words and answers with the word that followed them. The model thus repeats the facts of the conversation. All other
heads and layers have random weights, and their results are not used. They give a turn the cost of a model of this size.
"""

import pathlib
import sys

import frazil
import numpy as np

LAYERS, HEADS, WIDTH = 4, 8, 64
MODEL = HEADS * WIDTH  # numbers per position
CODE = 31  # numbers that identify a word
SHARP = 1e5  # makes the softmax of the look-up head a maximum
LATER = 5.0  # prefers the later of two matches, for fewer than SHARP * 0.2 / LATER positions

ITEMS, VALUES = 128, 48
FACTS = [f"item{i} costs price{(7 * i + i // 9) % VALUES} ." for i in range(ITEMS)]
WORDS = sorted({word for fact in FACTS for word in fact.split()}) + [
    *"my name color size is ada bob red blue green small large and what cheese please thanks".split()
]
PROMPT = " ".join(FACTS)  # the start of all conversations

# The offsets of the parts of a position.
NOW, BEFORE, EARLIER, PLACE, ONE = 0, CODE, 2 * CODE, 3 * CODE, 3 * CODE + 1
FOUND, REST = 128, 192


def ids_of(text):
    return [WORDS.index(word) for word in text.split()]


def codes():
    """Returns a code of length 1 for each word; no two codes are similar."""
    rng = np.random.default_rng(3)
    found = []
    while len(found) < len(WORDS):
        code = rng.standard_normal(CODE)
        code /= np.linalg.norm(code)
        if all(abs(code @ other) < 0.7 for other in found):
            found.append(code)
    return np.array(found, np.float32)


def lookup_weights(weights):
    """Head 0 of layer 0: the query is the last two words, the key the two before, the value the word itself."""
    q, k, v, o = (weights[f"{part}0"] for part in "qkvo")
    for matrix in (q, k, v):
        matrix[:, :WIDTH] = 0
    o[:WIDTH] = 0
    for i in range(CODE):
        q[NOW + i, i] = q[BEFORE + i, CODE + i] = SHARP * np.sqrt(WIDTH)
        k[BEFORE + i, i] = k[EARLIER + i, CODE + i] = 1
        v[NOW + i, i] = 1
        o[i, FOUND + i] = 1
    q[ONE, 2 * CODE] = LATER * np.sqrt(WIDTH)
    k[PLACE, 2 * CODE] = 1


def weights():
    rng = np.random.default_rng(5)
    made = {"codes": codes()}
    for layer in range(LAYERS):
        for part in "qkvo":
            made[f"{part}{layer}"] = (0.3 * rng.standard_normal((MODEL, MODEL)) / np.sqrt(MODEL)).astype(np.float32)
        made[f"o{layer}"][:, :REST] = 0
    lookup_weights(made)
    return made


def layer_text(i):
    heads = "\n".join(
        f"""  %{p}s{i} = MatMul(%x{i}, @{p}{i})
  %{p}r{i} = Reshape(%{p}s{i}, i64[3] [-1, {HEADS}, {WIDTH}])
  %{p}n{i} = Transpose(%{p}r{i}) {{perm = [1, 0, 2]}}"""
        for p in "qkv"
    )
    return f"""{heads}
  %k{i} = Concat(%past_k{i}, %kn{i}) {{axis = 1}}
  %v{i} = Concat(%past_v{i}, %vn{i}) {{axis = 1}}
  %kt{i} = Transpose(%k{i}) {{perm = [0, 2, 1]}}
  %products{i} = MatMul(%qn{i}, %kt{i})
  %scores{i} = Mul(%products{i}, f32[] {1 / np.sqrt(WIDTH)})
  %masked{i} = Where(%may_see, %scores{i}, f32[] -1e30)
  %shares{i} = Softmax(%masked{i}) {{axis = -1}}
  %seen{i} = MatMul(%shares{i}, %v{i})
  %rows{i} = Transpose(%seen{i}) {{perm = [1, 0, 2]}}
  %flat{i} = Reshape(%rows{i}, i64[2] [-1, {MODEL}])
  %change{i} = MatMul(%flat{i}, @o{i})
  %x{i + 1} = Add(%x{i}, %change{i})"""


def text():
    caches = [f"%past_{p}{i}: f32[{HEADS},P,{WIDTH}]" for i in range(LAYERS) for p in "kv"]
    results = [f"{p}{i} = %{p}{i}" for i in range(LAYERS) for p in "kv"]
    layers = "\n".join(layer_text(i) for i in range(LAYERS))
    return f"""
graph dialogue(%words: i64[S], %last: i64[2], {", ".join(caches)}) {{
  %line = Concat(%last, %words) {{axis = 0}}
  %all = Shape(%line)
  %count = Shape(%words)
  %two = Sub(%all, %count)
  %last_out = Slice(%line, %count, %all, i64[1] [0])
  %one_to = Sub(%all, i64[1] [1])
  %before_words = Slice(%line, i64[1] [1], %one_to, i64[1] [0])
  %earlier_words = Slice(%line, i64[1] [0], %count, i64[1] [0])
  %now = Gather(@codes, %words)
  %before = Gather(@codes, %before_words)
  %earlier = Gather(@codes, %earlier_words)
  %past_shape = Shape(%past_k0)
  %past = Gather(%past_shape, i64[] 1)
  %new = Squeeze(%count, i64[1] [0])
  %total = Add(%past, %new)
  %places = Range(%past, %total, i64[] 1)
  %place_rows = Unsqueeze(%places, i64[1] [1])
  %place = Cast(%place_rows) {{to = f32}}
  %zero = Mul(%place, f32[] 0)
  %one = Add(%zero, f32[] 1)
  %rest_shape = Concat(%count, i64[1] [{MODEL - ONE - 1}]) {{axis = 0}}
  %rest = Expand(%zero, %rest_shape)
  %x0 = Concat(%now, %before, %earlier, %place, %one, %rest) {{axis = 1}}
  %all_places = Range(i64[] 0, %total, i64[] 1)
  %may_see = LessOrEqual(%all_places, %place_rows)
{layers}
  %codes_t = Transpose(@codes) {{perm = [1, 0]}}
  %found = Slice(%x{LAYERS}, i64[1] [{FOUND}], i64[1] [{FOUND + CODE}], i64[1] [1])
  %fits = MatMul(%found, %codes_t)
  %next = ArgMax(%fits) {{axis = 1, keepdims = 0}}
  return next = %next, last_out = %last_out, {", ".join(results)}
}}
"""


def write(folder):
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    tensors = weights()
    declared = [f"weight @{name}: f32[{','.join(map(str, w.shape))}]" for name, w in tensors.items()]
    frazil.from_text("\n".join(declared) + text(), tensors).save(folder / "dialogue.onnx")


def states():
    """Returns the `state` of the model for the configuration."""
    pairs = {"last": "last_out"} | {f"past_{p}{i}": f"{p}{i}" for i in range(LAYERS) for p in "kv"}
    return "{" + ", ".join(f"{a}: {b}" for a, b in pairs.items()) + "}"


def expected(told):
    """Returns the word after the last earlier occurrence of the last two words, by search."""
    *_, before, now = told
    for i in reversed(range(2, len(told))):
        if told[i - 2 : i] == [before, now]:
            return told[i]
    return None


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    write(sys.argv[1])
