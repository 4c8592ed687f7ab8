#include "compat/onnxruntime/custom/nodes.h"

#include <memory>
#include <utility>

#include <fcntl.h>
#include <protozero/pbf_reader.hpp>
#include <protozero/pbf_writer.hpp>
#include <sys/mman.h>
#include <unistd.h>

#include "compat/onnxruntime/graph/copy_field.h"
#include "compat/onnxruntime/graph/onnx_fields.h"
#include "compat/onnxruntime/status.h"

namespace frazil::ort {
namespace {

using protozero::pbf_reader;
using protozero::pbf_writer;

/// Reads a TensorProto by the reader of files.
ValueHandle tensor_of(std::string_view bytes) {
  const int file = ::memfd_create("tensor", MFD_CLOEXEC);
  if (file < 0) fail(ORT_FAIL, "an attribute cannot be read: there is no file in memory");
  struct Closed {
    int file;
    ~Closed() { ::close(file); }
  } const closed{file};
  for (std::size_t at = 0; at < bytes.size();) {
    const ssize_t written = ::write(file, bytes.data() + at, bytes.size() - at);
    if (written <= 0) fail(ORT_FAIL, "an attribute cannot be read: there is no memory for it");
    at += static_cast<std::size_t>(written);
  }
  return ValueHandle(value_of(api::Array::read_pb("/proc/self/fd/" + std::to_string(file))).release());
}

std::string_view text(protozero::data_view view) { return {view.data(), view.size()}; }

/// The parts of an AttributeProto.
struct AttributeParts {
  std::string name;
  int type = 0;
  float f = 0;
  std::int64_t i = 0;
  std::string s, t;
  std::vector<float> floats;
  std::vector<std::int64_t> ints;
  std::vector<std::string> strings;

  void read(pbf_reader& from) {
    const bool packed = from.wire_type() == protozero::pbf_wire_type::length_delimited;
    switch (from.tag()) {
      case fields::attribute::kName: name = from.get_string(); return;
      case fields::attribute::kType: type = from.get_enum(); return;
      case fields::attribute::kFloat: f = from.get_float(); return;
      case fields::attribute::kInt: i = from.get_int64(); return;
      case fields::attribute::kString: s = from.get_string(); return;
      case fields::attribute::kTensor: t = from.get_string(); return;
      case fields::attribute::kFloats:
        if (!packed) return floats.push_back(from.get_float());
        for (const float value : from.get_packed_float()) floats.push_back(value);
        return;
      case fields::attribute::kInts:
        if (!packed) return ints.push_back(from.get_int64());
        for (const std::int64_t value : from.get_packed_int64()) ints.push_back(value);
        return;
      case fields::attribute::kStrings: strings.push_back(from.get_string()); return;
      default: from.skip();
    }
  }
};

std::unique_ptr<OrtOpAttr> attribute_of(pbf_reader from) {
  AttributeParts parts;
  while (from.next()) parts.read(from);
  auto attribute = std::make_unique<OrtOpAttr>(OrtOpAttr{parts.name, {}});
  switch (parts.type) {
    case fields::attribute::float_: attribute->value = parts.f; break;
    case fields::attribute::int_: attribute->value = parts.i; break;
    case fields::attribute::string_: attribute->value = std::move(parts.s); break;
    case fields::attribute::tensor_: attribute->value = tensor_of(parts.t); break;
    case fields::attribute::floats: attribute->value = std::move(parts.floats); break;
    case fields::attribute::ints: attribute->value = std::move(parts.ints); break;
    case fields::attribute::strings: attribute->value = std::move(parts.strings); break;
    default:
      fail(ORT_NOT_IMPLEMENTED, "attribute '{}' of a custom operator: its kind {} is not supported", parts.name,
           parts.type);
  }
  return attribute;
}

OrtNode node_of(pbf_reader from) {
  OrtNode node;
  while (from.next()) {
    switch (from.tag()) {
      case fields::node::kInput: node.inputs.push_back(from.get_string()); break;
      case fields::node::kOutput: node.outputs.push_back(from.get_string()); break;
      case fields::node::kName: node.name = from.get_string(); break;
      case fields::node::kOp: node.op = from.get_string(); break;
      case fields::node::kDomain: node.domain = from.get_string(); break;
      default: from.skip();
    }
  }
  if (node.domain == "ai.onnx") node.domain.clear();
  return node;
}

class Numbering {
 public:
  explicit Numbering(const std::function<bool(std::string_view, std::string_view)>& custom) : custom_(custom) {}

