#include "plan/lower/bind.h"

#include <algorithm>

#include "ir/infer/infer.h"
#include "ir/op/axis.h"
#include "ir/op/op.h"
#include "kernel/attention/attention.h"
#include "kernel/contract/gemm_kernel.h"
#include "kernel/row/reduce.h"
#include "kernel/tile/tile.h"
#include "kernel/window/conv_nhwc.h"
#include "ops/contraction/channels_last.h"
#include "ops/contraction/contraction.h"
#include "ops/index/index.h"
#include "ops/microsoft/quant.h"
#include "ops/nn/attend.h"
#include "ops/nn/norm.h"
#include "ops/nn/recurrent.h"
#include "plan/model/fused.h"

namespace frazil {
namespace {

bool is_value_type(Elem e) { return e != Elem::string && !is_complex(e); }

}  // namespace

bool tile_supports(const ScalarTape& tape, std::size_t operands) {
  if (operands > kMaxFusedOperands || tape.code.size() > kMaxFusedInstructions || tape.code.empty()) return false;
  if (arity(tape.code.back().op) == 0) return tape.code.back().op == ScalarOp::load;
  for (const ScalarIns& ins : tape.code) {
    if (arity(ins.op) == 0) continue;
    const Elem operand = tape.code[ins.op == ScalarOp::select ? ins.b : ins.a].type;
    const auto fn = ins.op == ScalarOp::cast ? kernel::cast_fn(operand, ins.type) : kernel::tile_fn(ins.op, operand, 0);
    if (fn == nullptr) return false;
  }
  return true;
}

bool all_plain(const Graph& graph, const Node& node) {
  for (const auto* list : {&node.in, &node.out}) {
    for (Value v : *list) {
      if (!v) continue;
      const Type& t = graph.type(v);
      if (!t.is_tensor() || !t.ranked || !is_value_type(t.elem)) return false;
    }
  }
  return true;
}

namespace {

std::optional<Binding> bind_elementwise(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  if (!all_plain(graph, node) || std::ranges::any_of(node.in, [](Value v) { return !v; })) return std::nullopt;
  // Elements narrower than a byte wrap when they are stored, but tiles store whole bytes.
  const Elem out = graph.type(node.out[0]).elem;
  if (is_int(out) && bit_width(out) < 8) return std::nullopt;
  if (!tile_supports(tape_of(graph, id), node.in.size())) return std::nullopt;
  return Binding{.params = params::Fused{}, .strided = true, .in_place = true};
}

bool is_f32(const Graph& graph, Value v) {
  const Type& t = graph.type(v);
  return t.is_tensor() && t.ranked && t.elem == Elem::f32;
}

bool all_f32(const Graph& graph, const Node& node) {
  const auto f32 = [&](Value v) { return !v || is_f32(graph, v); };
  return std::ranges::all_of(node.in, f32) && std::ranges::all_of(node.out, f32);
}

/// Returns true if all operands and results have the same 16-bit float type.
bool all_half(const Graph& graph, const Node& node) {
  const Elem elem = graph.type(node.in[0]).elem;
  const auto same = [&](Value v) { return !v || (graph.type(v).is_tensor() && graph.type(v).elem == elem); };
  return is_half(elem) && std::ranges::all_of(node.in, same) && std::ranges::all_of(node.out, same);
}

bool is_fixed_window(const ops::WindowAttrs& a, std::size_t spatial) {
  const auto fits = [&](const Ints& v, std::size_t n) { return v.empty() || v.size() == n; };
  return (spatial == 1 || spatial == 2) && fits(a.strides, spatial) && fits(a.dilations, spatial) &&
         fits(a.pads, 2 * spatial) && fits(a.kernel_shape, spatial);
}

std::optional<Window> window_of(const ops::WindowAttrs& attrs, std::size_t rank) {
  const std::size_t n = rank - 2;
  if (rank < 3 || !is_fixed_window(attrs, n)) return std::nullopt;
  Window w;
  for (std::size_t k = 0; k < n; ++k) {
    const std::size_t at = 2 - n + k;
    if (!attrs.kernel_shape.empty()) w.kernel[at] = attrs.kernel_shape[k];
    if (!attrs.strides.empty()) w.stride[at] = attrs.strides[k];
    if (!attrs.dilations.empty()) w.dilation[at] = attrs.dilations[k];
    if (!attrs.pads.empty()) {
      w.begin[at] = attrs.pads[k];
      w.end[at] = attrs.pads[n + k];
    }
  }
  if (attrs.auto_pad == "SAME_UPPER")
    w.padding = Window::Padding::same_upper;
  else if (attrs.auto_pad == "SAME_LOWER")
    w.padding = Window::Padding::same_lower;
  else if (attrs.auto_pad == "VALID")
    w.padding = Window::Padding::valid;
  return w;
}

using Bound = std::optional<Binding>;

/// Returns a binding with `p` and its window; nullopt if the attributes do not fit a kernel.
template <class P>
Bound windowed(P p, const ops::WindowAttrs& attrs, std::size_t rank) {
  const auto w = window_of(attrs, rank);
  if (!w) return std::nullopt;
  p.window = *w;
  return Binding{.params = std::move(p)};
}

Bound when_f32(const Graph& g, const Node& n, Binding b) { return all_f32(g, n) ? Bound(std::move(b)) : std::nullopt; }

std::size_t rank_of(const Graph& g, Value v) { return g.type(v).rank(); }

/// Returns the kernel for the element types of a product's operands and result; null if there is none.
const kernel::GemmKernel* gemm_of(const Graph& g, const Node& n) {
  if (rank_of(g, n.in[0]) == 0 || rank_of(g, n.in[1]) == 0) return nullptr;
  return kernel::find_gemm(g.type(n.in[0]).elem, g.type(n.in[1]).elem, g.type(n.out[0]).elem);
}

Bound bind_matmul(const Graph& g, const Node& n) {
  const auto* kernel = gemm_of(g, n);
  if (kernel == nullptr) return std::nullopt;
  return Binding{.params = params::MatMul{}, .strided = true, .epilogue = kernel->epilogue};
}

/// Binds products whose zero points are scalars, or one per row of a matrix A or per column of a matrix B.
Bound bind_matmul_integer(const Graph& g, const Node& n) {
  const auto* kernel = gemm_of(g, n);
  const auto is_simple = [&](std::size_t i) {
    if (i >= n.in.size() || !n.in[i]) return true;
    const Shape& shape = g.type(n.in[i]).shape;
    return shape.empty() || (shape.size() == 1 && (shape[0] == Dim(1) || rank_of(g, n.in[i - 2]) == 2));
  };
  const bool served = kernel != nullptr && kernel->zero_points && is_simple(2) && is_simple(3);
  return served ? Bound({.params = params::MatMul{.zero_points = true}, .strided = true, .epilogue = true})
                : std::nullopt;
}

/// Binds products with an f32 operand A. The kernel checks the parameters' sizes against K and N once shapes are known.
/// Parameters of other types have no kernel; the composite's body widens them.
Bound bind_nbits_product(const Graph& g, const Node& n) {
  const auto& a = n.attributes<ops::microsoft::MatMulNBitsAttrs>();
  const auto f32_or_bytes = [&](Value v) { return !v || is_f32(g, v) || g.type(v).elem == Elem::u8; };
  if (rank_of(g, n.in[0]) == 0 || !is_f32(g, n.in[0]) || !std::ranges::all_of(n.in, f32_or_bytes)) return std::nullopt;
  return Binding{.params = params::MatMulNBits{.k = a.K, .n = a.N, .bits = a.bits, .block = a.block_size}};
}

Bound bind_gemm(const Graph& g, const Node& n) {
  const auto& a = n.attributes<ops::GemmAttrs>();
  if (!all_f32(g, n) && !all_half(g, n)) return std::nullopt;
  return Binding{
      .params = params::Gemm{.trans_a = a.transA != 0, .trans_b = a.transB != 0, .alpha = a.alpha, .beta = a.beta},
      .epilogue = true};
}

/// Returns true for a channels-last convolution whose kernel accepts an image of any strides. Its other operands must
/// be dense, which constants are.
bool reads_lines(const Graph& g, const Node& n, const KernelParams& params) {
  const Constant* weight = g.constant(n.in[1]);
  const bool loose_bias = n.in.size() > 2 && n.in[2] && g.constant(n.in[2]) == nullptr;
  if (weight == nullptr || weight->tensor.rank() < 3 || loose_bias) return false;
  const auto& conv = std::get<params::Conv>(params);
  const Sizes& sizes = weight->tensor.sizes();
  kernel::ConvParams p;
  p.in_c = sizes[1] * conv.groups, p.groups = conv.groups;
  p.kernel_w = sizes.back(), p.dilation_w = conv.window.dilation[1];
  return kernel::nhwc_supports_strides(p);
}

/// Returns true for a convolution of 16-bit floats that has a channels-last kernel: one group and constant weights.
bool has_half_conv(const Graph& g, const Node& n) {
  return all_half(g, n) && n.attributes<ops::ConvAttrs>().group == 1 && g.constant(n.in[1]) != nullptr;
}
bool is_half_conv(const Graph& g, const Node& n) { return n.op == &ops::ConvChannelsLast && has_half_conv(g, n); }

Bound bind_conv(const Graph& g, const Node& n) {
  const auto& a = n.attributes<ops::ConvAttrs>();
  if (!all_f32(g, n) && !is_half_conv(g, n)) return std::nullopt;
  const bool last = n.op == &ops::ConvChannelsLast;
  Bound bound =
      windowed(params::Conv{.groups = a.group, .channels_last = last, .half = is_half_conv(g, n), .window = {}}, a,
               rank_of(g, n.in[0]));
  if (!bound) return bound;
  bound->epilogue = true;
  bound->strided = last && all_f32(g, n) && reads_lines(g, n, bound->params);
  return bound;
}

/// Binds convolutions whose zero points are a scalar for the image, and a scalar or one per output channel for the
/// weights.
Bound bind_conv_integer(const Graph& g, const Node& n) {
  const auto& a = n.attributes<ops::ConvAttrs>();
  const auto shape = [&](std::size_t i) { return i < n.in.size() && n.in[i] ? g.type(n.in[i]).shape : Shape{}; };
  const bool one = shape(2).empty() || (shape(2).size() == 1 && shape(2)[0] == Dim(1));
  if (!one || shape(3).size() > 1) return std::nullopt;
  const bool last = n.op == &ops::ConvIntegerChannelsLast;
  if (last && g.constant(n.in[1]) == nullptr) return std::nullopt;
  Bound bound = windowed(params::Conv{.groups = a.group, .channels_last = last, .zero_points = true, .window = {}}, a,
                         rank_of(g, n.in[0]));
  if (bound) bound->epilogue = true;
  return bound;
}

/// Binds transposed convolutions with explicit pads.
Bound bind_conv_transpose(const Graph& g, const Node& n) {
  const auto& a = n.attributes<ops::ConvTransposeAttrs>();
  if (!all_f32(g, n) || a.auto_pad != "NOTSET" || !a.output_shape.empty()) return std::nullopt;
  return windowed(params::ConvTranspose{.groups = a.group, .window = {}}, a, rank_of(g, n.in[0]));
}

Bound bind_max_pool(const Graph& g, const Node& n) {
  const auto& a = n.attributes<ops::MaxPoolAttrs>();
  const Elem elem = g.type(n.in[0]).elem;
  const bool last = n.op == &ops::MaxPoolChannelsLast;
  const bool served = all_f32(g, n) || (last && all_half(g, n)) || elem == Elem::u8 || elem == Elem::i8;
  if (n.out.size() > 1 || !served) return std::nullopt;
  return windowed(params::MaxPool{.channels_last = last, .window = {}}, a, rank_of(g, n.in[0]));
}

Bound bind_average_pool(const Graph& g, const Node& n) {
  const auto& a = n.attributes<ops::AveragePoolAttrs>();
  const bool last = n.op == &ops::AveragePoolChannelsLast, count = a.count_include_pad != 0;
  if (!all_f32(g, n) && !(last && all_half(g, n))) return std::nullopt;
  return windowed(params::AveragePool{.count_padding = count, .channels_last = last, .window = {}}, a,
                  rank_of(g, n.in[0]));
}

Bound bind_global_pool(const Graph& g, const Node& n) {
  const bool maximum = n.op == &ops::GlobalMaxPool;
  return rank_of(g, n.in[0]) > 2 ? when_f32(g, n, {.params = params::GlobalPool{.maximum = maximum}}) : std::nullopt;
}

/// Returns the reduced axes as (first, count), if they are known and adjacent.
std::optional<std::pair<std::int64_t, std::int64_t>> reduced_run(const Graph& g, const Node& n) {
  const auto rank = static_cast<std::int64_t>(rank_of(g, n.in[0]));
  const bool listed = n.in.size() > 1 && n.in[1];
  const std::vector<Dim>* known = listed ? g.known_value(n.in[1]) : nullptr;
  if (listed && known == nullptr) return std::nullopt;
  if (!listed || known->empty()) {
    if (n.attributes<ops::ReduceAttrs>().noop_with_empty_axes != 0) return std::nullopt;
    return std::pair<std::int64_t, std::int64_t>(0, rank);
  }
  std::vector<std::int64_t> axes;
  for (Dim d : *known) {
    if (!d.is_const()) return std::nullopt;
    axes.push_back(d.value() < 0 ? d.value() + rank : d.value());
  }
  std::ranges::sort(axes);
  for (std::size_t i = 1; i < axes.size(); ++i) {
    if (axes[i] != axes[i - 1] + 1) return std::nullopt;
  }
  return std::pair<std::int64_t, std::int64_t>(axes[0], static_cast<std::int64_t>(axes.size()));
}

/// Binds a fold. Folds of 16-bit floats are bound along the last axis only: they run in a fused kernel, which widens
/// rows.
template <kernel::Reduce R>
Bound bind_reduce(const Graph& g, const Node& n) {
  const Elem elem = g.type(n.in[0]).elem;
  if (!kernel::reduce_supports(R, is_half(elem) ? Elem::f32 : elem)) return std::nullopt;
  const auto run = reduced_run(g, n);
  if (!run) return std::nullopt;
  const std::size_t rank = rank_of(g, n.in[0]);
  if (is_half(elem) && (rank == 0 || run->first + 1 != static_cast<std::int64_t>(rank))) return std::nullopt;
  return Binding{.params = params::Reduce{.fold = R, .axis = run->first, .count = run->second}};
}

template <kernel::Arg A>
Bound bind_arg(const Graph& g, const Node& n) {
  const auto& a = n.attributes<ops::ArgAttrs>();
  constexpr ElemSet served =
      one(Elem::f32) | one(Elem::f64) | one(Elem::i32) | one(Elem::i64) | one(Elem::i8) | one(Elem::u8);
  if (!contains(served, g.type(n.in[0]).elem)) return std::nullopt;
  const auto axis = static_cast<std::int64_t>(from_front(a.axis, rank_of(g, n.in[0])));
  return Binding{.params = params::ArgReduce{.extreme = A, .last = a.select_last_index != 0, .axis = axis}};
}

template <bool Log>
Bound bind_softmax(const Graph& g, const Node& n) {
  const std::int64_t axis = n.attributes<ops::SoftmaxAttrs>().axis;
  const bool last = axis == -1 || axis + 1 == static_cast<std::int64_t>(rank_of(g, n.in[0]));
  if (!last || rank_of(g, n.in[0]) == 0 || !(all_f32(g, n) || all_half(g, n))) return std::nullopt;
  return Binding{.params = params::Softmax{.log = Log}};
}

/// Returns true if v provably has the extents of x from `axis` on. A parameter that broadcasts has no kernel. The
/// node's constraints ensure that each extent is x's or 1, so an extent above 1 suffices as proof.
bool covers(const Graph& g, Value v, Value x, std::int64_t axis) {
  const Shape &all = g.type(x).shape, &own = g.type(v).shape;
  const auto rest = std::span(all).subspan(static_cast<std::size_t>(axis));
  return std::ranges::equal(
      own, rest, [&](Dim a, Dim b) { return g.scope().bounds(a).min > 1 || g.scope().equal(a, b) == Proof::yes; });
}

Bound bind_layer_norm(const Graph& g, const Node& n) {
  const auto& a = n.attributes<ops::LayerNormAttrs>();
  const auto axis = static_cast<std::int64_t>(from_front(a.axis, rank_of(g, n.in[0])));
  if (!n.out[0]) return std::nullopt;
  for (std::size_t i = 1; i < n.in.size(); ++i) {
    if (n.in[i] && !covers(g, n.in[i], n.in[0], axis)) return std::nullopt;
  }
  const bool rows = n.out.size() == 1 && axis + 1 == static_cast<std::int64_t>(rank_of(g, n.in[0]));
  if (!all_f32(g, n) && !(rows && all_half(g, n))) return std::nullopt;
  return Binding{.params = params::LayerNorm{.axis = axis, .epsilon = a.epsilon}};
}

Bound bind_batch_norm(const Graph& g, const Node& n) {
  const auto& a = n.attributes<ops::BatchNormAttrs>();
  if (a.training_mode != 0 || n.out.size() != 1) return std::nullopt;
  return when_f32(g, n, {.params = params::BatchNorm{.epsilon = a.epsilon}});
}

/// Returns true if the activations are the defaults, which ONNX repeats for each direction.
bool is_default(const Strings& names, std::initializer_list<std::string_view> defaults) {
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i] != *(defaults.begin() + i % defaults.size())) return false;
  }
  return true;
}

