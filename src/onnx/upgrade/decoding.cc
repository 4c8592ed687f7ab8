#include <algorithm>

#include "onnx/upgrade/decoding_form.h"

// Decoding loops of com.microsoft: GreedySearch, Sampling, BeamSearch and WhisperBeamSearch become a Loop around their
// decoder. docs/decisions/0235-decoding-loops.md describes the graph that results.
namespace frazil::onnx::rules {
namespace {

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

/// Adds the nodes of a search to blocks of the graph.
class SearchNodes {
 public:
  SearchNodes(Graph& graph, BlockId parent, const DecodingForm& form) : graph_(graph), parent_(parent), form_(form) {}

  Result<std::vector<Value>> emit_all(BlockId block, std::string_view op, std::vector<Value> inputs,
                                      const std::vector<NamedAttr>& attrs, std::size_t outputs) const;
  Result<Value> emit(BlockId block, std::string_view op, std::vector<Value> inputs,
                     const std::vector<NamedAttr>& attrs = {}) const;
  Value ints(BlockId block, std::vector<std::int64_t> values) const {
    return Builder(graph_, block).ints(values).value;
  }
  Value scalar(BlockId block, std::int64_t value) const { return Builder(graph_, block).scalar(value).value; }
  Result<Value> zeros(Elem elem, const std::vector<Value>& extents) const;
  Result<Value> by_beam(Value rows) const;
  /// Returns the state after a step. `prefix_mask` is absent, or has a row for each row of the search.
  Result<SearchState> advance(BlockId block, const SearchState& now, Value logits, std::span<const Value> present,
                              Value step, Value prefix_mask) const;

 private:
  Result<Value> token_scores(BlockId block, Value logits, Value sequences, Value step, Value prefix_mask) const;
  Status choose_token(BlockId block, Value scores, Value step, SearchState& next) const;
  Status choose_beams(BlockId block, Value scores, SearchState& next) const;

