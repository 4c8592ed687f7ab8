#include "wrap_model.h"

#include <set>
#include <vector>

#include <protozero/pbf_reader.hpp>
#include <protozero/pbf_writer.hpp>

namespace frazil::test {
namespace {

using protozero::pbf_reader;
using protozero::pbf_writer;

constexpr protozero::pbf_tag_type kNode = 1, kName = 2, kInitializer = 5, kInput = 11, kOutput = 12;

std::string name_in(protozero::data_view message, protozero::pbf_tag_type tag) {
  pbf_reader reader(message);
  std::string name;
  while (reader.next()) {
    if (reader.tag() == tag) {
      name = reader.get_string();
    } else {
      reader.skip();
    }
  }
  return name;
}

bool is_tensor(protozero::data_view value_info) {
  pbf_reader reader(value_info);
  while (reader.next(2)) {
    pbf_reader type(reader.get_view());
    return type.next() && type.tag() == 1;
  }
  return true;
}

void add_node(pbf_writer& graph, std::string_view op, const std::vector<std::string>& in,
              const std::vector<std::string>& out, const std::vector<std::string>& attributes = {}) {
  pbf_writer node(graph, kNode);
  for (const std::string& name : in) node.add_string(1, name);
  for (const std::string& name : out) node.add_string(2, name);
  node.add_string(4, op.data(), op.size());
  for (const std::string& attribute : attributes) node.add_message(5, attribute);
}

std::string graph_attribute(std::string_view name, const std::string& graph) {
  std::string out;
  pbf_writer writer(out);
  writer.add_string(1, name.data(), name.size());
  writer.add_message(6, graph);
  writer.add_enum(20, 5);
  return out;
}

/// A scalar as a TensorProto: a bool (type 9) or an i64 (type 7).
void add_scalar(pbf_writer& graph, std::string_view name, int type, std::int64_t value) {
  pbf_writer tensor(graph, kInitializer);
  tensor.add_int32(2, type);
  tensor.add_string(8, name.data(), name.size());
  tensor.add_bytes(9, reinterpret_cast<const char*>(&value), type == 9 ? 1 : 8);
}

/// A ValueInfoProto of a scalar.
void add_scalar_info(pbf_writer& graph, protozero::pbf_tag_type tag, std::string_view name, int type) {
  pbf_writer info(graph, tag);
  info.add_string(1, name.data(), name.size());
  pbf_writer value(info, 2);
  pbf_writer tensor(value, 1);
  tensor.add_int32(1, type);
  pbf_writer shape(tensor, 2);
}

/// The GraphProto's fields, separated into those inside and outside the subgraph.
struct Parts {
  std::string inner;    ///< nodes, initializers, notes
  std::string inputs;   ///< those without an initializer
  std::string outputs;  ///< of the inner graph
  std::vector<std::string> output_names, output_infos;
  bool all_tensors = true;
};

Parts parts_of(protozero::data_view graph) {
  Parts parts;
  std::set<std::string> initialized;
  for (pbf_reader reader(graph); reader.next(kInitializer);) initialized.insert(name_in(reader.get_view(), 8));
  pbf_writer inner(parts.inner), inputs(parts.inputs), outputs(parts.outputs);
  for (pbf_reader reader(graph); reader.next();) {
    const protozero::pbf_tag_type tag = reader.tag();
    if (reader.wire_type() != protozero::pbf_wire_type::length_delimited) {
      reader.skip();
      continue;
    }
    const protozero::data_view bytes = reader.get_view();
    if (tag == kInput) {
      if (!initialized.contains(name_in(bytes, 1))) inputs.add_message(tag, bytes);
    } else if (tag == kOutput) {
      parts.output_names.push_back(name_in(bytes, 1));
      parts.output_infos.push_back(bytes.to_string());
      parts.all_tensors &= is_tensor(bytes);
      outputs.add_message(tag, bytes);
    } else {
      inner.add_message(tag, bytes);
    }
  }
  return parts;
}

std::vector<std::string> outer_names(const Parts& parts, std::string_view stem) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < parts.output_names.size(); ++i) names.push_back(std::string(stem) + std::to_string(i));
  return names;
}

/// The ValueInfoProto under another name.
std::string renamed(const std::string& info, const std::string& name) {
  std::string out;
  pbf_writer writer(out);
  writer.add_string(1, name);
  for (pbf_reader reader(info); reader.next();) {
    if (reader.tag() == 2) {
      writer.add_message(2, reader.get_view());
    } else {
      reader.skip();
    }
  }
  return out;
}

void add_outputs(pbf_writer& graph, const Parts& parts, const std::vector<std::string>& names) {
  for (std::size_t i = 0; i < names.size(); ++i) graph.add_message(kOutput, renamed(parts.output_infos[i], names[i]));
}

