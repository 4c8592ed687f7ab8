#include "compat/onnxruntime/custom/operators.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include <frazil/graph.h>

#include "compat/onnxruntime/custom/kernel.h"
#include "compat/onnxruntime/custom/nodes.h"
#include "compat/onnxruntime/status.h"
#include "compat/onnxruntime/table.h"
#include "compat/onnxruntime/value/element_types.h"

namespace frazil::ort {
namespace {

using Name = std::pair<std::string, std::string>;  ///< domain and operator

/// The members of OrtCustomOp by the version since which they exist.
constexpr std::uint32_t kCharacteristics = 8, kV2 = 16, kShapes = 17;

OrtCustomOpInputOutputCharacteristic of_input(const OrtCustomOp& op, std::size_t i) {
  return op.version >= kCharacteristics ? op.GetInputCharacteristic(&op, i) : INPUT_OUTPUT_REQUIRED;
}
OrtCustomOpInputOutputCharacteristic of_output(const OrtCustomOp& op, std::size_t k) {
  return op.version >= kCharacteristics ? op.GetOutputCharacteristic(&op, k) : INPUT_OUTPUT_REQUIRED;
}

bool is_for_cpu(const OrtCustomOp& op) {
  const char* const provider = op.GetExecutionProviderType(&op);
  return provider == nullptr || std::string_view(provider) == "CPUExecutionProvider";
}

/// The number of inputs that a node must and may have.
struct Arity {
  std::size_t required = 0, most = 0;
  bool variadic = false;
};
Arity arity_of(const OrtCustomOp& op) {
  Arity arity{.most = op.GetInputTypeCount(&op)};
  while (arity.required < arity.most && of_input(op, arity.required) == INPUT_OUTPUT_REQUIRED) ++arity.required;
  arity.variadic = arity.most != 0 && of_input(op, arity.most - 1) == INPUT_OUTPUT_VARIADIC;
  return arity;
}

std::size_t most_outputs(const OrtCustomOp& op) {
  constexpr std::size_t kVariadic = 1024;
  const std::size_t count = op.GetOutputTypeCount(&op);
  return count != 0 && of_output(op, count - 1) == INPUT_OUTPUT_VARIADIC ? kVariadic : count;
}

ONNXTensorElementDataType input_type(const OrtCustomOp& op, std::size_t i) {
  return op.GetInputType(&op, std::min(i, op.GetInputTypeCount(&op) - 1));
}

/// Returns true if the operator takes operands of these types. An undefined type of the operator is any type.
bool takes(const OrtCustomOp& op, std::span<const api::TensorType> operands) {
  const Arity arity = arity_of(op);
  std::size_t given = operands.size();
  while (given > 0 && !operands[given - 1].given) --given;
  if (given < arity.required || (given > arity.most && !arity.variadic)) return false;
  for (std::size_t i = 0; i < given; ++i) {
    const ONNXTensorElementDataType wanted = input_type(op, i);
    if (operands[i].given && wanted != ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED &&
        wanted != element_type(operands[i].dtype)) {
      return false;
    }
  }
  return true;
}

OrtTensorTypeAndShapeInfo info_of(const api::TensorType& type) {
  if (!type.given) return {.has_shape = false};
  OrtTensorTypeAndShapeInfo info{.type = element_type(type.dtype), .has_shape = type.ranked};
  for (const std::string& text : type.dims) {
    const bool number = text.find_first_not_of("0123456789") == std::string::npos;
    info.dims.push_back(number ? std::stoll(text) : -1);
    info.symbols.push_back(number || text == "?" ? "" : text);
  }
  return info;
}

api::TensorType type_of_output(const OrtTensorTypeAndShapeInfo& info) {
  api::TensorType type{.dtype = dtype_of(info.type), .dims = {}, .ranked = info.has_shape};
  for (std::size_t axis = 0; axis < info.dims.size(); ++axis) {
    const bool named = axis < info.symbols.size() && !info.symbols[axis].empty();
    type.dims.push_back(info.dims[axis] >= 0 ? std::to_string(info.dims[axis]) : named ? info.symbols[axis] : "?");
  }
  return type;
}

/// An output of undefined type has that of the first input of undefined type.
ONNXTensorElementDataType output_type(const OrtCustomOp& op, std::size_t k, std::span<const api::TensorType> operands) {
  const ONNXTensorElementDataType declared = op.GetOutputType(&op, std::min(k, op.GetOutputTypeCount(&op) - 1));
  if (declared != ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED) return declared;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    if (operands[i].given && input_type(op, i) == ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED) {
      return element_type(operands[i].dtype);
    }
  }
  return ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT;
}

std::vector<OrtTensorTypeAndShapeInfo> output_infos(const OrtCustomOp& op, const OrtNode& node,
                                                    std::span<const api::TensorType> operands) {
  OrtShapeInferContext context{.node = &node, .inputs = {}, .outputs = {}};
  std::ranges::transform(operands, std::back_inserter(context.inputs), info_of);
  for (std::size_t k = 0; k < node.outputs.size(); ++k) {
    context.outputs.push_back({.type = output_type(op, k, operands), .has_shape = false});
  }
  if (op.version >= kShapes && op.InferOutputShapeFn != nullptr) {
    check(op.InferOutputShapeFn(&op, &context));
  }
  return std::move(context.outputs);
}

/// A node with its kernel. Before the kernel is made, the node's types may become known in several steps.
struct CustomNode {
  const OrtCustomOp* op = nullptr;
  OrtKernelInfo info;
  void* kernel = nullptr;

