#include "ref/node.h"

#include <algorithm>

#include "ir/edit/builder.h"
#include "ir/op/opaque.h"
#include "ref/fold.h"
#include "ref/machine.h"
#include "ref/moves.h"
#include "ref/plain.h"
#include "ref/points.h"
#include "ref/ref.h"
#include "ref/symbols.h"

namespace frazil::ref {
namespace {

using Inputs = std::span<const std::optional<Datum>>;
using Outputs = std::vector<Datum>;

/// Returns whether a tensor of these extents may have the type. Compares constant extents only; Dim::kMax stands for
/// all larger extents.
bool agrees(const Type& type, std::span<const std::int64_t> sizes) {
  if (!type.is_tensor() || !type.ranked) return true;
  return std::ranges::equal(type.shape, sizes,
                            [](Dim d, std::int64_t n) { return !d.is_const() || d.value() == std::min(n, Dim::kMax); });
}

/// The memory and the arguments of an Opaque operator.
class RefCall : public OpaqueCall {
 public:
  RefCall(const Graph& graph, const Node& node, Inputs inputs) : graph_(graph), node_(node), given_(inputs) {
    inputs_ = node.in.size();
    outputs_ = node.out.size();
    attrs_ = node.attrs.get();
    results_.resize(outputs_);
  }
  bool wants(std::size_t i) const override { return i < outputs_ && node_.out[i]; }
  TensorView in(std::size_t i) const override {
    const Tensor& t = given_[i]->tensor();
    return {t.elem(), t.sizes(), t.data()};
  }
  Datum datum(std::size_t i) const override { return *given_[i]; }
  Elem out_elem(std::size_t i) const override { return wants(i) ? graph_.type(node_.out[i]).elem : Elem::f32; }
  bool shares(std::size_t i) const override { return wants(i) && !graph_.type(node_.out[i]).ranked; }
  Result<std::byte*> out(std::size_t i, std::span<const std::int64_t> sizes) override {
    if (!wants(i)) return fail(Code::internal, "output {} is not wanted", i);
    if (!agrees(graph_.type(node_.out[i]), sizes)) {
      return fail(Code::internal, "output {} gives {}, inferred {}", i, type_str(out_elem(i), sizes),
                  str(graph_.type(node_.out[i]), graph_.scope()));
    }
    FRAZIL_TRY(Tensor t, Tensor::make(out_elem(i), Sizes(sizes.begin(), sizes.end())));
    std::byte* data = t.mutable_data();
    results_[i] = std::move(t);
    return data;
  }
  Status put(std::size_t i, Datum value) override {
    if (!wants(i)) return fail(Code::internal, "output {} is not wanted", i);
    results_[i] = std::move(value);
    return {};
  }
  Result<std::byte*> scratch(std::size_t bytes) override {
    FRAZIL_TRY(scratch_, Buffer::allocate(bytes));
    return scratch_.data();
  }
  Outputs take() { return std::move(results_); }

 protected:
  bool given(std::size_t i) const override { return i < given_.size() && given_[i].has_value(); }

 private:
  const Graph& graph_;
  const Node& node_;
  Inputs given_;
  Outputs results_;
  Buffer scratch_;
};

/// Returns a copy of the type for another graph. Constant extents are kept; others become symbols.
Type foreign_type(const Type& type, Builder& builder, int& symbols) {
  Type copy = type;
  for (Dim& d : copy.shape) {
    if (!d.is_const()) d = builder.dim(fmt::format("d{}", symbols++));
  }
  if (type.item) copy.item = std::make_shared<const Type>(foreign_type(*type.item, builder, symbols));
  return copy;
}

/// One node in its own graph. Its tensors are constants, so that type rules see numbers.
class Single {
 public:
  Single(const Graph& from, NodeId id, Inputs inputs) : from_(from), source_(from.node(id)) {
    inputs_.assign(inputs.begin(), inputs.end());
  }

  Result<Outputs> run(ExecutionLimits& execution_limits) {
    FRAZIL_CHECK(add_inputs());
    if (std::holds_alternative<Composite>(source_.op->form)) return run_composite(execution_limits);
    Builder builder(graph_);
    FRAZIL_TRY(id_, builder.append(*source_.op, values_, source_.attrs, wanted(), source_.name));
    FRAZIL_TRY(Outputs outputs, std::visit([&](const auto& form) { return evaluate(form); }, source_.op->form));
    FRAZIL_CHECK(check(outputs));
    return outputs;
  }

