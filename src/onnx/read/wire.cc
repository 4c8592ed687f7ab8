#include "onnx/read/wire.h"

namespace frazil::onnx {

std::string_view plain_domain(std::string_view domain) { return domain == "ai.onnx" ? "" : domain; }

Result<std::string_view> text_field(Reader& reader) {
  FRAZIL_CHECK(proto::expect_wire(reader, Wire::length_delimited));
  return reader.text();
}

Result<Bytes> message_field(Reader& reader) {
  FRAZIL_CHECK(proto::expect_wire(reader, Wire::length_delimited));
  return reader.bytes();
}

Result<std::int64_t> integer_field(Reader& reader) {
  FRAZIL_CHECK(proto::expect_wire(reader, Wire::varint));
  return static_cast<std::int64_t>(reader.varint());
}

Result<bool> store(Reader& reader, Properties& to) {
  FRAZIL_TRY(const Bytes entry, message_field(reader));
  auto& [key, value] = to.emplace_back();
  FRAZIL_CHECK(each_field(entry, [&](Reader& field, Tag tag) -> Result<bool> {
    if (tag == 1) return store(field, key);
    return tag == 2 ? store(field, value) : Result<bool>(false);
  }));
  return true;
}

namespace {

/// Reads an opset import. If a domain is imported more than once, the last version applies.
Status read_opset(Bytes bytes, Opsets& opsets, std::vector<std::string>& warnings) {
  std::string_view domain;
  std::int64_t version = 0;
  FRAZIL_CHECK(each_field(bytes, [&](Reader& reader, Tag tag) -> Result<bool> {
    switch (tag) {
      case 1: return store(reader, domain);
      case 2: return store(reader, version);
      default: return false;
    }
  }));
  if (version < 1) {
    return fail(Code::bad_model, "opset {} of domain '{}' is not a version", version,
                domain.empty() ? "ai.onnx" : proto::shown(domain));
  }
  const auto [known, fresh] = opsets.emplace(plain_domain(domain), version);
  if (!fresh && known->second != version && warnings.size() < kMaxWarnings) {
    warnings.push_back(fmt::format("domain '{}' is imported in opsets {} and {}; {} is used", proto::shown(domain),
                                   known->second, version, version));
  }
  known->second = version;
  return {};
}

Result<bool> store_opset(Reader& reader, Opsets& opsets, std::vector<std::string>& warnings) {
  FRAZIL_TRY(const Bytes bytes, message_field(reader));
  FRAZIL_CHECK(read_opset(bytes, opsets, warnings));
  return true;
}

Result<bool> skip_message(Reader& reader) {
  FRAZIL_CHECK(proto::expect_wire(reader, Wire::length_delimited));
  return false;
}

Result<bool> store_integers(Reader& reader, std::vector<std::int64_t>& to) {
  FRAZIL_CHECK(proto::each_varint(reader, [&](std::uint64_t v) { to.push_back(static_cast<std::int64_t>(v)); }));
  return true;
}

Result<FunctionParts> read_function(Bytes bytes, std::vector<std::string>& warnings) {
  FunctionParts parts;
  parts.whole = bytes;
  FRAZIL_CHECK(each_field(bytes, [&](Reader& reader, Tag tag) -> Result<bool> {
    switch (tag) {
      case 1: return store(reader, parts.name);
      case 4: return store(reader, parts.inputs);
      case 5: return store(reader, parts.outputs);
      case 6: return store(reader, parts.attributes);
      case 8: return store(reader, parts.notes.doc);
      case 9: return store_opset(reader, parts.opsets, warnings);
      case 10: return store(reader, parts.domain);
      case 11: return store(reader, parts.defaults);
      case 12: return store(reader, parts.value_infos);
      case 13: return store(reader, parts.overload);
      case 14: return store(reader, parts.notes.metadata);
      default: return false;
    }
  }));
  parts.domain = plain_domain(parts.domain);
  return parts;
}

}  // namespace

Result<ModelParts> read_model(Bytes bytes) {
  ModelParts parts;
  FRAZIL_CHECK(each_field(bytes, [&](Reader& reader, Tag tag) -> Result<bool> {
    switch (tag) {
      case 1: return store(reader, parts.info.ir_version);
      case 2: return store(reader, parts.info.producer);
      case 3: return store(reader, parts.info.producer_version);
      case 4: return store(reader, parts.info.domain);
      case 5: return store(reader, parts.info.model_version);
      case 6: return store(reader, parts.info.model.doc);
      case 7:
        if (parts.has_graph) return fail(Code::bad_model, "the model has two graphs");
        parts.has_graph = true;
        return store(reader, parts.graph);
      case 8: return store_opset(reader, parts.opsets, parts.warnings);
      case 14: return store(reader, parts.info.model.metadata);
      case 25: {
        FRAZIL_TRY(const Bytes function, message_field(reader));
        FRAZIL_TRY(parts.functions.emplace_back(), read_function(function, parts.warnings));
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
  FRAZIL_CHECK(each_field(bytes, [&](Reader& reader, Tag tag) -> Result<bool> {
    switch (tag) {
      case kGraphNode: return skip_message(reader);
      case 2: return store(reader, parts.name);
      case 5: return store(reader, parts.initializers);
      case 10: return store(reader, parts.notes.doc);
      case 11: return store(reader, parts.inputs);
      case 12: return store(reader, parts.outputs);
      case 13: return store(reader, parts.value_infos);
      case 14: return store(reader, parts.quantization);
      case 15: return store(reader, parts.sparse_initializers);
      case 16: return store(reader, parts.notes.metadata);
      default: return false;
    }
  }));
  return parts;
}

Result<NodeParts> read_node(Bytes bytes) {
  NodeParts parts;
  FRAZIL_CHECK(each_field(bytes, [&](Reader& reader, Tag tag) -> Result<bool> {
    switch (tag) {
      case 1: return store(reader, parts.inputs);
      case 2: return store(reader, parts.outputs);
      case 3: return store(reader, parts.name);
      case 4: return store(reader, parts.op);
      case 5: return store(reader, parts.attributes);
      case 6: return store(reader, parts.notes.doc);
      case 7: return store(reader, parts.domain);
      case 8: return store(reader, parts.overload);
      case 9: return store(reader, parts.notes.metadata);
      default: return false;
    }
  }));
  parts.domain = plain_domain(parts.domain);
  return parts;
}

Result<Notes> read_notes(Bytes bytes, Tag doc, Tag metadata) {
  Notes notes;
  FRAZIL_CHECK(each_field(bytes, [&](Reader& reader, Tag tag) -> Result<bool> {
    if (tag == doc) return store(reader, notes.doc);
    return tag == metadata ? store(reader, notes.metadata) : Result<bool>(false);
  }));
  return notes;
}

Result<ModelInfo::Quantization> read_quantization(Bytes bytes) {
  ModelInfo::Quantization quantization;
  FRAZIL_CHECK(each_field(bytes, [&](Reader& reader, Tag tag) -> Result<bool> {
    if (tag == 1) return store(reader, quantization.tensor);
    return tag == 2 ? store(reader, quantization.parameters) : Result<bool>(false);
  }));
  return quantization;
}

Result<SparseParts> read_sparse(Bytes bytes) {
  SparseParts parts;
  FRAZIL_CHECK(each_field(bytes, [&](Reader& reader, Tag tag) -> Result<bool> {
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
