// Graphs of the model editor as ONNX files.
#include <protozero/pbf_reader.hpp>
#include <protozero/pbf_writer.hpp>

#include "compat/onnxruntime/graph/copy_field.h"
#include "compat/onnxruntime/graph/graph.h"
#include "compat/onnxruntime/graph/onnx_fields.h"
#include "compat/onnxruntime/status.h"
#include "compat/onnxruntime/value/element_types.h"

namespace frazil::ort {
namespace {

using protozero::pbf_writer;

constexpr std::int64_t kIrVersion = 10;

/// Writes a message inside another one.
template <class F>
void message(pbf_writer& to, unsigned field, F&& fill) {
  pbf_writer inner(to, field);
  fill(inner);
}

void write_tensor(pbf_writer& to, const std::string& name, const OrtValue& value) {
  using namespace fields::tensor;
  for (const std::int64_t extent : value.sizes()) to.add_int64(kDims, extent);
  to.add_int32(kType, api::onnx_number(value.dtype()));
  to.add_string(kName, name);
  if (value.dtype() == api::Dtype::string) {
    for (const std::string& text : value.strings()) to.add_bytes(kStrings, text);
    return;
  }
  const std::size_t bytes = border_bytes(value.dtype(), value.count());
  to.add_bytes(kRaw, static_cast<const char*>(bytes == 0 ? "" : value.data()), bytes);
}

void write_shape(pbf_writer& to, const OrtTensorTypeAndShapeInfo& tensor) {
  using namespace fields::extent;
  for (std::size_t axis = 0; axis < tensor.dims.size(); ++axis) {
    std::string dim;  // a message of its own, because an empty one counts
    pbf_writer writer(dim);
    if (tensor.dims[axis] >= 0)
      writer.add_int64(kValue, tensor.dims[axis]);
    else if (axis < tensor.symbols.size() && !tensor.symbols[axis].empty())
      writer.add_string(kParam, tensor.symbols[axis]);
    to.add_bytes(kDim, dim);
  }
}

void write_type(pbf_writer& to, const OrtTypeInfo& type) {
  using namespace fields::type;
  const auto inner = [](pbf_writer& part, unsigned field, const std::shared_ptr<const OrtTypeInfo>& contained) {
    if (contained == nullptr) fail(ORT_INVALID_ARGUMENT, "a type has no element type");
    message(part, field, [&](pbf_writer& element) { write_type(element, *contained); });
  };
  switch (type.kind) {
    case ONNX_TYPE_TENSOR:
      return message(to, kTensor, [&](pbf_writer& tensor) {
        tensor.add_int32(kElement, api::onnx_number(dtype_of(type.tensor.type)));
        if (type.tensor.has_shape) {
          message(tensor, kSecond, [&](pbf_writer& shape) { write_shape(shape, type.tensor); });
        }
      });
    case ONNX_TYPE_SEQUENCE:
      return message(to, kSequence, [&](pbf_writer& part) { inner(part, kElement, type.sequence.element); });
    case ONNX_TYPE_OPTIONAL:
      return message(to, kOptional, [&](pbf_writer& part) { inner(part, kElement, type.optional.contained); });
    case ONNX_TYPE_MAP:
      return message(to, kMap, [&](pbf_writer& part) {
        part.add_int32(kElement, api::onnx_number(dtype_of(type.map.key)));
        inner(part, kSecond, type.map.value);
      });
    default: fail(ORT_INVALID_ARGUMENT, "a value of a graph is a tensor, a sequence, a map or an optional");
  }
}

/// The content of AttributeProto for each kind of value.
struct AttributeWriter {
  pbf_writer& to;

