#pragma once

#include "ir/op/define.h"

namespace frazil::ops {

struct AttentionAttrs {
  std::int64_t is_causal = 0;
  std::optional<std::int64_t> kv_num_heads;
  std::optional<std::int64_t> q_num_heads;
  std::int64_t qk_matmul_output_mode = 0;
  std::optional<float> scale;
  float softcap = 0;
  std::optional<Elem> softmax_precision;
  static constexpr std::array fields{
      attr<&AttentionAttrs::is_causal>("is_causal", "1: a query sees no key after its own position"),
      attr<&AttentionAttrs::kv_num_heads>("kv_num_heads", "heads of K and V when they have 3 axes"),
      attr<&AttentionAttrs::q_num_heads>("q_num_heads", "heads of Q when it has 3 axes"),
      attr<&AttentionAttrs::qk_matmul_output_mode>("qk_matmul_output_mode",
                                                   "0: raw scores, 1: capped, 2: masked, "
                                                   "3: probabilities"),
      attr<&AttentionAttrs::scale>("scale", "scale of the scores; absent: 1 / sqrt(head size)"),
      attr<&AttentionAttrs::softcap>("softcap", "soft cap of the scores: bound of the tanh; 0: none"),
      attr<&AttentionAttrs::softmax_precision>("softmax_precision", "ONNX data type of the softmax"),
  };
};
inline constexpr std::array<Port, 7> kAttentionIn{{
    {"Q", "T1", elems::kFloat},
    {"K", "T1", elems::kFloat},
    {"V", "T2", elems::kFloat},
    {"attn_mask", "U", elems::kNumeric | elems::kBool, Port::Use::optional},
    {"past_key", "T1", elems::kFloat, Port::Use::optional},
    {"past_value", "T2", elems::kFloat, Port::Use::optional},
    {"nonpad_kv_seqlen", "", elems::kI64, Port::Use::optional},
}};
inline constexpr std::array<Port, 4> kAttentionOut{{
    {"Y", "T1", elems::kFloat},
    {"present_key", "T1", elems::kFloat, Port::Use::optional},
    {"present_value", "T2", elems::kFloat, Port::Use::optional},
    {"qk_matmul_output", "T1", elems::kFloat, Port::Use::optional},
}};
void attention_body(CompositeCx& cx);
FRAZIL_OP(Attention, composite<AttentionAttrs>({"Attention",
                                                {24, 23},
                                                "softmax(Q Kt) V per head, with masks, grouped heads "
                                                "and a key-value cache."},
                                               {kAttentionIn, kAttentionOut}, attention_body));

// ---- FlexAttention and its parts ----
// An imported model may have subgraphs (score_mod, prob_mod) between the parts.
// Shapes: Q [B, H, L, E], K [B, G, S, E], V [B, G, S, F], where H is a multiple of G.
struct AttentionScoresAttrs {
  std::optional<float> scale;
  static constexpr std::array fields{
      attr<&AttentionScoresAttrs::scale>("scale", "scale of the scores; absent: 1 / sqrt(head size)")};
};
inline constexpr std::array<Port, 2> kScoresIn{{{"Q", "T", elems::kFloat}, {"K", "T", elems::kFloat}}};
void attention_scores_body(CompositeCx& cx);
FRAZIL_OP(AttentionScores,
          composite<AttentionScoresAttrs>({"AttentionScores", 1, "Scaled Q Kt per head, heads of K shared.", "frazil"},
                                          {kScoresIn, kPortY<elems::kFloat>}, attention_scores_body));

struct AttentionWeightsAttrs {
  std::optional<Elem> softmax_precision;
  static constexpr std::array fields{
      attr<&AttentionWeightsAttrs::softmax_precision>("softmax_precision", "ONNX data type of the softmax")};
};
inline constexpr std::array<Port, 1> kWeightsOut{{{"P", "", elems::kFloat}}};
void attention_weights_body(CompositeCx& cx);
FRAZIL_OP(AttentionWeights,
          composite<AttentionWeightsAttrs>({"AttentionWeights", 1, "Softmax of scores, at least in f32.", "frazil"},
                                           {kPortX<elems::kFloat>, kWeightsOut}, attention_weights_body));

inline constexpr std::array<Port, 3> kValuesIn{
    {{"P", "U", elems::kFloat}, {"V", "T", elems::kFloat}, {"Q", "T", elems::kFloat}}};
void attention_values_body(CompositeCx& cx);
FRAZIL_OP(AttentionValues, composite({"AttentionValues", 1, "P V per head, in the type of Q.", "frazil"},
                                     {kValuesIn, kPortY<elems::kFloat>}, attention_values_body));

struct FlexAttentionAttrs {
  std::optional<float> scale;
  std::optional<Elem> softmax_precision;
  static constexpr std::array fields{
      attr<&FlexAttentionAttrs::scale>("scale", "scale of the scores; absent: 1 / sqrt(head size)"),
      attr<&FlexAttentionAttrs::softmax_precision>("softmax_precision", "ONNX data type of the softmax")};
};
inline constexpr std::array<Port, 3> kFlexIn{
    {{"Q", "T", elems::kFloat}, {"K", "T", elems::kFloat}, {"V", "T", elems::kFloat}}};
void flex_attention_body(CompositeCx& cx);
FRAZIL_OP(FlexAttention, composite<FlexAttentionAttrs>({"FlexAttention", 1,
                                                        "softmax(Q Kt) V per head, heads of K and V "
                                                        "shared; score_mod and prob_mod are inlined at import.",
                                                        "ai.onnx.preview"},
                                                       {kFlexIn, kPortY<elems::kFloat>}, flex_attention_body));

struct CausalConvAttrs {
  std::string activation = "none";
  static constexpr std::array fields{attr<&CausalConvAttrs::activation>("activation", "none, silu or swish")};
};
inline constexpr std::array<Port, 4> kCausalConvIn{{
    {"input", "T", elems::kFloat},
    {"weight", "T", elems::kFloat},
    {"bias", "T", elems::kFloat, Port::Use::optional},
    {"past_state", "T", elems::kFloat, Port::Use::optional},
}};
inline constexpr std::array<Port, 2> kCausalConvOut{{
    {"output", "T", elems::kFloat},
    {"present_state", "T", elems::kFloat, Port::Use::optional},
}};
void causal_conv_body(CompositeCx& cx);
FRAZIL_OP(CausalConvWithState, composite<CausalConvAttrs>({"CausalConvWithState", 27,
                                                           "Depthwise convolution over past and present steps; "
                                                           "gives the steps that the next call needs."},
                                                          {kCausalConvIn, kCausalConvOut}, causal_conv_body));

struct LinearAttentionAttrs {
  std::int64_t chunk_size = 64;
  std::int64_t kv_num_heads = 0;
  std::int64_t q_num_heads = 0;
  float scale = 0;
  std::string update_rule = "gated_delta";
  static constexpr std::array fields{
      attr<&LinearAttentionAttrs::chunk_size>("chunk_size", "a hint that does not change the result"),
      required<&LinearAttentionAttrs::kv_num_heads>("kv_num_heads", "heads of key and value"),
      required<&LinearAttentionAttrs::q_num_heads>("q_num_heads", "heads of query"),
      attr<&LinearAttentionAttrs::scale>("scale", "of the output; 0: 1 / sqrt(key size)"),
      attr<&LinearAttentionAttrs::update_rule>("update_rule", "linear, gated, delta or gated_delta"),
  };
};
inline constexpr std::array<Port, 6> kLinearAttentionIn{{
    {"query", "T", elems::kFloat},
    {"key", "T", elems::kFloat},
    {"value", "T", elems::kFloat},
    {"past_state", "S", elems::kFloat, Port::Use::optional},
    {"decay", "T", elems::kFloat, Port::Use::optional},
    {"beta", "T", elems::kFloat, Port::Use::optional},
}};
inline constexpr std::array<Port, 2> kLinearAttentionOut{{
    {"output", "T", elems::kFloat},
    {"present_state", "", elems::kFloat, Port::Use::optional},
}};
void linear_attention_body(CompositeCx& cx);
FRAZIL_OP(LinearAttention,
          composite<LinearAttentionAttrs>({"LinearAttention", 27,
                                           "Attention without softmax as a recurrence over a "
                                           "matrix state, with decay and delta rule."},
                                          {kLinearAttentionIn, kLinearAttentionOut}, linear_attention_body));

struct RotaryAttrs {
  std::int64_t interleaved = 0;
  std::int64_t num_heads = 0;
  std::int64_t rotary_embedding_dim = 0;
  static constexpr std::array fields{
      attr<&RotaryAttrs::interleaved>("interleaved", "1: pairs are adjacent, else half the size apart"),
      attr<&RotaryAttrs::num_heads>("num_heads", "heads when the input has 3 axes"),
      attr<&RotaryAttrs::rotary_embedding_dim>("rotary_embedding_dim", "leading part that is rotated; 0: all"),
  };
};
inline constexpr std::array<Port, 4> kRotaryIn{{
    {"X", "T", elems::kFloat},
    {"cos_cache", "T", elems::kFloat},
    {"sin_cache", "T", elems::kFloat},
    {"position_ids", "", elems::kI64, Port::Use::optional},
}};
void rotary_body(CompositeCx& cx);
FRAZIL_OP(RotaryEmbedding,
          composite<RotaryAttrs>({"RotaryEmbedding", 23, "Rotates pairs of features by an angle for each position."},
                                 {kRotaryIn, kPortY<elems::kFloat>}, rotary_body));

}  // namespace frazil::ops
