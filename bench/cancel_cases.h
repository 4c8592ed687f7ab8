#pragma once

/// Models for `cancel`, each with one long-running kernel.
namespace bench {

struct CancelCase {
  const char* name;
  const char* text;          ///< inputs have fixed extents and are filled according to their element types
  bool reference = false;    ///< run on the reference executor
  double largest_index = 1;  ///< exclusive upper bound of integer inputs
};

// clang-format off
inline constexpr CancelCase kCancelCases[] = {
    {"nothing: an endless loop", R"(graph g(%x: f32[64]) {
        %y = Loop(_, _, %x) body(%i, %on, %v) { %w = Tanh(%v) yield %on, %w }
        return y = %y })"},
    {"gemm f32 4096^3", "graph g(%a: f32[4096,4096], %b: f32[4096,4096]) { %y = MatMul(%a, %b) return y = %y }"},
    {"gemm f32 of 4096 batches", "graph g(%a: f32[4096,96,96], %b: f32[4096,96,96]) { %y = MatMul(%a, %b) return y = %y }"},
    {"gemm f64 1024^3", "graph g(%a: f64[1024,1024], %b: f64[1024,1024]) { %y = MatMul(%a, %b) return y = %y }"},
    {"gemm i32 512^3", "graph g(%a: i32[512,512], %b: i32[512,512]) { %y = MatMul(%a, %b) return y = %y }"},
    {"gemm of 8-bit integers", "graph g(%a: u8[768,768], %b: u8[768,768]) { %y = MatMulInteger(%a, %b) return y = %y }"},
    {"conv 3x3", "graph g(%x: f32[1,256,112,112], %w: f32[256,256,3,3]) { %y = Conv(%x, %w) {pads = [1, 1, 1, 1]} return y = %y }"},
    {"conv depthwise", "graph g(%x: f32[8,256,112,112], %w: f32[256,1,5,5]) { %y = Conv(%x, %w) {group = 256} return y = %y }"},
    {"conv f64", "graph g(%x: f64[1,32,64,64], %w: f64[32,32,3,3]) { %y = Conv(%x, %w) return y = %y }"},
    {"conv transposed", "graph g(%x: f32[1,64,64,64], %w: f32[64,64,4,4]) { %y = ConvTranspose(%x, %w) {strides = [2, 2]} return y = %y }"},
    {"max pool", "graph g(%x: f32[4,64,256,256]) { %y = MaxPool(%x) {kernel_shape = [7, 7]} return y = %y }"},
    {"softmax of rows", "graph g(%x: f32[4096,8192]) { %y = Softmax(%x) return y = %y }"},
    {"softmax of one row", "graph g(%x: f32[1,33554432]) { %y = Softmax(%x) return y = %y }"},
    {"layer normalization", "graph g(%x: f32[4096,8192], %s: f32[8192]) { %y = LayerNormalization(%x, %s) return y = %y }"},
    {"elementwise chain", R"(graph g(%x: f32[33554432]) {
        %a = Exp(%x) %b = Tanh(%a) %c = Erf(%b) %d = Log(%a) %e = Add(%c, %d) %y = Sigmoid(%e) return y = %y })"},
    {"pow", "graph g(%x: f32[16777216], %e: f32[16777216]) { %y = Pow(%x, %e) return y = %y }"},
    {"elementwise f64", "graph g(%x: f64[8388608]) { %a = Exp(%x) %y = Sin(%a) return y = %y }"},
    {"elementwise i64", "graph g(%x: i64[33554432], %z: i64[33554432]) { %a = Div(%x, %z) %y = Mod(%a, %z) return y = %y }", false, 1000},
    {"cast f32 to f16", "graph g(%x: f32[67108864]) { %y = Cast(%x) {to = 10} return y = %y }"},
    {"transpose", "graph g(%x: f32[8192,8192]) { %y = Transpose(%x) return y = %y }"},
    {"transpose of 5 axes", "graph g(%x: f32[32,64,16,32,32]) { %y = Transpose(%x) {perm = [4, 2, 0, 3, 1]} return y = %y }"},
    {"tile", "graph g(%x: f32[512,512]) { %y = Tile(%x, i64[2] [16, 16]) return y = %y }"},
    {"pad by reflection", "graph g(%x: f32[8000,4096]) { %y = Pad(%x, i64[4] [9, 9, 9, 9]) {mode = \"reflect\"} return y = %y }"},
    {"concat", "graph g(%x: f32[8192,4096], %z: f32[8192,4096]) { %y = Concat(%x, %z) {axis = 1} return y = %y }"},
    {"sum", "graph g(%x: f32[8192,16384]) { %y = ReduceSum(%x, i64[1] 0) return y = %y }"},
    {"sum f64", "graph g(%x: f64[4096,4096]) { %y = ReduceSum(%x, i64[1] 0) return y = %y }"},
    {"argmax", "graph g(%x: f32[4096,16384]) { %y = ArgMax(%x) {axis = 1} return y = %y }"},
    {"gather of rows", "graph g(%x: f32[100000,64], %i: i64[1000000]) { %y = Gather(%x, %i) return y = %y }", false, 100000},
    {"gather of elements", "graph g(%x: f32[16777216], %i: i64[16777216]) { %y = GatherElements(%x, %i) return y = %y }", false, 16777216},
    {"gather of tuples", "graph g(%x: f32[4096,4096], %i: i64[8388608,2]) { %y = GatherND(%x, %i) return y = %y }", false, 4096},
    {"scatter of elements", "graph g(%x: f32[16777216], %i: i64[16777216], %u: f32[16777216]) { %y = ScatterElements(%x, %i, %u) {reduction = \"add\"} return y = %y }", false, 16777216},
    {"scatter of tuples", "graph g(%x: f32[4096,4096], %i: i64[8388608,2], %u: f32[8388608]) { %y = ScatterND(%x, %i, %u) return y = %y }", false, 4096},
    {"top 100 of rows", "graph g(%x: f32[64,1000000]) { %y, %i = TopK(%x, i64[1] [100]) return y = %y, i = %i }"},
    {"top 1000000 of one row", "graph g(%x: f32[2000000]) { %y, %i = TopK(%x, i64[1] [1000000]) return y = %y, i = %i }"},
    {"non-maximum suppression", "graph g(%b: f32[1,30000,4], %s: f32[1,1,30000]) { %y = NonMaxSuppression(%b, %s, i64[1] [30000], f32[1] [0.99]) return y = %y }"},
    {"nonzero", "graph g(%x: f32[67108864]) { %y = NonZero(%x) return y = %y }"},
    {"unique", "graph g(%x: i64[4194304]) { %y, %i, %j, %k = Unique(%x) return y = %y, i = %i, j = %j, k = %k }", false, 1e9},
    {"unique rows", "graph g(%x: i64[500000,4]) { %y = Unique(%x) {axis = 0} return y = %y }", false, 100},
    {"compress", "graph g(%x: f32[67108864], %c: bool[67108864]) { %y = Compress(%x, %c) return y = %y }"},
    {"one-hot", "graph g(%i: i64[100000]) { %y = OneHot(%i, i64[] 500, f32[2] [0, 1]) return y = %y }", false, 500},
    {"reverse sequences", "graph g(%x: f32[512,512,256], %n: i64[512]) { %y = ReverseSequence(%x, %n) return y = %y }", false, 512},
    {"running sum", "graph g(%x: f32[8192,8192]) { %y = CumSum(%x, i64[] 0) return y = %y }"},
    {"running sum of one row", "graph g(%x: f32[67108864]) { %y = CumSum(%x, i64[] 0) return y = %y }"},
    {"range", "graph g(%n: i64[]) { %y = Range(i64[] 0, %n, i64[] 1) return y = %y }", false, 100000000},
    {"lower triangle", "graph g(%x: f32[8192,8192]) { %y = Trilu(%x) {upper = 0} return y = %y }"},
    {"resize cubic", "graph g(%x: f32[1,16,512,512]) { %y = Resize(%x, _, f32[4] [1, 1, 2, 2]) {mode = \"cubic\"} return y = %y }"},
    {"resize nearest", "graph g(%x: f32[1,16,512,512]) { %y = Resize(%x, _, f32[4] [1, 1, 4, 4]) return y = %y }"},
    {"deformable conv", "graph g(%x: f32[1,32,64,64], %w: f32[32,32,3,3], %o: f32[1,18,62,62]) { %y = DeformConv(%x, %w, %o) return y = %y }"},
    {"LSTM", "graph g(%x: f32[1000,16,256], %w: f32[1,1024,256], %r: f32[1,1024,256]) { %y, %h, %c = LSTM(%x, %w, %r) {hidden_size = 256} return y = %y }"},
    {"attention", "graph g(%q: f32[1,8,2048,64], %k: f32[1,8,2048,64], %v: f32[1,8,2048,64]) { %y = Attention(%q, %k, %v) return y = %y }"},
    {"concat of strings", "graph g(%x: string[2000000], %z: string[2000000]) { %y = Concat(%x, %z) {axis = 0} return y = %y }"},
    {"gather of strings", "graph g(%x: string[1000], %i: i64[4000000]) { %y = Gather(%x, %i) return y = %y }", false, 1000},
    {"unique strings", "graph g(%x: string[1000000]) { %y = Unique(%x) return y = %y }"},
    {"sequence of rows", "graph g(%x: f32[1000000,4]) { %s = SplitToSequence(%x) %y = ConcatFromSequence(%s) {axis = 0} return y = %y }"},
    {"ref: gemm", "graph g(%a: f32[256,256], %b: f32[256,256]) { %y = MatMul(%a, %b) return y = %y }", true},
    {"ref: conv", "graph g(%x: f32[1,16,64,64], %w: f32[16,16,3,3]) { %y = Conv(%x, %w) return y = %y }", true},
    {"ref: elementwise chain", "graph g(%x: f32[1048576]) { %a = Exp(%x) %b = Tanh(%a) %y = Pow(%b, %a) return y = %y }", true},
    {"ref: transpose", "graph g(%x: f32[4096,4096]) { %y = Transpose(%x) return y = %y }", true},
    {"ref: sum", "graph g(%x: f32[2048,2048]) { %y = ReduceSum(%x, i64[1] 0) return y = %y }", true},
    {"ref: softmax", "graph g(%x: f32[1024,1024]) { %y = Softmax(%x) return y = %y }", true},
    {"ref: top 100", "graph g(%x: f32[16,1000000]) { %y, %i = TopK(%x, i64[1] [100]) return y = %y, i = %i }", true},
    {"ref: concat of strings", "graph g(%x: string[1000000], %z: string[1000000]) { %y = Concat(%x, %z) {axis = 0} return y = %y }", true},
    {"ref: scan output of rows", R"(graph g(%n: i64[], %x: f32[1000000]) {
        %v, %y = Loop(%n, _, %x) body(%i, %on, %v) { %w = Neg(%v) yield %on, %w, %w }
        return y = %y })", true, 30},
};
// clang-format on

}  // namespace bench
