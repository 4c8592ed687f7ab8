#include "onnx/wire.h"

namespace frazil::onnx {

using protozero::pbf_reader;
using protozero::pbf_tag_type;
using protozero::pbf_wire_type;

std::string_view plain_domain(std::string_view domain) { return domain == "ai.onnx" ? "" : domain; }

Result<std::string_view> text_field(pbf_reader& reader) {
  FRAZIL_CHECK(proto::expect_wire(reader, pbf_wire_type::length_delimited));
  return proto::text_of(reader.get_view());
}

Result<Bytes> message_field(pbf_reader& reader) {
  FRAZIL_CHECK(proto::expect_wire(reader, pbf_wire_type::length_delimited));
  return proto::bytes_of(reader.get_view());
}

Result<std::int64_t> integer_field(pbf_reader& reader) {
  FRAZIL_CHECK(proto::expect_wire(reader, pbf_wire_type::varint));
  return reader.get_int64();
}

namespace {

Status read_opset(Bytes bytes, Opsets& opsets) {
  std::string_view domain;
  std::int64_t version = 0;
  FRAZIL_CHECK(each_field(bytes, [&](pbf_reader& reader, pbf_tag_type tag) -> Result<bool> {
    switch (tag) {
      case 1: return store(reader, domain);
      case 2: return store(reader, version);
      default: return false;
    }
  }));
  if (version < 1) {
    return fail(Code::bad_model, "opset {} of domain '{}' is not a version", version, proto::shown(domain));
  }
  opsets[plain_domain(domain)] = version;
  return {};
}

Result<bool> store_opset(pbf_reader& reader, Opsets& opsets) {
  FRAZIL_TRY(const Bytes bytes, message_field(reader));
  FRAZIL_CHECK(read_opset(bytes, opsets));
  return true;
}

Result<bool> skip_message(pbf_reader& reader) {
  FRAZIL_CHECK(proto::expect_wire(reader, pbf_wire_type::length_delimited));
  return false;
}

Result<bool> store_integers(pbf_reader& reader, std::vector<std::int64_t>& to) {
  FRAZIL_CHECK(proto::each_varint(reader, [&](std::uint64_t v) { to.push_back(static_cast<std::int64_t>(v)); }));
  return true;
}

Result<FunctionParts> read_function(Bytes bytes) {
  FunctionParts parts;
  parts.whole = bytes;
  FRAZIL_CHECK(each_field(bytes, [&](pbf_reader& reader, pbf_tag_type tag) -> Result<bool> {
    switch (tag) {
      case 1: return store(reader, parts.name);
      case 4: return store(reader, parts.inputs);
      case 5: return store(reader, parts.outputs);
      case 6: return store(reader, parts.attributes);
      case 9: return store_opset(reader, parts.opsets);
      case 10: return store(reader, parts.domain);
      case 11: return store(reader, parts.defaults);
      case 13: return store(reader, parts.overload);
      default: return false;
    }
  }));
  parts.domain = plain_domain(parts.domain);
  return parts;
}

}  // namespace

Result<ModelParts> read_model(Bytes bytes) {
  ModelParts parts;
  FRAZIL_CHECK(each_field(bytes, [&](pbf_reader& reader, pbf_tag_type tag) -> Result<bool> {
    switch (tag) {
      case 1: return store(reader, parts.ir_version);
      case 7:
        if (parts.has_graph) return fail(Code::bad_model, "the model has two graphs");
        parts.has_graph = true;
        return store(reader, parts.graph);
      case 8: return store_opset(reader, parts.opsets);
      case 25: {
        FRAZIL_TRY(const Bytes function, message_field(reader));
        FRAZIL_TRY(parts.functions.emplace_back(), read_function(function));
        return true;
      }
      default: return false;
    }
  }));
  return parts;
}

Result<GraphParts> read_graph(Bytes bytes) {
  GraphParts parts;
  parts.whole = bytes;
  FRAZIL_CHECK(each_field(bytes, [&](pbf_reader& reader, pbf_tag_type tag) -> Result<bool> {
    switch (tag) {
      case kGraphNode: return skip_message(reader);
      case 2: return store(reader, parts.name);
      case 5: return store(reader, parts.initializers);
      case 11: return store(reader, parts.inputs);
      case 12: return store(reader, parts.outputs);
      case 15: return store(reader, parts.sparse_initializers);
      default: return false;
    }
  }));
  return parts;
}

Result<NodeParts> read_node(Bytes bytes) {
  NodeParts parts;
  FRAZIL_CHECK(each_field(bytes, [&](pbf_reader& reader, pbf_tag_type tag) -> Result<bool> {
    switch (tag) {
      case 1: return store(reader, parts.inputs);
      case 2: return store(reader, parts.outputs);
      case 3: return store(reader, parts.name);
      case 4: return store(reader, parts.op);
      case 5: return store(reader, parts.attributes);
      case 7: return store(reader, parts.domain);
      case 8: return store(reader, parts.overload);
      default: return false;
    }
  }));
  parts.domain = plain_domain(parts.domain);
  return parts;
}

Result<NodeParts> read_node_outputs(Bytes bytes) {
  NodeParts parts;
  FRAZIL_CHECK(each_field(bytes, [&](pbf_reader& reader, pbf_tag_type tag) -> Result<bool> {
    switch (tag) {
      case 2: return store(reader, parts.outputs);
      case 3: return store(reader, parts.name);
      case 4: return store(reader, parts.op);
      default: return false;
    }
  }));
  return parts;
}

Result<SparseParts> read_sparse(Bytes bytes) {
  SparseParts parts;
  FRAZIL_CHECK(each_field(bytes, [&](pbf_reader& reader, pbf_tag_type tag) -> Result<bool> {
    switch (tag) {
      case 1: return store(reader, parts.values);
      case 2: return store(reader, parts.indices);
      case 3: return store_integers(reader, parts.sizes);
      default: return false;
    }
  }));
  return parts;
}

}  // namespace frazil::onnx
