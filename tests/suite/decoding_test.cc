// Decoding loops of com.microsoft on small decoders, against sequences that ONNX Runtime 1.30 gives.
#include "ops/core/registry.h"
#include "suite/decoding_cases.h"
#include "suite/tiers.h"

namespace frazil::test {
namespace {

/// The sequences of each case of recorded_decoding(), as `decoding_peer --recorded` prints them.
const std::map<std::string, std::vector<std::int32_t>>& recorded_sequences() {
  static const std::map<std::string, std::vector<std::int32_t>> sequences{
      {"greedy, one item", {5, 9, 2, 11, 16, 11, 16, 11, 18, 11, 11, 18}},
      {"greedy, padded prompts", {0,  0,  7,  4,  6, 6, 6, 0,  0, 0, 0, 0, 6, 11, 8, 15, 2, 14,
                                  13, 14, 10, 12, 2, 3, 0, 13, 1, 9, 6, 6, 3, 3,  3, 2,  3, 3}},
      {"greedy, min_length", {0,  0,  7,  4,  6, 6, 6, 3,  19, 3, 12, 14, 6, 11, 8, 15, 2, 14,
                              13, 14, 10, 12, 2, 3, 0, 13, 1,  9, 6,  6,  3, 3,  3, 2,  3, 3}},
      {"greedy, repetition_penalty", {0, 0, 7, 4, 14, 17, 19, 14, 16, 14, 17, 0,  6,  11, 8,  15, 0, 0,
                                      0, 0, 0, 0, 0,  0,  0,  13, 1,  9,  4,  14, 14, 4,  14, 17, 4, 4}},
      {"greedy, no_repeat_ngram_size", {0,  0, 7,  4, 5, 5, 13, 13, 17, 13, 10, 12, 12, 11, 6,  11, 8,  15, 8,  12, 12,
                                        18, 9, 12, 8, 0, 0, 0,  0,  13, 1,  9,  17, 4,  12, 10, 19, 19, 12, 12, 0,  0}},
      {"greedy, vocab_mask", {0,  0,  7, 4,  11, 11, 11, 11, 11, 11, 7,  11, 6,  11, 8,  15, 11, 11,
                              16, 11, 9, 13, 15, 8,  0,  13, 1,  9,  11, 19, 11, 7,  11, 9,  11, 16}},
      {"greedy, prefix_vocab_mask", {0,  0,  7,  4,  17, 4,  4, 4,  4, 0, 4,  0, 6, 11, 8, 15, 4, 14,
                                     14, 19, 14, 14, 14, 14, 0, 13, 1, 9, 18, 4, 2, 14, 2, 2,  2, 12}},
      {"greedy, attention_mask", {0, 0, 7,  4,  10, 12, 18, 18, 18, 15, 19, 0,  6,  11, 8, 15, 10, 12,
                                  8, 0, 10, 18, 6,  1,  0,  13, 1,  9,  10, 10, 12, 5,  5, 5,  5,  5}},
      {"greedy, init_decoder", {0, 0,  7, 4,  13, 11, 9, 11, 3, 11, 11, 19, 6,  11, 8,  15, 4,  1,
                                1, 14, 0, 19, 19, 0,  0, 13, 1, 9,  4,  19, 19, 0,  12, 19, 19, 0}},
      {"greedy, all end", {0, 0, 7, 4, 10, 3, 19, 0, 0, 0, 0, 0, 6, 11, 8, 15, 0, 0, 0, 0, 0, 0, 0, 0}},
      {"beams of one", {0,  0,  7,  4, 10, 16, 18, 10, 1, 17, 10, 10, 6,  11, 8, 15, 2, 10,
                        10, 10, 10, 5, 10, 10, 0,  13, 1, 9,  6,  6,  10, 6,  1, 1,  1, 10}},
      {"two beams", {0,  0,  7,  4,  7,  7,  0, 0,  0, 0, 0, 0, 6, 11, 8, 15, 13, 11,
                     11, 11, 11, 11, 11, 11, 0, 13, 1, 9, 7, 7, 6, 11, 6, 3,  13, 17}},
      {"all four beams",
       {0, 0,  7, 4,  0, 10, 4,  7,  12, 7,  0, 0,  7, 4,  0, 10, 4, 7,  7,  13, 0, 0,  7, 4,  0, 10, 4, 13, 17, 0,
        0, 0,  7, 4,  0, 10, 4,  13, 17, 19, 6, 11, 8, 15, 8, 8,  2, 9,  8,  4,  6, 11, 8, 15, 8, 8,  8, 4,  8,  4,
        6, 11, 8, 15, 8, 19, 2,  14, 14, 8,  6, 11, 8, 15, 8, 8,  8, 4,  13, 8,  0, 13, 1, 9,  4, 18, 0, 0,  0,  0,
        0, 13, 1, 9,  4, 18, 19, 19, 4,  19, 0, 13, 1, 9,  4, 18, 6, 12, 4,  19, 0, 13, 1, 9,  4, 18, 2, 0,  4,  19}},
      {"early_stopping",
       {0, 0,  7, 4,  0, 10, 4, 7, 12, 7, 0, 0,  7, 4, 0, 10, 4, 7, 7, 13, 6, 11, 8, 15, 8, 8,  2,  9,  8, 4,
        6, 11, 8, 15, 8, 8,  8, 4, 8,  4, 0, 13, 1, 9, 4, 18, 0, 0, 0, 0,  0, 13, 1, 9,  4, 18, 19, 19, 4, 19}},
      {"length_penalty", {0, 0,  7, 4,  10, 10, 10, 10, 10, 10, 19, 10, 0, 0,  7, 4,  10, 10, 10, 10, 10, 10, 19, 1,
                          6, 11, 8, 15, 15, 18, 4,  11, 12, 19, 18, 5,  6, 11, 8, 15, 15, 18, 4,  10, 19, 18, 18, 18,
                          0, 13, 1, 9,  10, 10, 15, 11, 11, 12, 19, 18, 0, 13, 1, 9,  10, 10, 9,  10, 5,  9,  1,  19}},
      {"beams with min_length and masks", {0,  0,  7,  4, 17, 6, 3, 3,  3, 7, 3,  3, 6,  11, 8,  15, 3, 17,
                                           11, 11, 19, 6, 6,  6, 0, 13, 1, 9, 18, 3, 17, 6,  19, 19, 3, 6}},
      {"beams with penalties", {0, 0, 7, 4, 13, 19, 0, 0,  0, 0, 0,  0, 6, 11, 8, 15, 0, 0,
                                0, 0, 0, 0, 0,  0,  0, 13, 1, 9, 15, 0, 0, 0,  0, 0,  0, 0}},
      {"beams with init_decoder",
       {0, 0,  7, 4,  16, 3,  18, 16, 8,  14, 18, 8, 0, 0,  7, 4,  16, 3,  18, 16, 8,  18, 8, 3,
        6, 11, 8, 15, 16, 18, 6,  14, 18, 6,  7,  8, 6, 11, 8, 15, 16, 18, 6,  14, 18, 6,  7, 16,
        0, 13, 1, 9,  11, 11, 19, 10, 8,  3,  1,  8, 0, 13, 1, 9,  11, 11, 19, 10, 10, 6,  8, 14}},
      {"encoder and decoder",
       {2, 19, 0,  7,  10, 10, 10, 10, 10, 2, 19, 10, 0,  10, 7,  10, 10, 10, 2, 19, 19, 19, 19, 19, 19, 19, 19,
        2, 7,  10, 10, 10, 10, 10, 10, 10, 2, 19, 19, 19, 19, 19, 8,  19, 19, 2, 19, 19, 19, 19, 8,  19, 19, 19}},
      {"encoder of keys and values",
       {2, 4, 10, 2, 18, 2, 18, 2, 18, 2, 15, 5, 3, 5, 5, 5, 5, 5, 2, 5, 3, 9, 14, 10, 14, 10, 14}},
      {"decoder of all tokens so far",
       {2, 3, 3, 3, 3, 3, 3, 3, 2, 3, 17, 14, 17, 3, 3, 3, 2, 16, 16, 12, 16, 12, 16, 12}},
      {"Whisper",
       {2, 5, 12, 14, 14, 14, 14, 14, 14, 2, 5, 12, 14, 14, 14, 14, 17, 14, 2, 9, 14, 19, 14, 14, 14, 14, 14,
        2, 9, 14, 19, 14, 14, 14, 14, 17, 2, 5, 17, 19, 14, 17, 19, 14, 17, 2, 5, 17, 10, 13, 17, 10, 17, 10}},
      {"sampling the likeliest token", {0, 0, 7, 4, 10, 0, 0, 0,  0, 0, 0, 0, 6, 11, 8, 15, 5, 2,
                                        0, 0, 0, 0, 0,  0, 0, 13, 1, 9, 5, 5, 7, 12, 7, 0,  0, 0}},
      {"sampling with min_tokens_to_keep", {0, 0, 7,  4,  8,  8, 8, 10, 4, 4, 4,  4, 6,  11, 8, 15, 4, 15,
                                            4, 4, 16, 16, 11, 4, 0, 13, 1, 9, 19, 8, 19, 4,  4, 4,  4, 10}},
  };
  return sequences;
}

void expect_recorded(const DecodingCase& c, const exec::Options& options) {
  const auto got = run_decoding(c, options);
  ASSERT_TRUE(got) << got.error().text();
  const auto tokens = (*got)[0].as<std::int32_t>();
  EXPECT_EQ(std::vector(tokens.begin(), tokens.end()), recorded_sequences().at(c.name));
}

TEST(Decoding, GivesTheSequencesOfOnnxRuntime) {
  link_operators();
  for (const DecodingCase& c : recorded_decoding()) {
    SCOPED_TRACE(c.name);
    expect_recorded(c, {});
    expect_recorded(c, {.passes = PassSet::none()});
    expect_recorded(c, {.reference = true});
  }
}

/// The sum of the logarithms of the tokens' probabilities over the length, best first; ONNX Runtime's scores.
TEST(Decoding, ScoresOfSequences) {
  link_operators();
  std::vector<DecodingCase> cases = recorded_decoding();
  DecodingCase& c = *std::ranges::find(cases, "all four beams", &DecodingCase::name);
  c.all_outputs = true;
  const auto got = run_decoding(c);
  ASSERT_TRUE(got) << got.error().text();
  ASSERT_EQ(got->size(), 3U);
  EXPECT_EQ((*got)[1].sizes(), (Sizes{3, 4}));
  EXPECT_EQ((*got)[2].sizes(), (Sizes{6, 3, 4, kVocabulary}));
  const auto scores = (*got)[1].as<float>();
  for (std::size_t i = 0; i + 1 < scores.size(); ++i) EXPECT_TRUE(i % 4 == 3 || scores[i] >= scores[i + 1]) << i;
}

std::vector<std::int32_t> sampled(Session& session, const DecodingCase& c) {
  std::vector<Datum> inputs;
  for (const auto& [name, tensor] : decoding_inputs(c)) {
    if (tensor) inputs.emplace_back(*tensor);
  }
  const auto got = session.run(inputs);
  if (!got) {
    ADD_FAILURE() << got.error().text();
    return {};
  }
  const auto tokens = (*got)[0].tensor().as<std::int32_t>();
  return {tokens.begin(), tokens.end()};
}

DecodingCase sampling_case() {
  return {.name = "sampling",
          .op = "Sampling",
          .weights = 21,
          .prompt = Rows(8, {5, 9}),
          .top_p = 0.95F,
          .temperature = 2.0F,
          .seed = 5};
}

std::shared_ptr<Executable> executable_of(const DecodingCase& c) {
  const Message bytes = decoding_model(c);
  auto graph = import_onnx_bytes(std::as_bytes(std::span(bytes)), nullptr, {});
  if (!graph) {
    ADD_FAILURE() << graph.error().text();
    return nullptr;
  }
  auto made = Executable::make(std::make_shared<const Graph>(std::move(*graph)), {});
  if (made) return *made;
  ADD_FAILURE() << made.error().text();
  return nullptr;
}

TEST(Decoding, SamplingWithASeedRepeatsItself) {
  link_operators();
  DecodingCase c = sampling_case();
  const auto executable = executable_of(c);
  ASSERT_TRUE(executable);
  const auto session = executable->open();
  const auto first = sampled(*session, c);
  EXPECT_EQ(sampled(*session, c), first);
  c.seed = 6;
  EXPECT_NE(sampled(*session, c), first);
}

TEST(Decoding, SamplingWithoutASeedContinuesTheSessionsStream) {
  link_operators();
  DecodingCase c = sampling_case();
  c.seed.reset();
  const auto executable = executable_of(c);
  ASSERT_TRUE(executable);
  const auto session = executable->open(), other = executable->open();
  const auto first = sampled(*session, c);
  EXPECT_NE(sampled(*session, c), first);
  EXPECT_EQ(sampled(*other, c), first);
}

/// Returns the fault of a run.
std::string fault_of(const DecodingCase& c) {
  const auto got = run_decoding(c);
  return got ? "no fault" : got.error().text();
}

TEST(Decoding, InvalidNumbersAreRefused) {
  link_operators();
  const DecodingCase greedy{.name = "greedy", .prompt = {{5, 9, 2}}};
  const DecodingCase beams{.name = "beams", .op = "BeamSearch", .prompt = {{5, 9, 2}}};
  struct Row {
    DecodingCase c;
    std::string_view fault;
  };
  const auto changed = [](DecodingCase c, auto change) {
    change(c);
    return c;
  };
  const Row rows[] = {
      {changed(greedy, [](auto& c) { c.max_length = 3; }), "max_length 3 is outside [4, 4097)"},
      {changed(greedy, [](auto& c) { c.max_length = -1; }), "max_length -1 is outside"},
      {changed(greedy, [](auto& c) { c.max_length = 5000; }), "max_length 5000 is outside"},
      {changed(greedy, [](auto& c) { c.vocab_mask = {{1, 0}}; }), "vocab_mask"},
      {changed(greedy, [](auto& c) { c.prefix_vocab_mask = {{1, 0}}; }), "prefix_vocab_mask"},
      {changed(greedy, [](auto& c) { c.attention_mask = {{1, 0}}; }), "attention_mask"},
      {changed(beams, [](auto& c) { c.beams = 0; }), "num_beams 0 is outside [1, 129)"},
      {changed(beams, [](auto& c) { c.beams = 1000; }), "num_beams 1000 is outside"},
      {changed(beams, [](auto& c) { c.returned = 3; }), "num_return_sequences 3 is outside [1, 3)"},
  };
  for (const auto& [c, fault] : rows) EXPECT_NE(fault_of(c).find(fault), std::string::npos) << fault_of(c);
}

}  // namespace
}  // namespace frazil::test