/// Binds LSTM and GRU: the conditions and parameters that both kernels share.
template <class P>
Bound bind_recurrent(const Graph& g, const Node& n, const ops::RecurrentAttrs& a, P p) {
  for (std::size_t i = 0; i < n.in.size(); ++i) {
    if (n.in[i] && i != 4 && !is_f32(g, n.in[i])) return std::nullopt;
  }
  p.direction = a.direction == "forward"   ? params::Direction::forward
                : a.direction == "reverse" ? params::Direction::reverse
                                           : params::Direction::both;
  p.batch_first = a.layout != 0;
  p.clip = a.clip.value_or(0);
  if (p.batch_first && p.direction == params::Direction::both) return std::nullopt;
  return Binding{.params = p};
}

Bound bind_lstm(const Graph& g, const Node& n) {
  const auto& a = n.attributes<ops::LstmAttrs>();
  if (a.input_forget != 0 || !is_default(a.activations, {"Sigmoid", "Tanh", "Tanh"})) return std::nullopt;
  return bind_recurrent(g, n, a, params::Lstm{});
}

Bound bind_gru(const Graph& g, const Node& n) {
  const auto& a = n.attributes<ops::GruAttrs>();
  if (!is_default(a.activations, {"Sigmoid", "Tanh"})) return std::nullopt;
  return bind_recurrent(g, n, a, params::Gru{.linear_before_reset = a.linear_before_reset != 0});
}

