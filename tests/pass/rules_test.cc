#include "pass/engine/rules.h"

#include <cmath>
#include <limits>
#include <random>
#include <set>

#include "pass/engine/passes.h"
#include "suite/tiers.h"

// Every rule of the algebra pass on random and on special values: the rewritten and the original graph give the same
// results on the reference executor.
namespace frazil::test {
namespace {

/// Graphs that a rule matches: ELEM is replaced by each of `elems`, SHAPE by each of `shapes`.
struct RuleCase {
  std::string_view rule;
  std::string_view body;  ///< after "graph g(" and before "return y = %y }"
  std::string_view elems = "f32 f64 f16 bf16 i8 i32 i64 u8 u64";
  std::vector<std::string_view> shapes = {"", "N", "N,3", "2,1,N"};
};

constexpr std::string_view kFloats = "f32 f64 f16 bf16", kBool = "bool", kSigned = "f32 f64 f16 bf16 i8 i32 i64";

/// The replacement of NORM: up to the deviation %s and the centred %d.
constexpr std::string_view kNorm =
    "%x: f32[SHAPE,8]) { %m = ReduceMean(%x, i64[1] -1) %d = Sub(%x, %m) %p = Pow(%d, f32[] 2) "
    "%v = ReduceMean(%p, i64[1] -1) %e = Add(%v, f32[] 0.5) %s = Sqrt(%e)";

/// The replacement of CHANNELS: scale, shift, mean and variance.
constexpr std::string_view kChannels =
    "f32[3] [1, -2, 0.5], f32[3] [0, 1, 2], f32[3] [0.5, -0.5, 2], f32[3] [1, 0.01, 4]";

/// The replacement of CONV: an image %c, whose channels differ, from one that is worth channels last.
constexpr std::string_view kConv = "%k = Conv(%x, f32[32,32,3,3] 0.01) {pads = [1, 1, 1, 1]} %c = Add(%k, %x) ";

const RuleCase kRuleCases[] = {
    {"generic_map",
     R"(%x: ELEM[N,3], %z: ELEM[3,N]) { %y = frazil::Generic(%x, %z) {space = ["i", "j"], reads = ["i, j", "j, i"],
       write = "i, j", body = ["ELEM load 0", "ELEM load 1", "ELEM mul %0 %1", "ELEM max %2 %0"]})",
     "f32 f64 i32 i64 u8",
     {""}},
    {"generic_map",
     R"(%x: ELEM[N], %z: ELEM[2,N], %s: ELEM[]) { %y = frazil::Generic(%x, %z, %s) {space = ["b", "i", "j = d0_0"],
       reads = ["j", "b, i", ""], write = "i, b, j", body = ["ELEM load 0", "ELEM load 1", "ELEM add %0 %1",
       "ELEM load 2", "ELEM sub %2 %3"]})",
     "f64 i32",
     {""}},
    {"generic_fold",
     R"(%x: ELEM[3,N], %z: ELEM[N]) { %y = frazil::Generic(%x, %z) {space = ["i", "j"], reduce = ["i"],
       reads = ["i, j", "j"], write = "j, _", body = ["ELEM load 0", "ELEM load 1", "ELEM mul %0 %1"]})",
     "f32 i32 u64",
     {""}},
    {"generic_fold",
     R"(%x: ELEM[3,N,2]) { %y = frazil::Generic(%x) {space = ["i", "j", "k"], reduce = ["i", "k"], fold = "max",
       reads = ["i, j, k"], write = "j", body = ["ELEM load 0", "ELEM mul %0 %0"]})",
     "f32 i32 u8",
     {""}},
    {"generic_fold",
     R"(%x: bool[3,N]) { %y = frazil::Generic(%x) {space = ["i", "j"], reduce = ["i"], fold = "all", reads = ["i, j"],
       write = "j", body = ["bool load 0", "bool lnot %0"]})",
     "bool",
     {""}},
    {"generic_product",
     R"(%x: ELEM[2,N,3], %z: ELEM[3,N,2]) { %y = frazil::Generic(%x, %z) {space = ["b", "i", "j", "k"], reduce = ["k"],
       reads = ["b, i, k", "k, j, b"], write = "j, b, i", body = ["ELEM load 0", "ELEM load 1", "ELEM mul %0 %1"]})",
     "f32 i32",
     {""}},
    {"integer_matmul",
     "%x: ELEM[SHAPE,3]) { %a = DequantizeLinear(%x, f32[] 0.5, ELEM[] 3) "
     "%w = DequantizeLinear(i8[3,2] [1, -128, 3, 127, 5, 0], f32[2] [0.25, 3], i8[2] [0, -7]) %y = MatMul(%a, %w)",
     "i8 u8",
     {"N", "2,N"}},
    {"integer_matmul",
     "%x: ELEM[2,N,4], %z: ELEM[2,4,N]) { %a = DequantizeLinear(%x, f32[1] 0.5, ELEM[1] 3) "
     "%w = DequantizeLinear(%z, f32[] 0.1) %y = MatMul(%a, %w)",
     "i8 u8",
     {""}},
    {"integer_gemm",
     "%x: ELEM[N,3], %c: f32[2]) { %a = DequantizeLinear(%x, f32[] 0.5, ELEM[] 3) "
     "%w = DequantizeLinear(ELEM[2,3] [1, 2, 127, 0, 3, 4], f32[2] [0.25, 3]) {axis = 0} "
     "%y = Gemm(%a, %w, %c) {transB = 1, alpha = 0.5}",
     "i8 u8",
     {""}},
    {"integer_gemm",
     "%x: ELEM[N,3]) { %a = DequantizeLinear(%x, f32[] 0.5) "
     "%w = DequantizeLinear(ELEM[3,2] [1, 2, 127, 0, 3, 4], f32[] 0.25) %y = Gemm(%a, %w)",
     "i8 u8",
     {""}},
    {"integer_conv",
     "%x: ELEM[N,2,4,5], %b: f32[2]) { %a = DequantizeLinear(%x, f32[] 0.5, ELEM[] 3) "
     "%w = DequantizeLinear(i8[2,2,2,1] [1, 2, -3, 4, 5, 6, 7, 127], f32[2] [0.25, 3], i8[2] [0, 1]) {axis = 0} "
     "%y = Conv(%a, %w, %b) {pads = [1, 0, 1, 2], strides = [2, 1]}",
     "i8 u8",
     {""}},
    {"integer_conv",
     "%x: ELEM[2,4,N]) { %a = DequantizeLinear(%x, f32[] 0.5) "
     "%w = DequantizeLinear(i8[4,1,1] [1, 2, -3, 4], f32[] 0.25) %y = Conv(%a, %w) {group = 4}",
     "i8 u8",
     {""}},
    {"zero_points",
     "%x: ELEM[N,3], %z: ELEM[]) { %y = MatMulInteger(%x, i8[3,2] [1, -128, 3, 127, 5, 0], %z, i8[2] 0)",
     "i8 u8",
     {""}},
    {"zero_points",
     "%x: ELEM[N,2,5]) { %y = ConvInteger(%x, i8[3,2,3] 5, ELEM[] 0, i8[] 3) {pads = [1, 1]}",
     "i8 u8",
     {""}},
    {"requantised",
     "%x: ELEM[SHAPE]) { %a = DequantizeLinear(%x, f32[] 0.37, ELEM[] 3) %y = QuantizeLinear(%a, f32[1] 0.37, ELEM[] "
     "3)",
     "i8 u8"},
    {"requantised",
     "%x: u8[SHAPE]) { %a = DequantizeLinear(%x, f32[] 1e-7) %y = QuantizeLinear(%a, f32[] 1e-7, u8[] 0)", "u8"},
    {"max_pool_bytes",
     "%x: ELEM[2,3,N,5]) { %a = DequantizeLinear(%x, f32[] 0.37, ELEM[] 3) "
     "%y = MaxPool(%a) {kernel_shape = [2, 3], pads = [1, 2, 0, 1], strides = [1, 2]}",
     "i8 u8",
     {""}},
    {"mul_one", "%x: ELEM[SHAPE]) { %y = Mul(%x, ELEM[] 1)"},
    {"mul_one", "%x: ELEM[SHAPE,2]) { %y = Mul(%x, ELEM[2] 1)"},
    {"one_mul", "%x: ELEM[SHAPE]) { %y = Mul(ELEM[] 1, %x)"},
    {"div_one", "%x: ELEM[SHAPE]) { %y = Div(%x, ELEM[] 1)"},
    {"sub_zero", "%x: ELEM[SHAPE]) { %y = Sub(%x, ELEM[] 0)"},
    {"add_zero", "%x: ELEM[SHAPE]) { %y = Add(%x, ELEM[] -0.0)", kFloats},
    {"add_zero", "%x: ELEM[SHAPE]) { %y = Add(%x, ELEM[] 0)", "i8 i32 i64 u8 u64 f32 f16"},
    {"zero_add", "%x: ELEM[SHAPE]) { %y = Add(ELEM[] -0.0, %x)", kFloats},
    {"zero_add", "%x: ELEM[SHAPE]) { %y = Add(ELEM[] 0, %x)", "i8 i32 i64 u8 u64 f32 f16"},
    {"twice_undone", "%x: ELEM[SHAPE]) { %a = Neg(%x) %y = Neg(%a)", kSigned},
    {"twice_undone", "%x: ELEM[SHAPE]) { %a = BitwiseNot(%x) %y = BitwiseNot(%a)", "i8 i32 i64 u8 u64"},
    {"twice_is_once", "%x: ELEM[SHAPE]) { %a = Abs(%x) %y = Abs(%a)"},
    {"twice_is_once", "%x: ELEM[SHAPE]) { %a = Sign(%x) %y = Sign(%a)"},
    {"twice_is_once", "%x: ELEM[SHAPE]) { %a = Floor(%x) %y = Floor(%a)", kFloats},
    {"twice_is_once", "%x: ELEM[SHAPE]) { %a = Ceil(%x) %y = Ceil(%a)", kFloats},
    {"twice_is_once", "%x: ELEM[SHAPE]) { %a = Round(%x) %y = Round(%a)", kFloats},
    {"twice_is_once", "%x: ELEM[SHAPE]) { %a = Relu(%x) %y = Relu(%a)", kSigned},
    {"abs_neg", "%x: ELEM[SHAPE]) { %a = Neg(%x) %y = Abs(%a)", kSigned},
    {"extreme_same", "%x: ELEM[SHAPE]) { %y = frazil::Min2(%x, %x)"},
    {"extreme_same", "%x: ELEM[SHAPE]) { %y = frazil::Max2(%x, %x)"},
    {"add_neg", "%x: ELEM[SHAPE], %z: ELEM[SHAPE]) { %a = Neg(%z) %y = Add(%x, %a)", kSigned},
    {"neg_add", "%x: ELEM[SHAPE], %z: ELEM[SHAPE]) { %a = Neg(%z) %y = Add(%a, %x)", kSigned},
    {"sub_neg", "%x: ELEM[SHAPE], %z: ELEM[SHAPE]) { %a = Neg(%z) %y = Sub(%x, %a)", kSigned},
    {"div_power_of_two", "%x: ELEM[SHAPE]) { %y = Div(%x, ELEM[] 8)", kFloats},
    {"div_power_of_two", "%x: ELEM[SHAPE]) { %y = Div(%x, ELEM[] -0.00390625)", kFloats},
    {"div_power_of_two", "%x: ELEM[SHAPE,3]) { %y = Div(%x, ELEM[3] [0.25, -1, 4096])", kFloats},
    {"div_power_of_two", "%x: ELEM[SHAPE]) { %y = Div(%x, ELEM[] 1.7014118346046923e+38)", "f32 f64 bf16"},
    {"div_power_of_two", "%x: ELEM[SHAPE]) { %y = Div(%x, ELEM[] 5.877471754111438e-39)", "f32 f64"},
    {"div_power_of_two", "%x: ELEM[SHAPE]) { %y = Div(%x, ELEM[] 3)", kFloats},
    {"inverse_inside", "%x: ELEM[SHAPE]) { %a = Div(%x, ELEM[] 1.4142135) %y = Erf(%a)", "f32 f64"},
    {"inverse_inside", "%x: ELEM[SHAPE,3]) { %a = Div(%x, ELEM[3] [3, -7, 0.1]) %y = Tanh(%a)", "f32 f64"},
    {"pow_one", "%x: ELEM[SHAPE]) { %y = Pow(%x, ELEM[] 1)", "f32 f64 f16 bf16 i32 i64"},
    {"pow_one", "%x: ELEM[SHAPE]) { %y = Pow(%x, f32[] 1)", "f32 f64 f16 bf16 i32 i64"},
    {"pow_two", "%x: ELEM[SHAPE]) { %y = Pow(%x, ELEM[] 2)", "f32 f64 f16 i32 i64"},
    {"pow_two", "%x: ELEM[SHAPE]) { %y = Pow(%x, i64[1] 2)", "f32 f64"},
    {"pow_three", "%x: ELEM[SHAPE]) { %y = Pow(%x, ELEM[] 3)", "f32 f64 f16 i32 i64"},
    {"pow_inverse", "%x: ELEM[SHAPE]) { %y = Pow(%x, ELEM[] -1)", "f32 f64 f16 i32"},
    {"pow_half", "%x: ELEM[SHAPE]) { %a = Mul(%x, %x) %y = Pow(%a, ELEM[] 0.5)", "f32 f64 f16"},
    {"pow_half", "%x: ELEM[SHAPE]) { %y = Pow(%x, ELEM[] 0.5)", "f32 f64 f16"},
    {"pow_half", "%x: ELEM[SHAPE]) { %a = Abs(%x) %b = Add(ELEM[] 0.25, %a) %y = Pow(%b, ELEM[] 0.5)", "f32 f64"},
    {"and_true", "%x: ELEM[SHAPE]) { %y = And(%x, bool[] true)", kBool},
    {"true_and", "%x: ELEM[SHAPE]) { %y = And(bool[] true, %x)", kBool},
    {"or_false", "%x: ELEM[SHAPE]) { %y = Or(%x, bool[] false)", kBool},
    {"or_false", "%x: ELEM[SHAPE]) { %y = Xor(%x, bool[] false)", kBool},
    {"false_or", "%x: ELEM[SHAPE]) { %y = Or(bool[] false, %x)", kBool},
    {"false_or", "%x: ELEM[SHAPE]) { %y = Xor(bool[] false, %x)", kBool},
    {"logic_same", "%x: ELEM[SHAPE]) { %y = And(%x, %x)", kBool},
    {"logic_same", "%x: ELEM[SHAPE]) { %y = Or(%x, %x)", kBool},
    {"not_not", "%x: ELEM[SHAPE]) { %a = Not(%x) %y = Not(%a)", kBool},
    {"where_true", "%x: ELEM[SHAPE], %z: ELEM[SHAPE]) { %y = Where(bool[] true, %x, %z)"},
    {"where_true", "%x: ELEM[SHAPE,2], %z: ELEM[]) { %y = Where(bool[2] [true, true], %x, %z)"},
    {"where_false", "%x: ELEM[SHAPE], %z: ELEM[SHAPE]) { %y = Where(bool[] false, %x, %z)"},
    {"where_same", "%c: bool[], %x: ELEM[SHAPE]) { %y = Where(%c, %x, %x)"},
    {"cast_same", "%x: f32[SHAPE]) { %y = Cast(%x) {to = f32}", "f32"},
    {"cast_same", "%x: i64[SHAPE]) { %y = Cast(%x) {to = i64}", "i64"},
    {"cast_back", "%x: f32[SHAPE]) { %a = Cast(%x) {to = f64} %y = Cast(%a) {to = f32}", "f32"},
    {"cast_back", "%x: i32[SHAPE]) { %a = Cast(%x) {to = ELEM} %y = Cast(%a) {to = i32}", "7 11 1 10 13"},
    {"cast_back", "%x: u8[SHAPE]) { %a = Cast(%x) {to = ELEM} %y = Cast(%a) {to = u8}", "1 3 4 5 6 7 10 11 12 13 16"},
    {"cast_back", "%x: i8[SHAPE]) { %a = Cast(%x) {to = ELEM} %y = Cast(%a) {to = i8}", "1 2 4 5 6 7 10 11 12 13 16"},
    {"cast_back", "%x: bool[SHAPE]) { %a = Cast(%x) {to = ELEM} %y = Cast(%a) {to = bool}",
     "1 2 3 4 5 6 7 10 11 12 16"},
    {"cast_back", "%x: f16[SHAPE]) { %a = Cast(%x) {to = ELEM} %y = Cast(%a) {to = f16}", "1 11 16 7"},
    {"cast_back", "%x: i16[SHAPE]) { %a = Cast(%x) {to = ELEM} %y = Cast(%a) {to = i16}", "1 4 6 7 10 11 16"},
    {"cast_back", "%x: u32[SHAPE]) { %a = Cast(%x) {to = ELEM} %y = Cast(%a) {to = u32}", "1 6 7 11 13"},
    {"transpose_none", "%x: ELEM[2,N,3]) { %y = Transpose(%x) {perm = [0, 1, 2]}", "f32 u8", {""}},
    {"transpose_none", "%x: ELEM[N]) { %y = Transpose(%x)", "f32 u8", {""}},
    {"transpose_twice",
     "%x: ELEM[2,N,3]) { %a = Transpose(%x) {perm = [SHAPE]} %y = Transpose(%a) {perm = [1, 2, 0]}",
     "f32 u8",
     {"0,2,1", "1,2,0", "2,0,1", "2,1,0"}},
    {"transpose_twice", "%x: ELEM[N,3]) { %a = Transpose(%x) %y = Transpose(%a)", "f32 i64", {""}},
    {"transpose_later",
     "%x: ELEM[2,N,3]) { %a = Transpose(%x) {perm = [SHAPE]} %b = Mul(%a, ELEM[1] 3) %c = Neg(%b) "
     "%y = Transpose(%c) {perm = [1, 2, 0]}",
     "f32 i32",
     {"0,2,1", "1,2,0", "2,0,1", "2,1,0"}},
    {"transpose_later",
     "%x: ELEM[2,N]) { %a = Transpose(%x) %b = Sub(ELEM[] 2, %a) %y = Transpose(%b)",
     "f64 i8",
     {""}},
    {"reduce_extremes_apart",
     "%x: ELEM[2,N,3,2]) { %y = ReduceMax(%x, i64[2] [0, -1]) {keepdims = 0}",
     "f32 i64",
     {""}},
    {"reduce_extremes_apart", "%x: ELEM[2,N,3,2]) { %y = ReduceMin(%x, i64[3] [3, 0, 1])", "f64 i32", {""}},
    {"reduce_apart",
     "%x: ELEM[2,N,3,2]) { %y = ReduceSum(%x, i64[2] [SHAPE]) {keepdims = 0}",
     "f32 f64 i32 i64",
     {"0,2", "1,3", "-1,-3"}},
    {"reduce_apart", "%x: ELEM[2,N,3,2]) { %y = ReduceMean(%x, i64[3] [0, 1, 3])", "f32 f64", {""}},
    {"reduce_apart", "%x: ELEM[2,N,3]) { %y = ReduceProd(%x, i64[2] [0, 2])", "f32 i32", {""}},
    {"reduce_apart", "%x: ELEM[2,N,3]) { %y = ReduceL1(%x, i64[2] [0, 2]) {keepdims = 0}", "f32 i64", {""}},
    {"reduce_apart", "%x: ELEM[2,N,3]) { %y = ReduceSumSquare(%x, i64[2] [0, 2])", "f32 i64", {""}},
    {"same_extents", "%x: ELEM[N,3]) { %y = Reshape(%x, i64[2] [0, 3])", "f32 u8", {""}},
    {"same_extents", "%x: ELEM[N,3]) { %y = Expand(%x, i64[2] [1, 3])", "f32 u8", {""}},
    {"same_extents", "%x: ELEM[2,3]) { %y = Tile(%x, i64[2] [1, 1])", "f32 u8", {""}},
    {"reshape_twice",
     "%x: ELEM[2,N,6]) { %a = Reshape(%x, i64[2] [SHAPE]) %y = Reshape(%a, i64[2] [-1, 2])",
     "f32 u8",
     {"-1,12", "6,-1", "0,-1"}},
    {"reshape_twice", "%x: ELEM[N,6]) { %a = Unsqueeze(%x, i64[1] [1]) %y = Reshape(%a, i64[1] [-1])", "f32 u8", {""}},
    {"concat_one", "%x: ELEM[N,6]) { %y = Concat(%x) {axis = 1}", "f32 u8", {""}},
    {"layer_norm", "NORM %y = Div(%d, %s)", "f32"},
    {"layer_norm", "NORM %i = Reciprocal(%s) %y = Mul(%i, %d)", "f32"},
    {"layer_norm", "NORM %i = Div(f32[] 1, %s) %y = Mul(%d, %i)", "f32"},
    {"layer_norm",
     "%x: f32[SHAPE,3,5]) { %m = ReduceMean(%x, i64[2] [-1, -2]) %d = Sub(%x, %m) %q = Mul(%d, %d) "
     "%v = ReduceMean(%q, i64[2] [-2, -1]) %e = Add(f32[1] 0.001, %v) %i = Pow(%e, f32[] -0.5) %y = Mul(%d, %i)",
     "f32",
     {"", "N"}},
    {"batch_norm_affine",
     "%x: f32[2,3SHAPE]) { %y = BatchNormalization(%x, CHANNELS) {epsilon = 0.1}",
     "f32",
     {"", ",N", ",N,2"}},
    {"batch_norm_conv",
     "%x: f32[N,2,5]) { %c = Conv(%x, f32[3,2,2] [[[1,2],[3,4]],[[5,6],[7,8]],[[-1,0],[2,3]]]SHAPE) "
     "%y = BatchNormalization(%c, CHANNELS)",
     "f32",
     {"", ", f32[3] [1, -2, 3]"}},
    {"batch_norm_conv",
     "%x: f32[1,3,N,3]) { %c = Conv(%x, f32[3,1,1,1] [[[[1]]],[[[2]]],[[[3]]]]) {group = 3} "
     "%y = BatchNormalization(%c, CHANNELS)",
     "f32",
     {""}},
    {"conv_scale",
     "%x: f32[N,2,5]) { %c = Conv(%x, f32[3,2,2] [[[1,2],[3,4]],[[5,6],[7,8]],[[-1,0],[2,3]]]SHAPE) "
     "%y = Mul(%c, f32[3,1] [[2],[-1],[0.5]])",
     "f32",
     {"", ", f32[3] [1, -2, 3]"}},
    {"conv_scale",
     "%x: f32[N,2,5]) { %c = Conv(%x, f32[3,2,2] [[[1,2],[3,4]],[[5,6],[7,8]],[[-1,0],[2,3]]]) "
     "%y = Mul(f32[1,3,1] [[[2],[-1],[0.5]]], %c)",
     "f32",
     {""}},
    {"conv_shift",
     "%x: f32[N,2,5]) { %c = Conv(%x, f32[3,2,2] [[[1,2],[3,4]],[[5,6],[7,8]],[[-1,0],[2,3]]]SHAPE) "
     "%y = Add(%c, f32[3,1] [[2],[-1],[0.5]])",
     "f32",
     {"", ", f32[3] [1, -2, 3]"}},
    {"scale_scale",
     "%x: f32[N,3,4]) { %m = Mul(%x, f32[3,1] [[1],[2],[3]]) %y = Mul(f32[3,1] [[2],[-1],[0.5]], %m)",
     "f32",
     {""}},
    {"shift_shift", "%x: f32[N,3]) { %m = Add(f32[3] [1, 2, 3], %x) %y = Add(%m, f32[3] [2, -1, 0.5])", "f32", {""}},
    {"scale_shift",
     "%x: f32[1,3,N]) { %m = Add(%x, f32[1,3,1] [[[1],[2],[3]]]) %y = Mul(f32[1,3,1] [[[2],[-1],[0.5]]], %m)",
     "f32",
     {""}},
    {"attention",
     "%q: f32[2,N,3], %k: f32[2,3,N], %m: f32[N]) { %s = MatMul(%q, %k) %d = Div(%s, f32[] SHAPE) %a = Add(%m, %d) "
     "%p = Softmax(%a) %y = MatMul(%p, %q)",
     "f32",
     {"2", "-1.5"}},
    {"attention",
     "%q: f32[N,3], %k: f32[3,N], %c: bool[N,1]) { %s = MatMul(%q, %k) %a = Where(%c, SHAPE) "
     "%p = Softmax(%a) %y = MatMul(%p, %q)",
     "f32",
     {"%s, f32[] -3", "f32[1] -100, %s"}},
    {"attention",
     "%q: f32[1,2,N,3], %k: f32[1,2,3,N], %m: f32[2,1,N]) { %s = MatMul(%q, %k) %t = Tanh(%s) %d = Mul(f32[] 3, %t) "
     "%e = Add(%d, %m) %a = Add(%m, %e) %p = Softmax(%a) {axis = SHAPE} %y = MatMul(%p, %q)",
     "f32",
     {"3", "-1"}},
    {"attention",
     "%q: f32[N,3], %k: f32[3,N]) { %s = MatMul(%q, %k) %p = Softmax(%s) {axis = 0} %y = MatMul(%p, %q)",
     "f32",
     {""}},
    {"rotary",
     "%x: f32[2,N,4], %c: f32[N,4], %s: f32[N,4]) { %a = Slice(%x, i64[1] 0, i64[1] 2, i64[1] SHAPE) "
     "%b = Slice(%x, i64[1] 2, i64[1] 9223372036854775807, i64[1] SHAPE) %n = Neg(%b) "
     "%r = Concat(%n, %a) {axis = -1} %p = Mul(%r, %s) %q = Mul(%c, %x) %y = Add(%q, %p)",
     "f32",
     {"-1", "2"}},
    {"rotary",
     "%x: f32[N,6], %c: f32[6], %s: f32[N,1]) { %a, %b = Split(%x, i64[2] [3, 3]) {axis = SHAPE} %n = Neg(%b) "
     "%r = Concat(%n, %a) {axis = 1} %p = Mul(%s, %r) %q = Mul(%x, %c) %y = Add(%p, %q)",
     "f32",
     {"-1", "1"}},
    {"rotary",
     "%x: f32[N,6]) { %a, %b = Split(%x, i64[2] [2, 4]) {axis = -1} %n = Neg(%b) "
     "%r = Concat(%n, %a) {axis = 1} %p = Mul(%x, %r) %q = Mul(%x, %x) %y = Add(%p, %q)",
     "f32",
     {""}},
    {"layer_norm_scale", "NORM %n = Div(%d, %s) %y = Mul(%n, f32[8] [1, 2, 3, 4, 0, -1, -2, 0.5])", "f32"},
    {"layer_norm_shift",
     "NORM %n = Div(%d, %s) %g = Mul(f32[8] [1, 2, 3, 4, 0, -1, -2, 0.5], %n) "
     "%y = Add(f32[8] [0.1, 2, 3, 4, 0, -1, -2, 0.5], %g)",
     "f32"},
    {"layer_norm",
     "%x: f32[SHAPE,8]) { %m = ReduceMean(%x, i64[1] -1) %o = Neg(%x) %d = Sub(%o, %m) %p = Mul(%d, %d) "
     "%v = ReduceMean(%p, i64[1] -1) %e = Add(%v, f32[] 0.5) %s = Sqrt(%e) %y = Div(%d, %s)",
     "f32"},
    {"layer_norm",
     "%x: f32[8,N,8]) { %m = ReduceMean(%x, i64[1] 0) %d = Sub(%x, %m) %p = Mul(%d, %d) "
     "%v = ReduceMean(%p, i64[1] 0) %e = Add(%v, f32[] 0.5) %s = Sqrt(%e) %y = Div(%d, %s)",
     "f32",
     {""}},
    {"last_conv", "%x: f32[1,32,N,2]) { CONV %y = Neg(%c)", "f32", {""}},
    {"last_conv",
     "%t: f32[2,N,40]) { %x = Transpose(%t) {perm = [0, 2, 1]} %y = Conv(%x, f32[30,40,1] 0.25)",
     "f32",
     {""}},
    {"last_conv_integer",
     "%x: ELEM[1,32,N,4]) { %c = ConvInteger(%x, i8[64,32,3,3] 5, ELEM[] 7) {pads = [1, 1, 1, 1]} %y = Neg(%c)",
     "i8 u8",
     {""}},
    {"last_max_pool",
     "%x: f32[1,32,N,2]) { CONV %y = MaxPool(%c) {kernel_shape = [1, 2], strides = [1, 2]}",
     "f32",
     {""}},
    {"last_average_pool",
     "%x: f32[1,32,N,2]) { CONV %y = AveragePool(%c) {kernel_shape = [1, 2], pads = [0, 1, 0, 0]}",
     "f32",
     {""}},
    {"last_global_pool", "%x: f32[1,32,2,N]) { CONV %y = SHAPE(%c)", "f32", {"GlobalAveragePool", "GlobalMaxPool"}},
    {"last_batch_norm",
     "%x: f32[1,32,N,2], %s: f32[32], %b: f32[32], %m: f32[32], %u: f32[32]) { CONV %v = Exp(%u) "
     "%y = BatchNormalization(%c, %s, %b, %m, %v)",
     "f32",
     {""}},
    {"last_squares", "%x: f32[2,32,N,2]) { CONV %y = frazil::ChannelSquares(%c) {size = 3}", "f32", {""}},
    {"last_elementwise",
     "%x: f32[1,32,N,2], %z: f32[SHAPE]) { CONV %a = Mul(%c, %z) %y = Sub(f32[1,1,2] [1, 2], %a)",
     "f32",
     {"", "2", "32,1,1", "32,1,2", "1,1,1,2"}},
    {"last_reduce",
     "%x: f32[1,32,N,2]) { CONV %y = ReduceMax(%c, i64[SHAPE)",
     "f32",
     {"1] 1", "2] [2, 3]", "1] -1", "2] [0, -3]"}},
    {"last_reduce",
     "%x: f32[1,32,N,2]) { CONV %y = ReduceMin(%c, i64[SHAPE) {keepdims = 0}",
     "f32",
     {"1] 1", "2] [2, 3]", "2] [0, -3]"}},
    {"last_arg", "%x: f32[1,32,N,2]) { CONV %y = ArgMax(%c) {axis = SHAPE}", "f32", {"1", "3", "0, keepdims = 0"}},
    {"last_arg", "%x: f32[1,32,N,2]) { CONV %y = ArgMin(%c) {axis = -3, keepdims = 0}", "f32", {""}},
    {"last_concat",
     "%x: f32[1,32,N,2]) { CONV %n = Neg(%c) %d = Concat(%c, %n) {axis = SHAPE} %y = ReduceMax(%d, i64[1] 1)",
     "f32",
     {"0", "1", "2", "-1"}},
    {"last_split",
     "%x: f32[2,32,N,2]) { CONV %a, %b = Split(%c) {axis = SHAPE, num_outputs = 2} %y = Div(%a, %b)",
     "f32",
     {"0", "1", "3"}},
    {"last_slice",
     "%x: f32[1,32,N,2]) { CONV %y = Slice(%c, SHAPE)",
     "f32",
     {"i64[2] [0, 3], i64[2] [1, 9]", "i32[2] [1, 3], i32[2] [2, 30], i32[2] [-1, 1], i32[2] [1, 5]"}},
    {"last_pad",
     "%x: f32[1,32,N,2]) { CONV %p = Pad(%c, i64[SHAPE) %y = ReduceMax(%p, i64[1] 1)",
     "f32",
     {"8] [0, 1, 2, 0, 0, 0, 1, 3], f32[] 7", "4] [1, 0, 0, 2], _, i64[2] [1, 3]"}},
    {"last_resize",
     "%x: f32[1,32,N,2]) { CONV %p = Resize(%c, _, f32[4] [1, 1, 1, 2]) {mode = \"SHAPE\"} %y = ReduceMax(%p, i64[1] "
     "1)",
     "f32",
     {"nearest", "linear"}},
    {"last_transpose",
     "%x: f32[1,32,N,2]) { CONV %y = Transpose(%c) {perm = [SHAPE]}",
     "f32",
     {"0, 2, 3, 1", "0, 1, 3, 2", "1, 0, 3, 2"}},
    {"last_transpose",
     "%t: f32[1,N,2,32]) { %x = Transpose(%t) {perm = [0, 3, SHAPE]} CONV %y = Neg(%c)",
     "f32",
     {"1, 2", "2, 1"}},
    {"last_shuffle",
     "%x: f32[1,32,N,2]) { CONV %g = Reshape(%c, i64[5] [1, 4, 8, -1, 2]) %s = Transpose(%g) {perm = [0, 2, 1, 3, 4]} "
     "%y = Reshape(%s, i64[4] [1, 32, -1, 2])",
     "f32",
     {""}},
    {"last_space", "%x: f32[1,32,N,2]) { CONV %f = Reshape(%c, i64[3] [0, 0, -1]) %y = Neg(%f)", "f32", {""}},
    {"last_space",
     "%f: f32[1,32,N]) { %x = Reshape(%f, i64[4] [1, 32, SHAPE]) CONV %y = Neg(%c)",
     "f32",
     {"-1, 1", "1, -1"}},
};

