#include <algorithm>

#include "onnx/upgrade/rules.h"

// Decoding loops of com.microsoft: GreedySearch, Sampling, BeamSearch and WhisperBeamSearch become a Loop around their
// decoder. docs/decisions/0235-decoding-loops.md describes the graph that results.
namespace frazil::onnx::rules {
namespace {

enum class Choice : std::uint8_t { greedy, sampling, beams };

/// The positions of the inputs of an operator. kNoInput marks an input that it lacks.
constexpr std::size_t kNoInput = 99;
struct SearchPorts {
  Choice choice;
  std::size_t num_beams = kNoInput, num_return_sequences = kNoInput, length_penalty = kNoInput;
  std::size_t repetition_penalty = 3, vocab_mask = 4, prefix_vocab_mask = 5, attention_mask = 6;
  std::size_t presence_mask = kNoInput, seed = kNoInput, decoder_input_ids = kNoInput, logits_processor = kNoInput;
  std::size_t temperature = kNoInput;
  std::size_t count = 7;
};
constexpr std::size_t kMaxLength = 1, kMinLength = 2;
constexpr SearchPorts kGreedyPorts{.choice = Choice::greedy};
constexpr SearchPorts kSamplingPorts{.choice = Choice::sampling, .presence_mask = 7, .seed = 8, .count = 9};
constexpr SearchPorts kBeamPorts{.choice = Choice::beams,
                                 .num_beams = 3,
                                 .num_return_sequences = 4,
                                 .length_penalty = 5,
                                 .repetition_penalty = 6,
                                 .vocab_mask = 7,
                                 .prefix_vocab_mask = 8,
                                 .attention_mask = 9,
                                 .decoder_input_ids = 10,
                                 .logits_processor = 11,
                                 .count = 12};
constexpr SearchPorts kWhisperPorts = [] {
  SearchPorts ports = kBeamPorts;
  ports.temperature = 14;
  ports.count = 15;
  return ports;
}();
constexpr std::array<std::size_t, 2> kWhisperRefused{12, 13};  ///< cross_qk_layer_head and extra_decoding_ids

constexpr std::int64_t kGptModel = 0, kT5Model = 1, kWhisperModel = 2;

struct SearchAttrs {
  std::int64_t model_type = 0, eos = 0, pad = 0, start_token = -1, ngram = 0, early_stopping = 0, vocab_size = -1;
  float presence_penalty = 0, temperature = 1;
  std::vector<NamedAttr> sampling;
};

/// A value that a subgraph declares.
struct DeclaredValue {
  std::string_view name;
  Type type;
};

/// What a subgraph declares of its inputs and outputs.
struct Signature {
  std::vector<DeclaredValue> inputs, outputs;
};

/// The values that one step passes to the next.
struct SearchState {
  Value input_ids, sequences;
  std::vector<Value> prompt;         ///< of a GPT decoder: position_ids and attention_mask
  std::vector<Value> next_position;  ///< of a GPT decoder: the position of the next token
  std::vector<Value> search;         ///< `ended`, or the state of the beams
  std::vector<Value> past;
  std::vector<Value> scores;  ///< of all steps, if they are wanted
  Value goes_on = {};         ///< result of a step only

  std::vector<Value> values() const {
    std::vector<Value> all{input_ids, sequences};
    for (const auto* part : {&prompt, &next_position, &search, &past, &scores})
      all.insert(all.end(), part->begin(), part->end());
    return all;
  }
  /// Returns a state of the same form with other values.
  SearchState with(std::span<const Value> values) const {
    SearchState s = *this;
    std::size_t next = 0;
    s.input_ids = values[next++];
    s.sequences = values[next++];
    for (auto* part : {&s.prompt, &s.next_position, &s.search, &s.past, &s.scores}) {
      for (Value& v : *part) v = values[next++];
    }
    return s;
  }
};

constexpr std::size_t kBeamState = 5;  ///< number of values of frazil.BeamStart

/// One expansion. Shared by the continuations of its splices.
class Decoding : public std::enable_shared_from_this<Decoding> {
 public:
  Decoding(Draft& d, const SearchPorts& ports)
      : graph_(d.builder().graph()),
        parent_(d.block),
        op_(d.op),
        name_(d.name),
        described_(d.describe()),
        in_(d.in),
        wanted_(d.wanted),
        ports_(ports) {}

  Status read(Draft& d);
  Result<std::unique_ptr<Splice>> begin();