/// Returns true if each extent of v, aligned at the last axis, is 1 or provably that of `to`. Ignores the last `free`
/// axes.
bool broadcasts(const Graph& g, Value v, std::span<const Dim> to, std::size_t free = 0) {
  const std::span<const Dim> own = g.type(v).shape;
  if (own.size() > to.size()) return false;
  const std::size_t held = own.size() - std::min(free, own.size());
  return std::ranges::equal(own.first(held), to.last(own.size()).first(held),
                            [&](Dim a, Dim b) { return a == Dim(1) || g.scope().equal(a, b) == Proof::yes; });
}

Bound bind_attend(const Graph& g, const Node& n) {
  const auto& a = n.attributes<ops::AttendAttrs>();
  for (std::size_t i = 0; i < 4; ++i) {
    if (i < n.in.size() && n.in[i] && !is_f32(g, n.in[i])) return std::nullopt;
  }
  const Shape &q = g.type(n.in[0]).shape, &k = g.type(n.in[1]).shape;
  const std::array scores{q[0], q[1], q[2], k[2]};  // a check of the node ensures that a mask has as many keys as V
  for (std::size_t i = 3; i < 5; ++i) {
    if (i < n.in.size() && n.in[i] && !broadcasts(g, n.in[i], scores, 1)) return std::nullopt;
  }
  return Binding{.params = params::Attention{.causal = a.causal != 0,
                                             .undefined = static_cast<kernel::Attention::Undefined>(a.undefined),
                                             .scale = a.scale,
                                             .bias_last = a.biased_hidden != 0,
                                             .softcap = a.softcap,
                                             .hidden = a.hidden},
                 .strided = true};
}