  Graph& graph_;
  const BlockId parent_;
  const DecodingForm& form_;
};

Result<std::vector<Value>> SearchNodes::emit_all(BlockId block, std::string_view op, std::vector<Value> inputs,
                                                 const std::vector<NamedAttr>& attrs, std::size_t outputs) const {
  Builder builder(graph_, block);
  Draft d(builder, form_.op, "com.microsoft", 1);
  d.name = form_.name;
  return d.emit_all(op, std::move(inputs), attrs, std::vector<bool>(outputs, true));
}

Result<Value> SearchNodes::emit(BlockId block, std::string_view op, std::vector<Value> inputs,
                                const std::vector<NamedAttr>& attrs) const {
  FRAZIL_TRY(const auto values, emit_all(block, op, std::move(inputs), attrs, 1));
  return values[0];
}

Result<Value> SearchNodes::zeros(Elem elem, const std::vector<Value>& extents) const {
  FRAZIL_TRY(const Value shape, emit(parent_, "Concat", extents, {{"axis", AttrValue(std::int64_t{0})}}));
  Builder builder(graph_, parent_);
  return emit(parent_, "Expand", {CompositeCx(builder, {}, nullptr, 0).number(elem, 0).value, shape});
}

/// Returns the rows of each item once for each beam.
Result<Value> SearchNodes::by_beam(Value rows) const {
  if (!form_.beams()) return rows;
  return emit(parent_, "frazil.RepeatRows", {rows, form_.input(form_.ports.num_beams)});
}

Result<Value> SearchNodes::token_scores(BlockId block, Value logits, Value sequences, Value step,
                                        Value prefix_mask) const {
  Value temperature = form_.input(form_.ports.temperature);
  if (form_.attrs.temperature > 0 && form_.attrs.temperature != 1) {
    temperature = Builder(graph_, block).scalar(form_.attrs.temperature).value;
  }
  return emit(
      block, "frazil.TokenScores",
      {logits, sequences, step, form_.input(form_.ports.repetition_penalty), form_.input(form_.ports.vocab_mask),
       prefix_mask, form_.input(kMinLength), form_.input(form_.ports.presence_mask), temperature},
      {{"eos_token_id", AttrValue(form_.attrs.eos)},
       {"log_softmax", AttrValue(std::int64_t{form_.beams()})},
       {"no_repeat_ngram_size", AttrValue(form_.attrs.ngram)},
       {"presence_penalty", AttrValue(form_.attrs.presence_penalty)}});
}

Status SearchNodes::choose_token(BlockId block, Value scores, Value step, SearchState& next) const {
  Value tokens;
  if (form_.ports.choice == Choice::sampling) {
    FRAZIL_TRY(tokens, emit(block, "frazil.SampledTokens", {scores, step, form_.input(form_.ports.seed)},
                            form_.attrs.sampling));
  } else {
    FRAZIL_TRY(tokens, emit(block, "ArgMax", {scores},
                            {{"axis", AttrValue(std::int64_t{1})}, {"keepdims", AttrValue(std::int64_t{0})}}));
  }
  FRAZIL_TRY(const auto made,
             emit_all(block, "frazil.AppendTokens", {tokens, next.sequences, next.search[0]},
                      {{"eos_token_id", AttrValue(form_.attrs.eos)}, {"pad_token_id", AttrValue(form_.attrs.pad)}}, 4));
  next.sequences = made[0];
  next.search = {made[1]};
  next.input_ids = made[2];
  next.goes_on = made[3];
  return {};
}

Status SearchNodes::choose_beams(BlockId block, Value scores, SearchState& next) const {
  std::vector<Value> inputs{scores, next.search[0], next.sequences};
  inputs.insert(inputs.end(), next.search.begin() + 1, next.search.end());
  inputs.push_back(form_.input(form_.ports.length_penalty));
  FRAZIL_TRY(const auto made, emit_all(block, "frazil.BeamStep", std::move(inputs),
                                       {{"eos_token_id", AttrValue(form_.attrs.eos)},
                                        {"pad_token_id", AttrValue(form_.attrs.pad)},
                                        {"early_stopping", AttrValue(form_.attrs.early_stopping)}},
                                       form_.wants_scores() ? 10 : 9));
  next.search = {made[0], made[2], made[3], made[4], made[5]};
  next.sequences = made[1];
  next.input_ids = made[6];
  next.goes_on = made[8];
  if (form_.wants_scores()) {
    FRAZIL_TRY(const Value added, emit(block, "Unsqueeze", {made[9], ints(block, {0})}));
    FRAZIL_TRY(next.scores[0], emit(block, "Concat", {next.scores[0], added}, {{"axis", AttrValue(std::int64_t{0})}}));
  }
  for (Value& past : next.past) {
    FRAZIL_TRY(past, emit(block, "Gather", {past, made[7]}, {{"axis", AttrValue(form_.rows_axis())}}));
  }
  return {};
}

Result<SearchState> SearchNodes::advance(BlockId block, const SearchState& now, Value logits,
                                         std::span<const Value> present, Value step, Value prefix_mask) const {
  SearchState next = now;
  next.past.assign(present.begin(), present.end());
  FRAZIL_TRY(const Value scores, token_scores(block, logits, now.sequences, step, prefix_mask));
  FRAZIL_CHECK(form_.beams() ? choose_beams(block, scores, next) : choose_token(block, scores, step, next));
  if (now.prompt.empty()) return next;
  FRAZIL_TRY(const auto inputs, emit_all(block, "frazil.NextInputs", {now.prompt[1], now.next_position[0]}, {}, 2));
  next.prompt = {now.next_position[0], inputs[0]};
  next.next_position = {inputs[1]};
  return next;
}

/// One expansion. Shared by the continuations of its splices.
class Decoding : public std::enable_shared_from_this<Decoding> {
 public:
  Decoding(Draft& d, const SearchPorts& ports)
      : graph_(d.builder().graph()), parent_(d.block), form_(d, ports), nodes_(graph_, parent_, form_) {}
  Decoding(const Decoding&) = delete;
  Decoding& operator=(const Decoding&) = delete;

  Status read(Draft& d) { return form_.read(d); }
  Result<std::unique_ptr<Splice>> begin();