  void operator()(std::int64_t value) const {
    to.add_int64(fields::attribute::kInt, value);
    to.add_enum(fields::attribute::kType, fields::attribute::int_);
  }
  void operator()(float value) const {
    to.add_float(fields::attribute::kFloat, value);
    to.add_enum(fields::attribute::kType, fields::attribute::float_);
  }
  void operator()(const std::string& value) const {
    to.add_bytes(fields::attribute::kString, value);
    to.add_enum(fields::attribute::kType, fields::attribute::string_);
  }
  void operator()(const std::vector<std::int64_t>& values) const {
    for (const std::int64_t value : values) to.add_int64(fields::attribute::kInts, value);
    to.add_enum(fields::attribute::kType, fields::attribute::ints);
  }
  void operator()(const std::vector<float>& values) const {
    for (const float value : values) to.add_float(fields::attribute::kFloats, value);
    to.add_enum(fields::attribute::kType, fields::attribute::floats);
  }
  void operator()(const std::vector<std::string>& values) const {
    for (const std::string& value : values) to.add_bytes(fields::attribute::kStrings, value);
    to.add_enum(fields::attribute::kType, fields::attribute::strings);
  }
  void operator()(const ValueHandle& value) const {
    message(to, fields::attribute::kTensor, [&](pbf_writer& part) { write_tensor(part, "", *value.get()); });
    to.add_enum(fields::attribute::kType, fields::attribute::tensor_);
  }
};

void write_node(pbf_writer& to, const OrtNode& node) {
  using namespace fields::node;
  for (const std::string& input : node.inputs) to.add_string(kInput, input);
  for (const std::string& output : node.outputs) to.add_string(kOutput, output);
  to.add_string(kName, node.name);
  to.add_string(kOp, node.op);
  for (const auto& attribute : node.attributes) {
    message(to, kAttribute, [&](pbf_writer& part) {
      part.add_string(fields::attribute::kName, attribute->name);
      std::visit(AttributeWriter{part}, attribute->value);
    });
  }
  to.add_string(kDomain, node.domain);
}

void write_ports(pbf_writer& to, unsigned field, const std::vector<OrtValueInfo>& ports) {
  using namespace fields::port;
  for (const OrtValueInfo& port : ports) {
    message(to, field, [&](pbf_writer& info) {
      info.add_string(kName, port.name);
      message(info, kType, [&](pbf_writer& type) { write_type(type, port.type); });
    });
  }
}

void write_graph(pbf_writer& to, const OrtGraph& graph) {
  for (const auto& node : graph.nodes) {
    message(to, fields::graph::kNode, [&](pbf_writer& part) { write_node(part, *node); });
  }
  for (const OrtGraph::Initializer& initializer : graph.initializers) {
    message(to, fields::graph::kInitializer,
            [&](pbf_writer& part) { write_tensor(part, initializer.name, *initializer.value.get()); });
  }
  write_ports(to, fields::graph::kInput, graph.inputs);
  write_ports(to, fields::graph::kOutput, graph.outputs);
}

void write_opset(pbf_writer& to, std::string_view domain, std::int64_t version) {
  using namespace fields::opset;
  message(to, fields::model::kOpset, [&](pbf_writer& opset) {
    opset.add_string(kDomain, domain.data(), domain.size());
    opset.add_int64(kVersion, version);
  });
}

void copy_graph(pbf_writer& to, protozero::pbf_reader from, const OrtGraph& graph) {
  while (from.next()) {
    const bool replaced = (from.tag() == fields::graph::kInput && !graph.inputs.empty()) ||
                          (from.tag() == fields::graph::kOutput && !graph.outputs.empty());
    if (replaced)
      from.skip();
    else
      copy_field(from, to);
  }
  write_graph(to, graph);
}

const OrtGraph& graph_of(const OrtModel& model) {
  if (model.graph == nullptr) fail(ORT_FAIL, "the model has no graph: call AddGraphToModel");
  return *model.graph;
}

}  // namespace

std::string file_of(const OrtModel& model) {
  const OrtGraph& graph = graph_of(model);
  std::string bytes;
  pbf_writer to(bytes);
  to.add_int64(fields::model::kIr, kIrVersion);
  for (const auto& [domain, version] : model.opsets) write_opset(to, domain, version);
  message(to, fields::model::kGraph, [&](pbf_writer& part) {
    part.add_string(fields::graph::kName, "graph");
    write_graph(part, graph);
  });
  return bytes;
}

std::string extended(const std::string& file, const OrtModel& model) {
  const OrtGraph& graph = graph_of(model);
  std::string bytes;
  pbf_writer to(bytes);
  try {
    protozero::pbf_reader from(file);
    while (from.next()) {
      if (from.tag() == fields::model::kGraph)
        message(to, fields::model::kGraph, [&](pbf_writer& part) { copy_graph(part, from.get_message(), graph); });
      else
        copy_field(from, to);
    }
  } catch (const protozero::exception& error) {
    fail(ORT_INVALID_PROTOBUF, "the model is damaged: {}", error.what());
  }
  return bytes;
}

}  // namespace frazil::ort
