#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include <protozero/pbf_reader.hpp>

#include "base/error.h"
#include "tensor/onnx_fields.h"

// The messages of onnx.proto as views into the file. Readers throw protozero::exception on damaged bytes.
namespace frazil::onnx {

using Bytes = std::span<const std::byte>;
using Texts = std::vector<std::string_view>;
/// Opset by domain; "ai.onnx" is "".
using Opsets = std::map<std::string_view, std::int64_t>;

std::string_view plain_domain(std::string_view domain);

struct FunctionParts {
  std::string_view name, domain, overload;
  Texts inputs, outputs, attributes;
  std::vector<Bytes> defaults;  ///< AttributeProtos
  Opsets opsets;
  Bytes whole;
};

struct ModelParts {
  std::int64_t ir_version = 0;
  bool has_graph = false;
  Bytes graph;
  Opsets opsets;
  std::vector<FunctionParts> functions;
};
Result<ModelParts> read_model(Bytes bytes);

/// A GraphProto without its nodes, which are read one by one from `whole`.
struct GraphParts {
  std::string_view name;
  std::vector<Bytes> initializers, sparse_initializers, inputs, outputs;
  Bytes whole;
};
Result<GraphParts> read_graph(Bytes bytes);
inline constexpr protozero::pbf_tag_type kGraphNode = 1;
inline constexpr protozero::pbf_tag_type kFunctionNode = 7;

struct NodeParts {
  std::string_view name, op, domain, overload;
  Texts inputs, outputs;
  std::vector<Bytes> attributes;
};
Result<NodeParts> read_node(Bytes bytes);
/// Names of a NodeProto's outputs only.
Result<NodeParts> read_node_outputs(Bytes bytes);

struct SparseParts {
  Bytes values, indices;
  std::vector<std::int64_t> sizes;
};
Result<SparseParts> read_sparse(Bytes bytes);

// ---- fields ----
Result<std::string_view> text_field(protozero::pbf_reader& reader);
Result<Bytes> message_field(protozero::pbf_reader& reader);
Result<std::int64_t> integer_field(protozero::pbf_reader& reader);

/// Calls fn(reader, tag) -> Result<bool> for each field; false: the field was not read and is skipped.
template <class Fn>
Status each_field(Bytes bytes, Fn fn) {
  protozero::pbf_reader reader(proto::view_of(bytes));
  while (reader.next()) {
    FRAZIL_TRY(const bool read, fn(reader, reader.tag()));
    if (!read) reader.skip();
  }
  return {};
}

/// Stores a field into the variable or at the end of the vector given.
inline Result<bool> store(protozero::pbf_reader& reader, std::string_view& to) {
  FRAZIL_TRY(to, text_field(reader));
  return true;
}
inline Result<bool> store(protozero::pbf_reader& reader, Bytes& to) {
  FRAZIL_TRY(to, message_field(reader));
  return true;
}
inline Result<bool> store(protozero::pbf_reader& reader, std::int64_t& to) {
  FRAZIL_TRY(to, integer_field(reader));
  return true;
}
template <class T>
Result<bool> store(protozero::pbf_reader& reader, std::vector<T>& to) {
  return store(reader, to.emplace_back());
}

}  // namespace frazil::onnx