 private:
  // ---- before the loop ----
  Result<std::unique_ptr<Splice>> begin_gpt();
  Result<std::unique_ptr<Splice>> begin_encoder();
  Result<Value> start_tokens();
  Status start_search(Value prompt);
  Result<Value> row_count() const;
  Result<Value> empty_past(const Type& declared, std::size_t rows_axis, std::size_t steps_axis) const;
  Result<Spliced> after_encoder(const std::vector<Value>& results);
  Result<Spliced> after_first(const std::vector<Value>& logits_and_past);

  // ---- the loop ----
  std::vector<Value> decoder_inputs(const SearchState& s) const;
  std::unique_ptr<Splice> splice(std::string_view attr, const GraphAttr& graph, std::vector<Value> inputs,
                                 BlockId block, Result<Spliced> (Decoding::*then)(const std::vector<Value>&));
  Result<std::unique_ptr<Splice>> open_loop(Value steps);
  Result<Spliced> after_decoder(const std::vector<Value>& results);
  Result<Spliced> finish(std::span<const Value> loop);

  Graph& graph_;
  const BlockId parent_;
  DecodingForm form_;
  const SearchNodes nodes_;
  Value prefix_mask_, steps_;
  std::vector<Value> fixed_before_past_, fixed_after_past_;  ///< decoder inputs that do not change
  bool whole_sequences_ = false;                             ///< the decoder reads all tokens so far
  std::size_t past_count_ = 0;
  SearchState state_;  ///< before the loop, then in its body
  std::int64_t first_step_ = 0;
  BlockId body_;
  NodeId loop_;
};

std::unique_ptr<Splice> Decoding::splice(std::string_view attr, const GraphAttr& graph, std::vector<Value> inputs,
                                         BlockId block, Result<Spliced> (Decoding::*then)(const std::vector<Value>&)) {
  auto next = [self = shared_from_this(), then](const std::vector<Value>& results) { return (*self.*then)(results); };
  return std::make_unique<Splice>(Splice{attr, graph, std::move(inputs), block, std::move(next)});
}

Result<std::unique_ptr<Splice>> Decoding::begin() {
  if (const Value mask = form_.input(form_.ports.prefix_vocab_mask)) {
    FRAZIL_TRY(prefix_mask_, nodes_.by_beam(mask));
  }
  return form_.attrs.model_type == kGptModel ? begin_gpt() : begin_encoder();
}

/// Returns the number of rows as a 1-D tensor.
Result<Value> Decoding::row_count() const {
  return nodes_.emit(parent_, "Shape", {state_.sequences}, {{"end", AttrValue(std::int64_t{1})}});
}

Status Decoding::start_search(Value prompt) {
  if (!form_.beams()) {
    FRAZIL_TRY(const Value items, row_count());
    FRAZIL_TRY(state_.search.emplace_back(), nodes_.zeros(Elem::boolean, {items}));
    return {};
  }
  FRAZIL_TRY(state_.search, nodes_.emit_all(parent_, "frazil.BeamStart",
                                            {prompt, form_.input(form_.ports.num_beams), form_.input(kMaxLength)},
                                            {{"pad_token_id", AttrValue(form_.attrs.pad)}}, kBeamState));
  if (!form_.wants_scores()) return {};
  FRAZIL_TRY(const Value rows, row_count());
  FRAZIL_TRY(state_.scores.emplace_back(),
             nodes_.zeros(Elem::f32, {nodes_.ints(parent_, {0}), rows, nodes_.ints(parent_, {form_.vocabulary})}));
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
      return form_.error("the past of the decoder: expected a number as extent {}, got a name", i);
    } else {
      extents.push_back(nodes_.ints(parent_, {i == steps_axis ? 0 : d.value()}));
    }
  }
  return nodes_.zeros(declared.elem, extents);
}

