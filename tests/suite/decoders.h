#pragma once

#include <cmath>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "onnx/model_writer.h"

// Models of one decoding loop of com.microsoft around a tiny decoder with pseudo-random weights.
namespace frazil::test {

using Rows = std::vector<std::vector<std::int32_t>>;

/// A decoding loop and its inputs. Absent inputs are omitted.
struct DecodingCase {
  std::string name;
  std::string op = "GreedySearch";
  std::string form = "gpt";  ///< or "gpt init": with init_decoder; "t5", "t5 new", "whisper": see t5_encoder;
                             ///< "t5 whole": the decoder reads all tokens so far
  std::uint32_t weights = 1;
  Rows prompt = {};
  std::int32_t max_length = 12;
  std::int64_t eos = 3, pad = 0;
  std::optional<std::int32_t> min_length = {};
  std::int32_t beams = 2, returned = 1;
  std::optional<float> length_penalty = {}, repetition_penalty = {};
  Rows vocab_mask = {}, prefix_vocab_mask = {}, attention_mask = {}, decoder_input_ids = {};
  std::int64_t ngram = 0, early_stopping = 0;
  std::optional<float> top_p = {}, temperature = {};  ///< of Sampling, as the next ones
  std::int64_t custom = 0, min_tokens_to_keep = 0;
  std::optional<float> presence_penalty = {};
  Rows presence_mask = {};
  std::optional<std::int32_t> seed = {};
  bool all_outputs = false;
  bool constants = false;  ///< scalars are initializers, not inputs of the model
};

constexpr int kVocabulary = 20, kHidden = 8, kHeads = 2, kHeadSize = 4, kLayers = 2;

/// Pseudo-random numbers in [-scale, scale] that depend on the name and the seed only.
inline Tensor decoder_weight(const std::string& name, std::uint32_t seed, Sizes sizes, float scale) {
  std::uint64_t state = seed * 0x9e3779b97f4a7c15U + 1;
  for (const char c : name) state = (state ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  Tensor t = Tensor::make(Elem::f32, std::move(sizes)).value();
  for (float& x : t.as_mutable<float>()) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    x = scale * (static_cast<float>(state >> 40) * 0x1p-23F - 1);
  }
  return t;
}

/// Nodes of a subgraph under construction.
class Subgraph {
 public:
  explicit Subgraph(std::uint32_t seed) : seed_(seed) {}

