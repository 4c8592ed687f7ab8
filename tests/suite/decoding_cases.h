#pragma once

#include "exec/run/executable.h"
#include "exec/run/session.h"
#include "onnx/import/import.h"
#include "suite/decoders.h"

// Cases of decoding loops whose results on ONNX Runtime decoding_test.cc contains. bench/decoding.cc prints them.
namespace frazil::test {

inline std::vector<DecodingCase> recorded_decoding() {
  const Rows one{{5, 9, 2}}, three{{0, 0, 7, 4}, {6, 11, 8, 15}, {0, 13, 1, 9}};
  const std::string beam = "BeamSearch", whisper = "WhisperBeamSearch";
  Rows allowed{{1, 1, 0, 1, 1, 0, 1, 1, 1, 1, 0, 1, 1, 1, 0, 1, 1, 1, 1, 1}};
  Rows first(3, std::vector<std::int32_t>(kVocabulary, 0));
  first[0][17] = first[1][4] = first[1][3] = first[2][18] = 1;
  return {
      {.name = "greedy, one item", .prompt = one},
      {.name = "greedy, padded prompts", .weights = 2, .prompt = three, .eos = 7},
      {.name = "greedy, min_length", .weights = 2, .prompt = three, .eos = 7, .min_length = 9},
      {.name = "greedy, repetition_penalty",
       .weights = 3,
       .prompt = three,
       .repetition_penalty = 1.6F,
       .constants = true},
      {.name = "greedy, no_repeat_ngram_size", .weights = 4, .prompt = three, .max_length = 14, .ngram = 2},
      {.name = "greedy, vocab_mask", .weights = 5, .prompt = three, .vocab_mask = allowed},
      {.name = "greedy, prefix_vocab_mask", .weights = 6, .prompt = three, .prefix_vocab_mask = first},
      {.name = "greedy, attention_mask",
       .weights = 7,
       .prompt = three,
       .attention_mask = {{0, 0, 1, 1}, {1, 0, 1, 1}, {1, 1, 1, 1}}},
      {.name = "greedy, init_decoder", .form = "gpt init", .weights = 8, .prompt = three, .eos = 6},
      {.name = "greedy, all end", .weights = 19, .prompt = {{0, 0, 7, 4}, {6, 11, 8, 15}}, .eos = 5},
      {.name = "beams of one",
       .op = beam,
       .weights = 9,
       .prompt = three,
       .min_length = 0,
       .beams = 1,
       .length_penalty = 1.0F},
      {.name = "two beams",
       .op = beam,
       .weights = 10,
       .prompt = three,
       .eos = 2,
       .min_length = 0,
       .length_penalty = 1.0F,
       .constants = true},
      {.name = "all four beams",
       .op = beam,
       .weights = 11,
       .prompt = three,
       .max_length = 10,
       .eos = 5,
       .min_length = 0,
       .beams = 4,
       .returned = 4,
       .length_penalty = 1.0F},
      {.name = "early_stopping",
       .op = beam,
       .weights = 11,
       .prompt = three,
       .max_length = 10,
       .eos = 5,
       .min_length = 0,
       .beams = 3,
       .returned = 2,
       .length_penalty = 1.0F,
       .early_stopping = 1},
      {.name = "length_penalty",
       .op = beam,
       .weights = 12,
       .prompt = three,
       .eos = 8,
       .min_length = 0,
       .beams = 3,
       .returned = 2,
       .length_penalty = -0.5F},
      {.name = "beams with min_length and masks",
       .op = beam,
       .weights = 13,
       .prompt = three,
       .eos = 1,
       .min_length = 7,
       .beams = 3,
       .length_penalty = 2.0F,
       .vocab_mask = allowed,
       .prefix_vocab_mask = first},
      {.name = "beams with penalties",
       .op = beam,
       .weights = 14,
       .prompt = three,
       .eos = 1,
       .min_length = 0,
       .length_penalty = 1.0F,
       .repetition_penalty = 1.3F,
       .ngram = 3},
      {.name = "beams with init_decoder",
       .op = beam,
       .form = "gpt init",
       .weights = 15,
       .prompt = three,
       .eos = 4,
       .min_length = 0,
       .returned = 2,
       .length_penalty = 1.0F},
      {.name = "encoder and decoder",
       .op = beam,
       .form = "t5",
       .weights = 16,
       .prompt = three,
       .max_length = 9,
       .eos = 6,
       .min_length = 0,
       .beams = 3,
       .returned = 2,
       .length_penalty = 1.0F},
      {.name = "encoder of keys and values",
       .op = beam,
       .form = "t5 new",
       .weights = 17,
       .prompt = three,
       .max_length = 9,
       .eos = 6,
       .min_length = 3,
       .beams = 3,
       .length_penalty = 1.0F,
       .attention_mask = {{0, 0, 1, 1}, {1, 0, 1, 1}, {1, 1, 1, 1}}},
      {.name = "decoder of all tokens so far",
       .op = beam,
       .form = "t5 whole",
       .weights = 22,
       .prompt = three,
       .max_length = 8,
       .eos = 6,
       .min_length = 0,
       .length_penalty = 1.0F},
      {.name = "Whisper",
       .op = whisper,
       .form = "whisper",
       .weights = 18,
       .prompt = three,
       .max_length = 9,
       .eos = 7,
       .min_length = 0,
       .beams = 2,
       .returned = 2,
       .length_penalty = 1.0F,
       .decoder_input_ids = {{2, 5}, {2, 9}, {2, 5}}},
      {.name = "sampling the likeliest token",
       .op = "Sampling",
       .weights = 19,
       .prompt = three,
       .top_p = 1e-6F,
       .custom = 1,
       .seed = 5},
      {.name = "sampling with min_tokens_to_keep",
       .op = "Sampling",
       .weights = 20,
       .prompt = three,
       .top_p = 1e-6F,
       .temperature = 0.7F,
       .min_tokens_to_keep = 1,
       .seed = 5},
  };
}

/// Imports and runs a case.
inline Result<std::vector<Tensor>> run_decoding(const DecodingCase& c, exec::Options options = {}) {
  const Message bytes = decoding_model(c);
  FRAZIL_TRY(Graph graph, import_onnx_bytes(std::as_bytes(std::span(bytes)), nullptr, {}));
  FRAZIL_TRY(const auto executable, exec::Executable::make(std::make_shared<const Graph>(std::move(graph)), options));
  std::vector<Datum> inputs;
  for (const auto& [name, tensor] : decoding_inputs(c)) {
    if (tensor && !(c.constants && tensor->rank() == 0)) inputs.emplace_back(*tensor);
  }
  FRAZIL_TRY(const auto results, executable->open()->run(inputs));
  std::vector<Tensor> tensors;
  for (const Datum& d : results) tensors.push_back(d.tensor());
  return tensors;
}

}  // namespace frazil::test
