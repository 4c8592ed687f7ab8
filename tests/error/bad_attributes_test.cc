// Attributes that name an axis, an extent, a count or a choice that is not there. They are constants, so the graph is
// refused where the extents of the data are known, else the run.
#include <map>
#include <set>

#include "error/refusals.h"
#include "ir/op.h"

namespace frazil::test {
namespace {

#define LOW "-9223372036854775808"
// Attributes of TfIdfVectorizer, and of TreeVotes with one node, two leaves and two votes.
#define TFIDF(shortest, longest, skip)                                                                        \
  "min_gram_length = " shortest ", max_gram_length = " longest ", max_skip_count = " skip ", mode = \"TF\", " \
  "pool_int64s = [7, 8, 7, 8], "
#define TREE(feature, test, yes, no, root)                                                                 \
  "features = [" feature "], tests = [" test "], splits = f64[1] 1, yes = [" yes "], no = [" no "], roots = [" root \
  "], "
#define VOTES(from, targets) \
  "votes_from = [" from "], vote_targets = [" targets "], vote_weights = f64[2] [1, 2], "
#define HIGH "9223372036854775807"

struct Bad {
  std::string_view attrs;    ///< in place of the good ones
  std::string_view reasons;  ///< one of these parts must be in every message
  bool or_limit = false;
};

struct Row {
  std::string_view call, data, good;
  std::vector<Bad> bad;
  int outputs = 1;
};

std::vector<Row> rows() {
  const std::vector<Bad> axis_of_two = {{"axis = 2", "axis 2 is outside [-2, 2)"},
                                        {"axis = -3", "axis -3 is outside [-2, 2)"},
                                        {"axis = " HIGH, "axis " HIGH},
                                        {"axis = " LOW, "axis " LOW}};
  const std::string_view matrix = "%x = f32[2,3] [1, 2, 3, 4, 5, 6]", image = "%x = f32[1,2,3] [1, 2, 3, 4, 5, 6]";
  const std::vector<Bad> window = {{"kernel_shape = [0]", "kernel_shape[0] = 0"},
                                   {"kernel_shape = [-1]", "kernel_shape[0] = -1"},
                                   {"kernel_shape = [" LOW "]", "kernel_shape[0] = " LOW},
                                   {"kernel_shape = [" HIGH "]", "kernel_shape[0] = " HIGH},
                                   {"kernel_shape = [2, 2]", "kernel_shape has 2 entries"},
                                   {"kernel_shape = []", "kernel_shape"},
                                   {"kernel_shape = [5]", "window|extent is negative"},
                                   {"kernel_shape = [2], strides = [0]", "strides[0] = 0"},
                                   {"kernel_shape = [2], strides = [-1]", "strides[0] = -1"},
                                   {"kernel_shape = [2], strides = [" HIGH "]", "strides[0] = " HIGH},
                                   {"kernel_shape = [2], strides = [1, 1]", "strides has 2 entries"},
                                   {"kernel_shape = [2], dilations = [0]", "dilations[0] = 0"},
                                   {"kernel_shape = [2], dilations = [" LOW "]", "dilations[0] = " LOW},
                                   {"kernel_shape = [2], dilations = [4611686018427387904]", "dilations[0] = 4611"},
                                   {"kernel_shape = [2], pads = [1]", "pads has 1 entries"},
                                   {"kernel_shape = [2], pads = [" HIGH ", 0]", "pads[0] = " HIGH},
                                   {"kernel_shape = [2], pads = [0, " LOW "]", "pads[1] = " LOW},
                                   {"kernel_shape = [2], pads = [-2, -2]", "window|extent is negative"},
                                   {"kernel_shape = [2], auto_pad = \"SAME\"", "auto_pad 'SAME'"},
                                   {"kernel_shape = [17], dilations = [1152921504606846976], pads = [0, " HIGH "]",
                                    "dilations[0] = 1152921504606846976|pads[1] = " HIGH}};
  const std::vector<Bad> bad_types = {{"output_datatype = 0", "output_datatype 0"},
                                      {"output_datatype = 8", "output_datatype 8"},
                                      {"output_datatype = " HIGH, "output_datatype " HIGH}};
  std::vector<Row> all = {
      {"BitCast(%x)",
       matrix,
       "to = 6",
       {{"to = 0", "to = 0"}, {"to = 8", "to = 8"}, {"to = 11", "32 bits"}, {"to = " LOW, "to = " LOW}}},
      {"HannWindow(i64[] 4)", "", "output_datatype = 7", bad_types},
      {"HammingWindow(i64[] 4)", "", "output_datatype = 11", bad_types},
      {"BlackmanWindow(i64[] 4)", "", "output_datatype = 16", bad_types},
      {"MelWeightMatrix(i64[] 1, i64[] 2, i64[] 8, f32[] 0, f32[] 4)", "", "output_datatype = 10", bad_types},
      {"CenterCropPad(%x, i64[1] 2)",
       matrix,
       "axes = [-1]",
       {{"axes = [2]", "axes 2 is outside"},
        {"axes = [-3]", "axes -3 is outside"},
        {"axes = [" LOW "]", "axes " LOW},
        {"axes = [0, 1]", "2 elements"},
        {"axes = [1, -1]", "twice"}}},
      {"Col2Im(%x, i64[1] 3, i64[1] 2)",
       "%x = f32[1,2,2] 1",
       "strides = [1], pads = [0, 0], dilations = [1]",
       {{"strides = [0]", "strides[0] = 0"},
        {"strides = [" HIGH "]", "strides[0] = " HIGH},
        {"strides = [1, 1]", "strides has 2 entries"},
        {"dilations = [0]", "dilations[0] = 0"},
        {"dilations = [" LOW "]", "dilations[0] = " LOW},
        {"dilations = [3]", "number of blocks"},
        {"pads = [1]", "pads has 1 entries"},
        {"pads = [0, -1]", "pads[1] = -1"},
        {"pads = [" HIGH ", 0]", "pads[0] = " HIGH},
        {"pads = [1, 0]", "number of blocks"}}},
      {"RoiAlign(%x, f32[1,4] 0, i64[1] 0)",
       "%x = f32[1,1,1,1] 1",
       "output_height = 2, output_width = 3, sampling_ratio = 0",
       {{"output_height = 0", "output_height[0] = 0"},
        {"output_height = " HIGH, HIGH},
        {"output_width = -1", "output_width[0] = -1"},
        {"output_height = 2147483647, output_width = 2147483647", "limit", true},
        {"sampling_ratio = -1", "sampling_ratio[0] = -1"},
        {"sampling_ratio = " HIGH, HIGH},
        {"mode = \"min\"", "mode 'min'"}}},
      {"MaxRoiPool(%x, f32[1,5] 0)",
       "%x = f32[1,1,1,1] 1",
       "pooled_shape = [1, 2]",
       {{"pooled_shape = [1]", "pooled_shape has 1 entries"},
        {"pooled_shape = [0, 1]", "pooled_shape[0] = 0"},
        {"pooled_shape = [1, " LOW "]", "pooled_shape[1] = " LOW},
        {"pooled_shape = [2147483647, 2147483647]", "limit", true}}},
      {"Concat(%x, %x)", matrix, "axis = -2", axis_of_two},
      {"Gather(%x, i64[] 0)", matrix, "axis = -2", axis_of_two},
      {"GatherElements(%x, i64[1,1] 0)", matrix, "axis = -2", axis_of_two},
      {"GatherND(%x, i64[2,1] 0)",
       matrix,
       "batch_dims = 1",
       {{"batch_dims = 2", "batch_dims 2"}, {"batch_dims = -1", "batch_dims -1"}, {"batch_dims = " HIGH, HIGH}}},
      {"ScatterElements(%x, i64[1,1] 0, f32[1,1] 0)", matrix, "axis = -2", axis_of_two},
      {"ScatterElements(%x, i64[1,1] 0, f32[1,1] 0)",
       matrix,
       "reduction = \"max\"",
       {{"reduction = \"avg\"", "reduction 'avg'"}}},
      {"ScatterND(%x, i64[1,1] 0, f32[1,3] 0)", matrix, "reduction = \"mul\"", {{"reduction = \"\"", "reduction ''"}}},
      {"TensorScatter(%x, %u)",
       "%x = f32[2,4,1] 1, %u = f32[2,1,1] 1",
       "axis = -2",
       {{"axis = 0", "batch axis 0"},
        {"axis = 3", "axis 3"},
        {"axis = " LOW, LOW},
        {"mode = \"ring\"", "mode 'ring'"}}},
      {"Split(%x)",
       matrix,
       "axis = -1, num_outputs = 2",
       {{"axis = 2", "axis 2"},
        {"axis = " LOW, LOW},
        {"num_outputs = 1", "2 outputs of 1 parts"},
        {"num_outputs = 0", "0 parts"},
        {"num_outputs = -2", "-2 parts"},
        {"num_outputs = " HIGH, HIGH}},
       2},
      {"SplitToSequence(%x)", matrix, "axis = -1", axis_of_two},
      {"Softmax(%x)", matrix, "axis = -2", axis_of_two},
      {"LogSoftmax(%x)", matrix, "axis = 0", axis_of_two},
      {"Hardmax(%x)", matrix, "axis = 0", axis_of_two},
      {"ArgMax(%x)", matrix, "axis = -2", axis_of_two},
      {"ArgMin(%x)", matrix, "axis = -2", axis_of_two},
      {"LpNormalization(%x)",
       matrix,
       "axis = -2, p = 1",
       {{"axis = 2", "axis 2"}, {"p = 0", "got 0"}, {"p = 3", "got 3"}}},
      {"LayerNormalization(%x, f32[] 1)",
       matrix,
       "axis = -2",
       {{"axis = 2", "axis 2"}, {"axis = " LOW, LOW}, {"stash_type = 7", "stash_type 7"}, {"stash_type = -1", "-1"}}},
      {"RMSNormalization(%x, f32[] 1)",
       matrix,
       "axis = -2",
       {{"axis = 2", "axis 2"}, {"axis = -3", "axis -3"}, {"stash_type = 7", "stash_type 7"}}},
      {"SimplifiedLayerNormalization(%x, f32[] 1)",
       matrix,
       "axis = -2",
       {{"axis = 2", "axis 2"}, {"axis = -3", "axis -3"}, {"stash_type = 7", "stash_type 7"}}},
      {"TopK(%x, i64[1] 1)", matrix, "axis = -2", axis_of_two},
      {"Unique(%x)", matrix, "axis = -2", axis_of_two},
      {"Compress(%x, bool[1] true)", matrix, "axis = -2", axis_of_two},
      {"Flatten(%x)",
       matrix,
       "axis = 2",
       {{"axis = 3", "axis 3 is outside [-2, 2]"}, {"axis = -3", "axis -3"}, {"axis = " LOW, LOW}}},
      {"OneHot(%x, i64[] 3, f32[2] [0, 1])",
       "%x = i64[2] [0, 1]",
       "axis = -2",
       {{"axis = 2", "axis 2"}, {"axis = -3", "axis -3"}, {"axis = " LOW, LOW}}},
      {"Transpose(%x)",
       matrix,
       "perm = [1, -2]",
       {{"perm = [0]", "1 entries for 2"},
        {"perm = [0, 0]", "twice"},
        {"perm = [0, -2]", "twice"},
        {"perm = [0, 2]", "2 is outside"},
        {"perm = [" HIGH ", " LOW "]", HIGH}}},
      {"MeanVarianceNormalization(%x)",
       matrix,
       "axes = [0, 1]",
       {{"axes = [2]", "2 is outside"}, {"axes = [0, -2]", "twice"}}},
      {"ReverseSequence(%x, i64[3] 1)",
       matrix,
       "time_axis = 0, batch_axis = 1",
       {{"time_axis = 1", "got 1 and 1"}, {"time_axis = " HIGH ", batch_axis = " LOW, HIGH}}},
      {"DepthToSpace(%x)",
       "%x = f32[1,4,1,1] [1, 2, 3, 4]",
       "blocksize = 2",
       {{"blocksize = 0", "blocksize 0"},
        {"blocksize = -2", "blocksize -2"},
        {"blocksize = 3", "parts of 9"},
        {"blocksize = 4294967296", "blocksize 4294967296"},
        {"blocksize = 2, mode = \"XYZ\"", "mode 'XYZ'"}}},
      {"SpaceToDepth(%x)",
       "%x = f32[1,1,2,2] [1, 2, 3, 4]",
       "blocksize = 2",
       {{"blocksize = 0", "blocksize 0"}, {"blocksize = 3", "parts of 3"}, {"blocksize = " HIGH, HIGH}}},
      {"EyeLike(%x)", matrix, "k = " HIGH, {{"dtype = 99", "dtype 99"}, {"dtype = -1", "dtype -1"}}},
      {"EyeLike(%x)", matrix, "k = " LOW, {{"dtype = 0", "dtype 0"}}},
      {"Cast(%x)", matrix, "to = 7", {{"to = 0", "0"}, {"to = 99", "99"}, {"to = " LOW, LOW}}},
      {"Optional()", "", "elem_type = 1", {{"elem_type = 99", "elem_type 99"}}},
      {"SequenceEmpty()", "", "dtype = 1", {{"dtype = 99", "dtype 99"}}},
      {"ConcatFromSequence(%s)",
       "%s = seq(f32[1,2] 1, f32[1,2] 2)",
       "axis = 1",
       {{"axis = 2", "axis 2"}, {"axis = -3", "axis -3"}, {"axis = " HIGH, HIGH}}},
      {"Pad(%x, i64[4] 1)", matrix, "mode = \"edge\"", {{"mode = \"mirror\"", "mode 'mirror'"}}},
      {"Resize(%x, _, f32[1] 2)",
       matrix,
       "axes = [-1]",
       {{"axes = [2]", "2 is outside"}, {"axes = [0, 1]", "2 elements|2 axes"}, {"axes = [" LOW "]", LOW}}},
      {"Resize(%x, _, f32[2] 2)",
       matrix,
       "mode = \"linear\"",
       {{"mode = \"area\"", "mode 'area'"},
        {"nearest_mode = \"up\"", "nearest_mode 'up'"},
        {"coordinate_transformation_mode = \"tf_crop_and_resize\"", "roi"},
        {"keep_aspect_ratio_policy = \"\"", "keep_aspect_ratio_policy ''"},
        {"axes = [0, 0]", "twice"}}},
      {"LRN(%x)", image, "size = 3", {{"size = 0", "size[0] = 0"}, {"size = " HIGH, HIGH}, {"size = -1", "-1"}}},
      {"GlobalLpPool(%x)", image, "p = 3", {{"p = 0", "got 0"}, {"p = " LOW, LOW}}},
      {"LpPool(%x)", image, "kernel_shape = [2], p = 3", {{"kernel_shape = [2], p = 0", "got 0"}}},
      {"GroupNormalization(%x, f32[2] 1, f32[2] 1)",
       image,
       "num_groups = 2",
       {{"num_groups = 0", "num_groups 0"},
        {"num_groups = 3", "parts of 3|scale"},
        {"num_groups = " HIGH, "parts of|ReduceMean", true},
        {"num_groups = 2, stash_type = 7", "stash_type 7"}}},
      {"BatchNormalization(%x, f32[2] 1, f32[2] 1, f32[2] 1, f32[2] 1)",
       image,
       "training_mode = 0",
       {{"training_mode = 0", "training"}},
       2},
      {"Conv(%x, %w)",
       "%x = f32[1,2,3] 1, %w = f32[4,1,2] 1",
       "group = 2",
       {{"group = 0", "group"},
        {"group = -2", "group"},
        {"group = 3", "parts of 3"},
        {"group = " HIGH, "parts of"},
        {"group = 2, kernel_shape = [3]", "kernel_shape"},
        {"group = 2, kernel_shape = [2, 2]", "kernel_shape has 2"},
        {"group = 2, strides = [0]", "strides[0] = 0"},
        {"group = 2, dilations = [-1]", "dilations[0] = -1"},
        {"group = 2, dilations = [" HIGH "]", HIGH},
        {"group = 2, pads = [" HIGH ", 1]", HIGH},
        {"group = 2, pads = [0, 0, 0]", "pads has 3"},
        {"group = 2, pads = [2147483647, 2147483647]", "limit", true}}},
      {"ConvInteger(%x, %w)",
       "%x = u8[1,2,3] 1, %w = u8[4,1,2] 1",
       "group = 2",
       {{"group = 0", "group"},
        {"group = 3", "parts of 3"},
        {"group = 2, kernel_shape = [3]", "kernel_shape"},
        {"group = 2, strides = [0]", "strides[0] = 0"},
        {"group = 2, dilations = [0]", "dilations[0] = 0"},
        {"group = 2, pads = [1]", "pads has 1"}}},
      {"QLinearConv(%x, f32[] 1, u8[] 0, %w, f32[] 1, u8[] 0, f32[] 1, u8[] 0)",
       "%x = u8[1,2,3] 1, %w = u8[4,1,2] 1",
       "group = 2",
       {{"group = 0", "group"},
        {"group = 2, kernel_shape = [3]", "kernel_shape"},
        {"group = 2, strides = [0]", "strides[0] = 0"},
        {"group = 2, dilations = [0]", "dilations[0] = 0"},
        {"group = 2, pads = [1]", "pads has 1"}}},
      {"ConvTranspose(%x, %w)",
       "%x = f32[1,2,3] 1, %w = f32[2,1,2] 1",
       "group = 2, strides = [2], output_padding = [1]",
       {{"group = 0", "group"},
        {"group = 3", "parts of 3"},
        {"strides = [0]", "strides[0] = 0"},
        {"strides = [" HIGH "]", HIGH},
        {"strides = [2, 2]", "strides has 2"},
        {"dilations = [0]", "dilations[0] = 0"},
        {"dilations = [" HIGH "]", HIGH},
        {"kernel_shape = [3]", "kernel_shape"},
        {"output_padding = [-1]", "output_padding[0] = -1"},
        {"output_padding = [" HIGH "]", HIGH},
        {"output_padding = [1, 1]", "output_padding has 2"},
        {"output_shape = [-1]", "output_shape[0] = -1"},
        {"output_shape = [" HIGH "]", HIGH},
        {"pads = [" LOW ", 0]", LOW},
        {"pads = [3, 3]", "window|negative"},
        {"auto_pad = \"FULL\"", "auto_pad 'FULL'"}}},
      {"MaxUnpool(%x, i64[1,2,3] 0)",
       image,
       "kernel_shape = [2], strides = [2]",
       {{"kernel_shape = [0]", "kernel_shape[0] = 0"},
        {"kernel_shape = [" LOW "]", LOW},
        {"kernel_shape = [2, 2]", "kernel_shape has 2"},
        {"kernel_shape = [2], strides = [0]", "strides[0] = 0"},
        {"kernel_shape = [2], strides = [" HIGH "]", HIGH},
        {"kernel_shape = [2], strides = [1, 1]", "strides needs 1"},
        {"kernel_shape = [2], pads = [" LOW ", 0]", LOW},
        {"kernel_shape = [2], pads = [0]", "pads needs 2"},
        {"kernel_shape = [2147483647], strides = [2147483647]", "limit", true}}},
      {"DeformConv(%x, %w, %o)",
       "%x = f32[1,2,3,3] 1, %w = f32[2,2,2,2] 1, %o = f32[1,8,2,2] 0",
       "group = 1",
       {{"group = 0", "group"},
        {"group = 2", "channels"},
        {"offset_group = 0", "offset_group"},
        {"offset_group = 2", "offset"},
        {"strides = [0, 1]", "strides[0] = 0"},
        {"strides = [1]", "strides needs 2"},
        {"dilations = [1, 0]", "dilations[1] = 0"},
        {"dilations = [" HIGH ", 1]", HIGH},
        {"pads = [" HIGH ", " HIGH ", 0, 0]", HIGH},
        {"pads = [0, 0]", "pads needs 4"},
        {"kernel_shape = [3, 3]", "kernel_shape"}}},
      {"LSTM(%x, %w, %r)",
       "%x = f32[2,2,3] 1, %w = f32[1,8,3] 1, %r = f32[1,8,2] 1",
       "hidden_size = 2",
       {{"hidden_size = 3", "'W'|'R'"},
        {"hidden_size = " HIGH, "hidden_size " HIGH},
        {"hidden_size = -1", "hidden_size -1"},
        {"direction = \"both\"", "direction 'both'"},
        {"direction = \"bidirectional\"", "'W': 1 is not 2"},
        {"activations = [\"Tanh\"]", "3 names, got 1"},
        {"activations = [\"Sigmoid\", \"Tanh\", \"Cube\"]", "activation 'Cube'"}}},
      {"GRU(%x, %w, %r)",
       "%x = f32[2,2,3] 1, %w = f32[1,6,3] 1, %r = f32[1,6,2] 1",
       "hidden_size = 2",
       {{"hidden_size = 3", "'W'|'R'"}, {"direction = \"\"", "direction ''"}}},
      {"RNN(%x, %w, %r)",
       "%x = f32[2,2,3] 1, %w = f32[1,2,3] 1, %r = f32[1,2,2] 1",
       "hidden_size = 2",
       {{"hidden_size = 3", "'W'|'R'"}, {"hidden_size = 0", "hidden_size 0"}}},
      {"Attention(%q, %k, %k)",
       "%q = f32[1,2,6] 1, %k = f32[1,3,6] 1",
       "q_num_heads = 2, kv_num_heads = 2",
       {{"q_num_heads = 0, kv_num_heads = 2", "q_num_heads"},
        {"q_num_heads = 2", "kv_num_heads"},
        {"q_num_heads = 4, kv_num_heads = 2", "parts of 4"},
        {"q_num_heads = 2, kv_num_heads = 3", "'K'|parts of"},
        {"q_num_heads = 3, kv_num_heads = 2", "'K'|parts of"},
        {"q_num_heads = -2, kv_num_heads = 2", "q_num_heads"},
        {"q_num_heads = " HIGH ", kv_num_heads = 2", "parts of"},
        {"q_num_heads = 2, kv_num_heads = 2, qk_matmul_output_mode = 4", "got 4"},
        {"q_num_heads = 2, kv_num_heads = 2, softmax_precision = 7", "softmax_precision 7"}}},
      {"LinearAttention(%q, %k, %k)",
       "%q = f32[1,2,4] 1, %k = f32[1,2,4] 1",
       "q_num_heads = 2, kv_num_heads = 2, update_rule = \"linear\"",
       {{"q_num_heads = 0, kv_num_heads = 2, update_rule = \"linear\"", "q_num_heads 0"},
        {"q_num_heads = 3, kv_num_heads = 2, update_rule = \"linear\"", "q_num_heads 3"},
        {"q_num_heads = 3, kv_num_heads = 3, update_rule = \"linear\"", "parts of 3"},
        {"q_num_heads = 2, kv_num_heads = -2, update_rule = \"linear\"", "kv_num_heads -2"},
        {"q_num_heads = 2, kv_num_heads = 2, update_rule = \"square\"", "update_rule 'square'"},
        {"q_num_heads = 2, kv_num_heads = 2", "decay"}}},
      {"RotaryEmbedding(%x, %c, %c)",
       "%x = f32[1,2,8] 1, %c = f32[1,2,2] 1",
       "num_heads = 2",
       {{"num_heads = 0", "num_heads"},
        {"num_heads = 3", "parts of 3"},
        {"num_heads = 2, rotary_embedding_dim = 3", "rotary_embedding_dim 3"},
        {"num_heads = 2, rotary_embedding_dim = -2", "rotary_embedding_dim -2"},
        {"num_heads = 2, rotary_embedding_dim = 6", "cos_cache|rotary_embedding_dim"},
        {"num_heads = 2, rotary_embedding_dim = 9223372036854775806", "rotary_embedding_dim|cos_cache"}}},
      {"CausalConvWithState(%x, f32[2,1,2] 1)",
       "%x = f32[1,2,3] 1",
       "activation = \"silu\"",
       {{"activation = \"tanh\"", "activation 'tanh'"}}},
      {"BitShift(%x, %x)",
       "%x = u8[1] 1",
       "direction = \"LEFT\"",
       {{"direction = \"UP\"", "direction 'UP'"}, {"direction = \"\"", "direction ''"}}},
      {"TfIdfVectorizer(%x)",
       "%x = i64[2] [7, 8]",
       TFIDF("1", "2", "1") "ngram_counts = [0, 2], ngram_indexes = [0, 1, 2]",
       {{TFIDF("0", "2", "1") "ngram_counts = [0, 2], ngram_indexes = [0, 1, 2]", "min_gram_length 0"},
        {TFIDF(LOW, "2", "1") "ngram_counts = [0, 2], ngram_indexes = [0, 1, 2]", LOW},
        {TFIDF("3", "2", "1") "ngram_counts = [0, 2], ngram_indexes = [0, 1, 2]", "max_gram_length 2 is less"},
        {TFIDF("1", "2", "-1") "ngram_counts = [0, 2], ngram_indexes = [0, 1, 2]", "max_skip_count -1"},
        {TFIDF("1", "2", "1") "ngram_counts = [0, 5], ngram_indexes = [0, 1, 2]", "ngram_counts[1] = 5"},
        {TFIDF("1", "2", "1") "ngram_counts = [3, 2], ngram_indexes = [0, 1, 2]", "ngram_counts[1] = 2"},
        {TFIDF("1", "2", "1") "ngram_counts = [0, 1], ngram_indexes = [0, 1, 2]", "3 tokens of 2-grams"},
        {TFIDF("1", "2", "1") "ngram_counts = [0, 2], ngram_indexes = [0, 1]", "2 entries for 3 n-grams"},
        {TFIDF("1", "2", "1") "ngram_counts = [0, 2], ngram_indexes = [0, -1, 2]", "ngram_indexes[1] = -1"},
        {TFIDF("1", "2", "1") "ngram_counts = [0, 2], ngram_indexes = [0, 1, " HIGH "]", HIGH},
        {TFIDF("1", "2", "1") "ngram_counts = [0, 2], ngram_indexes = [0, 1, 2147483647]", "limit", true},
        {TFIDF("1", "2", "1") "ngram_counts = [0, 2], ngram_indexes = [0, 1, 2], weights = [1]", "weights has 1"},
        {TFIDF("1", "2", "1") "ngram_counts = [0, 2], ngram_indexes = [0, 1, 2], pool_strings = [\"a\"]",
         "one of pool"},
        {"min_gram_length = 1, max_gram_length = 1, max_skip_count = 0, mode = \"TF\", ngram_counts = [0], "
         "ngram_indexes = [0]",
         "one of pool_int64s and pool_strings"},
        {"min_gram_length = 1, max_gram_length = 1, max_skip_count = 0, mode = \"X\", ngram_counts = [0], "
         "ngram_indexes = [0], pool_int64s = [1]",
         "mode 'X'"}}},
      {"frazil::TreeVotes(%x)",
       matrix,
       TREE("0", "0", "-1", "-2", "0") VOTES("0, 1, 2", "0, 0") "targets = 1",
       {{TREE("-1", "0", "-1", "-2", "0") VOTES("0, 1, 2", "0, 0") "targets = 1", "feature -1"},
        {TREE(HIGH, "0", "-1", "-2", "0") VOTES("0, 1, 2", "0, 0") "targets = 1", HIGH},
        {TREE("3", "0", "-1", "-2", "0") VOTES("0, 1, 2", "0, 0") "targets = 1", "test column 3"},
        {TREE("0", "7", "-1", "-2", "0") VOTES("0, 1, 2", "0, 0") "targets = 1", "test 7"},
        {TREE("0", "6", "-1", "-2", "0") VOTES("0, 1, 2", "0, 0") "targets = 1", "0 sets of members"},
        {TREE("0", "0", "0", "-2", "0") VOTES("0, 1, 2", "0, 0") "targets = 1", "cycle"},
        {TREE("0", "0", "-3", "-2", "0") VOTES("0, 1, 2", "0, 0") "targets = 1", "yes[0] is -3"},
        {TREE("0", "0", "-1", LOW, "0") VOTES("0, 1, 2", "0, 0") "targets = 1", "no[0] is " LOW},
        {TREE("0", "0", "-1", "-2", "1") VOTES("0, 1, 2", "0, 0") "targets = 1", "roots[0] is 1"},
        {TREE("0", "0", "-1", "-2", "0") VOTES("0, 1, 2", "0, 0") "targets = 1, missing_is_yes = [0, 1]", "2 entries"},
        {TREE("0", "0", "-1", "-2", "0") VOTES("0, 1, 3", "0, 0") "targets = 1", "votes_from"},
        {TREE("0", "0", "-1", "-2", "0") VOTES("0, 3, 2", "0, 0") "targets = 1", "votes_from"},
        {TREE("0", "0", "-1", "-2", "0") VOTES("-1, 1, 2", "0, 0") "targets = 1", "votes_from"},
        {TREE("0", "0", "-1", "-2", "0") VOTES("", "0, 0") "targets = 1", "votes_from"},
        {TREE("0", "0", "-1", "-2", "0") VOTES("0, 1, 2", "0, 1") "targets = 1", "target 1, outside"},
        {TREE("0", "0", "-1", "-2", "0") VOTES("0, 1, 2", "0, " LOW) "targets = 1", LOW},
        {TREE("0", "0", "-1", "-2", "0") VOTES("0, 1, 2", "0, 0") "targets = 0", "targets 0"},
        {TREE("0", "0", "-1", "-2", "0") VOTES("0, 1, 2", "0, 0") "targets = " HIGH, HIGH},
        {TREE("0", "0", "-1", "-2", "0") VOTES("0, 1, 2", "0, 0") "targets = 2147483647", "limit", true},
        {TREE("0", "0", "-1", "-2", "0") VOTES("0, 1, 2", "0, 0") "aggregate = \"ALL\"", "aggregate 'ALL'"}}},
      {"frazil::SplitAxis(%x)",
       matrix,
       "axis = 1, outer = 3",
       {{"axis = 2, outer = 1", "axis 2"},
        {"axis = 1, outer = 2", "parts of 2"},
        {"axis = 1, inner = -1", "outer and inner"},
        {"axis = 1, outer = 3, inner = 1", "outer and inner"}}},
      {"frazil::MergeAxes(%x)",
       matrix,
       "axis = 0",
       {{"axis = 1", "cannot join"}, {"axis = 0, count = 0", "cannot join 0"}, {"axis = 0, count = " HIGH, HIGH}}},
  };
  for (const char* pool : {"MaxPool(%x)", "AveragePool(%x)", "LpPool(%x)", "frazil::SumPool(%x)",
                           "frazil::PowerPool(%x)", "frazil::CountPool(%x)"}) {
    all.push_back({pool, image, "kernel_shape = [2], pads = [1, 2], strides = [2], dilations = [2]", window});
  }
  return all;
}

const Delivery kBothKinds[] = {{false, false, false}, {false, false, true}};

class BadAttributes : public testing::TestWithParam<Row> {};

TEST_P(BadAttributes, AreRefused) {
  const Row& row = GetParam();
  const auto with = [&](std::string_view attrs) { return fmt::format("{} {{{}}}", row.call, attrs); };
  const auto call = [&](const std::string& text) { return Call{text, row.data, "", row.outputs}; };
  for (const Delivery& how : kBothKinds) {
    const std::string good = with(row.good);
    if (row.outputs == 1) {
      SCOPED_TRACE(fmt::format("good {}, {}", good, how.str()));
      expect_served(attempt(call(good), how));
    }
    for (const Bad& bad : row.bad) {
      const std::string text = bad.attrs.empty() ? std::string(row.call) : with(bad.attrs);
      SCOPED_TRACE(fmt::format("{}, {}", text, how.str()));
      expect_refused(attempt(call(text), how), bad.reasons, bad.or_limit);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Rows, BadAttributes, testing::ValuesIn(rows()), [](const auto& row) {
  std::string name(row.param.call.substr(0, row.param.call.find('(')));
  std::erase(name, ':');
  return fmt::format("{}_{}", name, row.index);
});

/// Integer attributes that are switches: any number is a yes or a no.
const std::set<std::string_view> kSwitches = {
    "align_corners",
    "allowzero",
    "antialias",
    "broadcasts",
    "ceil_mode",
    "center_point_box",
    "count_include_pad",
    "detect_negative",
    "detect_positive",
    "exclude_outside",
    "exclusive",
    "fmod",
    "input_forget",
    "interleaved",
    "inverse",
    "is_case_sensitive",
    "is_causal",
    "keepdims",
    "largest",
    "layout",
    "linear_before_reset",
    "new_axis",
    "noop_with_empty_axes",
    "onesided",
    "periodic",
    "reverse",
    "saturate",
    "select_last_index",
    "sequence",
    "sorted",
    "storage_order",
    "transA",
    "transB",
    "upper",
};
/// Integer attributes for which every number means something, or which nothing reads.
const std::set<std::string_view> kFree = {"StringSplit.maxsplit", "Dropout.seed", "EyeLike.k",
                                          "Shape.start",          "Shape.end",    "LinearAttention.chunk_size"};
/// Operators made by other operators' bodies only, which check before.
const std::set<std::string_view> kInner = {"ConvSum", "ConvTransposeSum", "ChannelSquares", "ReducedCount",
                                           "Fit",     "PowerPool",        "AtLeast",        "Diagonal"};
/// In the tables of regions.
const std::set<std::string_view> kRegions = {"Scan", "Loop", "If"};

/// No operator with an attribute of integers is forgotten above.
TEST(BadAttributeTable, CoversEveryIntegerAttribute) {
  std::map<std::string, std::string> texts;  // operator to the attributes of its rows
  for (const Row& row : rows()) {
    std::string name(row.call.substr(0, row.call.find('(')));
    if (name.starts_with("frazil::")) name.erase(0, 8);
    for (const Bad& bad : row.bad) texts[name] += fmt::format(" {},", bad.attrs);
  }
  for (const OpDef* op : OpRegistry::global().all()) {
    if (kInner.contains(op->name) || kRegions.contains(op->name)) continue;
    if (op->domain == "com.microsoft") continue;  // in microsoft_test.cc
    if (op->domain == "ai.onnx.ml") continue;     // in ml_test.cc
    for (const AttrField& field : op->attrs.fields) {
      if (field.kind != AttrKind::integer && field.kind != AttrKind::integers) continue;
      if (kSwitches.contains(field.name) || kFree.contains(fmt::format("{}.{}", op->name, field.name))) continue;
      EXPECT_THAT(texts[std::string(op->name)], testing::HasSubstr(fmt::format(" {} = ", field.name))) << op->name;
    }
  }
}

}  // namespace
}  // namespace frazil::test
