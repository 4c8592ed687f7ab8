#include "onnx/import/graph_inputs.h"

#include <algorithm>
#include <map>

namespace frazil::onnx {
namespace {

constexpr std::int64_t kInputsOwnInitializers = 4;  ///< the first such IR version; see ImportOptions::fix_defaults

struct Initializer {
  Bytes bytes;
  bool sparse = false;
};
using Initializers = std::map<std::string_view, Initializer>;

Result<Initializers> initializers_of(const GraphParts& body) {
  Initializers found;
  const auto add = [&](std::string_view name, Initializer initializer) -> Status {
    if (found.emplace(name, initializer).second) return {};
    return fail(Code::bad_model, "initializer: '{}' is defined already", proto::shown(name));
  };
  for (const Bytes bytes : body.initializers) {
    FRAZIL_TRY(const TensorHeader header, tensor_header(bytes));
    FRAZIL_CHECK(add(header.name, {bytes, false}));
  }
  for (const Bytes bytes : body.sparse_initializers) {
    FRAZIL_TRY(const std::string_view name, sparse_tensor_name(bytes));
    FRAZIL_CHECK(add(name, {bytes, true}));
  }
  return found;
}

Result<Tensor> read_initializer(const Source& source, const Initializer& initializer) {
  if (!initializer.sparse) return read_tensor(source, initializer.bytes);
  FRAZIL_TRY(SparseTensor sparse, read_sparse_tensor(source, initializer.bytes));
  return std::move(sparse.dense);
}

Status check_default(const Tensor& tensor, const Type& type, const Scope& scope) {
  const auto matches = [&] {
    if (!type.is_tensor() || type.elem != tensor.elem()) return false;
    if (!type.ranked) return true;
    return std::ranges::equal(type.shape, tensor.sizes(),
                              [](Dim d, std::int64_t n) { return !d.is_const() || d == n; });
  };
  if (matches()) return {};
  return fail(Code::bad_model, "its initializer is {}, expected {}", tensor.type_str(), str(type, scope));
}

Status define_input(Frame& main, Graph& graph, const Source& source, const ValueInfo& info,
                    const Initializer* initializer) {
  Builder builder(graph, Graph::kMain);
  Tensor tensor;
  if (initializer != nullptr) {
    FRAZIL_TRY(tensor, read_initializer(source, *initializer));
  }
  Type type;
  if (info.type) {
    FRAZIL_TRY(type, read_type(*info.type, builder, proto::shown(info.name), source));
  } else if (initializer != nullptr && source.ignored) {
    source.ignored(
        fmt::format("input '{}': its type is not given; it is that of its initializer", proto::shown(info.name)));
    type = Type::tensor(tensor.elem(), Shape(tensor.sizes().begin(), tensor.sizes().end()));
  } else {
    return fail(Code::bad_model, "its type is not given");
  }
  if (initializer != nullptr) FRAZIL_CHECK(check_default(tensor, type, graph.scope()));
  const Expr input = builder.input(info.name, std::move(type), std::move(tensor));
  if (!main.cx->names.define(info.name, input.value)) return fail(Code::bad_model, "it is defined twice");
  return {};
}

}  // namespace

Result<std::set<std::string_view>> define_inputs(Frame& main, Graph& graph, const Source& source,
                                                 const ImportOptions& options, std::int64_t ir_version) {
  FRAZIL_TRY(const Initializers given, initializers_of(main.body));
  std::set<std::string_view> defaults;
  for (const Bytes bytes : main.body.inputs) {
    FRAZIL_TRY(const ValueInfo info, read_value_info(bytes));
    if (info.name.empty()) return fail(Code::bad_model, "an input of the graph has no name");
    FRAZIL_CHECK(check_name("an input", info.name, options.limits));
    const auto found = given.find(info.name);
    const bool fixed =
        ir_version < kInputsOwnInitializers || (options.fix_defaults && !options.keep_defaults.contains(info.name));
    if (found != given.end() && fixed) continue;
    const Status status = define_input(main, graph, source, info, found == given.end() ? nullptr : &found->second);
    if (!status) return within(fmt::format("input '{}': ", proto::shown(info.name)), status.error());
    if (found != given.end()) defaults.insert(info.name);
  }
  return defaults;
}

}  // namespace frazil::onnx