 private:
  std::vector<bool> wanted() const {
    std::vector<bool> wanted;
    for (Value v : source_.out) wanted.push_back(static_cast<bool>(v));
    return wanted;
  }

  Status add_inputs() {
    Builder builder(graph_);
    int symbols = 0;
    if (inputs_.size() != source_.in.size())
      return fail(Code::internal, "{} inputs, expected {}", inputs_.size(), source_.in.size());
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      if (!inputs_[i]) {
        values_.emplace_back();
        continue;
      }
      const Type& type = from_.type(source_.in[i]);
      if (!has_kind(type, *inputs_[i])) {
        return fail(Code::internal, "input {} is {}, inferred {}", i, describe(*inputs_[i]), str(type, from_.scope()));
      }
      if (inputs_[i]->is_tensor()) {
        FRAZIL_TRY(Tensor t, ready(inputs_[i]->tensor()));
        inputs_[i] = Datum(std::move(t));
      }
      if (type.is_tensor()) {
        values_.push_back(builder.constant(inputs_[i]->tensor()).value);
      } else {
        values_.push_back(builder.input(fmt::format("in{}", i), foreign_type(type, builder, symbols)).value);
        params_.push_back(*inputs_[i]);
      }
    }
    return {};
  }

  Status check(const Outputs& outputs) {
    SymbolTable symbols(graph_);
    for (std::size_t k = 0; k < outputs.size(); ++k) {
      const Value v = graph_.node(id_).out[k];
      if (!v) continue;
      symbols.bind_from(v, outputs[k]);
      if (const auto wrong = type_mismatch(graph_, symbols, v, outputs[k])) {
        return fail(Code::internal, "output {} {}", k, *wrong);
      }
    }
    return {};
  }

  /// Returns the operands that are present, in the order in which the scalar program's loads number them.
  std::vector<Tensor> tensors() const {
    std::vector<Tensor> given;
    for (const auto& datum : inputs_) {
      if (datum) given.push_back(datum->tensor());
    }
    return given;
  }

  Result<Tensor> make_output(std::size_t k, Sizes sizes) const {
    return Tensor::make(graph_.type(graph_.node(id_).out[k]).elem, std::move(sizes));
  }

  bool touches_text() const {
    return graph_.type(graph_.node(id_).out[0]).elem == Elem::string ||
           std::ranges::any_of(tensors(), [](const Tensor& t) { return t.elem() == Elem::string; });
  }

  Result<Outputs> evaluate(const Elementwise& form) {
    Sizes sizes;
    for (Dim d : graph_.type(graph_.node(id_).out[0]).shape) sizes.push_back(d.value());
    if (form.plain != nullptr && touches_text()) {
      FRAZIL_TRY(Tensor plain, make_output(0, sizes));
      FRAZIL_CHECK(run_plain(form, tensors(), source_.attrs.get(), plain));
      return Outputs{Datum(std::move(plain))};
    }
    std::vector<Operand> operands;
    for (Tensor& t : tensors()) {
      auto reads = broadcast_reads(t.sizes(), sizes);
      operands.push_back({std::move(t), std::move(reads)});
    }
    FRAZIL_TRY(TapeRun tape, TapeRun::make(tape_of(graph_, id_)));
    FRAZIL_TRY(Tensor out, make_output(0, sizes));
    const auto sink = [&](const Batch& b) { store_elements(out.elem(), out.mutable_data(), b.out[0], b.values, b.n); };
    FRAZIL_CHECK(for_points(broadcast_space(sizes), operands, tape, sink));
    return Outputs{Datum(std::move(out))};
  }

