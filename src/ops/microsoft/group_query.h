#pragma once

#include "ops/microsoft/microsoft.h"

// GroupQueryAttention: grouped heads with a cache in which each item has its own length.
namespace frazil::ops::microsoft {

struct GroupQueryAttrs {
  std::int64_t causal = 1;
  std::int64_t do_rotary = 0;
  std::string k_quant_type = "NONE";
  std::optional<std::int64_t> kv_cache_bit_width;
  std::int64_t kv_num_heads = 0;
  std::int64_t local_window_size = -1;
  std::int64_t num_heads = 0;
  std::optional<float> qk_norm_epsilon;
  std::int64_t qk_output = 0;
  std::int64_t rotary_interleaved = 0;
  std::optional<float> scale;
  std::int64_t sliding_window_cache = 0;
  std::int64_t smooth_softmax = 0;
  float softcap = 0;
  std::string v_quant_type = "NONE";
  static constexpr std::array fields{
      attr<&GroupQueryAttrs::causal>("causal", "1: a query sees no key after its own position"),
      attr<&GroupQueryAttrs::do_rotary>("do_rotary", "1: query and key are rotated by the caches of angles"),
      attr<&GroupQueryAttrs::k_quant_type>("k_quant_type", "must be NONE"),
      attr<&GroupQueryAttrs::kv_cache_bit_width>("kv_cache_bit_width", "must be 0 or omitted"),
      required<&GroupQueryAttrs::kv_num_heads>("kv_num_heads", "heads of key and value"),
      attr<&GroupQueryAttrs::local_window_size>("local_window_size", "number of keys that a query sees; -1: all"),
      required<&GroupQueryAttrs::num_heads>("num_heads", "heads of query"),
      attr<&GroupQueryAttrs::qk_norm_epsilon>("qk_norm_epsilon", "added to the mean square of query and key heads"),
      attr<&GroupQueryAttrs::qk_output>("qk_output", "output_qk: 1 scores, 2 probabilities"),
      attr<&GroupQueryAttrs::rotary_interleaved>("rotary_interleaved", "1: rotated pairs are adjacent"),
      attr<&GroupQueryAttrs::scale>("scale", "scale of the scores; absent: 1 / sqrt(head size)"),
      attr<&GroupQueryAttrs::sliding_window_cache>("sliding_window_cache", "must be 0"),
      attr<&GroupQueryAttrs::smooth_softmax>("smooth_softmax",
                                             "1: the softmax has an additional key of score 0 without a value"),
      attr<&GroupQueryAttrs::softcap>("softcap", "soft cap of the scores: bound of the tanh; 0: none"),
      attr<&GroupQueryAttrs::v_quant_type>("v_quant_type", "must be NONE")};
};
inline constexpr ElemSet kLengths = one(Elem::i32);
inline constexpr std::array<Port, 16> kGroupQueryIn{{
    {"query", "T", elems::kFloat},
    {"key", "T", elems::kFloat, Port::Use::optional},
    {"value", "T", elems::kFloat, Port::Use::optional},
    {"past_key", "T", elems::kFloat, Port::Use::optional},
    {"past_value", "T", elems::kFloat, Port::Use::optional},
    {"seqlens_k", "", kLengths},
    {"total_sequence_length", "", kLengths},
    {"cos_cache", "T", elems::kFloat, Port::Use::optional},
    {"sin_cache", "T", elems::kFloat, Port::Use::optional},
    {"position_ids", "", elems::kI64, Port::Use::optional},
    {"attention_bias", "T", elems::kFloat, Port::Use::optional},
    {"head_sink", "T", elems::kFloat, Port::Use::optional},
    {"k_scale", "", elems::kF32, Port::Use::optional},
    {"v_scale", "", elems::kF32, Port::Use::optional},
    {"q_norm_weight", "T", elems::kFloat, Port::Use::optional},
    {"k_norm_weight", "T", elems::kFloat, Port::Use::optional},
}};
inline constexpr std::array<Port, 4> kGroupQueryOut{{
    {"output", "T", elems::kFloat},
    {"present_key", "T", elems::kFloat, Port::Use::optional},
    {"present_value", "T", elems::kFloat, Port::Use::optional},
    {"output_qk", "T", elems::kFloat, Port::Use::optional},
}};
void group_query_body(CompositeCx& cx);
FRAZIL_OP(GroupQueryAttention,
          composite<GroupQueryAttrs>({"GroupQueryAttention", 1,
                                      "Causal attention of grouped heads over a cache of keys and values.", kDomain},
                                     {kGroupQueryIn, kGroupQueryOut}, group_query_body));

}  // namespace frazil::ops::microsoft