std::string replaced(std::string text, std::string_view what, std::string_view with) {
  for (std::size_t at = text.find(what); at != text.npos; at = text.find(what, at + with.size())) {
    text.replace(at, what.size(), with);
  }
  return text;
}

/// The case's text for one element type and one shape; "[,2]" becomes "[2]".
std::string text_of(const RuleCase& c, std::string_view elem, std::string_view shape) {
  const std::string text = "graph g(" + std::string(c.body) + " return y = %y }";
  return replaced(
      replaced(replaced(replaced(replaced(replaced(text, "NORM", kNorm), "CHANNELS", kChannels), "CONV ", kConv),
                        "ELEM", elem),
               "SHAPE", shape),
      "[,", "[");
}

std::vector<std::string> words(std::string_view text) {
  std::istringstream stream{std::string(text)};
  return {std::istream_iterator<std::string>(stream), {}};
}

template <class T>
T special(std::mt19937_64& random) {
  using L = std::numeric_limits<T>;
  const T all[] = {T(0),     T(-0.0),  T(1),        T(-1),           T(2),           T(0.5),
                   L::max(), L::min(), L::lowest(), L::infinity(),   -L::infinity(), L::quiet_NaN(),
                   T(3),     T(-2.75), T(1e-3),     T(L::min() / 4), L::epsilon(),   T(7.3)};
  return all[random() % std::size(all)];
}