Bound bind_rotate(const Graph& g, const Node& n) {
  const Shape& x = g.type(n.in[0]).shape;
  const bool half = n.attributes<ops::RotateAttrs>().half_tables != 0;
  const auto fits = [&](Value v) {
    const Shape& own = g.type(v).shape;
    return half ? !own.empty() && broadcasts(g, v, x, 1) : broadcasts(g, v, x);
  };
  const bool even = !x.empty() && x.back().is_const() && x.back().value() % 2 == 0;
  if (!even || x.size() > kernel::Rotary::kMaxAxes + 1 || !all_f32(g, n) || !fits(n.in[1]) || !fits(n.in[2]))
    return std::nullopt;
  return Binding{.params = params::Rotary{.half_tables = half}, .strided = true};
}

/// The kernels of operators. The first row whose `bind` accepts a node serves it. Tests compare each kernel with the
/// operator's own form.
struct Row {
  const OpDef* op;
  Kernel kernel;
  Bound (*bind)(const Graph& graph, const Node& node);
};

const Row kRows[] = {
    {&ops::MatMul, Kernel::matmul, bind_matmul},
    {&ops::MatMulInteger, Kernel::matmul, bind_matmul_integer},
    {&ops::microsoft::MatMulNBits, Kernel::matmul_nbits, bind_nbits_product},
    {&ops::Gemm, Kernel::gemm, bind_gemm},
    {&ops::Conv, Kernel::conv, bind_conv},
    {&ops::ConvChannelsLast, Kernel::conv, bind_conv},
    {&ops::ConvInteger, Kernel::conv, bind_conv_integer},
    {&ops::ConvIntegerChannelsLast, Kernel::conv, bind_conv_integer},
    {&ops::ConvTranspose, Kernel::conv_transpose, bind_conv_transpose},
    {&ops::MaxPool, Kernel::max_pool, bind_max_pool},
    {&ops::AveragePool, Kernel::average_pool, bind_average_pool},
    {&ops::MaxPoolChannelsLast, Kernel::max_pool, bind_max_pool},
    {&ops::AveragePoolChannelsLast, Kernel::average_pool, bind_average_pool},
    {&ops::GlobalAveragePool, Kernel::global_pool, bind_global_pool},
    {&ops::GlobalMaxPool, Kernel::global_pool, bind_global_pool},
    {&ops::ReduceSum, Kernel::reduce, bind_reduce<kernel::Reduce::sum>},
    {&ops::ReduceMean, Kernel::reduce, bind_reduce<kernel::Reduce::mean>},
    {&ops::ReduceMax, Kernel::reduce, bind_reduce<kernel::Reduce::max>},
    {&ops::ReduceMin, Kernel::reduce, bind_reduce<kernel::Reduce::min>},
    {&ops::ReduceProd, Kernel::reduce, bind_reduce<kernel::Reduce::prod>},
    {&ops::ReduceL1, Kernel::reduce, bind_reduce<kernel::Reduce::sum_abs>},
    {&ops::ReduceSumSquare, Kernel::reduce, bind_reduce<kernel::Reduce::sum_square>},
    {&ops::ArgMax, Kernel::arg_reduce, bind_arg<kernel::Arg::max>},
    {&ops::ArgMin, Kernel::arg_reduce, bind_arg<kernel::Arg::min>},
    {&ops::Softmax, Kernel::softmax, bind_softmax<false>},
    {&ops::LogSoftmax, Kernel::softmax, bind_softmax<true>},
    {&ops::LayerNormalization, Kernel::layer_norm, bind_layer_norm},
    {&ops::BatchNormalization, Kernel::batch_norm, bind_batch_norm},
    {&ops::LSTM, Kernel::lstm, bind_lstm},
    {&ops::GRU, Kernel::gru, bind_gru},
    {&ops::Attend, Kernel::attention, bind_attend},
    {&ops::Rotate, Kernel::rotary, bind_rotate},
};

}  // namespace

