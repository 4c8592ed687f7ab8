#pragma once

#include "ops/microsoft/microsoft.h"

// SparseAttention: GroupQueryAttention in which a query sees only the blocks of keys that a layout lists.
namespace frazil::ops::microsoft {

struct SparseAttentionAttrs {
  std::int64_t do_rotary = 0;
  std::int64_t kv_num_heads = 0;
  std::int64_t num_heads = 0;
  std::int64_t rotary_interleaved = 0;
  std::optional<float> scale;
  std::int64_t sparse_block_size = 0;
  static constexpr std::array fields{
      attr<&SparseAttentionAttrs::do_rotary>("do_rotary", "1: query and key are rotated by the caches of angles"),
      required<&SparseAttentionAttrs::kv_num_heads>("kv_num_heads", "heads of key and value"),
      required<&SparseAttentionAttrs::num_heads>("num_heads", "heads of query"),
      attr<&SparseAttentionAttrs::rotary_interleaved>("rotary_interleaved", "1: rotated pairs are adjacent"),
      attr<&SparseAttentionAttrs::scale>("scale", "scale of the scores; absent: 1 / sqrt(head size)"),
      required<&SparseAttentionAttrs::sparse_block_size>("sparse_block_size", "keys of a block")};
};
inline constexpr ElemSet kBlockIndex = one(Elem::i32);
inline constexpr std::array<Port, 11> kSparseAttentionIn{{
    {"query", "T", elems::kFloat},
    {"key", "T", elems::kFloat, Port::Use::optional},
    {"value", "T", elems::kFloat, Port::Use::optional},
    {"past_key", "T", elems::kFloat},
    {"past_value", "T", elems::kFloat},
    {"block_row_indices", "", kBlockIndex},
    {"block_col_indices", "", kBlockIndex},
    {"total_sequence_length", "", kBlockIndex},
    {"key_total_sequence_lengths", "", kBlockIndex},
    {"cos_cache", "T", elems::kFloat, Port::Use::optional},
    {"sin_cache", "T", elems::kFloat, Port::Use::optional},
}};
inline constexpr std::array<Port, 3> kSparseAttentionOut{{
    {"output", "T", elems::kFloat},
    {"present_key", "T", elems::kFloat, Port::Use::optional},
    {"present_value", "T", elems::kFloat, Port::Use::optional},
}};
void sparse_attention_body(CompositeCx& cx);
FRAZIL_OP(SparseAttention,
          composite<SparseAttentionAttrs>({"SparseAttention", 1,
                                           "Causal attention of grouped heads to listed blocks of a cache.", kDomain},
                                          {kSparseAttentionIn, kSparseAttentionOut}, sparse_attention_body));

}  // namespace frazil::ops::microsoft