 private:
  // ---- nodes in a block ----
  Result<std::vector<Value>> emit_all(BlockId block, std::string_view op, std::vector<Value> inputs,
                                      const std::vector<NamedAttr>& attrs, std::size_t outputs) const;
  Result<Value> emit(BlockId block, std::string_view op, std::vector<Value> inputs,
                     const std::vector<NamedAttr>& attrs = {}) const;
  Value ints(BlockId block, std::vector<std::int64_t> values) const {
    return Builder(graph_, block).ints(values).value;
  }
  Value scalar(BlockId block, std::int64_t value) const { return Builder(graph_, block).scalar(value).value; }
  Value input(std::size_t i) const { return i < in_.size() ? in_[i] : Value{}; }
  bool wants_scores() const { return beams() && wanted_.size() > 2 && wanted_[2]; }
  bool beams() const { return ports_.choice == Choice::beams; }
  template <class... A>
  [[nodiscard]] std::unexpected<Fault> error(fmt::format_string<A...> format, A&&... args) const {
    return fail_at(described_, Code::bad_model, format, std::forward<A>(args)...);
  }
  template <class... A>
  [[nodiscard]] std::unexpected<Fault> unsupported(fmt::format_string<A...> format, A&&... args) const {
    return fail_at(described_, Code::unsupported, format, std::forward<A>(args)...);
  }

  // ---- checks ----
  Status read_attributes(Draft& d);
  Status check_inputs(const Draft& d) const;
  Result<Signature> signature(const GraphAttr& graph, std::string_view attr) const;
  Status check_gpt(const Signature& s, std::string_view attr);
  Status check_decoder();
  Status check_encoder() const;
  Status check_names(const std::vector<DeclaredValue>& values, std::initializer_list<std::string_view> names,
                     std::string_view what) const;
  Status check_vocabulary(const Type& logits);

  // ---- start ----
  Result<std::unique_ptr<Splice>> begin_gpt();
  Result<std::unique_ptr<Splice>> begin_encoder();
  Result<Value> start_tokens();
  Result<Value> by_beam(Value rows) const;
  Status start_search(Value prompt);
  Result<Value> zeros(Elem elem, const std::vector<Value>& extents) const;
  Result<Value> row_count() const;
  Result<Value> empty_past(const Type& declared, std::size_t rows_axis, std::size_t steps_axis) const;
  Result<Spliced> after_encoder(const std::vector<Value>& results);
  Result<Spliced> after_first(const std::vector<Value>& logits_and_past);

  // ---- loop ----
  Result<Value> token_scores(BlockId block, Value logits, Value sequences, Value step) const;
  Result<SearchState> advance(BlockId block, const SearchState& now, Value logits, std::span<const Value> present,
                              Value step) const;
  Status choose_token(BlockId block, Value scores, Value step, SearchState& next) const;
  Status choose_beams(BlockId block, Value scores, SearchState& next) const;
  std::vector<Value> decoder_inputs(const SearchState& s) const;
  std::unique_ptr<Splice> splice(std::string_view attr, const GraphAttr& graph, std::vector<Value> inputs,
                                 BlockId block, Result<Spliced> (Decoding::*then)(const std::vector<Value>&));
  Result<std::unique_ptr<Splice>> open_loop(Value steps);
  Result<Spliced> after_decoder(const std::vector<Value>& results);
  Result<Spliced> finish(std::span<const Value> loop);

  Graph& graph_;
  const BlockId parent_;
  const std::string op_, name_, described_;
  const std::vector<Value> in_;
  const std::vector<bool> wanted_;
  const SearchPorts& ports_;
  SearchAttrs attrs_;
  std::optional<GraphAttr> decoder_, encoder_, init_decoder_;
  Signature decoder_signature_, encoder_signature_;