  Result<Outputs> evaluate(const Contraction&) {
    const Space& space = *graph_.node(id_).space;
    std::vector<Operand> operands;
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      if (inputs_[i])
        operands.push_back({inputs_[i]->tensor(), i < space.reads.size() ? space.reads[i] : std::vector<Ix>{}});
    }
    FRAZIL_TRY(TapeRun tape, TapeRun::make(tape_of(graph_, id_)));
    FRAZIL_TRY(const Sizes sizes, output_sizes(space));
    const bool empty =
        std::ranges::any_of(space.axes, [](const Space::Axis& a) { return a.reduced && a.extent == Dim(0); });
    Outputs outputs(source_.out.size());
    std::vector<std::unique_ptr<Folder>> folders(outputs.size());
    std::vector<Tensor> results(outputs.size());
    for (std::size_t k = 0; k < outputs.size(); ++k) {
      if (!source_.out[k]) continue;
      if (k >= space.folds.size()) return fail(Code::internal, "no fold gives output {}", k);
      FRAZIL_TRY(results[k], make_output(k, sizes));
      FRAZIL_TRY(folders[k], Folder::make(space.folds[k], tape.type(), results[k], space.last_wins, empty));
    }
    FRAZIL_CHECK(for_points(space, operands, tape, [&](const Batch& batch) {
      for (const auto& folder : folders) {
        if (folder) folder->add(batch);
      }
    }));
    for (std::size_t k = 0; k < outputs.size(); ++k) {
      if (!folders[k]) continue;
      folders[k]->store(results[k]);
      outputs[k] = std::move(results[k]);
    }
    return outputs;
  }

  Result<Outputs> evaluate(const View&) {
    const std::vector<ViewMap>& maps = *graph_.node(id_).views;
    std::vector<Tensor> operands;
    for (const auto& datum : inputs_) operands.push_back(datum ? datum->tensor() : Tensor());
    Outputs outputs(source_.out.size());
    for (std::size_t k = 0; k < outputs.size(); ++k) {
      if (!source_.out[k]) continue;
      FRAZIL_TRY(Tensor t, run_view(maps[k], operands));
      outputs[k] = std::move(t);
    }
    return outputs;
  }

  Result<Outputs> evaluate(const Opaque& form) {
    RefCall call(graph_, graph_.node(id_), inputs_);
    FRAZIL_CHECK(form.run(call));
    return call.take();
  }

  Result<Outputs> evaluate(const Composite&) { return fail(Code::internal, "a composite has no values of its own"); }
  Result<Outputs> evaluate(const Region&) { return fail(Code::internal, "a region does not run as a single node"); }

  Result<Outputs> run_composite(ExecutionLimits& execution_limits) {
    Builder builder(graph_);
    FRAZIL_TRY(const auto results, expand(builder, *source_.op, values_, source_.attrs.get(), source_.out.size()));
    for (std::size_t k = 0; k < results.size(); ++k) {
      if (source_.out[k] && !results[k]) return fail(Code::internal, "its body gives no output {}", k);
      if (source_.out[k]) builder.output(fmt::format("out{}", k), {&builder, results[k]});
    }
    Machine machine(graph_, execution_limits);
    FRAZIL_TRY(Outputs wanted, machine.run(params_));
    Outputs outputs(source_.out.size());
    for (std::size_t k = 0, next = 0; k < outputs.size(); ++k) {
      if (source_.out[k]) outputs[k] = std::move(wanted[next++]);
    }
    return outputs;
  }

  const Graph& from_;
  const Node& source_;
  std::vector<std::optional<Datum>> inputs_;
  Graph graph_;
  NodeId id_;
  std::vector<Value> values_;
  std::vector<Datum> params_;
};

/// Adds the user's name of the node to a fault. The type rule has accepted the graph, so a fault of the rule is one of
/// the inputs here.
std::unexpected<Fault> with_node_name(const Graph& graph, NodeId id, Fault fault) {
  if (fault.code == Code::bad_model) fault.code = Code::bad_input;
  if (fault.node == fmt::format("node #0 ({})", graph.node(id).op->name)) fault.node.clear();
  return at_node(graph.describe(id), std::move(fault));
}

}  // namespace

Result<Outputs> run_one(const Graph& graph, NodeId node, Inputs inputs, ExecutionLimits& execution_limits) {
  auto outputs = Single(graph, node, inputs).run(execution_limits);
  if (!outputs) return with_node_name(graph, node, std::move(outputs).error());
  for (const Datum& output : *outputs) {
    if (output.is_tensor()) charge_text(output.tensor());
  }
  return outputs;
}

}  // namespace frazil::ref