std::string in_branches(const Parts& parts) {
  std::string branch = parts.inner + parts.outputs, out = parts.inputs;
  pbf_writer(branch).add_string(kName, "branch");
  pbf_writer graph(out);
  graph.add_string(kName, "wrapped");
  add_scalar(graph, "wrap_cond", 9, 1);
  const auto names = outer_names(parts, "wrap_out");
  add_node(graph, "If", {"wrap_cond"}, names,
           {graph_attribute("then_branch", branch), graph_attribute("else_branch", branch)});
  add_outputs(graph, parts, names);
  return out;
}

std::string in_loop(const Parts& parts) {
  std::string body;
  pbf_writer inside(body);
  add_scalar_info(inside, kInput, "wrap_i", 7);
  add_scalar_info(inside, kInput, "wrap_on", 9);
  body += parts.inner;
  add_node(inside, "Identity", {"wrap_on"}, {"wrap_more"});
  add_scalar_info(inside, kOutput, "wrap_more", 9);
  body += parts.outputs;
  inside.add_string(kName, "body");
  std::string out = parts.inputs;
  pbf_writer graph(out);
  graph.add_string(kName, "wrapped");
  add_scalar(graph, "wrap_count", 7, 1);
  add_scalar(graph, "wrap_zero", 7, 0);
  const auto stacked = outer_names(parts, "wrap_stack"), names = outer_names(parts, "wrap_out");
  add_node(graph, "Loop", {"wrap_count", ""}, stacked, {graph_attribute("body", body)});
  for (std::size_t i = 0; i < names.size(); ++i) add_node(graph, "Gather", {stacked[i], "wrap_zero"}, {names[i]});
  add_outputs(graph, parts, names);
  return out;
}

/// The ValueInfoProto of a tensor with a symbol for each extent; others are unchanged.
std::string symbolic(protozero::data_view info) {
  const std::string name = name_in(info, 1);
  std::size_t rank = 0;
  std::int32_t elem = 0;
  bool shaped = false;
  for (pbf_reader outer(info); outer.next(2);) {
    for (pbf_reader type(outer.get_view()); type.next(1);) {
      for (pbf_reader tensor(type.get_view()); tensor.next();) {
        if (tensor.tag() == 1) {
          elem = tensor.get_int32();
        } else if (tensor.tag() == 2) {
          shaped = true;
          for (pbf_reader shape(tensor.get_view()); shape.next(1); shape.skip()) ++rank;
        } else {
          tensor.skip();
        }
      }
    }
  }
  // The length of a list determines a rank.
  const bool list = rank == 1 && (elem == 6 || elem == 7);
  if (!shaped || list) return info.to_string();
  std::string shape, tensor, type, out;
  for (std::size_t axis = 0; axis < rank; ++axis) {
    pbf_writer extents(shape);
    pbf_writer dim(extents, 1);
    dim.add_string(2, name + "_" + std::to_string(axis));
  }
  pbf_writer fields(tensor);
  fields.add_int32(1, elem);
  fields.add_message(2, shape);
  pbf_writer(type).add_message(1, tensor);
  pbf_writer writer(out);
  writer.add_string(1, name);
  writer.add_message(2, type);
  return out;
}

std::string with_symbols(const Parts& parts, protozero::data_view graph) {
  std::string out = parts.inner;
  pbf_writer writer(out);
  for (pbf_reader reader(parts.inputs); reader.next(kInput);) writer.add_message(kInput, symbolic(reader.get_view()));
  for (pbf_reader reader(graph); reader.next(kOutput);) writer.add_message(kOutput, reader.get_view());
  return out;
}

std::string graph_in(const Parts& parts, protozero::data_view graph, Wrap wrap) {
  switch (wrap) {
    case Wrap::then_branch: return in_branches(parts);
    case Wrap::loop_body: return in_loop(parts);
    default: return with_symbols(parts, graph);
  }
}

/// Whether a model imports an opset of ONNX's own domain, which the added nodes require.
bool has_main_opset(protozero::data_view model) {
  for (pbf_reader reader(model); reader.next(8);) {
    const std::string domain = name_in(reader.get_view(), 1);
    if (domain.empty() || domain == "ai.onnx") return true;
  }
  return false;
}

}  // namespace

Result<std::string> wrapped(std::span<const std::byte> model, Wrap wrap) {
  const protozero::data_view bytes(reinterpret_cast<const char*>(model.data()), model.size());
  if (wrap == Wrap::none) return bytes.to_string();
  std::string out;
  pbf_writer writer(out);
  if (!has_main_opset(bytes)) {
    pbf_writer opset(writer, 8);
    opset.add_int64(2, 13);
  }
  for (pbf_reader reader(bytes); reader.next();) {
    if (reader.wire_type() == protozero::pbf_wire_type::varint) {
      writer.add_int64(reader.tag(), reader.get_int64());
    } else if (reader.tag() != 7) {
      const auto tag = reader.tag();
      writer.add_message(tag, reader.get_view());
    } else {
      const protozero::data_view graph = reader.get_view();
      const Parts parts = parts_of(graph);
      if (wrap == Wrap::loop_body && !parts.all_tensors)
        return fail(Code::unsupported, "only tensors are scan outputs");
      writer.add_message(7, graph_in(parts, graph, wrap));
    }
  }
  return out;
}

}  // namespace frazil::test
