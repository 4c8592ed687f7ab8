// Operands and attributes that name a place or an extent which is not there: of every operator that has such, as
// inputs at run time and as constants, with fixed and with symbolic extents of the data.
#include <set>

#include "error/refusals.h"
#include "ir/op.h"

namespace frazil::test {
namespace {

struct Bad {
  std::string_view index;    ///< bindings in place of the good ones
  std::string_view reasons;  ///< one of these parts must be in every message
  bool or_limit = false;     ///< so large that a limit may speak first
};

/// A call that works with its good operands, and fails with each of the bad ones.
struct Row {
  Call call;
  std::vector<Bad> bad;
};

const std::vector<Row>& rows() {
  static const std::vector<Row> all = {
      // ---- indices of elements ----
      {{"Gather(%x, %i)", "%x = f32[3] [1, 2, 3]", "%i = i64[2] [-3, 2]"},
       {{"%i = i64[1] [3]", "index 3 at [0]"},
        {"%i = i64[2] [0, -4]", "index -4 at [1]"},
        {"%i = i64[1] [9223372036854775807]", "9223372036854775807"},
        {"%i = i64[1] [-9223372036854775808]", "-9223372036854775808"}}},
      {{"Gather(%x, %i) {axis = 1}", "%x = string[1,2] [\"a\", \"b\"]", "%i = i32[] 1"},
       {{"%i = i32[] 2", "index 2"}, {"%i = i32[] -2147483648", "-2147483648"}}},
      {{"Gather(%x, %i)", "%x = f32[0,3] []", "%i = i64[0] []"}, {{"%i = i64[1] [0]", "index 0"}}},
      {{"GatherElements(%x, %i)", "%x = f32[2,2] [1, 2, 3, 4]", "%i = i64[1,2] [0, -2]"},
       {{"%i = i64[1,2] [0, 2]", "index 2 at [0,1]"},
        {"%i = i64[1,2] [0, -3]", "index -3"},
        {"%i = i64[1,3] [0, 0, 0]", "3 along axis 1"},
        {"%i = i64[2] [0, 0]", "same number of axes"}}},
      {{"GatherND(%x, %i)", "%x = f32[2,2] [1, 2, 3, 4]", "%i = i64[1,2] [1, -2]"},
       {{"%i = i64[1,2] [1, 2]", "index 2 at [0,1]"},
        {"%i = i64[1,2] [-3, 0]", "index -3 at [0,0]"},
        {"%i = i64[1,3] [0, 0, 0]", "tuples of 3"}}},
      {{"ScatterElements(%x, %i, %u)", "%x = f32[3] [1, 2, 3]", "%i = i64[1] [-3], %u = f32[1] 9"},
       {{"%i = i64[1] [3], %u = f32[1] 9", "index 3 at [0]"},
        {"%i = i64[1] [-4], %u = f32[1] 9", "index -4"},
        {"%i = i64[1] [0], %u = f32[2] 9", "updates|1 is not 2"},
        {"%i = i64[1,1] [0], %u = f32[1,1] 9", "same number of axes"}}},
      {{"ScatterElements(%x, %i, %u) {reduction = \"add\", axis = 1}", "%x = i32[1,2] [1, 2]",
        "%i = i32[1,1] [1], %u = i32[1,1] 9"},
       {{"%i = i32[1,1] [2], %u = i32[1,1] 9", "index 2"},
        {"%i = i32[2,1] [0, 0], %u = i32[2,1] 9", "2 along axis 0"}}},
      {{"ScatterND(%x, %i, %u)", "%x = f32[3] [1, 2, 3]", "%i = i64[1,1] [2], %u = f32[1] 9"},
       {{"%i = i64[1,1] [3], %u = f32[1] 9", "index 3 at [0,0]"},
        {"%i = i64[1,1] [-4], %u = f32[1] 9", "index -4"},
        {"%i = i64[1,2] [0, 0], %u = f32[1] 9", "tuples of 2"},
        {"%i = i64[2,1] [0, 0], %u = f32[1] 9", "updates"}}},
      {{"ScatterND(%x, %i, %u)", "%x = f32[3] [1, 2, 3]", "%i = i64[1,0] [], %u = f32[1,3] 9"},
       {{"%i = i64[1,0] [], %u = f32[1,2] 9", "updates"}}},
      {{"TensorScatter(%x, %u, %i)", "%x = f32[1,1,4,1] [1, 2, 3, 4]", "%u = f32[1,1,2,1] 9, %i = i64[1] [2]"},
       {{"%u = f32[1,1,2,1] 9, %i = i64[1] [3]", "2 new entries at 3"},
        {"%u = f32[1,1,2,1] 9, %i = i64[1] [-1]", "at -1"},
        {"%u = f32[1,1,2,1] 9, %i = i64[1] [9223372036854775807]", "at 9223372036854775807"},
        {"%u = f32[1,1,5,1] 9, %i = i64[1] [0]", "5 new entries"},
        {"%u = f32[1,1,2,1] 9, %i = i64[2] [0, 0]", "write_indices|1 is not 2"}}},
      {{"TensorScatter(%x, %u, %i) {mode = \"circular\"}", "%x = f32[1,1,4,1] [1, 2, 3, 4]",
        "%u = f32[1,1,2,1] 9, %i = i64[1] [7]"},
       {{"%u = f32[1,1,2,1] 9, %i = i64[1] [-1]", "at -1"},
        {"%u = f32[1,1,2,1] 9, %i = i64[1] [9223372036854775807]", "9223372036854775807"},
        {"%u = f32[1,1,5,1] 9, %i = i64[1] [0]", "5 new entries"}}},
      {{"NegativeLogLikelihoodLoss(%x, %t)", "%x = f32[2,3] [1, 2, 3, 4, 5, 6]", "%t = i64[2] [0, 2]"},
       {{"%t = i64[2] [0, 3]", "index 3"},
        {"%t = i64[2] [0, -4]", "index -4"},
        {"%t = i64[3] [0, 0, 0]", "'target'|3 is not 2"}}},
      {{"NegativeLogLikelihoodLoss(%x, %t, %w) {ignore_index = -7}", "%x = f32[2,3] [1, 2, 3, 4, 5, 6]",
        "%t = i64[2] [-7, 2], %w = f32[3] 1"},
       {{"%t = i64[2] [-8, 0], %w = f32[3] 1", "index -8"},
        {"%t = i64[2] [-7, 2], %w = f32[2] 1", "'weight'|2 is not 3"}}},
      {{"SoftmaxCrossEntropyLoss(%x, %t)", "%x = f32[1,3,2] 1", "%t = i32[1,2] [0, 2]"},
       {{"%t = i32[1,2] [0, 3]", "index 3"}, {"%t = i32[2] [0, 0]", "target|labels|axes"}}},
      {{"frazil::Uniform(%s)", "%x = f32[1] 1", "%s = i64[2] [2, 3]"},
       {{"%s = i64[2] [2, -3]", "negative"}, {"%s = i64[2] [9223372036854775807, 2]", "limit"}}},
      {{"MaxUnpool(%x, %i) {kernel_shape = [2], strides = [2]}", "%x = f32[1,1,2] [1, 2]", "%i = i64[1,1,2] [0, 3]"},
       {{"%i = i64[1,1,2] [0, 4]", "index 4"},
        {"%i = i64[1,1,2] [-1, 0]", "index -1"},
        {"%i = i64[1,1,1] [0]", "'I'|2 is not 1"}}},
      {{"MaxUnpool(%x, %i, %s) {kernel_shape = [2], strides = [2]}", "%x = f32[1,1,2] [1, 2]",
        "%i = i64[1,1,2] [0, 3], %s = i64[3] [1, 1, 6]"},
       {{"%i = i64[1,1,2] [0, 3], %s = i64[3] [1, 1, 2]", "index 3"},
        {"%i = i64[1,1,2] [0, 3], %s = i64[3] [1, 1, -2]", "-2"},
        {"%i = i64[1,1,2] [0, 3], %s = i64[2] [1, 4]", "3 elements"}}},
      {{"ReverseSequence(%x, %n)", "%x = f32[2,2] [1, 2, 3, 4]", "%n = i64[2] [2, 0]"},
       {{"%n = i64[2] [3, 0]", "3 at [0]"},
        {"%n = i64[2] [0, -1]", "-1 at [1]"},
        {"%n = i64[1] [1]", "sequence_lens"}}},
      {{"Compress(%x, %c)", "%x = f32[2] [1, 2]", "%c = bool[3] [true, true, false]"},
       {{"%c = bool[3] [true, false, true]", "true at [2]"}, {"%c = bool[1,1] [true]", "condition"}}},
      {{"OneHot(%i, %d, %v)", "%v = f32[2] [0, 1]", "%i = i64[2] [0, 7], %d = i64[] 3"},
       {{"%i = i64[2] [0, 1], %d = i64[2] [3, 3]", ""}, {"%i = i64[1] [0], %d = i64[] 4611686018427387904", "limit"}}},
      {{"NonMaxSuppression(%b, %s, %n)", "%b = f32[1,2,4] 1, %s = f32[1,1,2] 1", "%n = i64[] 9223372036854775807"}, {}},
      // ---- counts and extents ----
      {{"TopK(%x, %k)", "%x = f32[3] [1, 2, 3]", "%k = i64[1] [3]", 2},
       {{"%k = i64[1] [4]", "4"},
        {"%k = i64[1] [-1]", "-1"},
        {"%k = i64[1] [4611686018427387904]", "K", true},
        {"%k = i64[1] [9223372036854775807]", "K", true},
        {"%k = i64[1] [-9223372036854775808]", "K"},
        {"%k = i64[0] []", "one element"}}},
      {{"Reshape(%x, %s)", "%x = f32[2,3] [1, 2, 3, 4, 5, 6]", "%s = i64[2] [3, -1]"},
       {{"%s = i64[2] [4, -1]", "4|element count"},
        {"%s = i64[2] [-1, -1]", "more than one -1|element count"},
        {"%s = i64[2] [-2, 3]", "-2|element count"},
        {"%s = i64[2] [-2, -3]", "-2|element count"},
        {"%s = i64[3] [2, 3, 0]", "shape[2]|element count"},
        {"%s = i64[2] [7, 1]", "7"},
        {"%s = i64[0] []", "element count"},
        {"%s = i64[2] [4611686018427387904, 4]", "element count"},
        {"%s = i64[3] [9223372036854775807, 2, 3]", "element count"},
        {"%s = i64[3] [4294967296, 4294967296, 6]", "element count"}}},
      {{"Reshape(%x, %s) {allowzero = 1}", "%x = f32[0,3] []", "%s = i64[2] [3, 0]"},
       {{"%s = i64[2] [0, -1]", "beside -1|for -1"}, {"%s = i64[1] [3]", "element count"}}},
      {{"Expand(%x, %s)", "%x = f32[3] [1, 2, 3]", "%s = i64[2] [2, 3]"},
       {{"%s = i64[1] [2]", "broadcast"},
        {"%s = i64[2] [-1, 3]", "-1"},
        {"%s = i64[2] [4611686018427387904, 3]", "limit|broadcast"},
        {"%s = i64[3] [4294967296, 4294967296, 3]", "limit"},
        {"%s = i64[1,1] [3]", "shape"}}},
      {{"Expand(%x, %s)", "%x = f32[1] [1]", "%s = i64[1] [0]"}, {{"%s = i64[1] [-1]", "-1"}}},
      {{"Tile(%x, %r)", "%x = f32[3] [1, 2, 3]", "%r = i64[1] [0]"},
       {{"%r = i64[1] [-1]", "-1|negative"},
        {"%r = i64[2] [1, 1]", "2 entries"},
        {"%r = i64[1] [4611686018427387904]", "limit"},
        {"%r = i64[1] [6148914691236517206]", "limit"}}},
      {{"ConstantOfShape(%s)", "", "%s = i64[2] [2, 0]"},
       {{"%s = i64[1] [-1]", "-1"},
        {"%s = i64[1] [1000000000000]", "limit"},
        {"%s = i64[3] [2097152, 2097152, 2097152]", "limit"},
        {"%s = i64[2] [4294967296, 4294967296]", "limit"},
        {"%s = i64[2] [9223372036854775807, 9223372036854775807]", "limit"}}},
      {{"Range(%a, %b, %c)", "", "%a = i64[] 3, %b = i64[] 0, %c = i64[] -1"},
       {{"%a = i64[] 0, %b = i64[] 3, %c = i64[] 0", "delta is 0|by 0"},
        {"%a = i64[] 0, %b = i64[] 1000000000000, %c = i64[] 1", "limit"},
        {"%a = i64[] -9223372036854775808, %b = i64[] 9223372036854775807, %c = i64[] 1", "limit"},
        {"%a = i64[] 0, %b = i64[2] [3, 3], %c = i64[] 1", "one element"}}},
      {{"Range(%a, %b, %c)", "", "%a = i64[] 2305843009213693940, %b = i64[] 2305843009213693950, %c = i64[] 3"},
       {{"%a = i64[] -9223372036854775808, %b = i64[] 9223372036854775807, %c = i64[] 4611686018427387904", "2^61"},
        {"%a = i64[] 9223372036854775805, %b = i64[] 9223372036854775807, %c = i64[] 1", "2^61"}}},
      {{"Range(%a, %b, %c)", "", "%a = f32[] 0, %b = f32[] 1, %c = f32[] 0.5"},
       {{"%a = f32[] 0, %b = f32[] 1, %c = f32[] 0", "by 0|delta is 0"},
        {"%a = f32[] 0, %b = f32[] inf, %c = f32[] 1", "inf"},
        {"%a = f32[] nan, %b = f32[] 1, %c = f32[] 1", "nan"},
        {"%a = f32[] 0, %b = f32[] 1, %c = f32[] nan", "nan"},
        {"%a = f32[] 0, %b = f32[] 1e30, %c = f32[] 1e-30", "limit"}}},
      {{"Resize(%x, _, %s)", "%x = f32[1,1,2] [1, 2]", "%s = f32[3] [1, 1, 2]"},
       {{"%s = f32[3] [1, 1, 0]", "scales|resized"},
        {"%s = f32[3] [1, 1, -1]", "scales|resized"},
        {"%s = f32[3] [1, 1, nan]", "scales|resized"},
        {"%s = f32[3] [1, 1, inf]", "limit|scales|resized"},
        {"%s = f32[3] [1, 1, 1e30]", "limit"},
        {"%s = f32[2] [1, 1]", "3"}}},
      {{"Resize(%x, _, _, %s) {mode = \"linear\"}", "%x = f32[1,1,2] [1, 2]", "%s = i64[3] [1, 1, 4]"},
       {{"%s = i64[3] [1, 1, -1]", "-1"},
        {"%s = i64[3] [1, 1, 4611686018427387904]", "limit"},
        {"%s = i64[3] [0, 1, 1]", "0"},
        {"%s = i64[2] [1, 1]", "3"}}},
      {{"Resize(%x, _, _, %s) {keep_aspect_ratio_policy = \"not_larger\"}", "%x = f32[1,1,2] [1, 2]",
        "%s = i64[3] [2, 2, 4]"},
       {{"%s = i64[3] [-1, 1, 4]", "-1|resized"}}},
      {{"Split(%x, %s)", "%x = f32[3] [1, 2, 3]", "%s = i64[2] [0, 3]", 2},
       {{"%s = i64[2] [5, -2]", "-2|negative"},
        {"%s = i64[2] [-2, 5]", "-2|negative"},
        {"%s = i64[2] [1, 1]", "sum of split"},
        {"%s = i64[2] [4611686018427387904, 3]", "sum of split"},
        {"%s = i64[1] [3]", "2 outputs"}}},
      {{"Split(%x, %s)", "%x = f32[3] [1, 2, 3]", "%s = i64[2] [3, 0]", 1},
       {{"%s = i64[2] [5, -2]", "-2|negative"}, {"%s = i64[2] [9223372036854775807, 4]", "sum of split"}}},
      {{"SplitToSequence(%x, %s)", "%x = f32[3] [1, 2, 3]", "%s = i64[2] [0, 3]"},
       {{"%s = i64[2] [5, -2]", "5 at [0]"},
        {"%s = i64[2] [1, 1]", "1 of 3"},
        {"%s = i64[] 0", "got 0"},
        {"%s = i64[] -1", "got -1"}}},
      {{"CumSum(%x, %a)", "%x = f32[2] [1, 2]", "%a = i64[] -1"},
       {{"%a = i64[] 1", "axis 1"}, {"%a = i32[] -2", "axis -2"}, {"%a = i64[2] [0, 0]", "one element"}}},
      {{"CumProd(%x, %a)", "%x = f32[2] [1, 2]", "%a = i64[] -1"},
       {{"%a = i64[] 1", "axis 1"}, {"%a = i32[] -2", "axis -2"}, {"%a = i64[2] [0, 0]", "one element"}}},
      // ---- signals and images ----
      {{"HannWindow(%n)", "", "%n = i64[] 3"},
       {{"%n = i64[] -1", "'size' is too small"},
        {"%n = i32[] -2147483648", "'size' is too small"},
        {"%n = i64[] 9223372036854775807", "limit|2^61", true},
        {"%n = i64[2] [1, 1]", "element count"}}},
      {{"HammingWindow(%n)", "", "%n = i32[] 3"}, {{"%n = i64[] -1", "'size' is too small"}}},
      {{"BlackmanWindow(%n)", "", "%n = i64[1] 3"}, {{"%n = i64[] -9223372036854775808", "'size' is too small"}}},
      {{"MelWeightMatrix(%n, %l, %r, f32[] 0, f32[] 9)", "", "%n = i64[] 2, %l = i64[] 4, %r = i64[] 20"},
       {{"%n = i64[] -1, %l = i64[] 4, %r = i64[] 20", "'num_mel_bins' is too small"},
        {"%n = i64[] 2, %l = i64[] -1, %r = i64[] 20", "'dft_length' is too small"},
        {"%n = i64[] 2, %l = i64[] 4, %r = i64[] 0", "'sample_rate' is too small"},
        {"%n = i64[] 2, %l = i64[] 4, %r = i64[2] [1, 1]", "element count"},
        {"%n = i64[] 4611686018427387904, %l = i64[] 4, %r = i64[] 20", "limit|2^61", true}}},
      {{"DFT(%x, %n, %a)", "%x = f32[2,1] [1, 2]", "%n = i64[] 3, %a = i64[] 0"},
       {{"%n = i64[] 0, %a = i64[] 0", "dft_length is too small"},
        {"%n = i64[] -9223372036854775808, %a = i64[] 0", "dft_length is too small"},
        {"%n = i64[] 4611686018427387904, %a = i64[] 0", "limit|too large", true},
        {"%n = i64[] 1099511627776, %a = i64[] 0", "limit", true},
        {"%n = i64[] 3, %a = i64[] 1", "axis 1"},
        {"%n = i64[] 3, %a = i64[] -1", "axis -1"},
        {"%n = i64[] 3, %a = i64[] -3", "axis -3"},
        {"%n = i64[] 3, %a = i64[] -9223372036854775808", "axis -9223372036854775808"},
        {"%n = i64[] 3, %a = i64[2] [0, 0]", "element count"},
        {"%n = i64[2] [3, 3], %a = i64[] 0", "one element"}}},
      {{"STFT(%x, %s, _, %n)", "%x = f32[1,4,1] [1, 2, 3, 4]", "%s = i64[] 2, %n = i64[] 2"},
       {{"%s = i64[] 0, %n = i64[] 2", "'frame_step' is too small"},
        {"%s = i64[] 2, %n = i64[] 5", "frame_length is too small: -1"},
        {"%s = i64[] 2, %n = i64[] 0", "'frame_length' is too small"},
        {"%s = i64[] 2, %n = i64[] 9223372036854775807", "frame_length is too small|2^61"}}},
      {{"CenterCropPad(%x, %s)", "%x = f32[1,3] [1, 2, 3]", "%s = i64[2] [2, 2]"},
       {{"%s = i64[2] [-1, 2]", "shape[0] is too small"},
        {"%s = i32[2] [1, -2147483648]", "shape[1] is too small"},
        {"%s = i64[3] [1, 1, 1]", "2 elements"},
        {"%s = i64[2] [9223372036854775807, 2]", "limit", true},
        {"%s = i64[2] [1099511627776, 1099511627776]", "limit", true}}},
      {{"Col2Im(%x, %i, %b)", "%x = f32[1,2,2] [1, 2, 3, 4]", "%i = i64[1] 3, %b = i64[1] 2"},
       {{"%i = i64[1] -3, %b = i64[1] 2", "image_shape[0] is too small"},
        {"%i = i64[1] 3, %b = i64[1] 0", "block_shape[0] is too small"},
        {"%i = i64[1] 3, %b = i64[1] -2", "block_shape[0] is too small"},
        {"%i = i64[1] 4, %b = i64[1] 2", "number of blocks"},
        {"%i = i64[1] 9223372036854775807, %b = i64[1] 2", "number of blocks|limit", true},
        {"%i = i64[1] 3, %b = i64[1] 9223372036854775807", "whole blocks|number of blocks"},
        {"%i = i64[2] [3, 1], %b = i64[1] 2", "image_shape has 2 entries"}}},
      {{"AffineGrid(%x, %s)", "%x = f32[1,2,3] [[[1, 2, 3], [4, 5, 6]]]", "%s = i64[4] [1, 1, 2, 2]"},
       {{"%s = i64[4] [1, 1, -1, 2]", "'size' is too small"},
        {"%s = i64[4] [2, 1, 2, 2]", "'theta'"},
        {"%s = i64[5] [1, 1, 2, 2, 2]", "'theta'"},
        {"%s = i64[3] [1, 1, 2]", "2 or 3 spatial axes"},
        {"%s = i64[4] [1, 1, 9223372036854775807, 2]", "limit|2^61", true}}},
      {{"RoiAlign(%x, f32[1,4] 0, %b)", "%x = f32[2,1,1,1] [1, 2]", "%b = i64[1] 1"},
       {{"%b = i64[1] 2", "index 2 at [0]"},
        {"%b = i64[1] -1", "index -1 at [0]"},
        {"%b = i64[1] -9223372036854775808", "index -9223372036854775808"},
        {"%b = i64[2] 0", "batch_indices"}}},
      {{"Trilu(%x, %k)", "%x = f32[2,2] [1, 2, 3, 4]", "%k = i64[] 100"}, {{"%k = i64[2] [1, 2]", ""}}},
      // ---- cuts and axes ----
      {{"Slice(%x, %a, %b, %c, %d)", "%x = f32[3] [1, 2, 3]",
        "%a = i64[1] [9223372036854775807], %b = i64[1] [-9223372036854775808], %c = i64[1] [-1], %d = i64[1] [-1]"},
       {{"%a = i64[1] [0], %b = i64[1] [3], %c = i64[1] [1], %d = i64[1] [1]", "axes 1|[-1, 1)|axis in"},
        {"%a = i64[1] [0], %b = i64[1] [3], %c = i64[1] [-2], %d = i64[1] [1]", "axes -2|axis in"},
        {"%a = i64[1] [0], %b = i64[1] [3], %c = i64[1] [0], %d = i64[1] [0]", "step is 0"},
        {"%a = i64[2] [0, 0], %b = i64[2] [1, 1], %c = i64[2] [0, 0], %d = i64[2] [1, 1]",
         "twice|2 starts|2 of 1 axes"},
        {"%a = i64[1] [0], %b = i64[2] [1, 1], %c = i64[1] [0], %d = i64[1] [1]", "1 starts, 2 ends"},
        {"%a = i64[1] [0], %b = i64[1] [1], %c = i64[1] [0], %d = i64[2] [1, 1]", "2 steps"}}},
      {{"Slice(%x, %a, %b, %c, %d)", "%x = f32[2,2] [1, 2, 3, 4]",
        "%a = i64[2] [0, 1], %b = i64[2] [-9223372036854775808, 9223372036854775807], %c = i64[2] [0, 1], "
        "%d = i64[2] [9223372036854775807, -9223372036854775808]"},
       {{"%a = i64[2] [0, 0], %b = i64[2] [1, 1], %c = i64[2] [0, -2], %d = i64[2] [1, 1]", "twice"}}},
      {{"Pad(%x, %p)", "%x = f32[3] [1, 2, 3]", "%p = i64[2] [-5, 4]"},
       {{"%p = i64[2] [-2, -2]", "crop|-1"},
        {"%p = i64[2] [1099511627776, 1]", "limit"},
        {"%p = i64[2] [4611686018427387904, 4611686018427387904]", "pads[0] is outside"},
        {"%p = i64[2] [0, -9223372036854775808]", "pads[1] is outside"},
        {"%p = i64[3] [1, 1, 1]", "3 pads"}}},
      {{"Pad(%x, %p, _, %a)", "%x = f32[2,2] [1, 2, 3, 4]", "%p = i64[2] [1, -1], %a = i64[1] [-1]"},
       {{"%p = i64[2] [1, 1], %a = i64[1] [2]", "axes 2|axis in"},
        {"%p = i64[4] [1, 1, 1, 1], %a = i64[2] [0, 0]", "twice"},
        {"%p = i64[2] [-1, -2], %a = i64[1] [1]", "crop|-1"}}},
      {{"Pad(%x, %p) {mode = \"reflect\"}", "%x = f32[3] [1, 2, 3]", "%p = i64[2] [2, 2]"},
       {{"%p = i64[2] [-2, -2]", "crop|-1"}}},
      {{"Pad(%x, %p) {mode = \"reflect\"}", "%x = f32[0] []", "%p = i64[2] [0, 0]"},
       {{"%p = i64[2] [1, 0]", "0|empty|no elements"}}},
      {{"Pad(%x, %p) {mode = \"edge\"}", "%x = f32[0] []", "%p = i64[2] [0, 0]"},
       {{"%p = i64[2] [0, 1]", "0|empty|no elements"}}},
      {{"Pad(%x, %p) {mode = \"wrap\"}", "%x = f32[0] []", "%p = i64[2] [0, 0]"},
       {{"%p = i64[2] [2, 1]", "0|empty|no elements"}}},
      {{"Squeeze(%x, %a)", "%x = f32[1,2] [1, 2]", "%a = i64[1] [-2]"},
       {{"%a = i64[1] [1]", "axis 1|without the squeezed"},
        {"%a = i64[1] [2]", "axes 2|axis in"},
        {"%a = i64[2] [0, -2]", "twice|without the squeezed"},
        {"%a = i64[3] [0, 1, 2]", "axes|3"}}},
      {{"Unsqueeze(%x, %a)", "%x = f32[2] [1, 2]", "%a = i64[2] [0, -1]"},
       {{"%a = i64[1] [2]", "axes 2|axis in"},
        {"%a = i64[1] [-3]", "axes -3|axis in"},
        {"%a = i64[2] [0, 0]", "twice"},
        {"%a = i64[2] [0, -3]", "twice"},
        {"%a = i64[1] [9223372036854775807]", "9223372036854775807|axis in"}}},
      {{"ReduceSum(%x, %a)", "%x = f32[2,2] [1, 2, 3, 4]", "%a = i64[1] [-1]"},
       {{"%a = i64[1] [2]", "axes 2|axis in|axis 2"},
        {"%a = i64[1] [-3]", "axes -3|axis in|axis -3"},
        {"%a = i64[2] [0, 0]", "twice"}}},
      {{"ReduceMean(%x, %a) {keepdims = 0}", "%x = f32[2,2] [1, 2, 3, 4]", "%a = i64[2] [1, 0]"},
       {{"%a = i64[1] [5]", "axes 5|axis in|axis 5"}, {"%a = i64[2] [1, -1]", "twice"}}},
      // ---- sequences ----
      {{"SequenceAt(%s, %i)", "%s = seq(f32[1] 1, f32[1] 2)", "%i = i64[] -2"},
       {{"%i = i64[] 2", "2 is outside"},
        {"%i = i64[] -3", "-3 is outside"},
        {"%i = i32[] -2147483648", "-2147483648"}}},
      {{"SequenceErase(%s, %i)", "%s = seq(f32[1] 1)", "%i = i64[] 0"},
       {{"%i = i64[] 1", "1 is outside"}, {"%i = i64[] -9223372036854775808", "-9223372036854775808"}}},
      {{"SequenceInsert(%s, %x, %i)", "%s = seq(f32[1] 1), %x = f32[1] 2", "%i = i64[] 1"},
       {{"%i = i64[] 2", "2 is outside"}, {"%i = i64[] -2", "-2 is outside"}}},
      // ---- operands that must fit together ----
      {{"Conv(%x, %w, %b)", "%x = f32[1,1,3] 1", "%w = f32[4,1,2] 1, %b = f32[4] 1"},
       {{"%w = f32[4,2,2] 1, %b = f32[4] 1", "channels"},
        {"%w = f32[4,1,2] 1, %b = f32[1] 1", "B|4"},
        {"%w = f32[4,1,2] 1, %b = f32[5] 1", "B|4|broadcast"},
        {"%w = f32[1,1,2] 1, %b = f32[5] 1", "B|5"},
        {"%w = f32[4,1,2] 1, %b = f32[1,4] 1", "B|axes|axis"},
        {"%w = f32[4,1,5] 1, %b = f32[4] 1", "window|negative|-1"}}},
      {{"Conv(%x, %w) {group = 2}", "%x = f32[1,2,3] 1", "%w = f32[4,1,2] 1"},
       {{"%w = f32[3,1,2] 1", "parts of 2"}, {"%w = f32[4,2,2] 1", "channels"}}},
      {{"Gemm(%a, %b, %c)", "%a = f32[2,3] 1", "%b = f32[3,4] 1, %c = f32[4] 1"},
       {{"%b = f32[2,4] 1, %c = f32[4] 1", "3 is not 2|2 is not 3"},
        {"%b = f32[3,4] 1, %c = f32[3] 1", "input 'C': 3 is not 4"},
        {"%b = f32[3,4] 1, %c = f32[3,4] 1", "input 'C': 3 is not 2"},
        {"%b = f32[3,4] 1, %c = f32[1,2,4] 1", "'C' must have at most 2 axes"},
        {"%b = f32[3] 1, %c = f32[4] 1", "axes|matrices"}}},
      {{"Gemm(%a, %b, %c)", "%a = f32[1,3] 1", "%b = f32[3,1] 1, %c = f32[1] 1"},
       {{"%b = f32[3,1] 1, %c = f32[5] 1", "input 'C': 5 is not 1"},
        {"%b = f32[3,1] 1, %c = f32[2,1] 1", "input 'C': 2 is not 1"}}},
      {{"MatMul(%a, %b)", "%a = f32[2,2,3] 1", "%b = f32[3,4] 1"},
       {{"%b = f32[2,4] 1", "3 is not 2|2 is not 3"},
        {"%b = f32[3,3,4] 1", "broadcast"},
        {"%b = f32[] 1", "axis|axes"}}},
      {{"LSTM(%x, %w, %r, %b, %n, %h)", "%x = f32[2,2,3] 1",
        "%w = f32[1,8,3] 1, %r = f32[1,8,2] 1, %b = f32[1,16] 1, %n = i32[2] [2, 1], %h = f32[1,2,2] 1", 3},
       {{"%w = f32[1,8,2] 1, %r = f32[1,8,2] 1, %b = f32[1,16] 1, %n = i32[2] [2, 1], %h = f32[1,2,2] 1", ""},
        {"%w = f32[1,1,3] 1, %r = f32[1,8,2] 1, %b = f32[1,16] 1, %n = i32[2] [2, 1], %h = f32[1,2,2] 1", ""},
        {"%w = f32[1,8,3] 1, %r = f32[1,4,2] 1, %b = f32[1,16] 1, %n = i32[2] [2, 1], %h = f32[1,2,2] 1", ""},
        {"%w = f32[1,8,3] 1, %r = f32[1,8,2] 1, %b = f32[1,2] 1, %n = i32[2] [2, 1], %h = f32[1,2,2] 1", ""},
        {"%w = f32[1,8,3] 1, %r = f32[1,8,2] 1, %b = f32[1,16] 1, %n = i32[1] [1], %h = f32[1,2,2] 1", ""},
        {"%w = f32[1,8,3] 1, %r = f32[1,8,2] 1, %b = f32[1,16] 1, %n = i32[2] [2, 1], %h = f32[1,1,2] 1", ""},
        {"%w = f32[0,8,3] 1, %r = f32[1,8,2] 1, %b = f32[1,16] 1, %n = i32[2] [2, 1], %h = f32[1,2,2] 1", ""}}},
      {{"LSTM(%x, %w, %r, _, _, _, _, %p)", "%x = f32[2,2,3] 1",
        "%w = f32[1,4,3] 1, %r = f32[1,4,1] 1, %p = f32[1,3] 1"},
       {{"%w = f32[1,1,3] 1, %r = f32[1,4,1] 1, %p = f32[1,3] 1", ""},
        {"%w = f32[1,4,3] 1, %r = f32[1,4,1] 1, %p = f32[1,1] 1", ""}}},
      {{"GRU(%x, %w, %r, %b, %n)", "%x = f32[2,2,3] 1",
        "%w = f32[1,6,3] 1, %r = f32[1,6,2] 1, %b = f32[1,12] 1, %n = i32[2] [2, 1]", 2},
       {{"%w = f32[1,3,3] 1, %r = f32[1,6,2] 1, %b = f32[1,12] 1, %n = i32[2] [2, 1]", ""},
        {"%w = f32[1,6,3] 1, %r = f32[1,6,2] 1, %b = f32[1,6] 1, %n = i32[2] [2, 1]", ""},
        {"%w = f32[1,6,3] 1, %r = f32[1,6,2] 1, %b = f32[1,12] 1, %n = i32[3] [2, 1, 1]", ""}}},
      {{"RNN(%x, %w, %r)", "%x = f32[2,2,3] 1", "%w = f32[1,2,3] 1, %r = f32[1,2,2] 1"},
       {{"%w = f32[1,1,3] 1, %r = f32[1,2,2] 1", ""}, {"%w = f32[1,2,3] 1, %r = f32[1,1,2] 1", ""}}},
      {{"BatchNormalization(%x, %s, %b, %m, %v)", "%x = f32[1,2,3] 1",
        "%s = f32[2] 1, %b = f32[2] 1, %m = f32[2] 1, %v = f32[2] 1"},
       {{"%s = f32[1] 1, %b = f32[2] 1, %m = f32[2] 1, %v = f32[2] 1", ""},
        {"%s = f32[2] 1, %b = f32[2] 1, %m = f32[3] 1, %v = f32[2] 1", ""}}},
      {{"LayerNormalization(%x, %s)", "%x = f32[2,3] [1, 2, 3, 4, 5, 6]", "%s = f32[1] 2"},
       {{"%s = f32[2] 1", "'Scale': 2 is not 3"}, {"%s = f32[2,2,3] 1", "'Scale' must have at most 2 axes"}}},
      {{"LayerNormalization(%x, %s)", "%x = f32[2,1] [1, 2]", "%s = f32[1] 2"},
       {{"%s = f32[2] 1", "'Scale': 2 is not 1"}}},
      {{"RMSNormalization(%x, %s)", "%x = f32[2,1] [1, 2]", "%s = f32[1] 2"},
       {{"%s = f32[2] 1", "'scale': 2 is not 1"}}},
      {{"LayerNormalization(%x, %s, %b)", "%x = f32[2,3] [1, 2, 3, 4, 5, 6]", "%s = f32[3] 2, %b = f32[3] 2"},
       {{"%s = f32[3] 1, %b = f32[4] 2", ""}}},
      {{"InstanceNormalization(%x, %s, %b)", "%x = f32[1,2,3] 1", "%s = f32[2] 1, %b = f32[2] 1"},
       {{"%s = f32[3] 1, %b = f32[2] 1", ""}}},
      {{"GroupNormalization(%x, %s, %b) {num_groups = 2}", "%x = f32[1,4,3] 1", "%s = f32[4] 1, %b = f32[4] 1"},
       {{"%s = f32[3] 1, %b = f32[4] 1", ""}}},
      {{"DeformConv(%x, %w, %o)", "%x = f32[1,1,3,3] 1", "%w = f32[1,1,2,2] 1, %o = f32[1,8,2,2] 0.5"},
       {{"%w = f32[1,2,2,2] 1, %o = f32[1,8,2,2] 0", "channels"},
        {"%w = f32[1,1,2,2] 1, %o = f32[1,6,2,2] 0", "offset"},
        {"%w = f32[1,1,2,2] 1, %o = f32[1,8,3,2] 0", "offset"}}},
      {{"DeformConv(%x, %w, %o)", "%x = f32[1,1,3,3] 1", "%w = f32[1,1,2,2] 1, %o = f32[1,8,2,2] nan"}, {}},
      {{"Attention(%q, %k, %v)", "%q = f32[1,2,2,4] 1", "%k = f32[1,2,3,4] 1, %v = f32[1,2,3,4] 1"},
       {{"%k = f32[1,2,3,5] 1, %v = f32[1,2,3,4] 1", ""},
        {"%k = f32[1,2,3,4] 1, %v = f32[1,2,2,4] 1", ""},
        {"%k = f32[1,3,3,4] 1, %v = f32[1,3,3,4] 1", ""},
        {"%k = f32[1,2,3,4] 1, %v = f32[1,3,3,4] 1", ""},
        {"%k = f32[2,2,3,4] 1, %v = f32[2,2,3,4] 1", ""}}},
      {{"Attention(%q, %k, %v, %m)", "%q = f32[1,2,2,4] 1",
        "%k = f32[1,2,3,4] 1, %v = f32[1,2,3,4] 1, %m = f32[2,3] 1"},
       {{"%k = f32[1,2,3,4] 1, %v = f32[1,2,3,4] 1, %m = f32[3,3] 1", ""}}},
      {{"RotaryEmbedding(%x, %c, %s, %p)", "%x = f32[1,1,2,4] 1",
        "%c = f32[5,2] 1, %s = f32[5,2] 1, %p = i64[1,2] [0, 4]"},
       {{"%c = f32[5,2] 1, %s = f32[5,2] 1, %p = i64[1,2] [0, 5]", "index 5"},
        {"%c = f32[5,1] 1, %s = f32[5,2] 1, %p = i64[1,2] [0, 0]", ""}}},
      {{"CausalConvWithState(%x, %w)", "%x = f32[1,2,3] 1", "%w = f32[2,1,2] 1"}, {{"%w = f32[3,1,2] 1", ""}}},
      {{"PRelu(%x, %s)", "%x = f32[2,3] 1", "%s = f32[3] 1"}, {{"%s = f32[2] 1", "broadcast"}}},
      {{"Where(%c, %x, %y)", "%x = f32[2,3] 1", "%c = bool[3] true, %y = f32[] 1"},
       {{"%c = bool[2] true, %y = f32[] 1", "broadcast"}, {"%c = bool[3] true, %y = f32[4] 1", "broadcast"}}},
      {{"Add(%x, %y)", "%x = f32[2,3] 1", "%y = f32[1,3] 1"},
       {{"%y = f32[2] 1", "broadcast"}, {"%y = f32[0] []", "broadcast"}, {"%y = f32[3,3] 1", "broadcast"}}},
      {{"Concat(%x, %y) {axis = 1}", "%x = f32[2,3] 1", "%y = f32[2,0] []"},
       {{"%y = f32[3,3] 1", "axis 0 of input 1"}, {"%y = f32[2] 1", "rank"}}},
      {{"MatMulInteger(%a, %b, %z)", "%a = u8[2,3] 1", "%b = u8[3,4] 1, %z = u8[2] 1"},
       {{"%b = u8[2,4] 1, %z = u8[2] 1", ""}, {"%b = u8[3,4] 1, %z = u8[3] 1", ""}}},
      {{"QLinearConv(%x, f32[] 1, u8[] 0, %w, f32[] 1, u8[] 0, f32[] 1, u8[] 0, %b)", "%x = u8[1,1,3] 1",
        "%w = u8[4,1,2] 1, %b = i32[4] 1"},
       {{"%w = u8[4,1,2] 1, %b = i32[1] 1", "'B': 1 is not 4"}, {"%w = u8[4,2,2] 1, %b = i32[4] 1", "channels"}}},
      {{"ConvInteger(%x, %w)", "%x = u8[1,1,3] 1", "%w = u8[1,1,2] 1"}, {{"%w = u8[1,2,2] 1", "channels"}}},
      {{"ConvTranspose(%x, %w)", "%x = f32[1,1,3] 1", "%w = f32[1,1,2] 1"}, {{"%w = f32[2,1,2] 1", "channels"}}},
  };
  return all;
}

class BadIndices : public testing::TestWithParam<Row> {};

TEST_P(BadIndices, AreRefusedHoweverTheyCome) {
  const Row& row = GetParam();
  for (const Delivery& how : kDeliveries) {
    SCOPED_TRACE(fmt::format("{}: good {}, {}", row.call.text, row.call.index, how.str()));
    expect_served(attempt(row.call, how));
  }
  for (const Bad& bad : row.bad) {
    for (const Delivery& how : kDeliveries) {
      Call call = row.call;
      call.index = bad.index;
      SCOPED_TRACE(fmt::format("{}: {}, {}", call.text, call.index, how.str()));
      expect_refused(attempt(call, how), bad.reasons, bad.or_limit);
    }
  }
}

std::string row_name(const testing::TestParamInfo<Row>& info) {
  const std::string_view text = info.param.call.text;
  std::string name(text.substr(0, text.find('(')));
  std::erase_if(name, [](char c) { return c == ':' || c == '.'; });
  return fmt::format("{}_{}", name, info.index);
}

INSTANTIATE_TEST_SUITE_P(Rows, BadIndices, testing::ValuesIn(rows()), row_name);

/// Their rule for input 'axes' is that of ReduceSum and ReduceMean.
bool is_other_reduction(std::string_view op) {
  return op.starts_with("Reduce") && op != "ReduceSum" && op != "ReduceMean";
}

/// No operator with an input that holds integers only, and so names places or extents, is forgotten above.
TEST(BadIndexTable, CoversEveryIndexInput) {
  const std::set<std::string_view> elsewhere = {"AtLeast", "Loop", "Scan", "Fit", "InRange", "Shape", "Size",
                                                // a count of steps, of which every number means something
                                                "Adagrad", "Adam", "Momentum"};
  std::set<std::string_view> covered;
  for (const Row& row : rows()) {
    const std::string_view name = row.call.text.substr(0, row.call.text.find('('));
    const std::size_t domain = name.rfind("::");
    covered.insert(domain == name.npos ? name : name.substr(domain + 2));
  }
  for (const OpDef* op : OpRegistry::global().all()) {
    if (elsewhere.contains(op->name) || is_other_reduction(op->name)) continue;
    if (op->domain == "com.microsoft") continue;  // in microsoft_test.cc
    if (op->domain == "ai.onnx.ml") continue;     // in ml_test.cc
    const bool indexed =
        std::ranges::any_of(op->inputs, [](const Port& p) { return p.set != 0 && (p.set & ~elems::kIndex) == 0; });
    EXPECT_TRUE(!indexed || covered.contains(op->name)) << op->name;
  }
}

}  // namespace
}  // namespace frazil::test