bool may_have_channels_last_kernel(const Graph& graph, NodeId id) {
  const Node& n = graph.node(id);
  if (n.op != &ops::Conv && n.op != &ops::AveragePool) return false;
  const std::size_t rank = all_plain(graph, n) ? rank_of(graph, n.in[0]) : 0;
  if (rank != 3 && rank != 4) return false;
  return all_half(graph, n) && (n.op == &ops::AveragePool || has_half_conv(graph, n));
}

std::vector<Kernel> hand_kernels(const OpDef& op) {
  std::vector<Kernel> kernels;
  for (const Row& row : kRows) {
    if (row.op == &op) kernels.push_back(row.kernel);
  }
  return kernels;
}

bool defines_extents(const Graph& graph, const Node& node) {
  const auto of_result = [&](Value v, Dim d) {
    const auto symbol = graph.scope().as_symbol(d);
    const auto origin = symbol ? graph.extent_origin(*symbol) : std::nullopt;
    return origin && origin->value == v;
  };
  return std::ranges::any_of(node.out, [&](Value v) {
    return v && std::ranges::any_of(graph.type(v).shape, [&](Dim d) { return of_result(v, d); });
  });
}

std::optional<std::size_t> picked_axis(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  if (node.op != &ops::Gather || !all_plain(graph, node) || rank_of(graph, node.in[1]) != 0) return std::nullopt;
  return from_front(node.attributes<ops::GatherAttrs>().axis, rank_of(graph, node.in[0]));
}

bool has_unranked_value(const Graph& graph, NodeId id) {
  const auto unranked = [&](Value v) { return v && graph.type(v).is_tensor() && !graph.type(v).ranked; };
  return std::ranges::any_of(graph.node(id).in, unranked) || std::ranges::any_of(graph.node(id).out, unranked);
}

std::optional<Binding> bind(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  const auto* const opaque = std::get_if<Opaque>(&node.op->form);
  // Inference has not typed such operands. The reference executor applies the operator's rules once it has the values.
  if (has_unranked_value(graph, id) && (opaque == nullptr || !opaque->any_rank)) return std::nullopt;
  if (all_plain(graph, node) && !defines_extents(graph, node)) {
    for (const Row& row : kRows) {
      if (row.op != node.op) continue;
      if (Bound bound = row.bind(graph, node)) return bound;
    }
  }
  if (std::holds_alternative<Elementwise>(node.op->form)) return bind_elementwise(graph, id);
  if (opaque != nullptr) return Binding{.params = params::Opaque{}};
  return std::nullopt;
}

}  // namespace frazil