  CustomNode() = default;
  CustomNode(CustomNode&& other) noexcept
      : op(other.op), info(std::move(other.info)), kernel(std::exchange(other.kernel, nullptr)) {}
  CustomNode& operator=(CustomNode&&) = delete;
  ~CustomNode() {
    if (kernel != nullptr) op->KernelDestroy(kernel);
  }
};

/// An operand in the memory of the run.
std::unique_ptr<OrtValue> operand_value(const api::Array& operand) {
  if (operand.empty()) return nullptr;
  if (operand.dtype() == api::Dtype::string || packing(operand.dtype()) != 1) {
    return std::make_unique<OrtValue>(operand);
  }
  return std::make_unique<OrtValue>(operand.dtype(), dims_of(operand.sizes()), const_cast<void*>(operand.data()),
                                    operand.bytes());
}

}  // namespace

struct CustomNodes {
  std::map<Name, std::vector<const OrtCustomOp*>> operators;
  std::map<std::string, std::string, std::less<>> config;
  OrtLogger logger;
  std::mutex mutex;
  bool ended = false;             ///< guarded by the mutex
  std::vector<CustomNode> nodes;  ///< by number; guarded by the mutex until the kernels are made

  CustomNode& node_of(const api::NodeAttributes& attributes) {
    const std::int64_t number = attributes.integer(NumberedFile::kNode);
    if (number < 0 || static_cast<std::size_t>(number) >= nodes.size()) {
      fail(ORT_FAIL, "a node of a custom operator that is not of the session's file");
    }
    return nodes[static_cast<std::size_t>(number)];
  }

  const OrtCustomOp& choose(const OrtNode& node, std::span<const api::TensorType> operands) const {
    for (const OrtCustomOp* const op : operators.at({node.domain, node.op})) {
      if (takes(*op, operands)) return *op;
    }
    std::string types;
    for (const api::TensorType& type : operands) {
      types += fmt::format("{}tensor({})", types.empty() ? "" : ", ", name_of(element_type(type.dtype)));
    }
    fail(ORT_FAIL, "no custom operator '{}' of domain '{}' takes {}", node.op, node.domain, types);
  }

  std::vector<api::TensorType> types(const api::NodeAttributes& attributes, std::span<const api::TensorType> operands) {
    const std::scoped_lock lock(mutex);
    if (ended) fail(ORT_FAIL, "the session of the custom operators has ended");
    CustomNode& at = node_of(attributes);
    const OrtCustomOp& op = choose(*at.info.node, operands);
    const std::vector<OrtTensorTypeAndShapeInfo> outputs = output_infos(op, *at.info.node, operands);
    if (at.kernel == nullptr) {
      at.op = &op;
      at.info.inputs.clear();
      for (const api::TensorType& type : operands) at.info.inputs.push_back(tensor_type(info_of(type)));
      at.info.outputs.clear();
      for (const OrtTensorTypeAndShapeInfo& info : outputs) at.info.outputs.push_back(tensor_type(info));
    }
    std::vector<api::TensorType> result;
    std::ranges::transform(outputs, std::back_inserter(result), type_of_output);
    return result;
  }

