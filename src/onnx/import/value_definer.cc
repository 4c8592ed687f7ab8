#include "onnx/import/value_definer.h"

#include "base/limits/load_scope.h"

namespace frazil::onnx {

Status ValueDefiner::define_constant(Frame& frame, std::string_view name, Tensor tensor) {
  if (name.empty()) return fail(Code::bad_model, "an initializer has no name");
  FRAZIL_CHECK(check_name("an initializer", name, limits_));
  const Value v = Builder(graph_, frame.block).constant(std::move(tensor)).value;
  return define(frame, name, v, [] { return "initializer"; });
}

Status ValueDefiner::define_initializers(Frame& frame, const std::set<std::string_view>& inputs) {
  for (const Bytes bytes : frame.body.initializers) {
    FRAZIL_TRY(const TensorHeader header, tensor_header(bytes));
    if (inputs.contains(header.name)) continue;
    FRAZIL_TRY(Tensor tensor, read_tensor(source_, bytes));
    FRAZIL_CHECK(define_constant(frame, header.name, std::move(tensor)));
  }
  for (const Bytes bytes : frame.body.sparse_initializers) {
    FRAZIL_TRY(const std::string_view name, sparse_tensor_name(bytes));
    if (inputs.contains(name)) continue;
    FRAZIL_TRY(SparseTensor sparse, read_sparse_tensor(source_, bytes));
    FRAZIL_CHECK(define_constant(frame, sparse.name, std::move(sparse.dense)));
  }
  return {};
}

Status ValueDefiner::define_params(Frame& frame, const std::vector<Value>& params) {
  const auto where = [] { return "its inputs"; };
  std::size_t k = 0;
  for (const Bytes bytes : frame.body.inputs) {
    FRAZIL_TRY(const ValueInfo info, read_value_info(bytes));
    FRAZIL_CHECK(check_name("a subgraph's input", info.name, limits_));
    FRAZIL_CHECK(define(frame, info.name, params[k++], where));
  }
  return {};
}

Status ValueDefiner::define_outputs(Frame& frame, const Texts& names, const std::vector<Value>& values,
                                    const Describe& what, std::size_t rename_from) {
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i].empty()) continue;
    if (i >= values.size()) {
      return fail_at(what(), Code::bad_model, "it has no output {} ('{}')", i, proto::shown(names[i]));
    }
    const Value v = values[i];
    if (v && v.id >= rename_from) Builder(graph_, frame.block).name_value(v, {});
    FRAZIL_CHECK(define(frame, names[i], v, what));
  }
  return {};
}

Status ValueDefiner::define(Frame& frame, std::string_view name, Value value, const Describe& what) {
  NameContext& cx = *frame.cx;
  if (!cx.names.define(name, value)) {
    return fail_at(what(), Code::bad_model, "'{}' is defined already", proto::shown(name));
  }
  if (const auto declared = frame.declared.find(name); value && declared != frame.declared.end()) {
    declared_.add(value, cx.prefix + std::string(name), declared->second);
  }
  if (value && graph_.value_name(value).empty()) {
    Builder(graph_, frame.block).name_value(value, cx.prefix.empty() ? name : cx.prefix + std::string(name));
    count_graph_bytes(graph_.value_name(value).size());
  }
  return {};
}

}  // namespace frazil::onnx
