#pragma once

#include <string>
#include <string_view>

#include <protozero/pbf_writer.hpp>

#include "ir/graph/graph.h"
#include "ir/graph/model_info.h"

// Writers of messages of onnx.proto that several files of the exporter need.
namespace frazil::onnx {

using Writer = protozero::pbf_writer;

inline void add_text(Writer& writer, protozero::pbf_tag_type tag, std::string_view text) {
  if (!text.empty()) writer.add_string(tag, text.data(), text.size());
}
/// Writes StringStringEntryProtos.
void add_properties(Writer& writer, protozero::pbf_tag_type tag, const Properties& properties);

/// A writer of TypeProtos. It writes extents that are numbers or symbols named by the user, and omits others.
class TypeWriter {
 public:
  /// `value` is the name of the typed value. The importer generated the symbols that are named after it.
  TypeWriter(const Scope& scope, std::string_view value) : scope_(scope), value_(value) {}
  std::string write(const Type& type) const;

 private:
  std::string shape(const Shape& shape) const;
  std::string dim(Dim d, std::size_t axis) const;

  const Scope& scope_;
  std::string_view value_;
};

/// Returns the metadata for symbols of the inputs with non-default bounds. See kBoundsKey.
Properties bounds_of_symbols(const Graph& graph);

/// Returns a ValueInfoProto.
std::string value_info(std::string_view name, const Type& type, const Scope& scope, const Notes* notes = nullptr);

/// Returns the AttributeProtos of a node that differ from their defaults, without its blocks.
Result<std::vector<std::string>> attribute_protos(const Node& node, std::string_view left_out = {});
std::string ints_attribute(std::string_view name, const Ints& values);
std::string graph_attribute(std::string_view name, std::string_view graph);
std::string tensor_attribute(std::string_view name, std::string_view tensor);

}  // namespace frazil::onnx
