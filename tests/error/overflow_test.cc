// Extents near 2^31, 2^62 and 2^63 and products of them: shape computations must not wrap to small values.
#include "error/refusals.h"

namespace frazil::test {
namespace {

struct Case {
  std::string_view text;    ///< of a graph
  std::string_view inputs;  ///< bindings
};

/// Too large for any limit: refused, and not with an internal error.
TEST(Overflow, LargeShapesAreRefused) {
  const Case cases[] = {
      // ---- products of extents that are 0 modulo 2^64 ----
      {"graph g(%s: i64[4]) { %y = ConstantOfShape(%s) \"bad\" return y = %y }",
       "s = i64[4] [4294967296, 4294967296, 4294967296, 4294967296]"},
      {"graph g(%s: i64[2]) { %y = ConstantOfShape(%s) {value = u8[1] 1} \"bad\" return y = %y }",
       "s = i64[2] [4611686018427387904, 4]"},
      {"graph g(%s: i64[2]) { %y = ConstantOfShape(%s) {value = c128[1] (1,1)} \"bad\" return y = %y }",
       "s = i64[2] [1152921504606846976, 1]"},
      {"graph g(%s: i64[3]) { %y = ConstantOfShape(%s) \"big\" %z = Size(%y) %w = ConstantOfShape(%s) \"bad\" "
       "return z = %z, w = %w }",
       "s = i64[3] [2147483648, 2147483648, 4]"},
      // ---- through values that are not stored ----
      {"graph g(%s: i64[2]) { %e = ConstantOfShape(%s) \"bad\" %y = ReduceSum(%e) return y = %y }",
       "s = i64[2] [4294967296, 4294967296]"},
      {"graph g(%x: f32[1], %s: i64[2]) { %e = Expand(%x, %s) \"bad\" %y = Relu(%e) \"bad\" return y = %y }",
       "x = f32[1] 1, s = i64[2] [4294967296, 4294967297]"},
      {"graph g(%x: f32[1], %s: i64[2]) { %e = Expand(%x, %s) \"bad\" %f = Flatten(%e) {axis = 0} \"bad\" "
       "%y = Relu(%f) \"bad\" return y = %y }",
       "x = f32[1] 1, s = i64[2] [4294967296, 4294967296]"},
      {"graph g(%x: f32[1], %s: i64[2]) { %e = Expand(%x, %s) \"bad\" %t = Transpose(%e) \"bad\" "
       "%y = Concat(%t, %t) {axis = 1} \"bad\" return y = %y }",
       "x = f32[1] 1, s = i64[2] [2147483648, 2147483648]"},
      {"graph g(%x: f32[1], %s: i64[1]) { %e = Expand(%x, %s) \"bad\" %u = Unsqueeze(%e, i64[1] 0) \"bad\" "
       "%y = Tile(%u, i64[2] [4611686018427387904, 1]) \"bad\" return y = %y }",
       "x = f32[1] 1, s = i64[1] [4]"},
      {"graph g(%x: f32[1], %s: i64[1]) { %e = Expand(%x, %s) \"bad\" %y = Pad(%e, i64[2] [4611686018427387904, "
       "4611686018427387904]) {mode = \"edge\"} \"bad\" return y = %y }",
       "x = f32[1] 1, s = i64[1] [4]"},
      // ---- windows ----
      {"graph g(%x: f32[1,1,N]) { %y = MaxPool(%x) {kernel_shape = [1], pads = [2147483647, 2147483647]} \"bad\" "
       "return y = %y }",
       "x = f32[1,1,4] 1"},
      {"graph g(%x: f32[1,1,N], %w: f32[1,1,2]) { %y = ConvTranspose(%x, %w) {strides = [2147483647]} \"bad\" "
       "return y = %y }",
       "x = f32[1,1,1000000] 1, w = f32[1,1,2] 1"},
      {"graph g(%x: f32[1,1,N], %w: f32[1,1,2]) { %y = ConvTranspose(%x, %w) {output_shape = [2147483647]} \"bad\" "
       "return y = %y }",
       "x = f32[1,1,2] 1, w = f32[1,1,2] 1"},
      {"graph g(%x: f32[1,1,N]) { %y = LpPool(%x) {kernel_shape = [2147483647], pads = [2147483647, 2147483647]} "
       "\"bad\" return y = %y }",
       "x = f32[1,1,4] 1"},
      {"graph g(%x: f32[1,1,N], %i: i64[1,1,M]) { %y = MaxUnpool(%x, %i) {kernel_shape = [2147483647], strides = "
       "[2147483647]} \"bad\" return y = %y }",
       "x = f32[1,1,4] 1, i = i64[1,1,4] 0"},
      // ---- resampling ----
      {"graph g(%x: f32[N], %s: f32[1]) { %y = Resize(%x, _, %s) \"bad\" return y = %y }",
       "x = f32[4] 1, s = f32[1] 4e18"},
      {"graph g(%x: f32[N], %s: f32[1]) { %y = Resize(%x, _, %s) \"bad\" return y = %y }",
       "x = f32[4] 1, s = f32[1] -3e38"},
      {"graph g(%x: f32[N]) { %y = Resize(%x, _, f32[1] 3e38) \"bad\" return y = %y }", "x = f32[4] 1"},
      {"graph g(%x: f32[N], %s: i64[1]) { %y = Resize(%x, _, _, %s) \"bad\" return y = %y }",
       "x = f32[4] 1, s = i64[1] [9223372036854775807]"},
      {"graph g(%x: f32[N,M]) { %y = Resize(%x, _, f32[2] [4294967296, 4294967296]) \"bad\" return y = %y }",
       "x = f32[1,1] 1"},
      // ---- selection ----
      {"graph g(%i: i64[N], %d: i64[]) { %y = OneHot(%i, %d, f32[2] [0, 1]) \"bad\" return y = %y }",
       "i = i64[4] 0, d = i64[] 4611686018427387905"},
      {"graph g(%i: i64[N]) { %y = OneHot(%i, i64[] 9223372036854775807, f32[2] [0, 1]) \"bad\" return y = %y }",
       "i = i64[2] 0"},
      {"graph g(%a: i64[], %b: i64[], %c: i64[]) { %y = Range(%a, %b, %c) \"bad\" return y = %y }",
       "a = i64[] -2305843009213693950, b = i64[] 2305843009213693950, c = i64[] 1"},
      {"graph g(%a: i32[], %b: i32[], %c: i32[]) { %y = Range(%a, %b, %c) \"bad\" return y = %y }",
       "a = i32[] -2147483648, b = i32[] 2147483647, c = i32[] 1"},
      {"graph g(%x: f32[1], %s: i64[2]) { %e = Expand(%x, %s) \"bad\" %y = MatMul(%e, %e) \"bad\" return y = %y }",
       "x = f32[1] 1, s = i64[2] [3037000500, 3037000500]"},
      {"graph g(%x: f32[1], %s: i64[2]) { %e = Expand(%x, %s) \"bad\" %q = SplitToSequence(%e) \"bad\" "
       "%y = ConcatFromSequence(%q) {axis = 0} return y = %y }",
       "x = f32[1] 1, s = i64[2] [4294967296, 0]"},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(fmt::format("{}\n{}", c.text, c.inputs));
    const auto bindings = parse_bindings(c.inputs);
    ASSERT_TRUE(bindings) << c.inputs;
    const Both both = attempt(c.text, *bindings);
    for (const Attempt* a : {&both.tier0, &both.ref}) {
      EXPECT_FALSE(a->ok) << (a == &both.ref ? "ref" : "tier 0");
      if (!a->ok) expect_plain(*a);
    }
  }
}

/// Large numbers with a small result: the result must be correct.
TEST(Overflow, LargeNumbersWithSmallResultsAreRight) {
  const struct {
    std::string_view text, inputs, outputs;
  } cases[] = {
      {"graph g(%x: i64[2]) { %y = Add(%x, i64[] 4611686018427387904) return y = %y }",
       "x = i64[2] [4611686018427387903, 1]", "y = i64[2] [9223372036854775807, 4611686018427387905]"},
      {"graph g(%x: f32[N]) { %s = Shape(%x) %y = Mul(%s, i64[] 4611686018427387904) return y = %y }", "x = f32[4] 1",
       "y = i64[1] [0]"},
      {"graph g(%x: f32[N]) { %s = Shape(%x) %y = Add(%s, i64[] 9223372036854775807) return y = %y }", "x = f32[4] 1",
       "y = i64[1] [-9223372036854775805]"},
      {"graph g(%x: f32[N]) { %s = Shape(%x) %t = Mul(%s, i64[] 1152921504606846976) %y = Mul(%t, %t) return y = %y }",
       "x = f32[4] 1", "y = i64[1] [0]"},
      {"graph g(%x: f32[N]) { %s = Shape(%x) %y = Concat(%s, i64[1] [9223372036854775807]) {axis = 0} return y = %y }",
       "x = f32[4] 1", "y = i64[2] [4, 9223372036854775807]"},
      {"graph g(%x: i64[1]) { %y = Neg(%x) return y = %y }", "x = i64[1] [-9223372036854775808]",
       "y = i64[1] [-9223372036854775808]"},
      {"graph g(%x: i64[2]) { %y = Div(%x, i64[2] [-1, 0]) return y = %y }", "x = i64[2] [-9223372036854775808, 5]",
       "y = i64[2] [-9223372036854775808, 0]"},
      {"graph g(%x: i32[2]) { %y = Mod(%x, i32[2] [-1, 0]) return y = %y }", "x = i32[2] [-2147483648, 5]",
       "y = i32[2] [0, 0]"},
      {"graph g(%x: u8[2], %s: u8[2]) { %y = BitShift(%x, %s) {direction = \"LEFT\"} return y = %y }",
       "x = u8[2] 1, s = u8[2] [8, 255]", "y = u8[2] [0, 0]"},
      {"graph g(%x: f32[2,2], %k: i64[]) { %y = Trilu(%x, %k) return y = %y }",
       "x = f32[2,2] 1, k = i64[] 9223372036854775807", "y = f32[2,2] 0"},
      {"graph g(%x: f32[2,2], %k: i64[]) { %y = Trilu(%x, %k) {upper = 0} return y = %y }",
       "x = f32[2,2] 1, k = i64[] -9223372036854775808", "y = f32[2,2] 0"},
      {"graph g(%x: f32[2,2]) { %y = EyeLike(%x) {k = 9223372036854775807} return y = %y }", "x = f32[2,2] 1",
       "y = f32[2,2] 0"},
      {"graph g(%x: f32[N]) { %y = Slice(%x, i64[1] [-9223372036854775808], i64[1] [9223372036854775807], i64[1] 0, "
       "i64[1] [9223372036854775807]) return y = %y }",
       "x = f32[3] [7, 8, 9]", "y = f32[1] [7]"},
      {"graph g(%x: f32[N], %a: i64[1], %b: i64[1], %d: i64[1]) { %y = Slice(%x, %a, %b, i64[1] 0, %d) return y = %y }",
       "x = f32[3] [7, 8, 9], a = i64[1] [9223372036854775807], b = i64[1] [-9223372036854775808], d = i64[1] "
       "[-9223372036854775808]",
       "y = f32[1] [9]"},
      {"graph g(%x: f32[N], %p: i64[2]) { %y = Pad(%x, %p) return y = %y }",
       "x = f32[3] [7, 8, 9], p = i64[2] [1099511627776, -1099511627776]", "y = f32[3] 0"},
      {"graph g(%x: f32[N,M]) { %y = Softmax(%x) return y = %y }", "x = f32[0,4] []", "y = f32[0,4] []"},
      {"graph g(%x: f32[N,M], %k: i64[1]) { %v, %i = TopK(%x, %k) {axis = 0} return y = %v }",
       "x = f32[1099511627776,0] [], k = i64[1] [1099511627775]", "y = f32[1099511627775,0] []"},
      {"graph g(%x: f32[N,M]) { %y = CumSum(%x, i64[] 1) return y = %y }", "x = f32[1099511627776,0] []",
       "y = f32[1099511627776,0] []"},
      {"graph g(%m: i64[], %x: f32[1]) { %y = Loop(%m, _, %x) body(%i: i64[], %c: bool[], %v: f32[1]) { yield %c, %v } "
       "return y = %y }",
       "m = i64[] -9223372036854775808, x = f32[1] 3", "y = f32[1] 3"},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(fmt::format("{}\n{}", c.text, c.inputs));
    const Graph graph = graph_of(c.text);
    const auto got = run_tiers(graph, c.inputs, kExact);
    ASSERT_TRUE(got) << got.error().text();
    const auto want = parse_bindings(c.outputs);
    ASSERT_TRUE(want) << c.outputs;
    const auto wrong = difference((*got)[0], want->at(0).second, kExact);
    EXPECT_FALSE(wrong) << *wrong;
  }
}

/// An endless loop ends at the limit on steps.
TEST(Overflow, EndlessLoopsMeetTheLimitOnSteps) {
  const Both both = attempt(
      "graph g(%m: i64[], %x: f32[1]) { %y = Loop(%m, _, %x) body(%i: i64[], %c: bool[], %v: f32[1]) { "
      "%w = Neg(%v) yield %c, %w } \"bad\" return y = %y }",
      *parse_bindings("m = i64[] 9223372036854775807, x = f32[1] 3"));
  for (const Attempt* a : {&both.tier0, &both.ref}) {
    EXPECT_FALSE(a->ok);
    EXPECT_EQ(name_of(a->code), name_of(Code::limit)) << shown(*a);
    EXPECT_THAT(a->message, testing::HasSubstr("steps"));
  }
}

}  // namespace
}  // namespace frazil::test