Result<std::unique_ptr<Splice>> Decoding::begin_gpt() {
  const Signature& s = form_.decoder_signature;
  FRAZIL_TRY(const auto prompt,
             nodes_.emit_all(parent_, "frazil.PromptInputs", {form_.in[0], form_.input(form_.ports.attention_mask)},
                             {{"pad_token_id", AttrValue(form_.attrs.pad)}}, 3));
  FRAZIL_TRY(state_.input_ids, nodes_.by_beam(form_.in[0]));
  FRAZIL_TRY(const Value mask, nodes_.by_beam(prompt[0]));
  FRAZIL_TRY(const Value positions, nodes_.by_beam(prompt[1]));
  state_.sequences = state_.input_ids;
  FRAZIL_TRY(const Value next_position, nodes_.by_beam(prompt[2]));
  state_.prompt = {positions, mask};
  state_.next_position = {next_position};
  FRAZIL_TRY(steps_, nodes_.emit(parent_, "frazil.StepCount", {form_.input(kMaxLength), form_.in[0]}));
  FRAZIL_CHECK(start_search(form_.in[0]));
  past_count_ = s.outputs.size() - 1;
  constexpr std::size_t kFirstPast = 3, kRank = 5, kSteps = 3;
  for (std::size_t i = 0; i < past_count_; ++i) {
    const Type& type = s.inputs[kFirstPast + i].type;
    if (type.rank() != kRank) return form_.error("the past of the decoder: expected 5 axes, got {}", type.rank());
    FRAZIL_TRY(state_.past.emplace_back(), empty_past(type, 1, kSteps));
  }
  if (!form_.init_decoder) return open_loop(steps_);
  return splice("init_decoder", *form_.init_decoder, decoder_inputs(state_), parent_, &Decoding::after_first);
}

/// Returns the tokens with which the decoder begins, by item.
Result<Value> Decoding::start_tokens() {
  if (const Value given = form_.input(form_.ports.decoder_input_ids); given && form_.attrs.model_type == kWhisperModel)
    return given;
  if (form_.attrs.start_token < 0) return form_.error("attribute 'decoder_start_token_id': expected a token");
  FRAZIL_TRY(const Value items, nodes_.emit(parent_, "Shape", {form_.in[0]}, {{"end", AttrValue(std::int64_t{1})}}));
  FRAZIL_TRY(const Value shape, nodes_.emit(parent_, "Concat", {items, nodes_.ints(parent_, {1})},
                                            {{"axis", AttrValue(std::int64_t{0})}}));
  const Value token = Builder(graph_, parent_).scalar(static_cast<std::int32_t>(form_.attrs.start_token)).value;
  return nodes_.emit(parent_, "Expand", {token, shape});
}

Result<std::unique_ptr<Splice>> Decoding::begin_encoder() {
  FRAZIL_TRY(const Value start, start_tokens());
  FRAZIL_TRY(state_.sequences, nodes_.by_beam(start));
  FRAZIL_TRY(steps_, nodes_.emit(parent_, "frazil.StepCount", {form_.input(kMaxLength), start}));
  FRAZIL_CHECK(start_search(start));
  std::vector<Value> inputs{form_.in[0]};
  if (form_.attrs.model_type == kT5Model) {
    FRAZIL_TRY(const Value mask,
               nodes_.emit(parent_, "frazil.PromptInputs", {form_.in[0], form_.input(form_.ports.attention_mask)},
                           {{"pad_token_id", AttrValue(form_.attrs.pad)}, {"leading", AttrValue(std::int64_t{1})}}));
    inputs.push_back(mask);
    FRAZIL_TRY(fixed_before_past_.emplace_back(), nodes_.by_beam(mask));
  }
  if (inputs.size() < form_.encoder_signature.inputs.size()) inputs.push_back(start);
  const DeclaredValue& ids = form_.decoder_signature.inputs[0];
  whole_sequences_ = ids.type.rank() == 2 && !(ids.type.shape[1].is_const() && ids.type.shape[1].value() == 1);
  past_count_ = form_.decoder_signature.outputs.size() - 1;
  return splice("encoder", *form_.encoder, std::move(inputs), parent_, &Decoding::after_encoder);
}

