#include "bench/quantise.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <map>
#include <optional>
#include <vector>

#include "bench/frazil_runner.h"
#include "exec/observe/observer.h"
#include "ir/edit/rebuild.h"
#include "onnx/export/export.h"
#include "onnx/import/import.h"
#include "ops/contraction/contraction.h"
#include "ops/core/registry.h"
#include "ops/elementwise/logic.h"
#include "ops/elementwise/math.h"
#include "ops/elementwise/nn.h"
#include "ops/nn/norm.h"
#include "ops/nn/quant.h"
#include "pass/engine/dead.h"

namespace bench {
namespace {

namespace ops = frazil::ops;
using frazil::Builder;
using frazil::Expr;
using frazil::Graph;
using frazil::Node;
using frazil::NodeId;
using frazil::Result;
using frazil::Tensor;
using frazil::Value;
using Made = Result<std::optional<std::vector<Value>>>;

std::vector<float> floats(const Tensor& t) {
  std::vector<float> values(static_cast<std::size_t>(t.count()));
  std::memcpy(values.data(), t.data(), t.bytes());
  return values;
}

template <class T>
Expr list(Builder& to, const std::vector<T>& values) {
  return to.constant(Tensor::of<T>({static_cast<std::int64_t>(values.size())}, std::span<const T>(values)));
}

const Tensor* constant(const Graph& graph, Value v) {
  const frazil::Constant* c = v ? graph.constant(v) : nullptr;
  return c ? &c->tensor : nullptr;
}

// ---- normalisation becomes a part of the convolution before it ----

class NormFolder : public frazil::Rewriter {
 public:
  void begin(const Graph&, const std::function<Value(Value)>& now) override { now_ = now; }

  Made rewrite(const Graph& from, NodeId id, Builder& to, std::span<const Value>) override {
    const Node& norm = from.node(id);
    if (norm.op != &ops::BatchNormalization) return std::nullopt;
    const auto maker = from.producer(norm.in[0]);
    if (!maker || from.node(*maker).op != &ops::Conv || from.node(*maker).in.size() > 2) return std::nullopt;
    const Node& conv = from.node(*maker);
    std::vector<float> list_of[4];
    for (std::size_t i = 0; i < 4; ++i) list_of[i] = floats(*constant(from, norm.in[i + 1]));
    const auto& [scale, shift, mean, variance] = list_of;
    Tensor weight = Tensor::make_or_throw(frazil::Elem::f32, constant(from, conv.in[1])->sizes());
    std::memcpy(weight.mutable_data(), constant(from, conv.in[1])->data(), weight.bytes());
    std::vector<float> bias;
    const std::size_t each = static_cast<std::size_t>(weight.count()) / scale.size();
    for (std::size_t c = 0; c < scale.size(); ++c) {
      const double factor =
          scale[c] / std::sqrt(double{variance[c]} + double{norm.attributes<ops::BatchNormAttrs>().epsilon});
      for (float& w : weight.as_mutable<float>().subspan(c * each, each)) w *= static_cast<float>(factor);
      bias.push_back(static_cast<float>(shift[c] - mean[c] * factor));
    }
    const Expr x{&to, now_(conv.in[0])};
    return std::vector<Value>{
        ops::Conv({x, to.constant(std::move(weight)), list(to, bias)}, conv.attributes<ops::ConvAttrs>()).value};
  }

