#pragma once

#include "ops/microsoft/microsoft.h"

// Biases of attention that depend on the distance of query and key, and the exclusion of repeated tokens.
namespace frazil::ops::microsoft {

struct RelativeBiasAttrs {
  std::int64_t is_bidirectional = 0;
  std::optional<std::int64_t> max_distance;
  static constexpr std::array fields{
      attr<&RelativeBiasAttrs::is_bidirectional>("is_bidirectional", "1: later keys have buckets of their own"),
      required<&RelativeBiasAttrs::max_distance>("max_distance", "distances from here on share the last bucket")};
};
inline constexpr std::array<Port, 3> kRelativeBiasIn{
    {{"bias_table", "T", elems::kFloat}, {"query_length", "", elems::kI64}, {"key_length", "", elems::kI64}}};
inline constexpr std::array<Port, 1> kRelativeBiasOut{{{"output", "T", elems::kFloat}}};
void relative_bias_body(CompositeCx& cx);
FRAZIL_OP(RelativePositionBias,
          composite<RelativeBiasAttrs>({"RelativePositionBias", 1,
                                        "A bias for each head and distance of query and key, by buckets of distances.",
                                        kDomain},
                                       {kRelativeBiasIn, kRelativeBiasOut}, relative_bias_body));

struct GatedBiasAttrs {
  std::int64_t num_heads = 0;
  static constexpr std::array fields{required<&GatedBiasAttrs::num_heads>("num_heads", "number of heads")};
};
inline constexpr std::array<Port, 7> kGatedBiasIn{{{"query_layer", "T", elems::kFloat},
                                                   {"query_bias", "T", elems::kFloat},
                                                   {"rel_pos", "T", elems::kFloat},
                                                   {"weight", "T", elems::kFloat},
                                                   {"bias", "T", elems::kFloat},
                                                   {"eco_a", "T", elems::kFloat},
                                                   {"token_offset", "", one(Elem::i32), Port::Use::optional}}};
void gated_bias_body(CompositeCx& cx);
FRAZIL_OP(GatedRelativePositionBias,
          composite<GatedBiasAttrs>({"GatedRelativePositionBias", 1,
                                     "A bias by distance, scaled by gates that depend on the query.", kDomain},
                                    {kGatedBiasIn, kRelativeBiasOut}, gated_bias_body));

struct NGramAttrs {
  std::int64_t ngram_size = 0;
  static constexpr std::array fields{required<&NGramAttrs::ngram_size>("ngram_size", "tokens that must not repeat")};
};
inline constexpr std::array<Port, 2> kNGramIn{{{"input_ids", "", elems::kI64}, {"scores", "T", elems::kF32}}};
inline constexpr std::array<Port, 1> kNGramOut{{{"scores_out", "T", elems::kF32}}};
void ngram_body(CompositeCx& cx);
FRAZIL_OP(NGramRepeatBlock,
          composite<NGramAttrs>({"NGramRepeatBlock", 1,
                                 "Scores with -inf for tokens that would repeat a sequence of tokens.", kDomain},
                                {kNGramIn, kNGramOut}, ngram_body));

}  // namespace frazil::ops::microsoft
