#pragma once

#include "ops/microsoft/microsoft.h"
#include "ops/nn/attention.h"

// Attention operators as ONNX Runtime fuses them: with projections, masks of several shapes and caches.
namespace frazil::ops::microsoft {

inline constexpr ElemSet kMaskElems = one(Elem::i32);

struct FusedAttentionAttrs {
  std::int64_t do_rotary = 0;
  std::optional<float> mask_filter_value;
  std::int64_t num_heads = 0;
  std::int64_t past_present_share_buffer = 0;
  Ints qkv_hidden_sizes;
  std::optional<std::int64_t> rotary_embedding_dim;
  std::optional<float> scale;
  std::int64_t unidirectional = 0;
  static constexpr std::array fields{
      attr<&FusedAttentionAttrs::do_rotary>("do_rotary", "must be 0"),
      attr<&FusedAttentionAttrs::mask_filter_value>("mask_filter_value", "added to masked scores; -10000 by default"),
      required<&FusedAttentionAttrs::num_heads>("num_heads", "number of heads"),
      attr<&FusedAttentionAttrs::past_present_share_buffer>("past_present_share_buffer", "must be 0"),
      attr<&FusedAttentionAttrs::qkv_hidden_sizes>("qkv_hidden_sizes", "widths of Q, K and V; a third each by default"),
      attr<&FusedAttentionAttrs::rotary_embedding_dim>("rotary_embedding_dim", "must be omitted"),
      attr<&FusedAttentionAttrs::scale>("scale", "scale of the scores; absent: 1 / sqrt(head size)"),
      attr<&FusedAttentionAttrs::unidirectional>("unidirectional", "1: a query sees no key after its own position")};
};
inline constexpr std::array<Port, 7> kFusedAttentionIn{{
    {"input", "T", elems::kFloat},
    {"weights", "T", elems::kFloat},
    {"bias", "T", elems::kFloat, Port::Use::optional},
    {"mask_index", "", kMaskElems, Port::Use::optional},
    {"past", "T", elems::kFloat, Port::Use::optional},
    {"attention_bias", "T", elems::kFloat, Port::Use::optional},
    {"past_sequence_length", "", kMaskElems, Port::Use::optional},
}};
inline constexpr std::array<Port, 2> kFusedAttentionOut{
    {{"output", "T", elems::kFloat}, {"present", "T", elems::kFloat, Port::Use::optional}}};
void fused_attention_body(CompositeCx& cx);
FRAZIL_OP(Attention,
          composite<FusedAttentionAttrs>(
              {"Attention", 1, "Self attention from one projection of Q, K and V, with masks and a cache.", kDomain},
              {kFusedAttentionIn, kFusedAttentionOut}, fused_attention_body));

struct QAttentionAttrs : FusedAttentionAttrs {
  static constexpr std::array fields{
      attr<&FusedAttentionAttrs::do_rotary>("do_rotary", "must be 0"),
      attr<&FusedAttentionAttrs::mask_filter_value>("mask_filter_value", "added to masked scores; -10000 by default"),
      required<&FusedAttentionAttrs::num_heads>("num_heads", "number of heads"),
      attr<&FusedAttentionAttrs::past_present_share_buffer>("past_present_share_buffer", "must be 0"),
      attr<&FusedAttentionAttrs::scale>("scale", "scale of the scores; absent: 1 / sqrt(head size)"),
      attr<&FusedAttentionAttrs::unidirectional>("unidirectional", "1: a query sees no key after its own position")};
};
inline constexpr ElemSet kQuantised = one(Elem::u8) | one(Elem::i8), kAttendedElems = elems::kF32 | one(Elem::f16);
inline constexpr std::array<Port, 9> kQAttentionIn{{
    {"input", "T1", kQuantised},
    {"weight", "T2", kQuantised},
    {"bias", "T3", kAttendedElems},
    {"input_scale", "T3", kAttendedElems},
    {"weight_scale", "T3", kAttendedElems},
    {"mask_index", "", kMaskElems, Port::Use::optional},
    {"input_zero_point", "T1", kQuantised, Port::Use::optional},
    {"weight_zero_point", "T2", kQuantised, Port::Use::optional},
    {"past", "T3", kAttendedElems, Port::Use::optional},
}};
inline constexpr std::array<Port, 2> kQAttentionOut{
    {{"output", "T3", kAttendedElems}, {"present", "T3", kAttendedElems, Port::Use::optional}}};
void qattention_body(CompositeCx& cx);
FRAZIL_OP(QAttention,
          composite<QAttentionAttrs>({"QAttention", 1, "Attention whose projection is of quantised matrices.", kDomain},
                                     {kQAttentionIn, kQAttentionOut}, qattention_body));

struct MultiHeadAttrs {
  std::optional<float> mask_filter_value;
  std::int64_t num_heads = 0;
  std::optional<float> scale;
  std::int64_t unidirectional = 0;
  static constexpr std::array fields{
      attr<&MultiHeadAttrs::mask_filter_value>("mask_filter_value", "added to masked scores; -10000 by default"),
      required<&MultiHeadAttrs::num_heads>("num_heads", "number of heads"),
      attr<&MultiHeadAttrs::scale>("scale", "scale of the scores; absent: 1 / sqrt(head size)"),
      attr<&MultiHeadAttrs::unidirectional>("unidirectional", "1: a query sees no key after its own position")};
};
inline constexpr std::array<Port, 10> kMultiHeadIn{{
    {"query", "T", elems::kFloat},
    {"key", "T", elems::kFloat, Port::Use::optional},
    {"value", "T", elems::kFloat, Port::Use::optional},
    {"bias", "T", elems::kFloat, Port::Use::optional},
    {"key_padding_mask", "", kMaskElems, Port::Use::optional},
    {"attention_bias", "T", elems::kFloat, Port::Use::optional},
    {"past_key", "T", elems::kFloat, Port::Use::optional},
    {"past_value", "T", elems::kFloat, Port::Use::optional},
    {"past_sequence_length", "", kMaskElems, Port::Use::optional},
    {"cache_indirection", "", kMaskElems, Port::Use::optional},
}};
inline constexpr std::array<Port, 4> kMultiHeadOut{{
    {"output", "T", elems::kFloat},
    {"present_key", "T", elems::kFloat, Port::Use::optional},
    {"present_value", "T", elems::kFloat, Port::Use::optional},
    {"qk", "T", elems::kFloat, Port::Use::optional},
}};
void multi_head_body(CompositeCx& cx);
FRAZIL_OP(MultiHeadAttention,
          composite<MultiHeadAttrs>({"MultiHeadAttention", 1,
                                     "Attention of separate or packed Q, K and V, with masks and a cache.", kDomain},
                                    {kMultiHeadIn, kMultiHeadOut}, multi_head_body));

struct RotaryAttrs {
  std::int64_t interleaved = 0;
  std::int64_t is_packed_batching = 0;
  std::int64_t num_heads = 0;
  std::int64_t rotary_embedding_dim = 0;
  float scale = 1;
  static constexpr std::array fields{
      attr<&RotaryAttrs::interleaved>("interleaved", "1: pairs are adjacent, else half the size apart"),
      attr<&RotaryAttrs::is_packed_batching>("is_packed_batching", "1: steps are packed; has no effect"),
      attr<&RotaryAttrs::num_heads>("num_heads", "heads when the input has 3 axes; 0: given by the size of the caches"),
      attr<&RotaryAttrs::rotary_embedding_dim>("rotary_embedding_dim", "leading part that is rotated; 0: all"),
      attr<&RotaryAttrs::scale>("scale", "must be 1")};
};
inline constexpr std::array<Port, 4> kRotaryIn{{
    {"input", "T", elems::kFloat},
    {"position_ids", "", elems::kI64},
    {"cos_cache", "T", elems::kFloat},
    {"sin_cache", "T", elems::kFloat},
}};
void rotary_embedding_body(CompositeCx& cx);
FRAZIL_OP(RotaryEmbedding, composite<RotaryAttrs>({"RotaryEmbedding", 1,
                                                   "Rotates pairs of features by an angle for each position.", kDomain},
                                                  {kRotaryIn, kPortY<elems::kFloat>}, rotary_embedding_body));

// ---- shared with GroupQueryAttention ----

/// Return [batch, steps, heads * size] as [batch, heads, steps, size], and the reverse.
Expr split_heads(Expr x, std::int64_t heads);
Expr join_heads(Expr x);
/// Returns a + b, where either may be absent.
Expr sum_of(Expr a, Expr b);
/// Returns x [batch, heads, steps, size] with its leading features rotated by rows `places` of the caches.
Expr rotated(CompositeCx& cx, Expr x, Expr cosines, Expr sines, Expr places, bool interleaved);

}  // namespace frazil::ops::microsoft