Result<Spliced> Decoding::after_encoder(const std::vector<Value>& results) {
  const Signature& s = form_.decoder_signature;
  const bool has_logits = form_.encoder_signature.outputs[0].name == "logits";
  std::size_t next = 0;
  std::vector<Value> first;
  if (has_logits) {
    FRAZIL_TRY(first.emplace_back(), nodes_.by_beam(results[0]));
    if (s.inputs[1 + fixed_before_past_.size()].name == "encoder_hidden_states") {
      FRAZIL_TRY(fixed_before_past_.emplace_back(), nodes_.by_beam(results[1]));
    }
    next = 2;
  }
  state_.input_ids = state_.sequences;
  const std::size_t first_past = s.inputs.size() - 2 * past_count_;
  for (std::size_t i = 0; i < past_count_; ++i) {
    Value& past = state_.past.emplace_back();
    if (has_logits) {
      FRAZIL_TRY(past, nodes_.by_beam(results[next++]));
      continue;
    }
    const Type& type = s.inputs[first_past + i].type;
    if (type.rank() != 4) return form_.error("the past of the decoder: expected 4 axes, got {}", type.rank());
    FRAZIL_TRY(past, empty_past(type, 0, 2));
  }
  while (next < results.size()) {
    FRAZIL_TRY(fixed_after_past_.emplace_back(), nodes_.by_beam(results[next++]));
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
  FRAZIL_TRY(state_,
             nodes_.advance(parent_, state_, logits_and_past[0], present, nodes_.scalar(parent_, 0), prefix_mask_));
  first_step_ = 1;
  FRAZIL_TRY(const Value steps, nodes_.emit(parent_, "Sub", {steps_, nodes_.scalar(parent_, 1)}));
  FRAZIL_TRY(auto loop, open_loop(steps));
  return Spliced{{}, std::move(loop)};
}

std::vector<Value> Decoding::decoder_inputs(const SearchState& s) const {
  std::vector<Value> all{whole_sequences_ ? s.sequences : s.input_ids};
  for (const auto* part : {&s.prompt, &fixed_before_past_, &s.past, &fixed_after_past_}) {
    all.insert(all.end(), part->begin(), part->end());
  }
  return all;
}

Result<std::unique_ptr<Splice>> Decoding::open_loop(Value steps) {
  const OpDef* loop = OpRegistry::global().find("", "Loop");
  if (loop == nullptr) return form_.unsupported("this build lacks Loop");
  FRAZIL_TRY(Attrs attrs, bind_attributes(*loop, {}));
  std::vector<Value> inputs{steps, state_.goes_on};
  const std::vector<Value> carried = state_.values();
  inputs.insert(inputs.end(), carried.begin(), carried.end());
  const std::size_t params = inputs.size();
  Builder builder(graph_, parent_);
  FRAZIL_TRY(loop_, builder.open(*loop, std::move(inputs), std::move(attrs), {params}, form_.name));
  body_ = graph_.node(loop_).blocks[0];
  state_ = state_.with(std::span(graph_.block(body_).params).subspan(2));
  return splice("decoder", *form_.decoder, decoder_inputs(state_), body_, &Decoding::after_decoder);
}

Result<Spliced> Decoding::after_decoder(const std::vector<Value>& results) {
  Value step = graph_.block(body_).params[0];
  if (first_step_ != 0) {
    FRAZIL_TRY(step, nodes_.emit(body_, "Add", {step, nodes_.scalar(body_, first_step_)}));
  }
  FRAZIL_TRY(const SearchState next,
             nodes_.advance(body_, state_, results[0], std::span(results).subspan(1), step, prefix_mask_));
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
  const std::vector<NamedAttr> pad{{"pad_token_id", AttrValue(form_.attrs.pad)}};
  if (!form_.beams()) {
    FRAZIL_TRY(const Value padded,
               nodes_.emit(parent_, "frazil.PadSequences", {last.sequences, form_.input(kMaxLength)}, pad));
    return Spliced{{padded}};
  }
  std::vector<Value> inputs{last.sequences};
  inputs.insert(inputs.end(), last.search.begin(), last.search.end());
  inputs.push_back(form_.input(form_.ports.num_return_sequences));
  inputs.push_back(form_.input(form_.ports.length_penalty));
  FRAZIL_TRY(std::vector<Value> outputs, nodes_.emit_all(parent_, "frazil.BeamEnd", std::move(inputs), pad, 2));
  if (form_.wants_scores()) {
    FRAZIL_TRY(outputs.emplace_back(),
               nodes_.emit(parent_, "frazil.StepScores", {last.scores[0], steps_, form_.input(form_.ports.num_beams)}));
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
