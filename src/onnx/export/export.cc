#include "onnx/export/export.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <unordered_map>
#include <unordered_set>

#include "base/limits/limits.h"
#include "base/os/io.h"
#include "ir/op/op.h"
#include "ir/text/text_walk.h"
#include "onnx/export/calls.h"
#include "onnx/export/fields.h"
#include "onnx/export/names.h"
#include "onnx/export/opsets.h"
#include "onnx/read/wire.h"
#include "onnx/upgrade/rules.h"
#include "tensor/onnx_fields.h"
#include "tensor/onnx_proto.h"

namespace frazil::onnx {
namespace {

constexpr std::size_t kMaxBytes = (std::size_t{1} << 31) - 1;

/// The contents of the external data file.
class ExternalData {
 public:
  ExternalData(std::string location, std::size_t least) : location_(std::move(location)), least_(least) {}

  bool takes(const Tensor& tensor) const {
    return least_ != 0 && tensor.bytes() >= least_ && tensor.elem() != Elem::string && bit_width(tensor.elem()) >= 8;
  }
  /// Adds the tensor. Returns a TensorProto that refers to the file.
  Result<std::string> add(const Tensor& tensor, std::string_view name) {
    FRAZIL_TRY(const Tensor packed, tensor.packed());
    pad();
    std::string out;
    Writer writer(out);
    for (const std::int64_t size : packed.sizes()) writer.add_int64(proto::kDims, size);
    writer.add_int32(proto::kDataType, onnx_data_type(packed.elem()));
    add_text(writer, proto::kTensorName, name);
    add_properties(
        writer, proto::kExternalData,
        {{"location", location_}, {"offset", std::to_string(size_)}, {"length", std::to_string(packed.bytes())}});
    writer.add_enum(proto::kDataLocation, 1);
    pieces_.emplace_back(packed.data(), packed.bytes());
    size_ += packed.bytes();
    kept_.push_back(packed);
    return out;
  }
  const std::string& location() const { return location_; }
  const std::vector<std::span<const std::byte>>& pieces() const { return pieces_; }

 private:
  /// Pads the file to a page boundary, so that readers can map the next tensor.
  void pad() {
    static constexpr std::byte kZeros[4096] = {};
    const std::size_t rest = size_ % sizeof kZeros;
    if (rest == 0) return;
    pieces_.emplace_back(kZeros, sizeof kZeros - rest);
    size_ += sizeof kZeros - rest;
  }

  std::string location_;
  std::size_t least_;
  std::vector<std::span<const std::byte>> pieces_;
  std::vector<Tensor> kept_;
  std::size_t size_ = 0;
};

using DomainOpsets = std::map<std::string_view, std::int64_t>;

Status check_size(const std::string& message) {
  if (message.size() <= kMaxBytes) return {};
  return fail(Code::limit, "the model has more than {} bytes; store the tensors as external data", kMaxBytes);
}

/// Requires names that a load accepts, because inputs and outputs keep their names.
Status check_ports(std::string_view what, const std::vector<std::string>& names) {
  std::unordered_set<std::string_view> seen;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::string& name = names[i];
    if (name.empty()) return fail(Code::bad_input, "{} {} has no name: it cannot be written", what, i);
    if (fitting(name) != name) {
      return fail(Code::bad_input,
                  "{} '{}' cannot be written: a name must be UTF-8 and have at most {} bytes, this one has {}", what,
                  proto::shown(name), LoadLimits{}.name_bytes, name.size());
    }
    if (!seen.insert(name).second) {
      return fail(Code::bad_input, "two {}s are called '{}': the model cannot be written", what, proto::shown(name));
    }
  }
  return {};
}

/// Adds the domains of the functions that are written for calls.
void add_function_domains(const Graph& graph, const ExportableCalls& calls_of, DomainOpsets& opsets) {
  for (const auto& [node, calls] : calls_of) {
    for (const ExportableCall& call : calls) {
      const std::string& domain = graph.info->functions[call.call->function].domain;
      const auto& declared = graph.info->opsets;
      const auto it = std::ranges::find(declared, domain, &std::pair<std::string, std::int64_t>::first);
      opsets.try_emplace(domain, it == declared.end() ? 1 : it->second);
    }
  }
}

void add_opsets(Writer& writer, protozero::pbf_tag_type tag, const DomainOpsets& opsets) {
  for (const auto& [domain, version] : opsets) {
    Writer import(writer, tag);
    add_text(import, 1, domain);
    import.add_int64(2, version);
  }
}

// ---- notes ----

const Notes* notes_of(const Graph& graph, const std::string& name) {
  if (!graph.info) return nullptr;
  const auto it = graph.info->values.find(name);
  return it == graph.info->values.end() ? nullptr : &it->second;
}

/// Writes the notes of a NodeProto.
void add_notes(Writer& writer, const Notes& notes) {
  add_text(writer, 6, notes.doc);
  add_properties(writer, 9, notes.metadata);
}

void add_notes(Writer& writer, const Graph& graph, const Node& n) {
  if (!graph.info) return;
  const auto it = graph.info->nodes.find(n.stable);
  if (it == graph.info->nodes.end()) return;
  add_notes(writer, it->second);
}

// ---- names ----

/// The target of written nodes: the model's graph, or a function.
struct Body {
  WrittenNames names;
  const ExportableCall* call = nullptr;  ///< set for a function
  std::size_t block = 0;                 ///< index of its message among the open blocks
  std::vector<Value> inputs;             ///< inputs of a function, in order of first use
  std::unordered_set<std::uint32_t> constants;
};

/// Returns whether a constant belongs to the function: it was part of the call or has no name.
bool owns_constant(const Graph& graph, const Body& body, Value v) {
  const std::string& name = graph.value_name(v);
  return graph.constant(v) != nullptr && (name.empty() || body.names.is_inner(name));
}

/// Returns the name of a value. A function takes a value from outside as an input.
const std::string& name_in(const Graph& graph, Body& body, Value v) {
  if (body.call != nullptr && !body.names.has(v) && !made_in(graph, *body.call->call, v) &&
      !owns_constant(graph, body, v)) {
    body.names.assign_input_name(v);
    body.inputs.push_back(v);
  }
  return body.names.of(v);
}

/// The writer of a ModelProto. It receives the nodes of the graph from walk().
class Exporter {
 public:
  Exporter(const Graph& graph, ExternalData& external)
      : graph_(graph), external_(external), calls_(exportable_calls(graph)), functions_(graph) {
    bodies_.emplace_back(WrittenNames(graph));
  }

