#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "base/value/error.h"
#include "ir/graph/model_info.h"
#include "tensor/onnx_fields.h"

// The messages of onnx.proto as views into the file. Readers throw protozero::exception on malformed bytes.
namespace frazil::onnx {

using proto::Reader;
using proto::Tag;
using proto::Wire;
using Bytes = std::span<const std::byte>;
using Texts = std::vector<std::string_view>;
inline constexpr std::size_t kMaxWarnings = 8;
/// The opset of each domain. "ai.onnx" is "".
using Opsets = std::map<std::string_view, std::int64_t>;

std::string_view plain_domain(std::string_view domain);

struct FunctionParts {
  std::string_view name, domain, overload;
  Texts inputs, outputs, attributes;
  std::vector<Bytes> defaults;  ///< AttributeProtos
  std::vector<Bytes> value_infos;
  Opsets opsets;
  Notes notes;
  Bytes whole;
};

struct ModelParts {
  bool has_graph = false;
  Bytes graph;
  Opsets opsets;
  std::vector<FunctionParts> functions;
  ModelInfo info;  ///< metadata without the graph
  std::vector<std::string> warnings;
};
Result<ModelParts> read_model(Bytes bytes);

/// A GraphProto without its nodes, which are decoded one by one from `whole`.
struct GraphParts {
  std::string_view name;
  std::vector<Bytes> initializers, sparse_initializers, inputs, outputs, value_infos, quantization;
  Notes notes;
  Bytes whole;
};
Result<GraphParts> read_graph(Bytes bytes);
inline constexpr Tag kGraphNode = 1;
inline constexpr Tag kFunctionNode = 7;

struct NodeParts {
  std::string_view name, op, domain, overload;
  Texts inputs, outputs;
  std::vector<Bytes> attributes;
  Notes notes;
};
Result<NodeParts> read_node(Bytes bytes);

struct SparseParts {
  Bytes values, indices;
  std::vector<std::int64_t> sizes;
};
Result<SparseParts> read_sparse(Bytes bytes);

/// Returns the notes of a ValueInfoProto (fields 3 and 4) or a TensorProto (fields 12 and 16).
Result<Notes> read_notes(Bytes bytes, Tag doc, Tag metadata);
Result<ModelInfo::Quantization> read_quantization(Bytes bytes);

// ---- fields ----
Result<std::string_view> text_field(Reader& reader);
Result<Bytes> message_field(Reader& reader);
Result<std::int64_t> integer_field(Reader& reader);

/// Calls fn(reader, tag) -> Result<bool> for each field. false means that fn has not read the field; it is then
/// skipped.
template <class Fn>
Status each_field(Bytes bytes, Fn fn) {
  Reader reader(bytes);
  while (reader.next()) {
    FRAZIL_TRY(const bool read, fn(reader, reader.tag()));
    if (!read) reader.skip();
  }
  return {};
}

/// Stores a field in the given variable, or appends it to the given vector.
inline Result<bool> store(Reader& reader, std::string_view& to) {
  FRAZIL_TRY(to, text_field(reader));
  return true;
}
inline Result<bool> store(Reader& reader, Bytes& to) {
  FRAZIL_TRY(to, message_field(reader));
  return true;
}
inline Result<bool> store(Reader& reader, std::int64_t& to) {
  FRAZIL_TRY(to, integer_field(reader));
  return true;
}
inline Result<bool> store(Reader& reader, std::string& to) {
  FRAZIL_TRY(to, text_field(reader));
  return true;
}
/// Appends a StringStringEntryProto.
Result<bool> store(Reader& reader, Properties& to);
template <class T>
Result<bool> store(Reader& reader, std::vector<T>& to) {
  return store(reader, to.emplace_back());
}

}  // namespace frazil::onnx