double special_number(Elem elem, std::mt19937_64& random) {
  std::normal_distribution<double> normal(0, 5);
  const bool usual = random() % 2 == 0;
  if (elem == Elem::f64) return usual ? normal(random) : special<double>(random);
  if (elem == Elem::f16 && !usual) {
    constexpr double all[] = {65504, -65504, 6e-8, 6.1e-5, 255, 40.3};
    return random() % 2 ? all[random() % std::size(all)] : special<float>(random);
  }
  return usual ? normal(random) : special<float>(random);
}

template <class T>
void fill_integers(Tensor& t, std::mt19937_64& random) {
  using L = std::numeric_limits<T>;
  for (T& x : t.as_mutable<T>()) {
    const T all[] = {T(0), T(1), L::max(), L::min(), T(-1), T(2), T(random() % 20), T(random())};
    x = all[random() % std::size(all)];
  }
}

void fill(Tensor& t, std::mt19937_64& random) {
  switch (t.elem()) {
    case Elem::boolean:
      for (std::size_t i = 0; i < t.bytes(); ++i) t.mutable_data()[i] = std::byte(random() % 2);
      return;
    case Elem::i8: return fill_integers<std::int8_t>(t, random);
    case Elem::i16: return fill_integers<std::int16_t>(t, random);
    case Elem::i32: return fill_integers<std::int32_t>(t, random);
    case Elem::i64: return fill_integers<std::int64_t>(t, random);
    case Elem::u8: return fill_integers<std::uint8_t>(t, random);
    case Elem::u32: return fill_integers<std::uint32_t>(t, random);
    case Elem::u64: return fill_integers<std::uint64_t>(t, random);
    case Elem::f64:
      for (double& x : t.as_mutable<double>()) x = special_number(Elem::f64, random);
      return;
    case Elem::f32:
      for (float& x : t.as_mutable<float>()) x = static_cast<float>(special_number(Elem::f32, random));
      return;
    default: break;
  }
  for (std::int64_t i = 0; i < t.count(); ++i) {
    const auto x = static_cast<float>(special_number(t.elem(), random));
    from_f32(t.elem(), &x, t.mutable_data() + i * static_cast<std::int64_t>(byte_size(t.elem())), 1);
  }
}