 private:
  std::function<Value(Value)> now_;
};

// ---- ranges ----

/// Of a value in all requests; 0 is a part of it.
struct Range {
  float low = 0, high = 0;
  void add(const Tensor& t) {
    for (float v : floats(t)) low = std::min(low, v), high = std::max(high, v);
  }
};

/// Ranges of the f32 results of all nodes, by value.
class RangeObserver : public frazil::exec::Observer {
 public:
  explicit RangeObserver(const Graph& graph) {
    for (NodeId id : graph.main().nodes) {
      const Node& node = graph.node(id);
      for (std::uint32_t k = 0; k < node.out.size(); ++k) {
        if (!node.out[k] || graph.type(node.out[k]).elem != frazil::Elem::f32) continue;
        watched_.push_back({.name = {}, .node = node.stable, .output = k});
        values_.push_back(node.out[k]);
      }
    }
  }
  std::span<const frazil::exec::WatchedValue> watched() const override { return watched_; }
  void value(std::size_t index, const frazil::Datum& datum, std::span<const std::int64_t>) override {
    ranges[values_[index].id].add(*datum.tensor().packed());
  }
  bool without(std::size_t, std::string_view) override { return true; }

  std::map<std::uint32_t, Range> ranges;

 private:
  std::vector<frazil::exec::WatchedValue> watched_;
  std::vector<Value> values_;
};

std::map<std::uint32_t, Range> ranges_of(const std::shared_ptr<const Graph>& graph, const Requests& requests) {
  const auto executable =
      take(frazil::exec::Executable::make(graph, {.passes = frazil::PassSet::none(), .devices = {}}));
  RangeObserver observer(*graph);
  FrazilRunner runner(executable, requests);
  runner.session().set_observer(&observer);
  runner.run();
  for (const NamedTensors& request : requests.each) {
    for (std::size_t i = 0; i < graph->input_names().size(); ++i) {
      const auto given = request.find(graph->input_names()[i]);
      if (given == request.end() || given->second.elem != Elem::f32) continue;
      observer.ranges[graph->main().params[i].id].add(to_tensor(given->second));
    }
  }
  return std::move(observer.ranges);
}

// ---- numbers ----

struct Scale {
  float scale = 1;
  std::uint8_t zero = 0;
};

Scale scale_of(const Range& r) {
  const float scale = r.high > r.low ? (r.high - r.low) / 255 : 1;
  return {scale, static_cast<std::uint8_t>(std::clamp(std::nearbyint(-r.low / scale), 0.F, 255.F))};
}

/// A weight as i8, with a scale for each index of `axis`.
struct Weight {
  Tensor bytes;
  std::vector<float> scales;
};

Weight quantised(const Tensor& w, std::size_t axis) {
  Weight q{Tensor::make_or_throw(frazil::Elem::i8, w.sizes()), {}};
  const auto channels = static_cast<std::size_t>(w.sizes()[axis]);
  std::size_t behind = 1;
  for (std::size_t i = axis + 1; i < w.rank(); ++i) behind *= static_cast<std::size_t>(w.sizes()[i]);
  const std::vector<float> values = floats(w);
  const auto channel = [&](std::size_t i) { return i / behind % channels; };
  std::vector<float> most(channels);
  for (std::size_t i = 0; i < values.size(); ++i) most[channel(i)] = std::max(most[channel(i)], std::abs(values[i]));
  for (float m : most) q.scales.push_back(m > 0 ? m / 127 : 1);
  const auto bytes = q.bytes.as_mutable<std::int8_t>();
  for (std::size_t i = 0; i < values.size(); ++i) {
    bytes[i] = static_cast<std::int8_t>(std::clamp(std::nearbyint(values[i] / q.scales[channel(i)]), -127.F, 127.F));
  }
  return q;
}

// ---- fixed scales ----

class FixedQuantiser : public frazil::Rewriter {
 public:
  FixedQuantiser(const Graph& graph, Quantise how, std::map<std::uint32_t, Range> ranges)
      : graph_(graph), how_(how), ranges_(std::move(ranges)) {
    for (NodeId id : graph.main().nodes) {
      for (Value v : graph.node(id).in) {
        if (v) users_[v.id].push_back(id);
      }
    }
    for (Value v : graph.main().results) users_[v.id].push_back({});
  }