  Result<std::string> run(std::optional<std::int64_t> wanted) {
    FRAZIL_TRY(opsets_, opsets_for(graph_, wanted));
    add_function_domains(graph_, calls_, opsets_);
    FRAZIL_CHECK(check_ports("input", graph_.input_names()));
    FRAZIL_CHECK(check_ports("output", graph_.output_names()));
    FRAZIL_CHECK(name_ports());
    FRAZIL_CHECK(walk(graph_, *this));
    std::string out;
    Writer writer(out);
    static const ModelInfo kNone;
    const ModelInfo& info = graph_.info ? *graph_.info : kNone;
    writer.add_int64(1, std::max(ir_version_for(opset()), info.ir_version));
    add_text(writer, 2, info.producer.empty() ? "frazil" : info.producer);
    add_text(writer, 3, info.producer_version);
    add_text(writer, 4, info.domain);
    if (info.model_version != 0) writer.add_int64(5, info.model_version);
    add_text(writer, 6, info.model.doc);
    add_opsets(writer, 8, opsets_);
    add_properties(writer, 14, info.model.metadata);
    add_properties(writer, 14, bounds_of_symbols(graph_));
    writer.add_message(7, blocks_.back());
    for (const std::string& function : functions_.protos()) {
      writer.add_message(25, function);
      FRAZIL_CHECK(check_size(out));
    }
    return out;
  }

  // ---- graph walk ----

  Status enter(BlockId) {
    blocks_.emplace_back();
    return {};
  }

  Status node(NodeId id) {
    open_calls(id);
    const Node& n = graph_.node(id);
    std::string& out = nodes_.emplace_back();
    Writer writer(out);
    FRAZIL_TRY(const auto inputs, uses(rules::written_inputs(graph_, n, opset())));
    for (const std::string& name : inputs) writer.add_string(1, name);
    for (const Value v : n.out) writer.add_string(2, v ? name(v) : std::string());
    add_text(writer, 3, names().node(n.name));
    add_text(writer, 4, n.op->name);
    add_text(writer, 7, n.op->domain);
    FRAZIL_TRY(const auto attributes, rules::written_attributes(graph_, n, opset()));
    for (const std::string& attribute : attributes) writer.add_message(5, attribute);
    add_notes(writer, graph_, n);
    return n.blocks.empty() ? done(id) : Status();
  }

  Status done(NodeId id) {
    Writer(blocks_.back()).add_message(node_tag(), nodes_.back());
    nodes_.pop_back();
    while (bodies_.back().call != nullptr && bodies_.back().call->last == id) FRAZIL_CHECK(close_call());
    return check_block();
  }