  std::vector<api::Array> run(const api::NodeAttributes& attributes, std::span<const api::Array> operands) {
    const CustomNode& at = node_of(attributes);
    OrtKernelContext context{.info = &at.info, .inputs = {}, .outputs = {}, .scratch = {}};
    for (const api::Array& operand : operands) context.inputs.push_back(operand_value(operand));
    context.outputs.resize(at.info.node->outputs.size());
    if (at.op->version >= kV2 && at.op->KernelComputeV2 != nullptr) {
      check(at.op->KernelComputeV2(at.kernel, &context));
    } else {
      at.op->KernelCompute(at.kernel, &context);
    }
    std::vector<api::Array> results;
    for (std::size_t k = 0; k < context.outputs.size(); ++k) {
      const OrtValue* const value = context.outputs[k].get();
      if (value == nullptr && !at.info.node->outputs[k].empty()) fail(ORT_FAIL, "its kernel gives no output {}", k);
      results.push_back(value == nullptr ? api::Array() : value->result());
    }
    return results;
  }

  /// No run may be in progress.
  void end() {
    const std::scoped_lock lock(mutex);
    ended = true;
    nodes.clear();
  }

  void make_kernel(CustomNode& at) {
    at.info.config = config;
    at.info.logger = logger;
    if (at.op->version >= kV2 && at.op->CreateKernelV2 != nullptr) {
      check(at.op->CreateKernelV2(at.op, &table(), &at.info, &at.kernel));
    } else {
      at.kernel = at.op->CreateKernel(at.op, &table(), &at.info);
    }
  }
};

CustomOperators::CustomOperators(const OrtSessionOptions& options) : nodes_(std::make_shared<CustomNodes>()) {
  nodes_->config = options.config;
  nodes_->logger = {logger_of(options)};
  for (const OrtCustomOpDomain* const domain : options.domains) {
    const std::string name = domain->name == "ai.onnx" ? "" : domain->name;
    for (const OrtCustomOp* const op : domain->operators) {
      if (is_for_cpu(*op)) nodes_->operators[{name, op->GetName(op)}].push_back(op);
    }
  }
}

CustomOperators::~CustomOperators() {
  if (nodes_ != nullptr) nodes_->end();
}

std::string CustomOperators::prepared(const std::string& file) {
  NumberedFile numbered = number_nodes(file, [&](std::string_view domain, std::string_view op) {
    return nodes_->operators.contains({std::string(domain), std::string(op)});
  });
  for (OrtNode& node : numbered.nodes) {
    nodes_->nodes.emplace_back().info.node = std::make_shared<const OrtNode>(std::move(node));
  }
  return std::move(numbered.bytes);
}

std::shared_ptr<const std::vector<api::HostOperator>> CustomOperators::host() const {
  auto host = std::make_shared<std::vector<api::HostOperator>>();
  for (const auto& [name, overloads] : nodes_->operators) {
    api::HostOperator op{.name = name.second, .domain = name.first, .pure = false, .views = true};
    op.inputs = SIZE_MAX;
    op.outputs = 1;
    std::size_t most = 0;
    for (const OrtCustomOp* const overload : overloads) {
      const Arity arity = arity_of(*overload);
      op.inputs = std::min(op.inputs, arity.required);
      most = std::max(most, arity.most);
      op.variadic = op.variadic || arity.variadic;
      op.outputs = std::max(op.outputs, most_outputs(*overload));
    }
    op.optional_inputs = op.variadic ? 0 : most - op.inputs;
    op.attributes = {{NumberedFile::kNode, -1}};
    op.types = [nodes = nodes_](const api::NodeAttributes& attributes, std::span<const api::TensorType> operands) {
      return nodes->types(attributes, operands);
    };
    op.run = [nodes = nodes_](const api::NodeAttributes& attributes, std::span<const api::Array> operands) {
      return nodes->run(attributes, operands);
    };
    host->push_back(std::move(op));
  }
  return host;
}

void CustomOperators::make_kernels(const api::Model& model) {
  const api::GraphView graph(model);
  for (const std::uint32_t id : graph.nodes()) {
    const api::GraphView::Node node = graph.node(id);
    if (!nodes_->operators.contains({node.domain, node.op})) continue;
    for (const auto& [name, value] : node.attributes) {
      if (name != NumberedFile::kNode) continue;
      CustomNode& at = nodes_->nodes.at(static_cast<std::size_t>(std::get<std::int64_t>(value.value())));
      if (at.kernel != nullptr) continue;  // a function that is called twice
      for (const auto& input : node.inputs) {
        const auto constant = input ? graph.value(*input).constant : std::nullopt;
        at.info.constants.push_back(constant ? ValueHandle(value_of(*constant).release()) : ValueHandle());
      }
      nodes_->make_kernel(at);
    }
  }
}

}  // namespace frazil::ort
