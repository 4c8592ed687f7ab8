"""Makes the models of the client tests in a folder: models.py FOLDER [VAD_MODEL...]."""

import json
import pathlib
import sys

import numpy as np

import frazil


def tiny_bert(folder: pathlib.Path) -> None:
    """A BERT of two layers with random weights, and a tokenizer of whole words, as Hugging Face lays them out."""
    rng = np.random.default_rng(5)
    words = "[PAD] [UNK] [CLS] [SEP] [MASK] ice forms in slow rivers frazil graphs change at run time".split()
    hidden, heads = 32, 4

    def weight(*shape: int) -> np.ndarray:
        return (rng.standard_normal(shape) / np.sqrt(shape[0])).astype(np.float32)

    g = frazil.Graph("tiny_bert")
    axes = ("batch_size", "sequence_length")
    ids = g.input("input_ids", frazil.int64, axes)
    mask = g.input("attention_mask", frazil.int64, axes)
    types = g.input("token_type_ids", frazil.int64, axes)
    length = g.Shape(ids, start=1, end=2)
    places = g.Slice(weight(64, hidden), np.array([0]), length, np.array([0]))
    x = g.Gather(weight(len(words), hidden), ids) + g.Gather(weight(2, hidden), types) + places
    bias = g.Unsqueeze((1.0 - g.Cast(mask, to=1)) * np.float32(-1e4), np.array([1, 2]))

    def normal(value):
        return g.LayerNormalization(value, np.ones(hidden, np.float32), np.zeros(hidden, np.float32), epsilon=1e-12)

    x = normal(x)
    for _ in range(2):
        q, k, v = (g.Transpose(g.Reshape(g.MatMul(x, weight(hidden, hidden)) + weight(hidden),
                                         np.array([0, 0, heads, hidden // heads])), perm=[0, 2, 1, 3])
                   for _ in range(3))
        scores = g.MatMul(q, g.Transpose(k, perm=[0, 1, 3, 2])) / np.float32(np.sqrt(hidden // heads)) + bias
        mixed = g.Transpose(g.MatMul(g.Softmax(scores, axis=-1), v), perm=[0, 2, 1, 3])
        x = normal(x + g.MatMul(g.Reshape(mixed, np.array([0, 0, hidden])), weight(hidden, hidden)))
        x = normal(x + g.MatMul(g.Gelu(g.MatMul(x, weight(hidden, 64)) + weight(64)), weight(64, hidden)))
    g.output("last_hidden_state", x)

    (folder / "onnx").mkdir(parents=True, exist_ok=True)
    g.build().save(str(folder / "onnx" / "model.onnx"), opset=20)
    (folder / "config.json").write_text(json.dumps({
        "model_type": "bert", "architectures": ["BertModel"], "hidden_size": hidden, "num_attention_heads": heads,
        "num_hidden_layers": 2, "vocab_size": len(words), "max_position_embeddings": 64, "type_vocab_size": 2}))
    (folder / "tokenizer_config.json").write_text(json.dumps({
        "tokenizer_class": "BertTokenizer", "do_lower_case": True, "model_max_length": 64, "pad_token": "[PAD]",
        "unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]", "mask_token": "[MASK]"}))
    special = words[:5]
    (folder / "tokenizer.json").write_text(json.dumps({
        "version": "1.0", "truncation": None, "padding": None,
        "added_tokens": [{"id": i, "content": w, "single_word": False, "lstrip": False, "rstrip": False,
                          "normalized": False, "special": True} for i, w in enumerate(special)],
        "normalizer": {"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True,
                       "strip_accents": None, "lowercase": True},
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "post_processor": {"type": "TemplateProcessing",
                           "single": [{"SpecialToken": {"id": "[CLS]", "type_id": 0}},
                                      {"Sequence": {"id": "A", "type_id": 0}},
                                      {"SpecialToken": {"id": "[SEP]", "type_id": 0}}],
                           "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
                           "special_tokens": {"[CLS]": {"id": "[CLS]", "ids": [2], "tokens": ["[CLS]"]},
                                              "[SEP]": {"id": "[SEP]", "ids": [3], "tokens": ["[SEP]"]}}},
        "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": True},
        "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
                  "max_input_chars_per_word": 100, "vocab": {w: i for i, w in enumerate(words)}}}))


def small_cases(folder: pathlib.Path) -> None:
    """One model for each name that node_cases.mjs runs."""
    folder.mkdir(parents=True, exist_ok=True)

    def save(name: str, build) -> None:
        g = frazil.Graph(name)
        build(g)
        g.build().save(str(folder / f"{name}.onnx"), opset=20)

    def unary(op: str, dtype, dims=("N",), **attributes):
        return lambda g: g.output("y", getattr(g, op)(g.input("x", dtype, dims), **attributes))

    for name, dtype in {"f32": frazil.float32, "f64": frazil.float64, "i8": frazil.int8, "u8": frazil.uint8,
                        "i16": frazil.int16, "u16": frazil.uint16, "i32": frazil.int32, "u32": frazil.uint32,
                        "i64": frazil.int64, "u64": frazil.uint64, "bool": frazil.bool_, "f16": frazil.float16,
                        "string": frazil.string}.items():
        save(f"identity_{name}", unary("Identity", dtype))
    save("identity_scalar", unary("Identity", frazil.float32, ()))
    save("identity_matrix", unary("Identity", frazil.float32, ("N", 3)))
    save("not", unary("Not", frazil.bool_))
    save("concat_strings", lambda g: g.output("y", g.StringConcat(g.input("x", frazil.string, ("N",)),
                                                                  g.input("z", frazil.string, ("N",)))))

    def several(g):
        x = g.input("x", frazil.float32, ("N", 2))
        w = np.array([[1, 2], [3, 5]], np.float32)
        g.output("product", g.MatMul(x, w))
        g.output("sum", g.ReduceSum(x, np.array([1])))
        g.output("weights", g.Identity(w))

    save("several", several)

    def branches(g):
        x = g.input("x", frazil.float32, ("N",))
        total = g.ReduceSum(x, keepdims=0)
        g.output("y", g.if_(total > 0, lambda: g.Sqrt(x), lambda: g.Neg(x)))

    save("branch", branches)

    def loops(g):
        n = g.input("n", frazil.int64, ())
        x = g.input("x", frazil.float32, ("N",))
        g.output("y", g.loop(n, None, [x], lambda i, c, v: (c, g.Tanh(v) + np.float32(0.5)))[0])

    save("loop", loops)
    save("nonzero", unary("NonZero", frazil.float32, ("N", "M")))


if __name__ == "__main__":
    target = pathlib.Path(sys.argv[1])
    tiny_bert(target / "tiny-bert")
    small_cases(target / "cases")