  Status leave(BlockId id) {
    FRAZIL_CHECK(id == Graph::kMain ? main_ports() : block_ports(id));
    if (id == Graph::kMain) return {};
    const Node& owner = graph_.node(graph_.block(id).owner);
    const auto index = static_cast<std::size_t>(std::ranges::find(owner.blocks, id) - owner.blocks.begin());
    const std::string_view attr = std::get<Region>(owner.op->form).block_attrs[index];
    Writer(blocks_[blocks_.size() - 1]).add_string(2, attr.data(), attr.size());
    Writer(nodes_.back()).add_message(5, graph_attribute(attr, blocks_.back()));
    blocks_.pop_back();
    return check_block();
  }

 private:
  Status check_block() const { return blocks_.empty() ? Status() : check_size(blocks_.back()); }
  // ---- names ----

  WrittenNames& names() { return bodies_.back().names; }
  const std::string& name(Value v) { return name_in(graph_, bodies_.back(), v); }

  /// Names the inputs and outputs. An output names its value where possible.
  Status name_ports() {
    const Block& main = graph_.main();
    std::unordered_map<std::string_view, Value> inputs;
    for (std::size_t i = 0; i < main.params.size(); ++i) {
      names().assign_name(main.params[i], graph_.input_names()[i]);
      inputs.emplace(graph_.input_names()[i], main.params[i]);
    }
    for (std::size_t i = 0; i < main.results.size(); ++i) {
      const std::string& wanted = graph_.output_names()[i];
      const Value v = main.results[i];
      const bool made_here = graph_.block_of(v) == Graph::kMain && graph_.producer(v);
      if (made_here && !names().has(v) && !names().values().is_used(wanted)) names().assign_name(v, wanted);
      names().values().take(wanted);
      const auto input = inputs.find(wanted);
      if (input == inputs.end() || input->second == v) continue;
      return fail(Code::bad_input, "output '{}' has the name of an input: the model cannot be written",
                  proto::shown(wanted));
    }
    return {};
  }

  // ---- functions ----

  /// Returns the opset of ai.onnx.
  std::int64_t opset() const { return opsets_.at(""); }

  void open_calls(NodeId id) {
    const auto it = calls_.find(id.id);
    if (it == calls_.end()) return;
    for (const ExportableCall& call : it->second) {
      bodies_.push_back({WrittenNames(graph_, *call.call), &call, blocks_.size()});
      blocks_.emplace_back();
    }
  }

  Status close_call() {
    Body body = std::move(bodies_.back());
    std::string proto = std::move(blocks_.back());
    bodies_.pop_back();
    blocks_.pop_back();
    const ModelInfo::Call& call = *body.call->call;
    const ModelInfo::Function& function = graph_.info->functions[call.function];
    sort_known_first(graph_, call.inputs, body.inputs);
    Writer writer(proto);
    for (const Value v : body.inputs) writer.add_string(4, body.names.of(v));
    for (const Value v : body.call->outputs) writer.add_string(5, body.names.of(v));
    add_text(writer, 8, function.notes.doc);
    add_opsets(writer, 9, opsets_);
    add_properties(writer, 14, function.notes.metadata);
    return add_call(body, function, functions_.add(function, std::move(proto)));
  }

  Status add_call(const Body& body, const ModelInfo::Function& function, const std::string& as) {
    const ModelInfo::Call& call = *body.call->call;
    std::string out;
    Writer writer(out);
    FRAZIL_TRY(const auto inputs, uses(body.inputs));
    for (const std::string& name : inputs) writer.add_string(1, name);
    for (const Value v : body.call->outputs) writer.add_string(2, name(v));
    add_text(writer, 3, names().node(call.name));
    add_text(writer, 4, as);
    add_text(writer, 7, function.domain);
    add_text(writer, 8, function.overload);
    add_notes(writer, call.notes);
    Writer(blocks_.back()).add_message(node_tag(), out);
    return check_block();
  }

  /// Returns the field tag of a NodeProto in the current message.
  protozero::pbf_tag_type node_tag() const {
    return bodies_.back().call != nullptr && bodies_.back().block + 1 == blocks_.size() ? kFunctionNode : kGraphNode;
  }

  // ---- constants ----