/// Values for which reassociated sums agree: no cancellation, no overflow.
void fill_plain(Tensor& t, std::mt19937_64& random) {
  std::uniform_real_distribution<float> uniform(-3, 3);
  if (t.elem() != Elem::f32) return fill(t, random);
  for (float& x : t.as_mutable<float>()) x = uniform(random);
}

std::vector<Datum> inputs_for_rule(const Graph& graph, std::int64_t n, pass::Numerics numerics,
                                   std::mt19937_64& random) {
  std::vector<Datum> inputs;
  for (Value v : graph.main().params) {
    Sizes sizes;
    for (Dim d : graph.type(v).shape) sizes.push_back(d.is_const() ? d.value() : n);
    Tensor t = Tensor::make(graph.type(v).elem, sizes).value();
    numerics == pass::Numerics::reassociated ? fill_plain(t, random) : fill(t, random);
    inputs.emplace_back(std::move(t));
  }
  return inputs;
}

/// Whether two numbers agree within a numeric class.
bool agree(double a, double b, pass::Numerics numerics, Elem elem) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  if (a == b) return numerics != pass::Numerics::exact || std::signbit(a) == std::signbit(b);
  if (numerics == pass::Numerics::exact) return false;
  if (numerics == pass::Numerics::reassociated) return std::abs(a - b) <= 1e-5 * (1 + std::abs(b));
  const double eps = elem == Elem::f64 ? 2.3e-16 : 1.2e-7, least = elem == Elem::f64 ? 1e-323 : 3e-45;
  return std::abs(a - b) <= 4 * eps * std::max(std::abs(a), std::abs(b)) + least;
}