  Made rewrite(const Graph& from, NodeId id, Builder& to, std::span<const Value> inputs) override {
    const Node& node = from.node(id);
    if (is_absorbed(node)) return std::vector<Value>{inputs[0]};
    if (!is_quantised(node)) return std::nullopt;
    std::vector<Expr> in;
    for (std::size_t i = 0; i < node.in.size(); ++i) in.push_back({&to, inputs[i]});
    const bool two = is_sum(node);
    in[0] = activation(to, node.in[0], in[0]);
    if (two) in[1] = activation(to, node.in[1], in[1]);
    if (has_weight(node)) give_weights(to, node, in);
    const frazil::OpDef& op = two ? static_cast<const frazil::OpDef&>(ops::Add) : *node.op;
    const Expr y = to.add(op, in, two ? nullptr : node.attrs, 1, node.name)[0];
    const Value out = leaky_relu(node);
    const bool keeps = node.op == &ops::MaxPool;
    scales_[out.id] = keeps ? scales_.at(node.in[0].id) : scale_of(ranges_.at(out.id));
    scales_[node.out[0].id] = scales_[out.id];
    return std::vector<Value>{through_bytes(to, y, scales_[out.id]).value};
  }

 private:
  bool has_weight(const Node& n) const {
    const bool product = n.op == &ops::Conv || n.op == &ops::Gemm || n.op == &ops::MatMul;
    const Tensor* w = product ? constant(graph_, n.in[1]) : nullptr;
    return w && w->elem() == frazil::Elem::f32 && w->rank() >= 2;
  }
  bool is_sum(const Node& n) const {
    const bool sum = (n.op == &ops::Add || n.op == &ops::Sum) && n.in.size() == 2;
    return sum && graph_.type(n.in[0]).elem == frazil::Elem::f32 && !constant(graph_, n.in[0]) &&
           !constant(graph_, n.in[1]);
  }
  bool is_quantised(const Node& n) const {
    if (how_ == Quantise::products) return n.op == &ops::MatMul && has_weight(n);
    return has_weight(n) || is_sum(n) || n.op == &ops::MaxPool || n.op == &ops::AveragePool;
  }
  /// Relu alone behind a quantised node: 0 is the least number then.
  bool is_absorbed(const Node& n) const {
    if (n.op != &ops::Relu || how_ == Quantise::products) return false;
    const auto maker = graph_.producer(n.in[0]);
    return maker && is_quantised(graph_.node(*maker)) && users_.at(n.in[0].id).size() == 1;
  }
  /// The value whose range counts for the node's result.
  Value leaky_relu(const Node& n) const {
    const auto users = users_.find(n.out[0].id);
    if (users == users_.end() || users->second.size() != 1 || !users->second[0]) return n.out[0];
    const Node& user = graph_.node(users->second[0]);
    return is_absorbed(user) ? user.out[0] : n.out[0];
  }

  /// x as a quantised node reads it.
  Expr activation(Builder& to, Value old, Expr now) {
    if (scales_.contains(old.id)) return {&to, through_.contains(old.id) ? through_.at(old.id) : now.value};
    scales_[old.id] = scale_of(ranges_.at(old.id));
    const Expr made = through_bytes(to, now, scales_[old.id]);
    through_[old.id] = made.value;
    return made;
  }

  static Expr through_bytes(Builder& to, Expr x, const Scale& by) {
    const Expr scale = to.scalar(by.scale), zero = to.scalar(by.zero);
    return ops::DequantizeLinear(ops::QuantizeLinear(x, scale, zero), scale, zero);
  }