  std::string model(const std::string& file) {
    return rewritten(file, [&](pbf_reader& from, pbf_writer& to) {
      if (from.tag() == fields::model::kGraph)
        return replace(from, to, [&](auto part) { return graph(part, fields::graph::kNode); });
      if (from.tag() == fields::model::kFunction)
        return replace(from, to, [&](auto part) { return graph(part, fields::function::kNode); });
      copy_field(from, to);
    });
  }
  std::vector<OrtNode> take() { return std::move(nodes_); }

 private:
  /// Copies a message; `field` writes each field.
  template <class F>
  static std::string rewritten(std::string_view message, F&& field) {
    std::string bytes;
    pbf_writer to(bytes);
    pbf_reader from(message.data(), message.size());
    while (from.next()) field(from, to);
    return bytes;
  }
  template <class F>
  static void replace(pbf_reader& from, pbf_writer& to, F&& rewrite) {
    const auto tag = from.tag();
    to.add_bytes(tag, rewrite(text(from.get_view())));
  }

  std::string graph(std::string_view message, unsigned node_field) {
    return rewritten(message, [&](pbf_reader& from, pbf_writer& to) {
      if (from.tag() == node_field)
        replace(from, to, [&](auto part) { return node(part); });
      else
        copy_field(from, to);
    });
  }

  std::string node(std::string_view message) {
    OrtNode read = node_of(pbf_reader(message.data(), message.size()));
    if (custom_(read.domain, read.op)) return numbered(message, std::move(read));
    return rewritten(message, [&](pbf_reader& from, pbf_writer& to) {
      if (from.tag() == fields::node::kAttribute)
        replace(from, to, [&](auto part) { return attribute(part); });
      else
        copy_field(from, to);
    });
  }

  std::string attribute(std::string_view message) {
    return rewritten(message, [&](pbf_reader& from, pbf_writer& to) {
      if (from.tag() == fields::attribute::kGraph || from.tag() == fields::attribute::kGraphs)
        replace(from, to, [&](auto part) { return graph(part, fields::graph::kNode); });
      else
        copy_field(from, to);
    });
  }

  std::string numbered(std::string_view message, OrtNode read) {
    std::string bytes = rewritten(message, [&](pbf_reader& from, pbf_writer& to) {
      if (from.tag() == fields::node::kAttribute)
        read.attributes.push_back(attribute_of(from.get_message()));
      else
        copy_field(from, to);
    });
    std::string number;
    pbf_writer attribute(number);
    attribute.add_string(fields::attribute::kName, NumberedFile::kNode);
    attribute.add_int64(fields::attribute::kInt, static_cast<std::int64_t>(nodes_.size()));
    attribute.add_enum(fields::attribute::kType, fields::attribute::int_);
    pbf_writer(bytes).add_bytes(fields::node::kAttribute, number);
    nodes_.push_back(std::move(read));
    return bytes;
  }

  const std::function<bool(std::string_view, std::string_view)>& custom_;
  std::vector<OrtNode> nodes_;
};

}  // namespace

NumberedFile number_nodes(const std::string& file,
                          const std::function<bool(std::string_view domain, std::string_view op)>& custom) {
  try {
    Numbering numbering(custom);
    std::string bytes = numbering.model(file);
    return {std::move(bytes), numbering.take()};
  } catch (const protozero::exception& error) {
    fail(ORT_INVALID_PROTOBUF, "the model is damaged: {}", error.what());
  }
}

}  // namespace frazil::ort