void expect_agree(const Tensor& got, const Tensor& want, pass::Numerics numerics) {
  ASSERT_EQ(got.type_str(), want.type_str());
  for (std::int64_t i = 0; i < want.count(); ++i) {
    const bool whole = is_int(want.elem());
    const bool same = whole ? got.integer_at(i) == want.integer_at(i)
                            : agree(got.number_at(i), want.number_at(i), numerics, want.elem());
    ASSERT_TRUE(same) << "element " << i << ": " << got.number_at(i) << ", not " << want.number_at(i);
  }
}

const pass::Rule& rule_named(std::string_view name) {
  for (const pass::Rule* rule : pass::all_rules()) {
    if (rule->name == name) return *rule;
  }
  throw std::logic_error("no rule " + std::string(name));
}

constexpr PassSet kRulePasses{PassSet::only(Pass::algebra).off & PassSet::only(Pass::recover).off &
                              PassSet::only(Pass::attention).off & PassSet::only(Pass::batch_norm).off &
                              PassSet::only(Pass::layout).off};

class Rules : public testing::TestWithParam<RuleCase> {
 protected:
  /// True when the rule was applied.
  bool try_one(const std::string& text, std::mt19937_64& random) {
    SCOPED_TRACE(text);
    const Graph graph = graph_of(text);
    std::vector<pass::PassRun> runs;
    const auto keep = [](const Graph&, NodeId) { return true; };
    const auto made = pass::run_passes(graph, {kRulePasses, 3, keep}, &runs);
    EXPECT_TRUE(made) << made.error().text();
    if (!made) return false;
    bool applied = false;
    for (const pass::PassRun& run : runs) applied |= run.note.contains(std::string(GetParam().rule) + " x");
    for (const std::int64_t n : {0, 1, 2, 5, 17}) {
      const bool reassociates = GetParam().rule.starts_with("layer_norm") || GetParam().rule.starts_with("batch_norm");
      const pass::Numerics how = reassociates ? pass::Numerics::reassociated : rule_named(GetParam().rule).numerics;
      const auto inputs = inputs_for_rule(graph, n, how, random);
      const auto want = run_on_reference(graph, inputs), got = run_on_reference(*made, inputs);
      EXPECT_TRUE(want) << want.error().text();
      EXPECT_TRUE(got) << got.error().text();
      if (!want || !got) continue;
      const pass::Numerics numerics = applied ? how : pass::Numerics::exact;
      EXPECT_EQ(got->size(), want->size());
      for (std::size_t i = 0; i < want->size(); ++i) expect_agree(got->at(i).tensor(), want->at(i).tensor(), numerics);
    }
    return applied;
  }
};

