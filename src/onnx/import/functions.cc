#include "onnx/import/functions.h"

#include <algorithm>

#include "base/limits/load_scope.h"
#include "onnx/import/warn.h"

namespace frazil::onnx {
namespace {

/// Fails if the call is inside `function`. `inner` is the context of the call.
Status check_recursion(const NameContext& inner, const NodeParts& node, const FunctionParts& function) {
  std::vector<std::string_view> through;  // from the innermost function out
  const NameContext* cx = &inner;
  for (; cx != nullptr && cx->function != nullptr && cx->function != &function; cx = cx->caller.get()) {
    through.push_back(cx->function->name);
  }
  if (cx == nullptr || cx->function == nullptr) return {};
  constexpr std::size_t kShown = 4;
  std::string text;
  for (std::size_t i = 0; i < std::min(through.size(), kShown); ++i) {
    text += fmt::format("{}'{}'", i == 0 ? " through " : ", ", proto::shown(through[through.size() - 1 - i]));
  }
  if (through.size() > kShown) text += fmt::format(" and {} more", through.size() - kShown);
  return fail_at(describe(inner, node), Code::bad_model, "function '{}' calls itself{}", proto::shown(function.name),
                 text);
}

}  // namespace

Status RepeatedBytes::add(std::size_t bytes) {
  bytes_ += bytes;
  if (bytes_ <= most_) return {};
  return fail(Code::limit,
              "calls of functions read or copy more than {} bytes, the most for a file of this size; what a function "
              "holds counts once per call",
              most_);
}

Status Functions::index(const std::vector<FunctionParts>& functions, const LoadLimits& limits,
                        std::vector<std::string>* warnings) {
  for (const FunctionParts& f : functions) {
    for (const std::string_view name : {f.name, f.domain, f.overload})
      FRAZIL_CHECK(check_name("a function", name, limits));
    if (by_key_.insert_or_assign({f.domain, f.name, f.overload}, &f).second) continue;
    if (warnings == nullptr) {
      return fail(Code::bad_model, "function '{}' of domain '{}' is defined twice", proto::shown(f.name),
                  proto::shown(f.domain));
    }
    warn(*warnings, "function '{}' of domain '{}' is defined twice; the last one counts", proto::shown(f.name),
         proto::shown(f.domain));
  }
  return {};
}

const FunctionParts* Functions::find(const NodeParts& node) const {
  const auto it = by_key_.find({node.domain, node.op, node.overload});
  return it == by_key_.end() ? nullptr : it->second;
}

Status Functions::check_call(const NameContext& cx, const NodeParts& node, const FunctionParts& function) {
  const auto [ended, first] = ended_.try_emplace(&function, false);
  if (!first && !ended->second) FRAZIL_CHECK(check_recursion(cx, node, function));
  if (node.inputs.size() > function.inputs.size() || node.outputs.size() > function.outputs.size()) {
    return fail_at(describe(cx, node), Code::bad_model,
                   "the function has {} inputs and {} outputs, the call has {} and {}", function.inputs.size(),
                   function.outputs.size(), node.inputs.size(), node.outputs.size());
  }
  return {};
}

std::size_t CallRecords::begin(CallRecord record) {
  count_graph_bytes(sizeof(CallRecord) + 3 * record.name.size() + record.inputs.size() * sizeof(Value));
  calls_.push_back(std::move(record));
  return calls_.size() - 1;
}

void CallRecords::end(std::size_t number, std::size_t last_node, std::vector<Value> outputs) {
  calls_[number].last_node = last_node;
  calls_[number].outputs = std::move(outputs);
}

void CallRecords::write(ModelParts& model, const Graph& graph) {
  ModelInfo& info = model.info;
  for (FunctionParts& f : model.functions) {
    info.functions.push_back({std::string(f.name), std::string(f.domain), std::string(f.overload), std::move(f.notes)});
  }
  const auto names = [&](const std::vector<Value>& values, const Texts& formal) {
    ModelInfo::Call::Names found;
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (values[i]) found.emplace_back(graph.value_name(values[i]), formal[i]);
    }
    return found;
  };
  for (CallRecord& c : calls_) {
    if (c.function == nullptr || c.first_node == c.last_node) continue;
    info.calls.push_back({.name = std::move(c.name),
                          .function = static_cast<std::size_t>(c.function - model.functions.data()),
                          .first = graph.node(NodeId{static_cast<std::uint32_t>(c.first_node)}).stable,
                          .last = graph.node(NodeId{static_cast<std::uint32_t>(c.last_node - 1)}).stable + 1,
                          .inputs = names(c.inputs, c.function->inputs),
                          .outputs = names(c.outputs, c.function->outputs),
                          .notes = std::move(c.notes)});
  }
}

}  // namespace frazil::onnx
