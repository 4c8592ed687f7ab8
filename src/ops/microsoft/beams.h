#pragma once

#include "ops/microsoft/decoding.h"

// Beam search: each batch item has `beams` rows, and keeps up to `beams` ended sequences with the best scores. The
// score of an ended sequence is the sum of the logarithms of its probabilities divided by length ^ length_penalty.
namespace frazil::ops::microsoft {

struct BeamStartAttrs {
  std::int64_t pad_token_id = 0;
  static constexpr std::array fields{
      required<&BeamStartAttrs::pad_token_id>("pad_token_id", "token after the end of a sequence")};
};
inline constexpr std::array<Port, 3> kBeamStartIn{
    {{"input_ids", "T", elems::kTensor}, {"num_beams", "", kTokenElems}, {"max_length", "", kTokenElems}}};
inline constexpr std::array<Port, 5> kBeamStartOut{{{"sums", "", elems::kF32},
                                                    {"done", "", elems::kBool},
                                                    {"kept", "", elems::kI64},
                                                    {"kept_scores", "", elems::kF32},
                                                    {"kept_sequences", "", kTokenElems}}};
void beam_start_body(CompositeCx& cx);
FRAZIL_OP(BeamStart,
          composite<BeamStartAttrs>({"BeamStart", 1, "The state of a beam search before its first step.", kOwnDomain},
                                    {kBeamStartIn, kBeamStartOut}, beam_start_body));

struct BeamRankAttrs {
  std::int64_t early_stopping = 0;
  std::int64_t eos_token_id = 0;
  std::int64_t pad_token_id = 0;
  static constexpr std::array fields{
      attr<&BeamRankAttrs::early_stopping>("early_stopping",
                                           "1: an item is done with its first `beams` ended sequences"),
      required<&BeamRankAttrs::eos_token_id>("eos_token_id", "token that ends a sequence"),
      required<&BeamRankAttrs::pad_token_id>("pad_token_id", "token of items that are done")};
};
inline constexpr std::array<Port, 9> kBeamRankIn{{{"scores", "", elems::kF32},
                                                  {"tokens", "", elems::kI64},
                                                  {"beams", "", elems::kI64},
                                                  {"sequences", "", kTokenElems},
                                                  {"done", "", elems::kBool},
                                                  {"kept", "", elems::kI64},
                                                  {"kept_scores", "", elems::kF32},
                                                  {"kept_sequences", "", kTokenElems},
                                                  {"length_penalty", "", elems::kF32}}};
inline constexpr std::array<Port, 7> kBeamRankOut{{{"sums", "", elems::kF32},
                                                   {"next_tokens", "", kTokenElems},
                                                   {"parents", "", elems::kI64},
                                                   {"next_done", "", elems::kBool},
                                                   {"next_kept", "", elems::kI64},
                                                   {"next_kept_scores", "", elems::kF32},
                                                   {"next_kept_sequences", "", kTokenElems}}};
Status beam_rank_types(InferCx& cx);
Status beam_rank_run(OpaqueCall& call);
FRAZIL_OP(BeamRank, opaque<BeamRankAttrs>({"BeamRank", 1,
                                           "Divides the candidates of a step, best first, into beams and ended "
                                           "sequences.",
                                           kOwnDomain},
                                          {kBeamRankIn, kBeamRankOut}, beam_rank_types, beam_rank_run,
                                          "a candidate's place depends on those before it"));

inline constexpr std::array<Port, 8> kBeamStepIn{{{"scores", "", elems::kF32},
                                                  {"sums", "", elems::kF32},
                                                  {"sequences", "", kTokenElems},
                                                  {"done", "", elems::kBool},
                                                  {"kept", "", elems::kI64},
                                                  {"kept_scores", "", elems::kF32},
                                                  {"kept_sequences", "", kTokenElems},
                                                  {"length_penalty", "", elems::kFloat, Port::Use::optional}}};
inline constexpr std::array<Port, 10> kBeamStepOut{{{"next_sums", "", elems::kF32},
                                                    {"next_sequences", "", kTokenElems},
                                                    {"next_done", "", elems::kBool},
                                                    {"next_kept", "", elems::kI64},
                                                    {"next_kept_scores", "", elems::kF32},
                                                    {"next_kept_sequences", "", kTokenElems},
                                                    {"input_ids", "", kTokenElems},
                                                    {"parents", "", elems::kI64},
                                                    {"goes_on", "", elems::kBool},
                                                    {"summed_scores", "", elems::kF32, Port::Use::optional}}};
void beam_step_body(CompositeCx& cx);
FRAZIL_OP(BeamStep,
          composite<BeamRankAttrs>({"BeamStep", 1, "A step of a beam search; `parents` are rows.", kOwnDomain},
                                   {kBeamStepIn, kBeamStepOut}, beam_step_body));

inline constexpr std::array<Port, 8> kBeamResultIn{{{"sequences", "", kTokenElems},
                                                    {"sums", "", elems::kF32},
                                                    {"done", "", elems::kBool},
                                                    {"kept", "", elems::kI64},
                                                    {"kept_scores", "", elems::kF32},
                                                    {"kept_sequences", "", kTokenElems},
                                                    {"length_penalty", "", elems::kF32},
                                                    {"count", "", elems::kI64}}};
inline constexpr std::array<Port, 2> kBeamResultOut{
    {{"best_sequences", "", kTokenElems}, {"best_scores", "", elems::kF32, Port::Use::optional}}};
Status beam_result_types(InferCx& cx);
Status beam_result_run(OpaqueCall& call);
FRAZIL_OP(BeamResult,
          opaque<BeamStartAttrs>({"BeamResult", 1, "The `count` best sequences of each item, best first.", kOwnDomain},
                                 {kBeamResultIn, kBeamResultOut}, beam_result_types, beam_result_run,
                                 "a sequence's place depends on those before it"));

inline constexpr std::array<Port, 8> kBeamEndIn{{{"sequences", "", kTokenElems},
                                                 {"sums", "", elems::kF32},
                                                 {"done", "", elems::kBool},
                                                 {"kept", "", elems::kI64},
                                                 {"kept_scores", "", elems::kF32},
                                                 {"kept_sequences", "", kTokenElems},
                                                 {"num_return_sequences", "", kTokenElems},
                                                 {"length_penalty", "", elems::kFloat, Port::Use::optional}}};
void beam_end_body(CompositeCx& cx);
FRAZIL_OP(BeamEnd, composite<BeamStartAttrs>({"BeamEnd", 1, "The result of a beam search.", kOwnDomain},
                                             {kBeamEndIn, kBeamResultOut}, beam_end_body));

inline constexpr std::array<Port, 3> kStepScoresIn{
    {{"scores", "", elems::kF32}, {"steps", "", elems::kI64}, {"num_beams", "", kTokenElems}}};
inline constexpr std::array<Port, 1> kStepScoresOut{{{"padded", "", elems::kF32}}};
void step_scores_body(CompositeCx& cx);
FRAZIL_OP(StepScores,
          composite({"StepScores", 1, "The scores of all steps by item and beam; 0 for steps left out.", kOwnDomain},
                    {kStepScoresIn, kStepScoresOut}, step_scores_body));

}  // namespace frazil::ops::microsoft
