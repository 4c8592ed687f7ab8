#pragma once

#include "ops/microsoft/microsoft.h"

// The parts of GreedySearch, Sampling and BeamSearch, which an import expands into a Loop around the decoder.
// docs/decisions/0235-decoding-loops.md describes the expansion. In all of them, a row is one sequence: a batch item,
// or one beam of a batch item. The beams of an item are adjacent rows.
namespace frazil::ops::microsoft {

inline constexpr std::string_view kOwnDomain = "frazil";
inline constexpr ElemSet kTokenElems = one(Elem::i32);

/// Returns input i, a number of beams, as a 1-D i64 tensor, checked to be in the range that ONNX Runtime allows.
Expr beam_count(CompositeCx& cx, std::size_t i);

/// Returns input i, max_length, in the same way. `least` is 1-D.
Expr length_limit(CompositeCx& cx, std::size_t i, Expr least);

inline constexpr std::array<Port, 2> kRepeatRowsIn{{{"data", "T", elems::kTensor}, {"count", "", kTokenElems}}};
inline constexpr std::array<Port, 1> kRepeatRowsOut{{{"rows", "T", elems::kTensor}}};
void repeat_rows_body(CompositeCx& cx);
FRAZIL_OP(RepeatRows, composite({"RepeatRows", 1, "Each slice of the first axis once for each beam.", kOwnDomain},
                                {kRepeatRowsIn, kRepeatRowsOut}, repeat_rows_body));

struct PromptInputsAttrs {
  std::int64_t pad_token_id = 0;
  std::int64_t leading = 0;
  static constexpr std::array fields{
      attr<&PromptInputsAttrs::pad_token_id>("pad_token_id", "token without a position; without a mask, it is masked"),
      attr<&PromptInputsAttrs::leading>("leading", "1: the mask hides it only before the first other token")};
};
inline constexpr std::array<Port, 2> kPromptInputsIn{
    {{"input_ids", "", kTokenElems}, {"attention_mask", "", kTokenElems, Port::Use::optional}}};
inline constexpr std::array<Port, 3> kPromptInputsOut{{{"mask", "", kTokenElems},
                                                       {"position_ids", "", kTokenElems, Port::Use::optional},
                                                       {"next_position", "", kTokenElems, Port::Use::optional}}};
void prompt_inputs_body(CompositeCx& cx);
FRAZIL_OP(PromptInputs,
          composite<PromptInputsAttrs>({"PromptInputs", 1,
                                        "The mask of a prompt, and positions that count its tokens without padding.",
                                        kOwnDomain},
                                       {kPromptInputsIn, kPromptInputsOut}, prompt_inputs_body));

inline constexpr std::array<Port, 2> kNextInputsIn{{{"mask", "", kTokenElems}, {"position", "", kTokenElems}}};
inline constexpr std::array<Port, 2> kNextInputsOut{
    {{"next_mask", "", kTokenElems}, {"next_position", "", kTokenElems}}};
void next_inputs_body(CompositeCx& cx);
FRAZIL_OP(NextInputs,
          composite({"NextInputs", 1, "The mask with one more step, and the position after it.", kOwnDomain},
                    {kNextInputsIn, kNextInputsOut}, next_inputs_body));

/// Checks that max_length exceeds the prompt. `steps` is the difference, an i64 scalar.
inline constexpr std::array<Port, 2> kStepCountIn{{{"max_length", "", kTokenElems}, {"prompt", "", kTokenElems}}};
inline constexpr std::array<Port, 1> kStepCountOut{{{"steps", "", elems::kI64}}};
void step_count_body(CompositeCx& cx);
FRAZIL_OP(StepCount, composite({"StepCount", 1, "The number of tokens that fit after a prompt.", kOwnDomain},
                               {kStepCountIn, kStepCountOut}, step_count_body));

struct TokenScoresAttrs {
  std::int64_t eos_token_id = 0;
  std::int64_t log_softmax = 0;
  std::int64_t no_repeat_ngram_size = 0;
  float presence_penalty = 0;
  static constexpr std::array fields{
      required<&TokenScoresAttrs::eos_token_id>("eos_token_id", "token that ends a sequence"),
      attr<&TokenScoresAttrs::log_softmax>("log_softmax", "1: scores are logarithms of probabilities"),
      attr<&TokenScoresAttrs::no_repeat_ngram_size>("no_repeat_ngram_size", "tokens that must not repeat; 0: any may"),
      attr<&TokenScoresAttrs::presence_penalty>("presence_penalty", "subtracted for each token of presence_mask")};
};
inline constexpr std::array<Port, 9> kTokenScoresIn{{
    {"logits", "", elems::kFloat},
    {"sequences", "", kTokenElems},
    {"step", "", elems::kI64},
    {"repetition_penalty", "", elems::kFloat, Port::Use::optional},
    {"vocab_mask", "", kTokenElems, Port::Use::optional},
    {"prefix_vocab_mask", "", kTokenElems, Port::Use::optional},
    {"min_length", "", kTokenElems, Port::Use::optional},
    {"presence_mask", "", kTokenElems, Port::Use::optional},
    {"temperature", "", elems::kFloat, Port::Use::optional},
}};
inline constexpr std::array<Port, 1> kTokenScoresOut{{{"scores", "", elems::kF32}}};
void token_scores_body(CompositeCx& cx);
FRAZIL_OP(TokenScores,
          composite<TokenScoresAttrs>(
              {"TokenScores", 1, "The scores of the next token of each row, with penalties and masks.", kOwnDomain},
              {kTokenScoresIn, kTokenScoresOut}, token_scores_body));

struct SampledTokensAttrs {
  std::int64_t custom = 0;
  float filter_value = -1e20f;
  std::int64_t min_tokens_to_keep = 0;
  float top_p = 0;
  static constexpr std::array fields{
      attr<&SampledTokensAttrs::custom>("custom", "1: filters from the highest score on, else from the lowest"),
      attr<&SampledTokensAttrs::filter_value>("filter_value", "score of a token that is filtered out"),
      attr<&SampledTokensAttrs::min_tokens_to_keep>("min_tokens_to_keep",
                                                    "tokens that top_p does not remove; at least 1"),
      attr<&SampledTokensAttrs::top_p>("top_p", "probability that the tokens which are kept must exceed")};
};
inline constexpr std::array<Port, 3> kSampledTokensIn{
    {{"scores", "", elems::kF32}, {"step", "", elems::kI64}, {"seed", "", kTokenElems, Port::Use::optional}}};
inline constexpr std::array<Port, 2> kSampledTokensOut{
    {{"tokens", "", elems::kI64}, {"filtered", "", elems::kF32, Port::Use::optional}}};
void sampled_tokens_body(CompositeCx& cx);
FRAZIL_OP(SampledTokens,
          composite<SampledTokensAttrs>(stateful({"SampledTokens", 1,
                                                  "A token of each row, drawn from the likeliest ones.", kOwnDomain}),
                                        {kSampledTokensIn, kSampledTokensOut}, sampled_tokens_body));

struct AppendTokensAttrs {
  std::int64_t eos_token_id = 0;
  std::int64_t pad_token_id = 0;
  static constexpr std::array fields{
      required<&AppendTokensAttrs::eos_token_id>("eos_token_id", "token that ends a row"),
      required<&AppendTokensAttrs::pad_token_id>("pad_token_id", "token of rows that have ended")};
};
inline constexpr std::array<Port, 3> kAppendTokensIn{
    {{"tokens", "", elems::kI64}, {"sequences", "", kTokenElems}, {"ended", "", elems::kBool}}};
inline constexpr std::array<Port, 4> kAppendTokensOut{{{"next_sequences", "", kTokenElems},
                                                       {"next_ended", "", elems::kBool},
                                                       {"input_ids", "", kTokenElems},
                                                       {"goes_on", "", elems::kBool}}};
void append_tokens_body(CompositeCx& cx);
FRAZIL_OP(AppendTokens,
          composite<AppendTokensAttrs>({"AppendTokens", 1,
                                        "The sequences with one more token each; ended rows are padded.", kOwnDomain},
                                       {kAppendTokensIn, kAppendTokensOut}, append_tokens_body));

struct PadSequencesAttrs {
  std::int64_t pad_token_id = 0;
  static constexpr std::array fields{
      attr<&PadSequencesAttrs::pad_token_id>("pad_token_id", "token after the end of the sequences")};
};
inline constexpr std::array<Port, 2> kPadSequencesIn{{{"sequences", "", kTokenElems}, {"max_length", "", kTokenElems}}};
inline constexpr std::array<Port, 1> kPadSequencesOut{{{"padded", "", kTokenElems}}};
void pad_sequences_body(CompositeCx& cx);
FRAZIL_OP(PadSequences, composite<PadSequencesAttrs>({"PadSequences", 1, "Sequences padded to max_length.", kOwnDomain},
                                                     {kPadSequencesIn, kPadSequencesOut}, pad_sequences_body));

}  // namespace frazil::ops::microsoft
