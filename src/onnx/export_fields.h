#pragma once

#include <string>
#include <string_view>

#include <protozero/pbf_writer.hpp>

#include "ir/graph.h"
#include "ir/model_info.h"

// Messages of onnx.proto that more than one of the exporter's files writes.
namespace frazil::onnx {

using Writer = protozero::pbf_writer;

inline void add_text(Writer& writer, protozero::pbf_tag_type tag, std::string_view text) {
  if (!text.empty()) writer.add_string(tag, text.data(), text.size());
}
/// StringStringEntryProtos.
void add_properties(Writer& writer, protozero::pbf_tag_type tag, const Properties& properties);

/// A TypeProto. Extents that are numbers or symbols with a name of the user's are said, others left open.
class TypeWriter {
 public:
  /// `value` is the name of what has the type: symbols that are named after it are those of the importer.
  TypeWriter(const Scope& scope, std::string_view value) : scope_(scope), value_(value) {}
  std::string write(const Type& type) const;

 private:
  std::string shape(const Shape& shape) const;
  std::string dim(Dim d, std::size_t axis) const;

  const Scope& scope_;
  std::string_view value_;
};

/// What the model says of the symbols of its inputs whose bounds are not the default ones; see kBoundsKey.
Properties bounds_of_symbols(const Graph& graph);

/// A ValueInfoProto.
std::string value_info(std::string_view name, const Type& type, const Scope& scope, const Notes* notes = nullptr);

/// The AttributeProtos of a node, without those of its blocks, that differ from their defaults.
Result<std::vector<std::string>> attribute_protos(const Node& node, std::string_view left_out = {});
std::string ints_attribute(std::string_view name, const Ints& values);
std::string graph_attribute(std::string_view name, std::string_view graph);
std::string tensor_attribute(std::string_view name, std::string_view tensor);

}  // namespace frazil::onnx
