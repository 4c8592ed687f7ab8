#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "ir/op/scalar.h"
#include "ir/op/space.h"
#include "kernel/attention/attention.h"
#include "kernel/move/edges.h"
#include "kernel/row/reduce.h"
#include "plan/model/window.h"

namespace frazil {

/// The kernel families, the codes that serve a step: X(name, type of its parameters in params).
#define FRAZIL_KERNELS(X) \
  X(reference, Reference) X(opaque, Opaque) X(fused, Fused) X(copy, Copy) \
  X(fill, Fill) X(edges, Edges) X(pack, Pack) X(matmul, MatMul) \
  X(matmul_nbits, MatMulNBits) X(gemm, Gemm) X(conv, Conv) X(conv_transpose, ConvTranspose) \
  X(max_pool, MaxPool) X(average_pool, AveragePool) X(global_pool, GlobalPool) X(reduce, Reduce) \
  X(arg_reduce, ArgReduce) X(softmax, Softmax) X(layer_norm, LayerNorm) X(batch_norm, BatchNorm) \
  X(lstm, Lstm) X(gru, Gru) X(attention, Attention) X(rotary, Rotary) \
  X(contraction, Contraction)

enum class Kernel : std::uint8_t {
#define FRAZIL_X(name, type) name,
  FRAZIL_KERNELS(FRAZIL_X)
#undef FRAZIL_X
};

/// The parameters of each kernel family. Unless said otherwise, operands are those of the ONNX operator and elements
/// are f32.
/// `fields` visits each parameter with its name. The printer, the hash of a plan and tests use it.
namespace params {

/// A run of the node by the reference executor: always right, never fast.
struct Reference {
  static void fields(auto&, auto&&) {}
};

/// The operator's own run function.
struct Opaque {
  static void fields(auto&, auto&&) {}
};

/// The fused kernel that the step names.
struct Fused {
  static void fields(auto&, auto&&) {}
};

/// A copy of operand 0 to the result, which may be a view of a larger value. Any element type and strides.
struct Copy {
  static void fields(auto&, auto&&) {}
};

/// A result filled with operand 0, a scalar; with zeros if there are no operands. Any element type.
struct Fill {
  static void fields(auto&, auto&&) {}
};

/// A view that reads beyond its operand's ends, with an offset and a rule for each axis. Any element type.
struct Edges {
  std::vector<std::int64_t> offset;
  std::vector<kernel::Outside> outside;
  static void fields(auto& self, auto&& v) {
    v("offset", self.offset);
    v("outside", self.outside);
  }
};

/// Operand 0 in row-major order without padding. Copies only if the value of the run has padding.
struct Pack {
  static void fields(auto&, auto&&) {}
};

/// MatMul of the element types that kernel::find_gemm() supports. With `zero_points`, operands 2 and 3 are those of
/// MatMulInteger. Otherwise, a third operand is a row that is added.
struct MatMul {
  bool added = false;        ///< the last operand, with the result's extents, is added after the row
  float negative_slope = 1;  ///< negative slope: at the end, elements below 0 are multiplied by it; 0 is Relu
  bool zero_points = false;
  static void fields(auto& self, auto&& v) {
    v("added", self.added);
    v("negative_slope", self.negative_slope);
    v("zero_points", self.zero_points);
  }
};

/// A product with weights of few bits, quantised in blocks that share a scale.
struct MatMulNBits {
  std::int64_t k = 0, n = 0, bits = 4, block = 32;
  static void fields(auto& self, auto&& v) {
    v("k", self.k);
    v("n", self.n);
    v("bits", self.bits);
    v("block", self.block);
  }
};

struct Gemm {
  bool trans_a = false, trans_b = false;
  float alpha = 1, beta = 1;
  float negative_slope = 1;  ///< as in MatMul
  static void fields(auto& self, auto&& v) {
    v("trans_a", self.trans_a);
    v("trans_b", self.trans_b);
    v("alpha", self.alpha);
    v("beta", self.beta);
    v("negative_slope", self.negative_slope);
  }
};

/// 1-D and 2-D convolution. With `half`, elements are 16-bit floats.
/// With `zero_points`, elements are bytes and operands are those of ConvInteger. The weight must then be a constant if
/// channels are last.
struct Conv {
  std::int64_t groups = 1;
  bool channels_last = false;  ///< of operand and result; weights are always [out, in, kernel]
  bool zero_points = false;
  // Applied to the result in this order, only with channels_last:
  bool scaled = false;       ///< multiplied by the f32 operand after the declared ones, one element per output channel
  bool shifted = false;      ///< increased by the next such operand; of 16-bit floats both or none
  bool added = false;        ///< as in MatMul
  bool half = false;         ///< 16-bit floats, with channels_last
  float negative_slope = 1;  ///< as in MatMul
  Window window;
  static void fields(auto& self, auto&& v) {
    v("groups", self.groups);
    v("channels_last", self.channels_last);
    v("zero_points", self.zero_points);
    v("scaled", self.scaled);
    v("shifted", self.shifted);
    v("added", self.added);
    v("half", self.half);
    v("negative_slope", self.negative_slope);
    Window::fields(self.window, v);
  }
};

/// 1-D and 2-D transposed convolution. It uses the window's pads at the beginning.
struct ConvTranspose {
  std::int64_t groups = 1;
  Window window;
  static void fields(auto& self, auto&& v) {
    v("groups", self.groups);
    Window::fields(self.window, v);
  }
};

/// Max pooling of f32 or bytes; with channels_last, also of 16-bit floats.
struct MaxPool {
  bool channels_last = false;
  Window window;
  static void fields(auto& self, auto&& v) {
    v("channels_last", self.channels_last);
    Window::fields(self.window, v);
  }
};

struct AveragePool {
  bool count_padding = false;
  bool channels_last = false;
  Window window;
  static void fields(auto& self, auto&& v) {
    v("count_padding", self.count_padding);
    v("channels_last", self.channels_last);
    Window::fields(self.window, v);
  }
};

struct GlobalPool {
  bool maximum = false;  ///< else average
  static void fields(auto& self, auto&& v) { v("maximum", self.maximum); }
};

/// A fold of `count` axes from `axis` on, of any element type that the kernel supports.
struct Reduce {
  kernel::Reduce fold = kernel::Reduce::sum;
  std::int64_t axis = 0, count = 1;
  static void fields(auto& self, auto&& v) {
    v("fold", self.fold);
    v("axis", self.axis);
    v("count", self.count);
  }
};

/// The position of an extreme element, of any element type that the kernel supports.
struct ArgReduce {
  kernel::Arg extreme = kernel::Arg::max;
  bool last = false;  ///< of equal elements, the last one
  std::int64_t axis = 0;
  static void fields(auto& self, auto&& v) {
    v("extreme", self.extreme);
    v("last", self.last);
    v("axis", self.axis);
  }
};

/// Softmax over the last axis.
struct Softmax {
  bool log = false;
  static void fields(auto& self, auto&& v) { v("log", self.log); }
};

/// Normalisation over the axes from `axis` on.
struct LayerNorm {
  std::int64_t axis = 0;
  float epsilon = 0;
  static void fields(auto& self, auto&& v) {
    v("axis", self.axis);
    v("epsilon", self.epsilon);
  }
};

struct BatchNorm {
  float epsilon = 0;
  static void fields(auto& self, auto&& v) { v("epsilon", self.epsilon); }
};

enum class Direction : std::uint8_t { forward, reverse, both };

struct Lstm {
  Direction direction = Direction::forward;
  bool batch_first = false;
  float clip = 0;  ///< 0: none
  static void fields(auto& self, auto&& v) {
    v("direction", self.direction);
    v("batch_first", self.batch_first);
    v("clip", self.clip);
  }
};

struct Gru {
  Direction direction = Direction::forward;
  bool batch_first = false;
  bool linear_before_reset = false;
  float clip = 0;
  static void fields(auto& self, auto&& v) {
    v("direction", self.direction);
    v("batch_first", self.batch_first);
    v("linear_before_reset", self.linear_before_reset);
    v("clip", self.clip);
  }
};

/// Attention with the operands of the operator Attend, of any strides.
struct Attention {
  bool causal = false;
  kernel::Attention::Undefined undefined = kernel::Attention::is_nan;
  std::optional<float> scale;  ///< nullopt: 1 / sqrt(features)
  bool bias_last = false;
  float softcap = 0;  ///< 0: none
  float hidden = 0;   ///< the score of keys for which the mask is false
  static void fields(auto& self, auto&& v) {
    v("causal", self.causal);
    v("undefined", self.undefined);
    v("scale", self.scale);
    v("bias_last", self.bias_last);
    v("softcap", self.softcap);
    v("hidden", self.hidden);
  }
};

/// Rotary embedding of the last axis: x * cos + (-second half, first half) * sin. Any strides.
struct Rotary {
  bool half_tables = false;  ///< cos and sin have half of the features
  static void fields(auto& self, auto&& v) { v("half_tables", self.half_tables); }
};

/// Folds over an iteration space (ir/op/space.h). Operands have any strides and any element type that tiles support.
/// The step's domain holds the numbers of the space. The extents of the axes come first. Then follow, for each index of
/// an operand and for `report`, the offset and one factor per axis of the index.
struct Contraction {
  using Index = std::vector<std::int32_t>;  ///< the axes of its terms
  std::vector<bool> reduced;                ///< per axis
  std::vector<std::int32_t> write;          ///< per axis of the results: an axis, or -1 for a kept extent of 1
  std::vector<std::vector<Index>> reads;    ///< per operand
  Index report;
  std::vector<Elem> from, to;  ///< element types of the operands and results; u8 for one that is absent
  std::vector<Fold> folds;     ///< one per result; those of results that the node omits are last
  bool last_wins = false;
  ScalarTape body;
  static void fields(auto& self, auto&& v) {
    v("reduced", self.reduced);
    v("write", self.write);
    v("reads", self.reads);
    v("report", self.report);
    v("from", self.from);
    v("to", self.to);
    v("folds", self.folds);
    v("last_wins", self.last_wins);
    v("body", self.body);
  }
};

}  // namespace params

template <class, class... Params>
using VariantOf = std::variant<Params...>;
#define FRAZIL_X(name, type) , params::type
using KernelParams = VariantOf<void FRAZIL_KERNELS(FRAZIL_X)>;
#undef FRAZIL_X

inline Kernel kernel_of(const KernelParams& p) { return static_cast<Kernel>(p.index()); }
std::string_view name_of(Kernel kernel);
/// Returns the family of this name with default parameters; nullopt if there is none.
std::optional<KernelParams> kernel_named(std::string_view name);
/// Returns the name and the parameters that differ from their defaults, such as "matmul negative_slope=0".
std::string str(const KernelParams& params);

}  // namespace frazil