TEST_P(Rules, GiveWhatTheyReplace) {
  std::mt19937_64 random(7);
  bool applied = false;
  for (const std::string& elem : words(GetParam().elems)) {
    for (const std::string_view shape : GetParam().shapes) applied |= try_one(text_of(GetParam(), elem, shape), random);
  }
  const std::set<std::string_view> never{
      "Div(%x, ELEM[] 3)", "{ %y = Pow(%x, ELEM[] 0.5)", "%o = Neg", "i64[1] 0)", "(%s) {axis = 0}", "[2, 4])"};
  const bool fits = std::ranges::none_of(never, [](std::string_view part) { return GetParam().body.contains(part); });
  EXPECT_EQ(applied, fits) << GetParam().body;
}

std::string rule_case_name(const testing::TestParamInfo<RuleCase>& info) {
  return fmt::format("{}_{}", info.param.rule, info.index);
}
INSTANTIATE_TEST_SUITE_P(Algebra, Rules, testing::ValuesIn(kRuleCases), rule_case_name);

TEST(RuleTable, EveryRuleHasACaseAndANameOfItsOwn) {
  std::set<std::string_view> tried, names;
  for (const RuleCase& c : kRuleCases) tried.insert(c.rule);
  for (const pass::Rule* rule : pass::all_rules()) {
    EXPECT_TRUE(tried.contains(rule->name)) << rule->name << " has no case above";
    EXPECT_TRUE(names.insert(rule->name).second) << rule->name;
    EXPECT_NE(rule->what, "") << rule->name;
  }
}

}  // namespace
}  // namespace frazil::test