  std::string add(const std::string& op, Names inputs, std::vector<Message> attrs = {}, std::string output = {}) {
    if (output.empty()) output = op + "_" + std::to_string(spec.nodes.size());
    spec.nodes.push_back({op, std::move(inputs), {output}, std::move(attrs)});
    return output;
  }
  std::string weight(const std::string& name, Sizes sizes, float scale) {
    return constant(name, decoder_weight(name, seed_, std::move(sizes), scale));
  }
  std::string ints(const std::vector<std::int64_t>& values) {
    std::string name = "ints";
    for (const std::int64_t v : values) name += "_" + std::to_string(v);
    Tensor t = Tensor::make(Elem::i64, {static_cast<std::int64_t>(values.size())}).value();
    std::ranges::copy(values, t.as_mutable<std::int64_t>().begin());
    return constant(name, t);
  }
  std::string number(float value) { return constant("number_" + std::to_string(value), Tensor::scalar(value)); }
  std::string index(std::int64_t value) { return constant("index_" + std::to_string(value), Tensor::scalar(value)); }
  std::string cut(const std::string& x, std::int64_t axis, const std::string& from, const std::string& to) {
    return add("Slice", {x, from, to, ints({axis})});
  }
  /// The extent of an axis, 1-D.
  std::string extent(const std::string& x, int axis) {
    return add("Shape", {x}, {attr("start", axis), attr("end", axis + 1)});
  }
  std::string dense(const std::string& x, const std::string& name, int from, int to) {
    return add("MatMul", {x, weight(name, {from, to}, 1.2F / std::sqrt(static_cast<float>(from)) * 2)});
  }
  /// [batch, steps, hidden] to [batch, heads, steps, size].
  std::string heads(const std::string& x) {
    const std::string split = add("Reshape", {x, ints({0, 0, kHeads, kHeadSize})});
    return add("Transpose", {split}, {attr("perm", std::vector<std::int64_t>{0, 2, 1, 3})});
  }
  std::string attend(const std::string& q, const std::string& k, const std::string& v, const std::string& bias) {
    const std::string kt = add("Transpose", {k}, {attr("perm", std::vector<std::int64_t>{0, 1, 3, 2})});
    std::string scores = add("Mul", {add("MatMul", {q, kt}), number(0.7F)});
    if (!bias.empty()) scores = add("Add", {scores, bias});
    const std::string mixed = add("MatMul", {add("Softmax", {scores}, {attr("axis", -1)}), v});
    const std::string back = add("Transpose", {mixed}, {attr("perm", std::vector<std::int64_t>{0, 2, 1, 3})});
    return add("Reshape", {back, ints({0, 0, kHidden})});
  }
  std::string mlp(const std::string& x, const std::string& name) {
    const std::string inner = add("Tanh", {dense(x, name + ".in", kHidden, 16)});
    return add("Add", {x, dense(inner, name + ".out", 16, kHidden)});
  }
  /// -10000 where a mask [batch, steps] is 0; [batch, 1, 1, steps].
  std::string mask_bias(const std::string& mask) {
    const std::string real = add("Cast", {mask}, {attr("to", 1)});
    const std::string hidden = add("Mul", {add("Sub", {real, number(1)}), number(10000)});
    return add("Unsqueeze", {hidden, ints({1, 2})});
  }
  Message finish(std::vector<Message> inputs, std::vector<Message> outputs) {
    spec.inputs = std::move(inputs);
    spec.outputs = std::move(outputs);
    return graph(spec);
  }

  GraphSpec spec;

