#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include <protozero/pbf_writer.hpp>

#include "tensor/onnx_proto.h"
#include "tensor/tensor.h"

// Writes ONNX messages as strings, for tests.
namespace frazil::test {

using Message = std::string;

/// One field appended to a message.
template <class Fn>
Message with(Message message, Fn fn) {
  protozero::pbf_writer writer(message);
  fn(writer);
  return message;
}
inline Message text(Message to, int tag, std::string_view value) {
  return with(std::move(to), [&](auto& w) { w.add_bytes(static_cast<unsigned>(tag), value.data(), value.size()); });
}
inline Message number(Message to, int tag, std::int64_t value) {
  return with(std::move(to), [&](auto& w) { w.add_int64(static_cast<unsigned>(tag), value); });
}

// ---- attributes ----
inline Message attribute(std::string_view name, int type) { return number(text({}, 1, name), 20, type); }
inline Message attr(std::string_view name, std::int64_t value) { return number(attribute(name, 2), 3, value); }
inline Message attr(std::string_view name, int value) { return attr(name, std::int64_t{value}); }
inline Message attr(std::string_view name, float value) {
  return with(attribute(name, 1), [&](auto& w) { w.add_float(2, value); });
}
inline Message attr(std::string_view name, const char* value) { return text(attribute(name, 3), 4, value); }
inline Message attr(std::string_view name, const std::vector<std::int64_t>& values) {
  return with(attribute(name, 7), [&](auto& w) { w.add_packed_int64(8, values.begin(), values.end()); });
}
inline Message attr(std::string_view name, const std::vector<float>& values) {
  return with(attribute(name, 6), [&](auto& w) { w.add_packed_float(7, values.begin(), values.end()); });
}
inline Message attr(std::string_view name, const Tensor& value) {
  return text(attribute(name, 4), 5, tensor_to_proto(value).value());
}
inline Message graph_attr(std::string_view name, std::string_view graph) { return text(attribute(name, 5), 6, graph); }
inline Message ref_attr(std::string_view name, int type, std::string_view of) {
  return text(attribute(name, type), 21, of);
}

// ---- types ----
/// "" stands for an unnamed dimension; digits for a constant.
inline Message tensor_type(Elem elem, const std::vector<std::string>& dims) {
  Message shape;
  for (const std::string& d : dims) {
    const bool constant = !d.empty() && d.find_first_not_of("0123456789") == std::string::npos;
    shape = text(shape, 1, constant ? number({}, 1, std::stoll(d)) : d.empty() ? Message{} : text({}, 2, d));
  }
  return text({}, 1, text(number({}, 1, onnx_data_type(elem)), 2, shape));
}
inline Message unranked_type(Elem elem) { return text({}, 1, number({}, 1, onnx_data_type(elem))); }
inline Message sequence_type(const Message& item) { return text({}, 4, text({}, 1, item)); }
inline Message value(std::string_view name, std::string_view type = {}) {
  return type.empty() ? text({}, 1, name) : text(text({}, 1, name), 2, type);
}
inline Message f32(std::string_view name, const std::vector<std::string>& dims) {
  return value(name, tensor_type(Elem::f32, dims));
}

// ---- nodes and graphs ----
using Names = std::vector<std::string>;

struct NodeSpec {
  std::string op;
  Names inputs, outputs;
  std::vector<Message> attrs = {};
  std::string name = {};
  std::string domain = {};
  std::string overload = {};
  Message more = {};  ///< further fields
};
inline Message node(const NodeSpec& spec) {
  Message m;
  for (const auto& s : spec.inputs) m = text(std::move(m), 1, s);
  for (const auto& s : spec.outputs) m = text(std::move(m), 2, s);
  if (!spec.name.empty()) m = text(std::move(m), 3, spec.name);
  m = text(std::move(m), 4, spec.op);
  for (const auto& a : spec.attrs) m = text(std::move(m), 5, a);
  if (!spec.domain.empty()) m = text(std::move(m), 7, spec.domain);
  if (!spec.overload.empty()) m = text(std::move(m), 8, spec.overload);
  return m + spec.more;
}

struct GraphSpec {
  std::vector<NodeSpec> nodes;
  std::vector<Message> inputs, outputs;
  std::vector<Message> initializers = {};
  std::vector<Message> sparse = {};
  Message more = {};
};
inline Message graph(const GraphSpec& spec) {
  Message m;
  for (const auto& n : spec.nodes) m = text(std::move(m), 1, node(n));
  m = text(std::move(m), 2, "g");
  for (const auto& t : spec.initializers) m = text(std::move(m), 5, t);
  for (const auto& v : spec.inputs) m = text(std::move(m), 11, v);
  for (const auto& v : spec.outputs) m = text(std::move(m), 12, v);
  for (const auto& t : spec.sparse) m = text(std::move(m), 15, t);
  return m + spec.more;
}

using OpsetSpecs = std::vector<std::pair<std::string, std::int64_t>>;

struct FunctionSpec {
  std::string name;
  Names inputs, outputs, attributes;
  std::vector<NodeSpec> nodes;
  std::vector<Message> defaults = {};
  std::string domain = "local";
  std::string overload = {};
  OpsetSpecs opsets = {{"", 21}, {"local", 1}};
  Message more = {};
};
inline Message opset(std::string_view domain, std::int64_t version) { return number(text({}, 1, domain), 2, version); }
inline Message function(const FunctionSpec& spec) {
  Message m = text({}, 1, spec.name);
  for (const auto& s : spec.inputs) m = text(std::move(m), 4, s);
  for (const auto& s : spec.outputs) m = text(std::move(m), 5, s);
  for (const auto& s : spec.attributes) m = text(std::move(m), 6, s);
  for (const auto& n : spec.nodes) m = text(std::move(m), 7, node(n));
  for (const auto& [domain, version] : spec.opsets) m = text(std::move(m), 9, opset(domain, version));
  m = text(std::move(m), 10, spec.domain);
  for (const auto& a : spec.defaults) m = text(std::move(m), 11, a);
  if (!spec.overload.empty()) m = text(std::move(m), 13, spec.overload);
  return m + spec.more;
}

struct ModelSpec {
  std::int64_t opset = 21;
  std::int64_t ir = 10;
  std::vector<FunctionSpec> functions = {};
  OpsetSpecs opsets = {};  ///< of other domains
  Message more = {};
};
inline Message model(const Message& graph_bytes, const ModelSpec& spec = {}) {
  Message m = text(number({}, 1, spec.ir), 7, graph_bytes);
  m = text(std::move(m), 8, opset("", spec.opset));
  if (!spec.functions.empty()) m = text(std::move(m), 8, opset("local", 1));
  for (const auto& [domain, version] : spec.opsets) m = text(std::move(m), 8, opset(domain, version));
  for (const auto& f : spec.functions) m = text(std::move(m), 25, function(f));
  return m + spec.more;
}

inline Message initializer(std::string_view name, const Tensor& tensor) {
  return tensor_to_proto(tensor, name).value();
}

}  // namespace frazil::test
