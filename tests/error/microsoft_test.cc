// Invalid operands and attributes of the operators of domain com.microsoft: a one-line error on both tiers.
#include "error/refusal_rows.h"

namespace frazil::test {
namespace {

std::vector<AttrRow> microsoft_attribute_rows() {
  const std::string_view image = "%x = u8[1,2,3,2] 1";
  const std::vector<Bad> window = {{"kernel_shape = [0, 1]", "kernel_shape[0] = 0"},
                                   {"kernel_shape = [1, " HIGH "]", "kernel_shape[1] = " HIGH},
                                   {"kernel_shape = [1]", "kernel_shape has 1"},
                                   {"kernel_shape = [1, 1], strides = [0, 1]", "strides[0] = 0"},
                                   {"kernel_shape = [1, 1], strides = [1]", "strides has 1"},
                                   {"kernel_shape = [1, 1], pads = [1, 1]", "pads has 2"},
                                   {"kernel_shape = [1, 1], pads = [" LOW ", 0, 0, 0]", "pads[0] = " LOW},
                                   {"kernel_shape = [9, 9]", "would have the negative extent"}};
  std::vector<Bad> dilated = window;
  dilated.push_back({"kernel_shape = [1, 1], dilations = [0, 1]", "dilations[0] = 0"});
  const std::string_view quantised = "(%x, f32[] 1, u8[] 0, f32[] 1, u8[] 0)";
  static const std::string average = fmt::format("com.microsoft::QLinearAveragePool{}", quantised),
                           softmax = fmt::format("com.microsoft::QLinearSoftmax{}", quantised);
  return {
      {"com.microsoft::SimplifiedLayerNormalization(%x, f32[] 1)",
       "%x = f32[2,3] 1",
       "axis = -2",
       {{"axis = 2", "axis 2"}, {"axis = " LOW, LOW}, {"stash_type = i64", "stash_type i64 is not a float type"}}},
      {"com.microsoft::BiasSoftmax(%x, %x)",
       "%x = f32[2,3] 1",
       "axis = -1, is_inner_broadcast = 1",
       {{"axis = 3, is_inner_broadcast = 1", "axis 3"}, {"axis = " LOW ", is_inner_broadcast = 0", LOW}}},
      {"com.microsoft::Attention(%x, %w)",
       "%x = f32[1,2,2] 1, %w = f32[2,12] 1",
       "num_heads = 2, qkv_hidden_sizes = [4, 4, 4]",
       {{"num_heads = 0", "num_heads 0"},
        {"num_heads = -2", "num_heads -2"},
        {"num_heads = 3", "parts of 3"},
        {"num_heads = " HIGH, "parts of|limit", true},
        {"num_heads = 2, qkv_hidden_sizes = [4, 4]", "got 2"},
        {"num_heads = 2, qkv_hidden_sizes = [4, 4, 5]", "split|Split|13"},
        {"num_heads = 2, qkv_hidden_sizes = [4, -4, 12]", "-4"},
        {"num_heads = 2, qkv_hidden_sizes = [4, 2, 6]", "'K'"},
        {"num_heads = 2, do_rotary = 1", "do_rotary"},
        {"num_heads = 2, rotary_embedding_dim = 2", "rotary_embedding_dim"},
        {"num_heads = 2, past_present_share_buffer = 1", "past_present_share_buffer"}}},
      {"com.microsoft::QAttention(%x, %w, f32[6] 0, f32[] 1, f32[] 1)",
       "%x = u8[1,2,2] 1, %w = u8[2,6] 1",
       "num_heads = 2",
       {{"num_heads = 0", "num_heads 0"},
        {"num_heads = 3", "parts of 3"},
        {"num_heads = 2, do_rotary = 1", "do_rotary"},
        {"num_heads = 2, past_present_share_buffer = 1", "past_present_share_buffer"}}},
      {"com.microsoft::MultiHeadAttention(%x, %x, %x)",
       "%x = f32[1,2,4] 1",
       "num_heads = 2",
       {{"num_heads = 0", "num_heads 0"}, {"num_heads = 3", "parts of 3"}, {"num_heads = " LOW, LOW}}},
      {"com.microsoft::GroupQueryAttention(%q, %k, %k, _, _, i32[1] [1], i32[] 2)",
       "%q = f32[1,2,8] 1, %k = f32[1,2,4] 1",
       "num_heads = 4, kv_num_heads = 2",
       {{"num_heads = 0, kv_num_heads = 2", "num_heads 0"},
        {"num_heads = 4, kv_num_heads = 0", "kv_num_heads 0"},
        {"num_heads = 4, kv_num_heads = 3", "kv_num_heads 3"},
        {"num_heads = " HIGH ", kv_num_heads = 1", "parts of|limit", true},
        {"num_heads = -4, kv_num_heads = -2", "num_heads -4"},
        {"num_heads = 4, kv_num_heads = 1", "'key'"},
        {"num_heads = 4, kv_num_heads = 2, local_window_size = -2", "local_window_size"},
        {"num_heads = 4, kv_num_heads = 2, local_window_size = 2, causal = 0", "local_window_size"},
        {"num_heads = 4, kv_num_heads = 2, qk_output = 3", "qk_output"},
        {"num_heads = 4, kv_num_heads = 2, qk_output = " LOW, "qk_output"},
        {"num_heads = 4, kv_num_heads = 2, kv_cache_bit_width = 4", "kv_cache_bit_width"},
        {"num_heads = 4, kv_num_heads = 2, sliding_window_cache = 1", "sliding_window_cache"},
        {"num_heads = 4, kv_num_heads = 2, do_rotary = 1", "cos_cache"}}},
      {"com.microsoft::GroupQueryAttention(%q, _, _, _, _, i32[1] [1], i32[] 2)",
       "%q = f32[1,2,8] 1",
       "num_heads = 2, kv_num_heads = 1",
       {{"num_heads = 9223372036854775806, kv_num_heads = 1", "num_heads|parts of"},
        {"num_heads = 2, kv_num_heads = 2", "parts of 6"}}},
      {"com.microsoft::RotaryEmbedding(%x, i64[1] 0, %c, %c)",
       "%x = f32[1,2,8] 1, %c = f32[2,2] 1",
       "num_heads = 2",
       {{"num_heads = 3", "parts of 3"},
        {"num_heads = -1", "num_heads -1"},
        {"num_heads = 4", "cos_cache"},
        {"rotary_embedding_dim = 4", "num_heads"},
        {"num_heads = 1, rotary_embedding_dim = 6", "cos_cache"},
        {"num_heads = 1, rotary_embedding_dim = 3", "rotary_embedding_dim 3"},
        {"num_heads = 1, rotary_embedding_dim = -2", "rotary_embedding_dim -2"}}},
      {"com.microsoft::MatMulNBits(%a, %b, %s)",
       "%a = f32[1,16] 1, %b = u8[2,1,8] 1, %s = f32[2,1] 1",
       "K = 16, N = 2, block_size = 16",
       {{"K = 0, N = 2, block_size = 16", "K 0"},
        {"K = 17, N = 2, block_size = 16", "'B'"},
        {"K = 15, N = 2, block_size = 16", "inner extents"},
        {"K = " HIGH ", N = 2, block_size = 16", "K " HIGH},
        {"K = 16, N = -2, block_size = 16", "N -2"},
        {"K = 16, N = 3, block_size = 16", "'B'"},
        {"K = 16, N = " HIGH ", block_size = 16", "N " HIGH},
        {"K = 16, N = 2, block_size = 0", "block_size 0"},
        {"K = 16, N = 2, block_size = 8", "block_size 8"},
        {"K = 16, N = 2, block_size = 24", "block_size 24"},
        {"K = 16, N = 2, block_size = 32", "'B'"},
        {"K = 16, N = 2, block_size = 4611686018427387904", "block_size"},
        {"K = 16, N = 2, block_size = 16, bits = 3", "bits"},
        {"K = 16, N = 2, block_size = 16, bits = 8", "'B'"},
        {"K = 16, N = 2, block_size = 16, bits = " LOW, "bits"},
        {"K = 16, N = 2, block_size = 16, weight_prepacked = 1", "weight_prepacked"}}},
      {"com.microsoft::FusedConv(%x, %w)",
       "%x = f32[1,2,3] 1, %w = f32[4,1,2] 1",
       "group = 2",
       {{"group = 0", "group"},
        {"group = 3", "parts of 3"},
        {"group = 2, kernel_shape = [3]", "kernel_shape"},
        {"group = 2, strides = [0]", "strides[0] = 0"},
        {"group = 2, dilations = [0]", "dilations[0] = 0"},
        {"group = 2, pads = [1]", "pads has 1"},
        {"group = 2, activation = \"Clip\"", "activation_params"},
        {"group = 2, activation = \"Cube\"", "activation 'Cube'"}}},
      {softmax,
       "%x = u8[2,3] 1",
       "axis = -2, opset = 13",
       {{"axis = 2, opset = 13", "axis 2"}, {"axis = 3, opset = 1", "axis 3"}}},
      {"com.microsoft::QLinearConcat(f32[] 1, u8[] 0, %x, f32[] 1, u8[] 0)",
       "%x = u8[2,3] 1",
       "axis = -2",
       {{"axis = 2", "axis 2"}, {"axis = " LOW, LOW}}},
      {average, image, "kernel_shape = [2, 1], pads = [0, 0, 1, 0]", window},
      {"com.microsoft::NhwcMaxPool(%x)", image, "kernel_shape = [2, 1], pads = [0, 0, 1, 0]", dilated},
      {"com.microsoft::QuantizeLinear(%x, %s)",
       "%x = f32[2,3] 1, %s = f32[2] 1",
       "axis = -2",
       {{"axis = 2", "axis 2"}, {"axis = " LOW, LOW}, {"axis = 1", "2 is not 3|y_scale|broadcast"}}},
      {"com.microsoft::DequantizeLinear(%x, %s)",
       "%x = u8[2,3] 1, %s = f32[2] 1",
       "axis = -2",
       {{"axis = 2", "axis 2"}, {"axis = " LOW, LOW}, {"axis = 1", "2 is not 3|x_scale|broadcast"}}},
  };
}

class MicrosoftAttributes : public testing::TestWithParam<AttrRow> {};

TEST_P(MicrosoftAttributes, AreRefused) { expect_bad_attributes(GetParam()); }

INSTANTIATE_TEST_SUITE_P(Rows, MicrosoftAttributes, testing::ValuesIn(microsoft_attribute_rows()),
                         [](const auto& row) { return name_of_row(row.param.call, row.index); });

std::vector<IndexRow> microsoft_index_rows() {
  return {
      {{"com.microsoft::EmbedLayerNormalization(%ids, %segments, %w, %p, %s, f32[2] 1, f32[2] 1, _, %places)",
        "%w = f32[3,2] 1, %p = f32[4,2] 1, %s = f32[2,2] 1",
        "%ids = i32[1,2] [2, 0], %segments = i32[1,2] [0, 1], %places = i32[1,2] [3, 0]"},
       {{"%ids = i32[1,2] [3, 0], %segments = i32[1,2] 0, %places = i32[1,2] 0", "input_ids 3 is outside [0, 3)"},
        {"%ids = i32[1,2] [0, -1], %segments = i32[1,2] 0, %places = i32[1,2] 0", "input_ids -1"},
        {"%ids = i32[1,2] 0, %segments = i32[1,2] [0, 2], %places = i32[1,2] 0", "segment_ids 2"},
        {"%ids = i32[1,2] 0, %segments = i32[1,2] 0, %places = i32[1,2] -2147483648", "position_ids -2147483648"},
        {"%ids = i32[1,2] 0, %segments = i32[1,3] 0, %places = i32[1,2] 0", "'segment_ids'"},
        {"%ids = i32[1,2] 0, %segments = i32[1,2] 0, %places = i32[1,3] 0", "'position_ids'"}}},
      {{"com.microsoft::Attention(%x, %w, _, %m) {num_heads = 1}", "%x = f32[2,2,2] 1, %w = f32[2,6] 1",
        "%m = i32[4] [2, 2147483647, -2147483648, 0]"},
       {{"%m = i32[3] [2, 2, 0]", "element count|for -1|number of rows"},
        {"%m = i32[6] [2, 2, 0, 0, 0, 0]", "number of rows 3 is outside [1, 3)"},
        {"%m = i32[0] []", "number of rows 0 is outside [1, 3)|element count"},
        {"%m = i32[2,3] 1", "'mask_index'"},
        {"%m = i32[2,1,2] 1", "'mask_index'"}}},
      {{"com.microsoft::QAttention(%x, %w, f32[6] 0, f32[] 1, f32[] 1, %m) {num_heads = 1}",
        "%x = u8[2,2,2] 1, %w = u8[2,6] 1", "%m = i32[2] [2, 1]"},
       {{"%m = i32[8] 1", "number of rows 4"}}},
      {{"com.microsoft::MultiHeadAttention(%q, %q, %q, _, %m) {num_heads = 1}", "%q = f32[2,2,2] 1",
        "%m = i32[2] [2147483647, -2147483648]"},
       {{"%m = i32[4] 1", "key_padding_mask"},
        {"%m = i32[2,3] 1", "'key_padding_mask'"},
        {"%m = i32[2,1,2] 1", "'key_padding_mask'"}}},
      {{"com.microsoft::RotaryEmbedding(%x, %i, %c, %c)", "%x = f32[1,2,4] 1, %c = f32[3,2] 1", "%i = i64[1,2] [2, 0]"},
       {{"%i = i64[1,2] [0, 3]", "position_ids 3 is outside [0, 3)"},
        {"%i = i64[1,2] [0, -1]", "position_ids -1"},
        {"%i = i64[1,2] " HIGH, "position_ids " HIGH},
        {"%i = i64[1,3] 0", "'position_ids'"},
        {"%i = i64[1] [2]", "position_ids 3"},
        {"%i = i64[2] 0", "element count"},
        {"%i = i64[1] [-1]", "position_ids -1"}}},
      {{"com.microsoft::GroupQueryAttention(%q, %k, %k, %p, %p, %n, %t) {num_heads = 2, kv_num_heads = 1}",
        "%q = f32[2,1,4] 1, %k = f32[2,1,2] 1, %p = f32[2,1,2,2] 1", "%n = i32[2] [2, 0], %t = i32[] 3"},
       {{"%n = i32[2] [3, 0], %t = i32[] 3", "seqlens_k 3 is outside [0, 3)"},
        {"%n = i32[2] [-1, 0], %t = i32[] 3", "seqlens_k -1"},
        {"%n = i32[2] [0, 2147483647], %t = i32[] 3", "seqlens_k 2147483647"},
        {"%n = i32[2] [-2147483648, 0], %t = i32[] 3", "seqlens_k -2147483648"},
        {"%n = i32[3] 0, %t = i32[] 3", "element count"},
        {"%n = i32[2] 0, %t = i32[] 0", "outside [0, 0)|negative|new entries"},
        {"%n = i32[2] 0, %t = i32[] -2147483648", "-2147483648"},
        {"%n = i32[2] 2147483646, %t = i32[] 2147483647", "limit", true}}},
      {{"com.microsoft::MatMulNBits(%a, %b, f32[2,1] 1) {K = 16, N = 2, block_size = 16}",
        "%a = f32[1,16] 1, %b = u8[2,1,8] 1", ""},
       {}},
      {{"com.microsoft::QGemm(%a, f32[] 1, u8[] 0, %b, f32[] 1, u8[] 0, %c)", "%a = u8[2,3] 1, %b = u8[3,2] 1",
        "%c = i32[2,2] 1"},
       {{"%c = i32[3] 1", "'C'"}, {"%c = i32[1,2,2] 1", "'C'"}}},
      {{"com.microsoft::Trilu(%x, %k)", "%x = f32[2,2] 1", "%k = i64[] " HIGH}, {}},
      {{"com.microsoft::GatherND(%x, %i)", "%x = f32[2,2] 1", "%i = i32[1,2] [1, -2]"},
       {{"%i = i32[1,2] [1, 2]", "index 2"}, {"%i = i32[1,3] 0", "tuples of 3"}}},
      {{"com.microsoft::Pad(%x, %p)", "%x = f32[2] 1", "%p = i64[2] [1, -1]"},
       {{"%p = i64[2] [-2, -1]", "negative|-1"},
        {"%p = i64[3] 1", "pads|2"},
        {"%p = i64[2] " HIGH, "limit|pads|2^", true}}},
      {{"com.microsoft::Range(%a, %b, %c)", "", "%a = i64[] 3, %b = i64[1] 0, %c = i64[] -1"},
       {{"%a = i64[] 0, %b = i64[] 3, %c = i64[] 0", "delta is 0|by 0"},
        {"%a = i64[] 0, %b = i64[2] 3, %c = i64[] 1", "one element|element count"},
        {"%a = i64[] 0, %b = i64[] 1000000000000, %c = i64[] 1", "limit"}}},
  };
}

class MicrosoftIndices : public testing::TestWithParam<IndexRow> {};

TEST_P(MicrosoftIndices, AreRefusedHoweverTheyCome) { expect_bad_indices(GetParam()); }

INSTANTIATE_TEST_SUITE_P(Rows, MicrosoftIndices, testing::ValuesIn(microsoft_index_rows()),
                         [](const auto& row) { return name_of_row(row.param.call.text, row.index); });

/// Switches, hints, and numbers for which every value is valid.
const std::set<std::string_view> kFreeMicrosoftAttributes = {
    "accuracy_level", "is_inner_broadcast", "causal",          "channels_last",  "ceil_mode",      "count_include_pad",
    "interleaved",    "is_packed_batching", "mask_index_type", "opset",          "smooth_softmax", "transA",
    "transB",         "transBatchA",        "transBatchB",     "unidirectional", "upper",          "rotary_interleaved",
};

TEST(MicrosoftTables, CoverEveryIntegerAttribute) {
  const auto rows = microsoft_attribute_rows();
  auto tried = tried_attributes(rows);
  for (const OpDef* op : OpRegistry::global().all()) {
    if (op->domain == "com.microsoft") expect_integers_tried(*op, tried[op->name], kFreeMicrosoftAttributes);
  }
}

TEST(MicrosoftTables, CoverEveryIndexInput) {
  std::set<std::string_view> covered;
  const auto rows = microsoft_index_rows();
  for (const IndexRow& row : rows) covered.insert(op_in(row.call.text));
  for (const OpDef* op : OpRegistry::global().all()) {
    if (op->domain != "com.microsoft") continue;
    const bool indexed =
        std::ranges::any_of(op->inputs, [](const Port& p) { return p.set != 0 && (p.set & ~elems::kIndex) == 0; });
    EXPECT_TRUE(!indexed || covered.contains(op->name)) << op->name;
  }
}

}  // namespace
}  // namespace frazil::test