  Value prefix_mask_, steps_;
  std::int64_t vocabulary_ = 0;
  std::vector<Value> fixed_before_past_, fixed_after_past_;  ///< decoder inputs that do not change
  bool whole_sequences_ = false;                             ///< the decoder reads all tokens so far
  std::size_t past_count_ = 0;
  std::int64_t rows_axis_ = 0;  ///< axis of `past` for rows
  SearchState state_;           ///< before the loop, then in its body
  std::int64_t first_step_ = 0;
  BlockId body_;
  NodeId loop_;
};

// ---- nodes in a block ----

Result<std::vector<Value>> Decoding::emit_all(BlockId block, std::string_view op, std::vector<Value> inputs,
                                              const std::vector<NamedAttr>& attrs, std::size_t outputs) const {
  Builder builder(graph_, block);
  Draft d(builder, op_, "com.microsoft", 1);
  d.name = name_;
  return d.emit_all(op, std::move(inputs), attrs, std::vector<bool>(outputs, true));
}

Result<Value> Decoding::emit(BlockId block, std::string_view op, std::vector<Value> inputs,
                             const std::vector<NamedAttr>& attrs) const {
  FRAZIL_TRY(const auto values, emit_all(block, op, std::move(inputs), attrs, 1));
  return values[0];
}

// ---- checks ----

Status Decoding::read_attributes(Draft& d) {
  SearchAttrs& a = attrs_;
  FRAZIL_TRY(const auto eos, d.take<std::int64_t>("eos_token_id"));
  FRAZIL_TRY(const auto pad, d.take<std::int64_t>("pad_token_id"));
  if (!eos || *eos < 0) return d.error("attribute 'eos_token_id': expected a token, got {}", eos.value_or(-1));
  if (!pad || *pad < 0) return d.error("attribute 'pad_token_id': expected a token, got {}", pad.value_or(-1));
  a.eos = *eos;
  a.pad = *pad;
  FRAZIL_TRY(a.model_type, d.take_or<std::int64_t>("model_type", op_ == "WhisperBeamSearch" ? kWhisperModel : 0));
  FRAZIL_TRY(a.start_token, d.take_or<std::int64_t>("decoder_start_token_id", -1));
  FRAZIL_TRY(a.ngram, d.take_or<std::int64_t>("no_repeat_ngram_size", 0));
  FRAZIL_TRY(a.vocab_size, d.take_or<std::int64_t>("vocab_size", -1));
  if (beams()) {
    FRAZIL_TRY(a.early_stopping, d.take_or<std::int64_t>("early_stopping", 0));
    if (op_ == "WhisperBeamSearch") {
      FRAZIL_TRY(const auto cross, d.take_or<std::int64_t>("decoder_output_cross_qk", 0));
      if (cross != 0) return d.unsupported("attribute 'decoder_output_cross_qk' is not supported; leave it out");
      d.drop("no_speech_token");  // read by an output that is not supported
    }
  }
  if (ports_.choice == Choice::sampling) {
    FRAZIL_TRY(a.presence_penalty, d.take_or<float>("presence_penalty", 0));
    FRAZIL_TRY(a.temperature, d.take_or<float>("temperature", 1));
    std::swap(a.sampling, d.attrs);  // the others are those of frazil.SampledTokens, which checks them
  }
  if (!d.attrs.empty()) return d.error("it has no attribute '{}'", proto::shown(d.attrs[0].name));
  return {};
}

Status Decoding::check_inputs(const Draft& d) const {
  for (std::size_t i = 0; i < in_.size(); ++i) {
    const bool refused = op_ == "WhisperBeamSearch" && std::ranges::find(kWhisperRefused, i) != kWhisperRefused.end();
    if (in_[i] && (refused || i >= ports_.count)) return unsupported("input {} is not supported; leave it out", i);
  }
  if (!d.has(0)) return error("input 'input_ids' is missing");
  if (!d.has(kMaxLength)) return error("input 'max_length' is missing");
  if (beams() && !d.has(ports_.num_beams)) return error("input 'num_beams' is missing");
  if (beams() && !d.has(ports_.num_return_sequences)) return error("input 'num_return_sequences' is missing");
  if (const Value processor = input(ports_.logits_processor)) {
    const Constant* c = graph_.constant(processor);
    if (c == nullptr || c->tensor.count() != 1 || c->tensor.integer_at(0) != 0) {
      return unsupported("input 'logits_processor' is supported with the constant 0 only; leave it out");
    }
  }
  for (std::size_t i = beams() ? 3 : 1; i < wanted_.size(); ++i) {
    if (wanted_[i]) return unsupported("output {} is not supported; leave it out", i);
  }
  return {};
}

Result<Signature> Decoding::signature(const GraphAttr& graph, std::string_view attr) const {
  FRAZIL_TRY(const GraphParts parts, read_graph(graph.bytes));
  Graph scratch;
  Builder types(scratch);
  const Source anything{.keep_alive = {}, .external = {}, .max_name = ~std::size_t{0}};
  Signature s;
  const auto read = [&](const std::vector<Bytes>& from, std::vector<DeclaredValue>& to) -> Status {
    for (const Bytes bytes : from) {
      FRAZIL_TRY(const ValueInfo info, read_value_info(bytes));
      if (!info.type) return error("attribute '{}': '{}' has no type", attr, proto::shown(info.name));
      FRAZIL_TRY(Type type, read_type(*info.type, types, info.name, anything));
      if (!type.is_tensor() || !type.ranked) {
        return error("attribute '{}': '{}': expected a tensor with a shape, got {}", attr, proto::shown(info.name),
                     str(type, scratch.scope()));
      }
      to.push_back({info.name, std::move(type)});
    }
    return {};
  };
  FRAZIL_CHECK(read(parts.inputs, s.inputs));
  FRAZIL_CHECK(read(parts.outputs, s.outputs));
  for (const DeclaredValue& v : s.inputs) {
    if (v.name != "past_sequence_length" && v.name != "beam_width" && v.name != "cache_indirection") continue;
    return unsupported(
        "attribute '{}': its input '{}' belongs to buffers that past and present share; export it without them", attr,
        v.name);
  }
  return s;
}

Status Decoding::check_names(const std::vector<DeclaredValue>& values, std::initializer_list<std::string_view> names,
                             std::string_view what) const {
  std::size_t i = 0;
  for (const std::string_view name : names) {
    if (i >= values.size()) return error("{} {}: expected '{}', got none", what, i, name);
    if (values[i].name != name) {
      return error("{} {}: expected '{}', got '{}'", what, i, name, proto::shown(values[i].name));
    }
    ++i;
  }
  return {};
}

Status Decoding::check_vocabulary(const Type& logits) {
  if (logits.rank() != 3) return error("'logits' of the decoder: expected 3 axes, got {}", logits.rank());
  if (!logits.shape[2].is_const() || logits.shape[2].value() < 1) {
    return error("'logits' of the decoder: expected a positive number as last extent");
  }
  vocabulary_ = logits.shape[2].value();
  if (attrs_.vocab_size > 0 && vocabulary_ != attrs_.vocab_size) {
    return unsupported("attribute 'vocab_size' is {}, the last extent of 'logits' {}; they must be equal",
                       attrs_.vocab_size, vocabulary_);
  }
  return {};
}

Status Decoding::check_gpt(const Signature& s, std::string_view attr) {
  const std::string inputs = fmt::format("attribute '{}': its input", attr);
  const std::string outputs = fmt::format("attribute '{}': its output", attr);
  FRAZIL_CHECK(check_names(s.inputs, {"input_ids", "position_ids", "attention_mask", "past_0"}, inputs));
  FRAZIL_CHECK(check_names(s.outputs, {"logits", "present_0"}, outputs));
  if (s.inputs.size() != s.outputs.size() + 2) {
    return error("attribute '{}': it has {} inputs and {} outputs, expected 2 more inputs than outputs", attr,
                 s.inputs.size(), s.outputs.size());
  }
  return check_vocabulary(s.outputs[0].type);
}

Status Decoding::check_decoder() {
  const Signature& s = decoder_signature_;
  const std::size_t before = 1 + (s.inputs.size() > 1 && s.inputs[1].name == "encoder_attention_mask" ? 1U : 0U);
  FRAZIL_CHECK(check_names(s.inputs, {"input_ids"}, "attribute 'decoder': its input"));
  FRAZIL_CHECK(check_names(s.outputs, {"logits"}, "attribute 'decoder': its output"));
  if (attrs_.model_type == kT5Model && before != 2) {
    return error("attribute 'decoder': its input 1: expected 'encoder_attention_mask'");
  }
  const bool hidden = s.inputs.size() > before && s.inputs[before].name == "encoder_hidden_states";
  const std::size_t past = s.inputs.size() - before - (hidden ? 1U : 0U);
  if (past == 0 || past % 4 != 0 || s.outputs.size() != 1 + past / 2) {
    return error(
        "attribute 'decoder': it has {} inputs for past keys and values and {} outputs, expected 4 inputs and 2 "
        "outputs "
        "for each layer, and 'logits'",
        past, s.outputs.size());
  }
  return check_vocabulary(s.outputs[0].type);
}

Status Decoding::check_encoder() const {
  const Signature& s = encoder_signature_;
  const std::string_view inputs = "attribute 'encoder': its input", outputs = "attribute 'encoder': its output";
  const std::size_t past = 2 * (decoder_signature_.outputs.size() - 1);
  if (attrs_.model_type == kWhisperModel) {
    FRAZIL_CHECK(check_names(s.inputs, {"encoder_input_ids", "decoder_input_ids"}, inputs));
  } else if (attrs_.start_token >= 0 && s.inputs.size() != 2) {
    FRAZIL_CHECK(check_names(s.inputs, {"encoder_input_ids", "encoder_attention_mask", "decoder_input_ids"}, inputs));
  } else {
    FRAZIL_CHECK(check_names(s.inputs, {"encoder_input_ids", "encoder_attention_mask"}, inputs));
    FRAZIL_CHECK(check_names(s.outputs, {"present_key_cross_0", "present_value_cross_0"}, outputs));
    if (s.outputs.size() == past / 2) return {};
    return error("attribute 'encoder': it has {} outputs, expected {}", s.outputs.size(), past / 2);
  }
  FRAZIL_CHECK(check_names(s.outputs, {"logits", "encoder_hidden_states"}, outputs));
  if (s.outputs.size() == past + 2) return {};
  return error("attribute 'encoder': it has {} outputs, expected {}", s.outputs.size(), past + 2);
}

Status Decoding::read(Draft& d) {
  FRAZIL_TRY(decoder_, d.take_graph("decoder"));
  FRAZIL_TRY(encoder_, d.take_graph("encoder"));
  FRAZIL_TRY(init_decoder_, d.take_graph("init_decoder"));
  FRAZIL_CHECK(read_attributes(d));
  FRAZIL_CHECK(check_inputs(d));
  if (!decoder_) return error("attribute 'decoder' is missing");
  FRAZIL_TRY(decoder_signature_, signature(*decoder_, "decoder"));
  if (attrs_.model_type == kGptModel) {
    FRAZIL_CHECK(check_gpt(decoder_signature_, "decoder"));
    if (!init_decoder_) return {};
    FRAZIL_TRY(const Signature first, signature(*init_decoder_, "init_decoder"));
    if (first.inputs.size() != decoder_signature_.inputs.size()) {
      return error("attributes 'decoder' and 'init_decoder' have {} and {} inputs", decoder_signature_.inputs.size(),
                   first.inputs.size());
    }
    return check_gpt(first, "init_decoder");
  }
  const bool known = attrs_.model_type == kT5Model || attrs_.model_type == kWhisperModel;
  if (!beams() || !known) {
    return unsupported("attribute 'model_type' {} is not supported; expected {}", attrs_.model_type,
                       beams() ? "0, 1 or 2" : "0");
  }
  if (!encoder_) return error("attribute 'encoder' is missing");
  FRAZIL_TRY(encoder_signature_, signature(*encoder_, "encoder"));
  FRAZIL_CHECK(check_decoder());
  return check_encoder();
}

// ---- start ----

std::unique_ptr<Splice> Decoding::splice(std::string_view attr, const GraphAttr& graph, std::vector<Value> inputs,
                                         BlockId block, Result<Spliced> (Decoding::*then)(const std::vector<Value>&)) {
  auto next = [self = shared_from_this(), then](const std::vector<Value>& results) { return (*self.*then)(results); };
  return std::make_unique<Splice>(Splice{attr, graph, std::move(inputs), block, std::move(next)});
}

Result<std::unique_ptr<Splice>> Decoding::begin() {
  if (const Value mask = input(ports_.prefix_vocab_mask)) {
    FRAZIL_TRY(prefix_mask_, by_beam(mask));
  }
  return attrs_.model_type == kGptModel ? begin_gpt() : begin_encoder();
}

/// Returns the rows of each item once for each beam.
Result<Value> Decoding::by_beam(Value rows) const {
  if (!beams()) return rows;
  return emit(parent_, "frazil.RepeatRows", {rows, input(ports_.num_beams)});
}

Result<Value> Decoding::zeros(Elem elem, const std::vector<Value>& extents) const {
  FRAZIL_TRY(const Value shape, emit(parent_, "Concat", extents, {{"axis", AttrValue(std::int64_t{0})}}));
  Builder builder(graph_, parent_);
  return emit(parent_, "Expand", {CompositeCx(builder, {}, nullptr, 0).number(elem, 0).value, shape});
}

/// Returns the number of rows as a 1-D tensor.
Result<Value> Decoding::row_count() const {
  return emit(parent_, "Shape", {state_.sequences}, {{"end", AttrValue(std::int64_t{1})}});
}

Status Decoding::start_search(Value prompt) {
  if (!beams()) {
    FRAZIL_TRY(const Value items, row_count());
    FRAZIL_TRY(state_.search.emplace_back(), zeros(Elem::boolean, {items}));
    return {};
  }
  FRAZIL_TRY(state_.search, emit_all(parent_, "frazil.BeamStart", {prompt, input(ports_.num_beams), input(kMaxLength)},
                                     {{"pad_token_id", AttrValue(attrs_.pad)}}, kBeamState));
  if (!wants_scores()) return {};
  FRAZIL_TRY(const Value rows, row_count());
  FRAZIL_TRY(state_.scores.emplace_back(), zeros(Elem::f32, {ints(parent_, {0}), rows, ints(parent_, {vocabulary_})}));
  return {};
}

/// Returns a past without steps.
Result<Value> Decoding::empty_past(const Type& declared, std::size_t rows_axis, std::size_t steps_axis) const {
  FRAZIL_TRY(const Value rows, row_count());
  std::vector<Value> extents;
  for (std::size_t i = 0; i < declared.rank(); ++i) {
    const Dim d = declared.shape[i];
    if (i == rows_axis) {
      extents.push_back(rows);
    } else if (i != steps_axis && !d.is_const()) {
      return error("the past of the decoder: expected a number as extent {}, got a name", i);
    } else {
      extents.push_back(ints(parent_, {i == steps_axis ? 0 : d.value()}));
    }
  }
  return zeros(declared.elem, extents);
}

Result<std::unique_ptr<Splice>> Decoding::begin_gpt() {
  const Signature& s = decoder_signature_;
  FRAZIL_TRY(const auto prompt, emit_all(parent_, "frazil.PromptInputs", {in_[0], input(ports_.attention_mask)},
                                         {{"pad_token_id", AttrValue(attrs_.pad)}}, 3));
  FRAZIL_TRY(state_.input_ids, by_beam(in_[0]));
  FRAZIL_TRY(const Value mask, by_beam(prompt[0]));
  FRAZIL_TRY(const Value positions, by_beam(prompt[1]));
  state_.sequences = state_.input_ids;
  FRAZIL_TRY(const Value next_position, by_beam(prompt[2]));
  state_.prompt = {positions, mask};
  state_.next_position = {next_position};
  FRAZIL_TRY(steps_, emit(parent_, "frazil.StepCount", {input(kMaxLength), in_[0]}));
  FRAZIL_CHECK(start_search(in_[0]));
  rows_axis_ = 1;
  past_count_ = s.outputs.size() - 1;
  constexpr std::size_t kFirstPast = 3, kRank = 5, kSteps = 3;
  for (std::size_t i = 0; i < past_count_; ++i) {
    const Type& type = s.inputs[kFirstPast + i].type;
    if (type.rank() != kRank) return error("the past of the decoder: expected 5 axes, got {}", type.rank());
    FRAZIL_TRY(state_.past.emplace_back(), empty_past(type, 1, kSteps));
  }
  if (!init_decoder_) return open_loop(steps_);
  return splice("init_decoder", *init_decoder_, decoder_inputs(state_), parent_, &Decoding::after_first);
}

/// Returns the tokens with which the decoder begins, by item.
Result<Value> Decoding::start_tokens() {
  if (const Value given = input(ports_.decoder_input_ids); given && attrs_.model_type == kWhisperModel) return given;
  if (attrs_.start_token < 0) return error("attribute 'decoder_start_token_id': expected a token");
  FRAZIL_TRY(const Value items, emit(parent_, "Shape", {in_[0]}, {{"end", AttrValue(std::int64_t{1})}}));
  FRAZIL_TRY(const Value shape,
             emit(parent_, "Concat", {items, ints(parent_, {1})}, {{"axis", AttrValue(std::int64_t{0})}}));
  const Value token = Builder(graph_, parent_).scalar(static_cast<std::int32_t>(attrs_.start_token)).value;
  return emit(parent_, "Expand", {token, shape});
}

Result<std::unique_ptr<Splice>> Decoding::begin_encoder() {
  FRAZIL_TRY(const Value start, start_tokens());
  FRAZIL_TRY(state_.sequences, by_beam(start));
  FRAZIL_TRY(steps_, emit(parent_, "frazil.StepCount", {input(kMaxLength), start}));
  FRAZIL_CHECK(start_search(start));
  std::vector<Value> inputs{in_[0]};
  if (attrs_.model_type == kT5Model) {
    FRAZIL_TRY(const Value mask,
               emit(parent_, "frazil.PromptInputs", {in_[0], input(ports_.attention_mask)},
                    {{"pad_token_id", AttrValue(attrs_.pad)}, {"leading", AttrValue(std::int64_t{1})}}));
    inputs.push_back(mask);
    FRAZIL_TRY(fixed_before_past_.emplace_back(), by_beam(mask));
  }
  if (inputs.size() < encoder_signature_.inputs.size()) inputs.push_back(start);
  const DeclaredValue& ids = decoder_signature_.inputs[0];
  whole_sequences_ = ids.type.rank() == 2 && !(ids.type.shape[1].is_const() && ids.type.shape[1].value() == 1);
  past_count_ = decoder_signature_.outputs.size() - 1;
  return splice("encoder", *encoder_, std::move(inputs), parent_, &Decoding::after_encoder);
}

Result<Spliced> Decoding::after_encoder(const std::vector<Value>& results) {
  const Signature& s = decoder_signature_;
  const bool has_logits = encoder_signature_.outputs[0].name == "logits";
  std::size_t next = 0;
  std::vector<Value> first;
  if (has_logits) {
    FRAZIL_TRY(first.emplace_back(), by_beam(results[0]));
    if (s.inputs[1 + fixed_before_past_.size()].name == "encoder_hidden_states") {
      FRAZIL_TRY(fixed_before_past_.emplace_back(), by_beam(results[1]));
    }
    next = 2;
  }
  state_.input_ids = state_.sequences;
  const std::size_t first_past = s.inputs.size() - 2 * past_count_;
  for (std::size_t i = 0; i < past_count_; ++i) {
    Value& past = state_.past.emplace_back();
    if (has_logits) {
      FRAZIL_TRY(past, by_beam(results[next++]));
      continue;
    }
    const Type& type = s.inputs[first_past + i].type;
    if (type.rank() != 4) return error("the past of the decoder: expected 4 axes, got {}", type.rank());
    FRAZIL_TRY(past, empty_past(type, 0, 2));
  }
  while (next < results.size()) {
    FRAZIL_TRY(fixed_after_past_.emplace_back(), by_beam(results[next++]));
  }
  if (has_logits) {
    first.insert(first.end(), state_.past.begin(), state_.past.end());
    return after_first(first);
  }
  FRAZIL_TRY(auto loop, open_loop(steps_));
  return Spliced{{}, std::move(loop)};
}

/// Takes the first step before the loop, whose logits another subgraph than the decoder computes.
Result<Spliced> Decoding::after_first(const std::vector<Value>& logits_and_past) {
  const auto present = std::span(logits_and_past).subspan(1);
  FRAZIL_TRY(state_, advance(parent_, state_, logits_and_past[0], present, scalar(parent_, 0)));
  first_step_ = 1;
  FRAZIL_TRY(const Value steps, emit(parent_, "Sub", {steps_, scalar(parent_, 1)}));
  FRAZIL_TRY(auto loop, open_loop(steps));
  return Spliced{{}, std::move(loop)};
}

// ---- loop ----

std::vector<Value> Decoding::decoder_inputs(const SearchState& s) const {
  std::vector<Value> all{whole_sequences_ ? s.sequences : s.input_ids};
  for (const auto* part : {&s.prompt, &fixed_before_past_, &s.past, &fixed_after_past_}) {
    all.insert(all.end(), part->begin(), part->end());
  }
  return all;
}

Result<std::unique_ptr<Splice>> Decoding::open_loop(Value steps) {
  const OpDef* loop = OpRegistry::global().find("", "Loop");
  if (loop == nullptr) return unsupported("this build lacks Loop");
  FRAZIL_TRY(Attrs attrs, bind_attributes(*loop, {}));
  std::vector<Value> inputs{steps, state_.goes_on};
  const std::vector<Value> carried = state_.values();
  inputs.insert(inputs.end(), carried.begin(), carried.end());
  const std::size_t params = inputs.size();
  Builder builder(graph_, parent_);
  FRAZIL_TRY(loop_, builder.open(*loop, std::move(inputs), std::move(attrs), {params}, name_));
  body_ = graph_.node(loop_).blocks[0];
  state_ = state_.with(std::span(graph_.block(body_).params).subspan(2));
  return splice("decoder", *decoder_, decoder_inputs(state_), body_, &Decoding::after_decoder);
}

Result<Value> Decoding::token_scores(BlockId block, Value logits, Value sequences, Value step) const {
  Value temperature = input(ports_.temperature);
  if (attrs_.temperature > 0 && attrs_.temperature != 1) {
    temperature = Builder(graph_, block).scalar(attrs_.temperature).value;
  }
  return emit(block, "frazil.TokenScores",
              {logits, sequences, step, input(ports_.repetition_penalty), input(ports_.vocab_mask), prefix_mask_,
               input(kMinLength), input(ports_.presence_mask), temperature},
              {{"eos_token_id", AttrValue(attrs_.eos)},
               {"log_softmax", AttrValue(std::int64_t{beams()})},
               {"no_repeat_ngram_size", AttrValue(attrs_.ngram)},
               {"presence_penalty", AttrValue(attrs_.presence_penalty)}});
}

Status Decoding::choose_token(BlockId block, Value scores, Value step, SearchState& next) const {
  Value tokens;
  if (ports_.choice == Choice::sampling) {
    FRAZIL_TRY(tokens, emit(block, "frazil.SampledTokens", {scores, step, input(ports_.seed)}, attrs_.sampling));
  } else {
    FRAZIL_TRY(tokens, emit(block, "ArgMax", {scores},
                            {{"axis", AttrValue(std::int64_t{1})}, {"keepdims", AttrValue(std::int64_t{0})}}));
  }
  FRAZIL_TRY(const auto made,
             emit_all(block, "frazil.AppendTokens", {tokens, next.sequences, next.search[0]},
                      {{"eos_token_id", AttrValue(attrs_.eos)}, {"pad_token_id", AttrValue(attrs_.pad)}}, 4));
  next.sequences = made[0];
  next.search = {made[1]};
  next.input_ids = made[2];
  next.goes_on = made[3];
  return {};
}

Status Decoding::choose_beams(BlockId block, Value scores, SearchState& next) const {
  std::vector<Value> inputs{scores, next.search[0], next.sequences};
  inputs.insert(inputs.end(), next.search.begin() + 1, next.search.end());
  inputs.push_back(input(ports_.length_penalty));
  FRAZIL_TRY(const auto made, emit_all(block, "frazil.BeamStep", std::move(inputs),
                                       {{"eos_token_id", AttrValue(attrs_.eos)},
                                        {"pad_token_id", AttrValue(attrs_.pad)},
                                        {"early_stopping", AttrValue(attrs_.early_stopping)}},
                                       wants_scores() ? 10 : 9));
  next.search = {made[0], made[2], made[3], made[4], made[5]};
  next.sequences = made[1];
  next.input_ids = made[6];
  next.goes_on = made[8];
  if (wants_scores()) {
    FRAZIL_TRY(const Value added, emit(block, "Unsqueeze", {made[9], ints(block, {0})}));
    FRAZIL_TRY(next.scores[0], emit(block, "Concat", {next.scores[0], added}, {{"axis", AttrValue(std::int64_t{0})}}));
  }
  for (Value& past : next.past) {
    FRAZIL_TRY(past, emit(block, "Gather", {past, made[7]}, {{"axis", AttrValue(rows_axis_)}}));
  }
  return {};
}

Result<SearchState> Decoding::advance(BlockId block, const SearchState& now, Value logits,
                                      std::span<const Value> present, Value step) const {
  SearchState next = now;
  next.past.assign(present.begin(), present.end());
  FRAZIL_TRY(const Value scores, token_scores(block, logits, now.sequences, step));
  FRAZIL_CHECK(beams() ? choose_beams(block, scores, next) : choose_token(block, scores, step, next));
  if (now.prompt.empty()) return next;
  FRAZIL_TRY(const auto inputs, emit_all(block, "frazil.NextInputs", {now.prompt[1], now.next_position[0]}, {}, 2));
  next.prompt = {now.next_position[0], inputs[0]};
  next.next_position = {inputs[1]};
  return next;
}

Result<Spliced> Decoding::after_decoder(const std::vector<Value>& results) {
  Value step = graph_.block(body_).params[0];
  if (first_step_ != 0) {
    FRAZIL_TRY(step, emit(body_, "Add", {step, scalar(body_, first_step_)}));
  }
  FRAZIL_TRY(const SearchState next, advance(body_, state_, results[0], std::span(results).subspan(1), step));
  std::vector<Value> yielded{next.goes_on};
  const std::vector<Value> carried = next.values();
  yielded.insert(yielded.end(), carried.begin(), carried.end());
  const std::vector<bool> all(yielded.size() - 1, true);
  Builder outside(graph_, parent_);
  outside.yield(loop_, 0, std::move(yielded));
  FRAZIL_CHECK(outside.close(loop_, all));
  return finish(graph_.node(loop_).out);
}

Result<Spliced> Decoding::finish(std::span<const Value> loop) {
  const SearchState last = state_.with(loop);
  const std::vector<NamedAttr> pad{{"pad_token_id", AttrValue(attrs_.pad)}};
  if (!beams()) {
    FRAZIL_TRY(const Value padded, emit(parent_, "frazil.PadSequences", {last.sequences, input(kMaxLength)}, pad));
    return Spliced{{padded}};
  }
  std::vector<Value> inputs{last.sequences};
  inputs.insert(inputs.end(), last.search.begin(), last.search.end());
  inputs.push_back(input(ports_.num_return_sequences));
  inputs.push_back(input(ports_.length_penalty));
  FRAZIL_TRY(std::vector<Value> outputs, emit_all(parent_, "frazil.BeamEnd", std::move(inputs), pad, 2));
  if (wants_scores()) {
    FRAZIL_TRY(outputs.emplace_back(),
               emit(parent_, "frazil.StepScores", {last.scores[0], steps_, input(ports_.num_beams)}));
  }
  return Spliced{std::move(outputs)};
}

Status expand_search(Draft& d, const SearchPorts& ports) {
  const auto decoding = std::make_shared<Decoding>(d, ports);
  FRAZIL_CHECK(decoding->read(d));
  FRAZIL_TRY(d.splice, decoding->begin());
  return {};
}

}  // namespace

Status greedy_search(Draft& d) { return expand_search(d, kGreedyPorts); }
Status sampling(Draft& d) { return expand_search(d, kSamplingPorts); }
Status beam_search(Draft& d) { return expand_search(d, d.op == "BeamSearch" ? kBeamPorts : kWhisperPorts); }

}  // namespace frazil::onnx::rules