  /// Returns the names of the values. Writes a constant at its first use: as an initializer of the main graph, or as a
  /// node of the function.
  Result<std::vector<std::string>> uses(const std::vector<Value>& values) {
    std::vector<std::string> given;
    for (const Value v : values) {
      given.push_back(v ? name(v) : std::string());
      const Constant* constant = v ? graph_.constant(v) : nullptr;
      if (constant == nullptr || !bodies_.back().constants.insert(v.id).second) continue;
      if (bodies_.back().call == nullptr) {
        FRAZIL_CHECK(initializer(constant->tensor, given.back()));
      } else if (owns_constant(graph_, bodies_.back(), v)) {
        FRAZIL_TRY(const std::string node, rules::constant_node(constant->tensor, given.back()));
        Writer(blocks_[bodies_.back().block]).add_message(kFunctionNode, node);
      }
    }
    while (!given.empty() && given.back().empty()) given.pop_back();
    return given;
  }

  Status initializer(const Tensor& tensor, const std::string& name) {
    std::string bytes;
    if (external_.takes(tensor)) {
      FRAZIL_TRY(bytes, external_.add(tensor, name));
    } else {
      FRAZIL_TRY(bytes, tensor_to_proto(tensor, name));
    }
    if (const Notes* notes = notes_of(graph_, name)) {
      Writer writer(bytes);
      add_text(writer, 12, notes->doc);
      add_properties(writer, 16, notes->metadata);
    }
    Writer(blocks_.front()).add_message(5, bytes);
    return check_block();
  }

  // ---- inputs and outputs of graphs ----

  void port(protozero::pbf_tag_type tag, const std::string& name, Value v, const Notes* notes) {
    Writer(blocks_.back()).add_message(tag, value_info(name, graph_.type(v), graph_.scope(), notes));
  }

  Status identity(Value v, const std::string& as) {
    FRAZIL_TRY(const auto from, uses({v}));
    Writer(blocks_.back()).add_message(1, rules::alias_node(from[0], as));
    return {};
  }

  Status main_ports() {
    const Block& main = graph_.main();
    for (std::size_t i = 0; i < main.params.size(); ++i) {
      const std::string& name = graph_.input_names()[i];
      port(11, name, main.params[i], notes_of(graph_, name));
      if (const Tensor* tensor = graph_.input_default(i)) FRAZIL_CHECK(initializer(*tensor, name));
    }
    for (std::size_t i = 0; i < main.results.size(); ++i) {
      const std::string& wanted = graph_.output_names()[i];
      if (!names().has(main.results[i]) || name(main.results[i]) != wanted) {
        FRAZIL_CHECK(identity(main.results[i], wanted));
      }
      port(12, wanted, main.results[i], notes_of(graph_, wanted));
    }
    Writer writer(blocks_.back());
    add_text(writer, 2, graph_.name);
    if (graph_.info) {
      add_text(writer, 10, graph_.info->graph.doc);
      add_properties(writer, 16, graph_.info->graph.metadata);
      for (const ModelInfo::Quantization& q : graph_.info->quantization) {
        Writer annotation(writer, 14);
        add_text(annotation, 1, q.tensor);
        add_properties(annotation, 2, q.parameters);
      }
    }
    return {};
  }

  /// Writes the params and results of a block. A result that is defined outside the block, or listed twice, passes
  /// through an Identity.
  Status block_ports(BlockId id) {
    const Block& block = graph_.block(id);
    for (const Value v : block.params) port(11, name(v), v, nullptr);
    std::unordered_set<std::uint32_t> given;
    for (const Value v : block.results) {
      const bool made_here = graph_.block_of(v) == id && graph_.producer(v);
      std::string as = made_here ? name(v) : std::string();
      if (!made_here || !given.insert(v.id).second) {
        as = names().values().like(name(v) + "_out");
        FRAZIL_CHECK(identity(v, as));
      }
      port(12, as, v, nullptr);
    }
    return {};
  }

  const Graph& graph_;
  ExternalData& external_;
  const ExportableCalls calls_;
  FunctionProtos functions_;
  DomainOpsets opsets_;
  std::vector<std::string> blocks_, nodes_;  ///< open GraphProtos, FunctionProtos and NodeProtos
  std::vector<Body> bodies_;                 ///< the model's graph and the open functions
};

}  // namespace

Result<std::string> export_model(const Graph& graph, const ExportOptions& options) {
  if (options.external_bytes != 0) return fail(Code::bad_input, "external data need a file");
  ExternalData none({}, 0);
  return Exporter(graph, none).run(options.opset);
}

Status export_file(const Graph& graph, const std::string& path, const ExportOptions& options) {
  const std::filesystem::path file(path);
  ExternalData external(file.filename().string() + ".data", options.external_bytes);
  FRAZIL_TRY(const std::string model, Exporter(graph, external).run(options.opset));
  if (!external.pieces().empty()) {
    FRAZIL_CHECK(write_file((file.parent_path() / external.location()).string(), Pieces(external.pieces())));
  }
  return write_file(path, model);
}

}  // namespace frazil::onnx