  void give_weights(Builder& to, const Node& node, std::vector<Expr>& in) {
    const bool rows = node.op == &ops::Conv || (node.op == &ops::Gemm && node.attributes<ops::GemmAttrs>().transB != 0);
    const std::size_t axis = rows ? 0 : 1;
    Weight w = quantised(*constant(graph_, node.in[1]), axis);
    const std::vector<std::int8_t> zeros(w.scales.size());
    in[1] = ops::DequantizeLinear({to.constant(std::move(w.bytes)), list(to, w.scales), list(to, zeros)},
                                  {.axis = static_cast<std::int64_t>(axis)});
    if (in.size() < 3 || !in[2]) return;
    std::vector<float> scales = w.scales;
    std::vector<std::int32_t> bias;
    const std::vector<float> values = floats(*constant(graph_, node.in[2]));
    for (std::size_t c = 0; c < scales.size(); ++c) {
      scales[c] *= scales_.at(node.in[0].id).scale;
      bias.push_back(static_cast<std::int32_t>(std::nearbyint(values[c] / scales[c])));
    }
    const std::vector<std::int32_t> none(scales.size());
    in[2] = ops::DequantizeLinear({list(to, bias), list(to, scales), list(to, none)}, {.axis = 0});
  }

  const Graph& graph_;
  Quantise how_;
  std::map<std::uint32_t, Range> ranges_;
  std::map<std::uint32_t, std::vector<NodeId>> users_;
  std::map<std::uint32_t, Scale> scales_;   ///< of values that went through bytes
  std::map<std::uint32_t, Value> through_;  ///< of those, where the node that made them did not do it
};

// ---- scales of each run ----

class DynamicQuantiser : public frazil::Rewriter {
 public:
  Made rewrite(const Graph& from, NodeId id, Builder& to, std::span<const Value> inputs) override {
    const Node& node = from.node(id);
    const Tensor* weight = node.op == &ops::MatMul ? constant(from, node.in[1]) : nullptr;
    if (!weight || weight->rank() != 2) return std::nullopt;
    Weight w = quantised(*weight, 1);
    const auto [x, x_scale, x_zero] = bytes_of(to, node.in[0], {&to, inputs[0]});
    const std::vector<std::int8_t> zeros(w.scales.size());
    const Expr sum = ops::MatMulInteger(x, to.constant(std::move(w.bytes)), x_zero, list(to, zeros));
    const Expr scale = ops::Mul(x_scale, list(to, w.scales));
    const Expr real = ops::Cast({sum}, {.to = frazil::Elem::f32});
    return std::vector<Value>{ops::Mul(real, scale).value};
  }

 private:
  struct Bytes {
    Expr x, scale, zero;
  };
  Bytes bytes_of(Builder& to, Value old, Expr now) {
    const auto [at, fresh] = known_.try_emplace(old.id);
    if (fresh) {
      const auto made = ops::DynamicQuantizeLinear.call({now}, {}, 3);
      at->second = {made[0], made[1], made[2]};
    }
    const Bytes& b = at->second;
    return {{&to, b.x.value}, {&to, b.scale.value}, {&to, b.zero.value}};
  }

  std::map<std::uint32_t, Bytes> known_;
};

Graph with_folded_norms(const Graph& graph) {
  NormFolder folder;
  const Graph folded = take(frazil::rebuild(graph, folder));
  std::string note;
  auto rest = take(frazil::pass::remove_dead(folded, {}, note));
  return rest ? std::move(*rest) : folded;
}

}  // namespace

void quantise_model(const std::string& from, Quantise how, std::string_view requests, const std::string& to) {
  frazil::link_operators();
  const auto graph = std::make_shared<const Graph>(with_folded_norms(take(frazil::import_onnx(from))));
  const auto write = [&](frazil::Rewriter& rewriter) {
    const frazil::Status status = frazil::onnx::export_file(take(frazil::rebuild(*graph, rewriter)), to);
    if (!status) raise(status.error());
  };
  if (how == Quantise::dynamic) {
    DynamicQuantiser rewriter;
    return write(rewriter);
  }
  const Requests given =
      make_requests(frazil_inputs(*graph), requests, std::filesystem::path(from).parent_path().string());
  FixedQuantiser rewriter(*graph, how, ranges_of(graph, given));
  write(rewriter);
}

}  // namespace bench