 private:
  std::string constant(const std::string& name, const Tensor& value) {
    if (!known_[name]) spec.initializers.push_back(text(tensor_to_proto(value).value(), 8, name));
    known_[name] = true;
    return name;
  }
  std::uint32_t seed_;
  std::map<std::string, bool> known_;
};

inline Message tokens(std::string_view name, const std::vector<std::string>& dims) {
  return value(name, tensor_type(Elem::i32, dims));
}

/// A decoder of the GPT form: inputs input_ids, position_ids, attention_mask and past_*, outputs logits and present_*.
inline Message gpt_decoder(std::uint32_t seed) {
  Subgraph n(seed);
  const std::string words = n.add("Gather", {n.weight("words", {kVocabulary, kHidden}, 1.5F), "input_ids"});
  const std::string places = n.add("Gather", {n.weight("places", {32, kHidden}, 1.5F), "position_ids"});
  std::string x = n.add("Add", {words, places});
  const std::string steps = n.extent("input_ids", 1), total = n.extent("attention_mask", 1);
  const std::string past = n.add("Squeeze", {n.add("Sub", {total, steps}), n.ints({0})});
  const std::string end = n.add("Squeeze", {total, n.ints({0})});
  const std::string query = n.add("Unsqueeze", {n.add("Range", {past, end, n.index(1)}), n.ints({1})});
  const std::string later = n.add("Greater", {n.add("Range", {n.index(0), end, n.index(1)}), query});
  const std::string causal = n.add("Where", {later, n.number(-10000), n.number(0)});
  const std::string bias = n.add("Add", {n.mask_bias("attention_mask"), causal});
  std::vector<Message> inputs{tokens("input_ids", {"B", "S"}), tokens("position_ids", {"B", "S"}),
                              tokens("attention_mask", {"B", "T"})};
  std::vector<Message> outputs{f32("logits", {"B", "S", "20"})};
  for (int l = 0; l < kLayers; ++l) {
    const std::string layer = std::to_string(l);
    const std::string k = n.heads(n.dense(x, "k" + layer, kHidden, kHidden));
    const std::string v = n.heads(n.dense(x, "v" + layer, kHidden, kHidden));
    const std::string both = n.add(
        "Concat", {n.add("Unsqueeze", {k, n.ints({0})}), n.add("Unsqueeze", {v, n.ints({0})})}, {attr("axis", 0)});
    n.add("Concat", {"past_" + layer, both}, {attr("axis", 3)}, "present_" + layer);
    const auto part = [&](std::int64_t i) {
      return n.add("Gather", {"present_" + layer, n.index(i)}, {attr("axis", 0)});
    };
    const std::string q = n.heads(n.dense(x, "q" + layer, kHidden, kHidden));
    x = n.add("Add", {x, n.dense(n.attend(q, part(0), part(1), bias), "o" + layer, kHidden, kHidden)});
    x = n.mlp(x, "mlp" + layer);
    inputs.push_back(f32("past_" + layer, {"2", "B", "2", "P", "4"}));
    outputs.push_back(f32("present_" + layer, {"2", "B", "2", "T", "4"}));
  }
  n.add("MatMul", {x, n.weight("out", {kHidden, kVocabulary}, 1.0F)}, {}, "logits");
  return n.finish(std::move(inputs), std::move(outputs));
}

/// The layers of an encoder-decoder's decoder for tokens `ids`. Reads past_*_self_* if `with_past`; writes
/// present_*_self_* and logits.
inline void t5_layers(Subgraph& n, const std::string& ids, bool with_past, const std::string& bias,
                      const std::string& cross) {
  std::string x = n.add("Gather", {n.weight("words", {kVocabulary, kHidden}, 1.5F), ids});
  for (int l = 0; l < kLayers; ++l) {
    const std::string layer = std::to_string(l);
    Names kv;
    for (const std::string part : {"key", "value"}) {
      const std::string fresh = n.heads(n.dense(x, part + layer, kHidden, kHidden));
      const std::string name = part + "_self_" + layer;
      kv.push_back("present_" + name);
      if (with_past) {
        n.add("Concat", {"past_" + name, fresh}, {attr("axis", 2)}, kv.back());
      } else {
        n.add("Identity", {fresh}, {}, kv.back());
      }
    }
    const std::string q = n.heads(n.dense(x, "q" + layer, kHidden, kHidden));
    x = n.add("Add", {x, n.dense(n.attend(q, kv[0], kv[1], ""), "o" + layer, kHidden, kHidden)});
    const std::string c = n.heads(n.dense(x, "c" + layer, kHidden, kHidden));
    const std::string seen = n.attend(c, cross + "_key_cross_" + layer, cross + "_value_cross_" + layer, bias);
    x = n.mlp(n.add("Add", {x, seen}), "mlp" + layer);
  }
  n.add("MatMul", {x, n.weight("out", {kHidden, kVocabulary}, 1.0F)}, {}, "logits");
}

inline std::vector<Message> t5_values(const std::string& prefix, const std::string& kind, const std::string& steps) {
  std::vector<Message> values;
  for (int l = 0; l < kLayers; ++l) {
    for (const std::string part : {"_key_", "_value_"}) {
      values.push_back(f32(prefix + part + kind + "_" + std::to_string(l), {"B", "2", steps, "4"}));
    }
  }
  return values;
}

/// The encoder of an encoder-decoder. In form "t5" and "whisper" it also takes the decoder's first step. In form
/// "t5 new" it gives keys and values only. Whisper's has features instead of tokens and no mask.
inline Message t5_encoder(std::uint32_t seed, const std::string& form) {
  Subgraph n(seed);
  const bool whisper = form == "whisper", first = form != "t5 new";
  std::vector<Message> inputs;
  std::string x, bias;
  if (whisper) {
    inputs = {f32("encoder_input_ids", {"B", "8", "E"}), tokens("decoder_input_ids", {"B", "I"})};
    x = n.add("Transpose", {"encoder_input_ids"}, {attr("perm", std::vector<std::int64_t>{0, 2, 1})});
  } else {
    inputs = {tokens("encoder_input_ids", {"B", "E"}), tokens("encoder_attention_mask", {"B", "E"})};
    if (first) inputs.push_back(tokens("decoder_input_ids", {"B", "1"}));
    x = n.add("Gather", {n.weight("encoder.words", {kVocabulary, kHidden}, 1.5F), "encoder_input_ids"});
    bias = n.mask_bias("encoder_attention_mask");
  }
  const auto project = [&](const std::string& name) {
    return n.heads(n.dense(x, "encoder." + name, kHidden, kHidden));
  };
  x = n.add("Add", {x, n.attend(project("q"), project("k"), project("v"), bias)}, {}, "encoder_hidden_states");
  for (int l = 0; l < kLayers; ++l) {
    for (const std::string part : {"key", "value"}) {
      const std::string name = part + "_cross_" + std::to_string(l);
      n.add("Identity", {n.heads(n.dense(x, name, kHidden, kHidden))}, {}, "present_" + name);
    }
  }
  std::vector<Message> outputs;
  if (first) {
    t5_layers(n, "decoder_input_ids", false, bias, "present");
    outputs = {f32("logits", {"B", whisper ? "I" : "1", "20"}), f32("encoder_hidden_states", {"B", "E", "8"})};
    for (Message& v : t5_values("present", "self", whisper ? "I" : "1")) outputs.push_back(std::move(v));
  }
  for (Message& v : t5_values("present", "cross", "E")) outputs.push_back(std::move(v));
  return n.finish(std::move(inputs), std::move(outputs));
}

inline Message t5_decoder(std::uint32_t seed, const std::string& form) {
  Subgraph n(seed);
  const std::string steps = form == "t5 whole" ? "S" : "1";
  std::vector<Message> inputs{tokens("input_ids", {"B", steps})};
  std::string bias;
  if (form != "whisper") {
    inputs.push_back(tokens("encoder_attention_mask", {"B", "E"}));
    bias = n.mask_bias("encoder_attention_mask");
  }
  if (form != "t5 new") inputs.push_back(f32("encoder_hidden_states", {"B", "E", "8"}));
  for (Message& v : t5_values("past", "self", "P")) inputs.push_back(std::move(v));
  for (Message& v : t5_values("past", "cross", "E")) inputs.push_back(std::move(v));
  t5_layers(n, "input_ids", true, bias, "past");
  std::vector<Message> outputs{f32("logits", {"B", steps, "20"})};
  for (Message& v : t5_values("present", "self", "T")) outputs.push_back(std::move(v));
  return n.finish(std::move(inputs), std::move(outputs));
}

inline Tensor rows_tensor(const Rows& rows, bool flat = false) {
  const auto width = static_cast<std::int64_t>(rows[0].size());
  const Sizes sizes = flat ? Sizes{width} : Sizes{static_cast<std::int64_t>(rows.size()), width};
  Tensor t = Tensor::make(Elem::i32, sizes).value();
  auto to = t.as_mutable<std::int32_t>().begin();
  for (const auto& row : rows) to = std::ranges::copy(row, to).out;
  return t;
}

/// The inputs of the operator by name, in its order. The value of an omitted input is empty.
inline std::vector<std::pair<std::string, std::optional<Tensor>>> decoding_inputs(const DecodingCase& c) {
  const auto rows = [](const Rows& r, bool flat = false) {
    return r.empty() ? std::nullopt : std::optional(rows_tensor(r, flat));
  };
  const auto real = [](const std::optional<float>& x) { return x ? std::optional(Tensor::scalar(*x)) : std::nullopt; };
  const auto whole = [](std::int32_t x) { return std::optional(Tensor::scalar(x)); };
  std::vector<std::pair<std::string, std::optional<Tensor>>> in;
  if (c.form == "whisper") {
    in.emplace_back("input_ids", decoder_weight("features", c.weights, {std::ssize(c.prompt), kHidden, 5}, 1));
  } else {
    in.emplace_back("input_ids", rows_tensor(c.prompt));
  }
  in.emplace_back("max_length", whole(c.max_length));
  in.emplace_back("min_length", c.min_length ? whole(*c.min_length) : std::nullopt);
  const bool beams = c.op.ends_with("BeamSearch");
  if (beams) {
    in.emplace_back("num_beams", whole(c.beams));
    in.emplace_back("num_return_sequences", whole(c.returned));
    in.emplace_back("length_penalty", real(c.length_penalty));
  }
  in.emplace_back("repetition_penalty", real(c.repetition_penalty));
  in.emplace_back("vocab_mask", rows(c.vocab_mask, true));
  in.emplace_back("prefix_vocab_mask", rows(c.prefix_vocab_mask));
  in.emplace_back("attention_mask", rows(c.attention_mask));
  if (beams) in.emplace_back("decoder_input_ids", rows(c.decoder_input_ids));
  if (c.op == "Sampling") {
    in.emplace_back("presence_mask", rows(c.presence_mask));
    in.emplace_back("seed", c.seed ? whole(*c.seed) : std::nullopt);
  }
  return in;
}

inline std::vector<Message> decoding_attributes(const DecodingCase& c) {
  std::vector<Message> attrs{attr("eos_token_id", c.eos), attr("pad_token_id", c.pad)};
  if (c.ngram != 0) attrs.push_back(attr("no_repeat_ngram_size", c.ngram));
  if (c.early_stopping != 0) attrs.push_back(attr("early_stopping", c.early_stopping));
  if (c.top_p) attrs.push_back(attr("top_p", *c.top_p));
  if (c.temperature) attrs.push_back(attr("temperature", *c.temperature));
  if (c.presence_penalty) attrs.push_back(attr("presence_penalty", *c.presence_penalty));
  if (c.custom != 0) attrs.push_back(attr("custom", c.custom));
  if (c.min_tokens_to_keep != 0) attrs.push_back(attr("min_tokens_to_keep", c.min_tokens_to_keep));
  if (c.form.starts_with("gpt")) {
    attrs.push_back(graph_attr("decoder", gpt_decoder(c.weights)));
    if (c.form == "gpt init") attrs.push_back(graph_attr("init_decoder", gpt_decoder(c.weights + 1000)));
    return attrs;
  }
  attrs.push_back(attr("model_type", c.form == "whisper" ? 2 : 1));
  attrs.push_back(attr("decoder_start_token_id", 2));
  attrs.push_back(graph_attr("encoder", t5_encoder(c.weights, c.form)));
  attrs.push_back(graph_attr("decoder", t5_decoder(c.weights, c.form)));
  return attrs;
}

/// A model of the loop. Its inputs are those of the operator; with `constants`, only those of the first axis' extent.
inline Message decoding_model(const DecodingCase& c) {
  GraphSpec spec;
  Names names;
  for (const auto& [name, tensor] : decoding_inputs(c)) {
    names.push_back(tensor ? name : "");
    if (!tensor) continue;
    if (c.constants && tensor->rank() == 0) {
      spec.initializers.push_back(text(tensor_to_proto(*tensor).value(), 8, name));
      continue;
    }
    std::vector<std::string> dims;
    for (std::size_t i = 0; i < tensor->rank(); ++i) dims.push_back(name + std::to_string(i));
    if (name == "input_ids" && c.form == "whisper") dims[1] = std::to_string(kHidden);
    spec.inputs.push_back(value(name, tensor_type(tensor->elem(), dims)));
  }
  while (names.back().empty()) names.pop_back();
  spec.nodes = {{c.op, names, {"sequences"}, decoding_attributes(c), "search", "com.microsoft"}};
  spec.outputs = {tokens("sequences", {})};
  if (c.op.ends_with("BeamSearch")) {
    spec.outputs = {tokens("sequences", {"b", "r", "m"})};
    if (c.all_outputs) {
      spec.nodes[0].outputs = {"sequences", "sequences_scores", "scores"};
      spec.outputs.push_back(f32("sequences_scores", {"b", "r"}));
      spec.outputs.push_back(f32("scores", {"s", "b", "n", "v"}));
    }
  } else {
    spec.outputs = {tokens("sequences", {"b", "m"})};
  }
  return model(graph(spec), {.opset = 17, .ir = 8, .opsets = {{"com.microsoft", 1}}});
}

}  // namespace frazil::test
