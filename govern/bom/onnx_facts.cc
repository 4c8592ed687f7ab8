#include "govern/bom/onnx_facts.h"

#include <algorithm>
#include <set>

#include <protozero/pbf_reader.hpp>

#include "govern/base/error.h"

namespace frazil::govern {
namespace {

using protozero::data_view, protozero::pbf_reader;
using ImportedOpsets = std::map<std::string, std::int64_t>;

constexpr int kMaxGraphDepth = 64;

void require_wire_type(const pbf_reader& message, protozero::pbf_wire_type expected) {
  if (message.wire_type() != expected) throw protozero::unknown_pbf_wire_type_exception();
}
/// Read the current field. The library checks the wire type only in debug builds.
data_view field_view(pbf_reader& message) {
  require_wire_type(message, protozero::pbf_wire_type::length_delimited);
  return message.get_view();
}
pbf_reader field_message(pbf_reader& message) { return pbf_reader(field_view(message)); }
std::string field_text(pbf_reader& message) {
  const data_view view = field_view(message);
  return {view.data(), view.size()};
}
std::int64_t field_number(pbf_reader& message) {
  require_wire_type(message, protozero::pbf_wire_type::varint);
  return message.get_int64();
}

// Numbers of fields in onnx.proto.
namespace model_field {
constexpr protozero::pbf_tag_type kGraph = 7, kOpset = 8, kTraining = 20, kFunction = 25;
}
namespace function_field {
constexpr protozero::pbf_tag_type kNode = 7, kOpset = 9;
}
namespace graph_field {
constexpr protozero::pbf_tag_type kNode = 1, kInitializer = 5, kSparse = 15;
}
namespace node_field {
constexpr protozero::pbf_tag_type kOp = 4, kAttribute = 5, kDomain = 7;
}
namespace attribute_field {
constexpr protozero::pbf_tag_type kTensor = 5, kGraph = 6, kTensors = 10, kGraphs = 11, kSparse = 22, kSparses = 23;
}
constexpr protozero::pbf_tag_type kExternalData = 13;

void read_opset(pbf_reader message, ImportedOpsets& to) {
  std::string domain;
  std::int64_t version = 0;
  while (message.next()) {
    if (message.tag() == 1)
      domain = field_text(message);
    else if (message.tag() == 2)
      version = field_number(message);
    else
      message.skip();
  }
  to[domain == "ai.onnx" ? "" : domain] = version;
}

class OnnxWalk {
 public:
  explicit OnnxWalk(OnnxFacts& facts) : facts_(facts) {}

  void model(const data_view& bytes) {
    ImportedOpsets opsets;
    for (pbf_reader message(bytes); message.next(model_field::kOpset);) read_opset(field_message(message), opsets);
    for (pbf_reader message(bytes); message.next();) {
      switch (message.tag()) {
        case model_field::kGraph: graph(field_message(message), opsets, 0); break;
        case model_field::kTraining: training(field_message(message), opsets); break;
        case model_field::kFunction: function(field_view(message), opsets); break;
        default: message.skip();
      }
    }
    facts_.external.assign(locations_.begin(), locations_.end());
  }

 private:
  void training(pbf_reader message, const ImportedOpsets& opsets) {
    while (message.next()) {
      if (message.tag() <= 2)
        graph(field_message(message), opsets, 0);
      else
        message.skip();
    }
  }
  void function(const data_view& bytes, ImportedOpsets opsets) {
    for (pbf_reader message(bytes); message.next(function_field::kOpset);) read_opset(field_message(message), opsets);
    for (pbf_reader message(bytes); message.next(function_field::kNode);) node(field_message(message), opsets, 0);
  }
  void graph(pbf_reader message, const ImportedOpsets& opsets, int depth) {
    if (depth > kMaxGraphDepth) fail(Code::bad_model, "graphs are nested deeper than {}", kMaxGraphDepth);
    while (message.next()) {
      switch (message.tag()) {
        case graph_field::kNode: node(field_message(message), opsets, depth); break;
        case graph_field::kInitializer: tensor(field_message(message)); break;
        case graph_field::kSparse: sparse(field_message(message)); break;
        default: message.skip();
      }
    }
  }
  void node(pbf_reader message, const ImportedOpsets& opsets, int depth) {
    OnnxFacts::Operator used;
    while (message.next()) {
      switch (message.tag()) {
        case node_field::kOp: used.name = field_text(message); break;
        case node_field::kDomain: used.domain = field_text(message); break;
        case node_field::kAttribute: attribute(field_message(message), opsets, depth); break;
        default: message.skip();
      }
    }
    if (used.domain == "ai.onnx") used.domain.clear();
    if (const auto opset = opsets.find(used.domain); opset != opsets.end()) used.opset = opset->second;
    ++facts_.operators[used];
  }
  void attribute(pbf_reader message, const ImportedOpsets& opsets, int depth) {
    while (message.next()) {
      switch (message.tag()) {
        case attribute_field::kTensor:
        case attribute_field::kTensors: tensor(field_message(message)); break;
        case attribute_field::kGraph:
        case attribute_field::kGraphs: graph(field_message(message), opsets, depth + 1); break;
        case attribute_field::kSparse:
        case attribute_field::kSparses: sparse(field_message(message)); break;
        default: message.skip();
      }
    }
  }
  void sparse(pbf_reader message) {
    while (message.next()) {
      if (message.tag() <= 2)
        tensor(field_message(message));
      else
        message.skip();
    }
  }
  void tensor(pbf_reader message) {
    while (message.next(kExternalData)) entry(field_message(message));
  }
  void entry(pbf_reader message) {
    std::string key, value;
    while (message.next()) {
      if (message.tag() == 1)
        key = field_text(message);
      else if (message.tag() == 2)
        value = field_text(message);
      else
        message.skip();
    }
    if (key == "location") locations_.insert(std::move(value));
  }

  OnnxFacts& facts_;
  std::set<std::string> locations_;
};

}  // namespace

OnnxFacts read_onnx_facts(std::string_view bytes, std::string_view what) {
  OnnxFacts facts;
  try {
    OnnxWalk(facts).model(data_view(bytes.data(), bytes.size()));
  } catch (const protozero::exception&) {
    fail(Code::bad_model, "{}: it is not a complete ONNX file", what);
  } catch (const Error& error) {
    fail(error.code(), "{}: {}", what, error.what());
  }
  return facts;
}

}  // namespace frazil::govern
