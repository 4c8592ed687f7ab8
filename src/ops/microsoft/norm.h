#pragma once

#include "ops/microsoft/microsoft.h"
#include "ops/nn/norm.h"

// Normalisations fused with the additions that precede them in transformers.
namespace frazil::ops::microsoft {

inline constexpr std::array<Port, 2> kSimplifiedIn{{{"X", "T", elems::kFloat}, {"scale", "V", elems::kFloat}}};
inline constexpr std::array<Port, 2> kSimplifiedOut{
    {{"Y", "V", elems::kFloat}, {"inv_std_var", "", elems::kFloat, Port::Use::optional}}};
void simplified_layer_norm_body(CompositeCx& cx);
constexpr auto simplified_layer_norm(std::string_view domain) {
  return composite<LayerNormAttrs>(
      {"SimplifiedLayerNormalization", 1, "Unit mean square over the last axes, then scale.", domain},
      {kSimplifiedIn, kSimplifiedOut}, simplified_layer_norm_body);
}
FRAZIL_OP(SimplifiedLayerNormalization, simplified_layer_norm(kDomain));
// ONNX Runtime registers this operator in domain ai.onnx.
FRAZIL_OP(OnnxSimplifiedLayerNormalization, simplified_layer_norm(""));

struct SkipNormAttrs {
  float epsilon = 1e-12f;
  static constexpr std::array fields{attr<&SkipNormAttrs::epsilon>("epsilon", "added to the variance")};
};
struct SkipSimplifiedAttrs {
  float epsilon = 1e-12f;
  static constexpr std::array fields{attr<&SkipSimplifiedAttrs::epsilon>("epsilon", "added to the mean square")};
};
inline constexpr std::array<Port, 5> kSkipNormIn{{{"input", "T", elems::kFloat},
                                                  {"skip", "T", elems::kFloat},
                                                  {"gamma", "T", elems::kFloat},
                                                  {"beta", "T", elems::kFloat, Port::Use::optional},
                                                  {"bias", "T", elems::kFloat, Port::Use::optional}}};
inline constexpr std::array<Port, 4> kSkipSimplifiedIn{{{"input", "T", elems::kFloat},
                                                        {"skip", "T", elems::kFloat},
                                                        {"gamma", "T", elems::kFloat},
                                                        {"bias", "T", elems::kFloat, Port::Use::optional}}};
inline constexpr std::array<Port, 4> kSkipNormOut{{{"output", "T", elems::kFloat},
                                                   {"mean", "", elems::kF32, Port::Use::optional},
                                                   {"inv_std_var", "", elems::kF32, Port::Use::optional},
                                                   {"input_skip_bias_sum", "T", elems::kFloat, Port::Use::optional}}};
void skip_layer_norm_body(CompositeCx& cx);
void skip_simplified_body(CompositeCx& cx);
FRAZIL_OP(SkipLayerNormalization,
          composite<SkipNormAttrs>({"SkipLayerNormalization", 1,
                                    "LayerNormalization of input + skip + bias over the last axis.", kDomain},
                                   {kSkipNormIn, kSkipNormOut}, skip_layer_norm_body));
FRAZIL_OP(SkipSimplifiedLayerNormalization,
          composite<SkipSimplifiedAttrs>({"SkipSimplifiedLayerNormalization", 1,
                                          "RMSNormalization of input + skip + bias over the last axis.", kDomain},
                                         {kSkipSimplifiedIn, kSkipNormOut}, skip_simplified_body));

struct BiasSoftmaxAttrs {
  std::int64_t axis = 1;
  std::int64_t is_inner_broadcast = 0;
  static constexpr std::array fields{
      attr<&BiasSoftmaxAttrs::axis>("axis", "the first of the axes that are normalised together"),
      required<&BiasSoftmaxAttrs::is_inner_broadcast>("is_inner_broadcast", "a hint; the extents of the bias decide")};
};
inline constexpr std::array<Port, 2> kBiasSoftmaxIn{{{"data", "T", elems::kFloat}, {"bias", "T", elems::kFloat}}};
inline constexpr std::array<Port, 1> kBiasSoftmaxOut{{{"output", "T", elems::kFloat}}};
void bias_softmax_body(CompositeCx& cx);
FRAZIL_OP(BiasSoftmax,
          composite<BiasSoftmaxAttrs>({"BiasSoftmax", 1, "Softmax of data + bias over the last axes.", kDomain},
                                      {kBiasSoftmaxIn, kBiasSoftmaxOut}, bias_softmax_body));

struct EmbedNormAttrs {
  float epsilon = 1e-12f;
  std::optional<std::int64_t> mask_index_type;
  static constexpr std::array fields{
      attr<&EmbedNormAttrs::epsilon>("epsilon", "added to the variance"),
      attr<&EmbedNormAttrs::mask_index_type>("mask_index_type", "a hint that does not change the result")};
};
inline constexpr ElemSet kI32 = one(Elem::i32);
inline constexpr std::array<Port, 9> kEmbedNormIn{{{"input_ids", "", kI32},
                                                   {"segment_ids", "", kI32, Port::Use::optional},
                                                   {"word_embedding", "T", elems::kFloat},
                                                   {"position_embedding", "T", elems::kFloat},
                                                   {"segment_embedding", "T", elems::kFloat, Port::Use::optional},
                                                   {"gamma", "T", elems::kFloat},
                                                   {"beta", "T", elems::kFloat},
                                                   {"mask", "", kI32, Port::Use::optional},
                                                   {"position_ids", "", kI32, Port::Use::optional}}};
inline constexpr std::array<Port, 3> kEmbedNormOut{{{"output", "T", elems::kFloat},
                                                    {"mask_index", "", kI32, Port::Use::optional},
                                                    {"embedding_sum", "T", elems::kFloat, Port::Use::optional}}};
void embed_norm_body(CompositeCx& cx);
FRAZIL_OP(EmbedLayerNormalization,
          composite<EmbedNormAttrs>({"EmbedLayerNormalization", 1,
                                     "Word, position and segment embeddings, summed and normalised.", kDomain},
                                    {kEmbedNormIn, kEmbedNormOut}, embed_norm_body));

inline constexpr ElemSet kTableBytes = one(Elem::u8) | one(Elem::i8);
inline constexpr std::array<Port, 18> kQEmbedNormIn{
    {{"input_ids", "", kI32},
     {"segment_ids", "", kI32, Port::Use::optional},
     {"word_embedding_quant", "T2", kTableBytes},
     {"position_embedding_quant", "T2", kTableBytes},
     {"segment_embedding", "T2", kTableBytes, Port::Use::optional},
     {"gamma_quant", "T2", kTableBytes},
     {"beta_quant", "T2", kTableBytes},
     {"mask", "", kI32, Port::Use::optional},
     {"word_embedding_scale", "", elems::kF32},
     {"position_embedding_scale", "", elems::kF32},
     {"segment_embedding_scale", "", elems::kF32, Port::Use::optional},
     {"gamma_scale", "", elems::kF32},
     {"beta_scale", "", elems::kF32},
     {"word_embedding_zero_point", "T2", kTableBytes},
     {"position_embedding_zero_point", "T2", kTableBytes},
     {"segment_embedding_zero_point", "T2", kTableBytes, Port::Use::optional},
     {"gamma_zero_point", "T2", kTableBytes},
     {"beta_zero_point", "T2", kTableBytes}}};
inline constexpr std::array<Port, 2> kQEmbedNormOut{
    {{"layernorm_out", "", elems::kF32}, {"mask_index_out", "", kI32, Port::Use::optional}}};
struct QEmbedNormAttrs {
  float epsilon = 1e-12f;
  static constexpr std::array fields{attr<&QEmbedNormAttrs::epsilon>("epsilon", "added to the variance")};
};
void qembed_norm_body(CompositeCx& cx);
FRAZIL_OP(QEmbedLayerNormalization,
          composite<QEmbedNormAttrs>({"QEmbedLayerNormalization", 1, "EmbedLayerNormalization of quantised tables.",
                                      kDomain},
                                     {kQEmbedNormIn, kQEmbedNormOut}, qembed_norm_body));

}  // namespace frazil::ops::microsoft
