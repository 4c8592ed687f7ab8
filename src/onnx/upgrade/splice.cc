#include "onnx/upgrade/rules.h"

// Operators whose subgraphs are inlined between other nodes.
namespace frazil::onnx::rules {
namespace {

/// Returns the element types of the outputs that a subgraph declares.
Result<std::vector<Elem>> declared_outputs(Draft& d, const GraphAttr& graph, std::string_view attr) {
  FRAZIL_TRY(const GraphParts parts, read_graph(graph.bytes));
  Graph scratch;
  Builder types(scratch);
  const Source anything{.keep_alive = {}, .external = {}, .max_name = ~std::size_t{0}};
  std::vector<Elem> elems;
  for (const Bytes bytes : parts.outputs) {
    FRAZIL_TRY(const ValueInfo info, read_value_info(bytes));
    if (!info.type) return d.error("attribute '{}': output '{}' has no type", attr, proto::shown(info.name));
    FRAZIL_TRY(const Type type, read_type(*info.type, types, info.name, anything));
    if (!type.is_tensor()) {
      return d.error("attribute '{}': output '{}': expected a tensor, got {}", attr, proto::shown(info.name),
                     str(type, scratch.scope()));
    }
    elems.push_back(type.elem);
  }
  return elems;
}

/// The loop over the items of a sequence while its body is built.
struct ItemLoop {
  BlockId parent, body;
  NodeId node;
  std::vector<bool> wanted;
  std::vector<Value> states;
};

Result<ItemLoop> open_item_loop(Draft& d, const std::vector<Elem>& outputs) {
  const OpDef* loop = OpRegistry::global().find("", "Loop");
  if (loop == nullptr) return d.unsupported("this build lacks Loop");
  FRAZIL_TRY(const Value count, d.emit("SequenceLength", {d.in[0]}));
  std::vector<Value> inputs{count, {}};
  for (const Elem elem : outputs) {
    FRAZIL_TRY(inputs.emplace_back(),
               d.emit("SequenceEmpty", {}, {{"dtype", AttrValue(std::int64_t{onnx_data_type(elem)})}}));
  }
  FRAZIL_TRY(Attrs attrs, bind_attributes(*loop, {}));
  ItemLoop made{d.builder().block(), {}, {}, d.wanted, {}};
  made.wanted.resize(outputs.size());
  const std::size_t params = inputs.size();
  FRAZIL_TRY(made.node, d.builder().open(*loop, std::move(inputs), std::move(attrs), {params}, d.name));
  made.body = d.builder().graph().node(made.node).blocks[0];
  const std::vector<Value>& in = d.builder().graph().block(made.body).params;
  made.states.assign(in.begin() + 2, in.end());
  return made;
}

/// Appends the results of one item and ends the loop.
Result<Spliced> close_item_loop(Graph& graph, const ItemLoop& loop, const std::string& name,
                                const std::vector<Value>& items) {
  Builder inside(graph, loop.body);
  Draft d(inside, "SequenceMap", {}, 0);
  d.name = name;
  std::vector<Value> results{graph.block(loop.body).params[1]};
  for (std::size_t i = 0; i < items.size(); ++i) {
    FRAZIL_TRY(results.emplace_back(), d.emit("SequenceInsert", {loop.states[i], items[i]}));
  }
  Builder outside(graph, loop.parent);
  outside.yield(loop.node, 0, std::move(results));
  FRAZIL_CHECK(outside.close(loop.node, loop.wanted));
  return Spliced{graph.node(loop.node).out};
}

Status splice(Draft& d, std::string_view attr, GraphAttr graph, Value input,
              std::function<Result<Spliced>(const std::vector<Value>&)> then) {
  d.splice = std::make_unique<Splice>(Splice{attr, std::move(graph), {input}, d.block, std::move(then)});
  return {};
}

}  // namespace

Status sequence_map(Draft& d) {
  FRAZIL_TRY(const auto graph, d.take_graph("body"));
  if (!graph) return d.error("attribute 'body' is missing");
  FRAZIL_TRY(const Type first, d.input(0));
  if (first.kind != Type::Kind::sequence) {
    return d.error("input 'input_sequence': expected a sequence, got {}", str(first, d.builder().graph().scope()));
  }
  FRAZIL_TRY(const std::vector<Elem> outputs, declared_outputs(d, *graph, "body"));
  FRAZIL_TRY(const ItemLoop loop, open_item_loop(d, outputs));
  Builder inside(d.builder().graph(), loop.body);
  Draft body(inside, d.op, d.domain, d.opset);
  body.name = d.name;
  const Value index = d.builder().graph().block(loop.body).params[0];
  std::vector<Value> inputs;
  for (std::size_t i = 0; i < d.in.size(); ++i) {
    FRAZIL_TRY(const Type type, d.input(i));
    Value item = d.in[i];
    if (type.kind == Type::Kind::sequence) {
      FRAZIL_TRY(item, body.emit("SequenceAt", {d.in[i], index}));
    }
    inputs.push_back(item);
  }
  const auto then = [&built = d.builder().graph(), loop, name = d.name](const std::vector<Value>& items) {
    return close_item_loop(built, loop, name, items);
  };
  d.splice = std::make_unique<Splice>(Splice{"body", *graph, std::move(inputs), loop.body, then});
  return {};
}

namespace {

/// A FlexAttention with a subgraph between its parts.
struct FlexParts {
  Graph* graph;
  BlockId block;
  std::string name;
  std::vector<NamedAttr> scores, probabilities;  ///< attributes of the parts
  std::optional<GraphAttr> prob_mod;
  std::vector<Value> in;

  Result<Value> emit(std::string_view op, std::vector<Value> inputs, std::vector<NamedAttr> attrs = {}) const {
    Builder builder(*graph, block);
    Draft d(builder, "FlexAttention", "ai.onnx.preview", 1);
    d.name = name;
    return d.emit(op, std::move(inputs), std::move(attrs));
  }
  Result<Spliced> mix(Value p) const {
    FRAZIL_TRY(const Value y, emit("frazil.AttentionValues", {p, in[2], in[0]}));
    return Spliced{{y}};
  }
  Result<Spliced> weighted_values(Value score) const {
    FRAZIL_TRY(const Value p, emit("frazil.AttentionWeights", {score}, probabilities));
    if (!prob_mod) return mix(p);
    const auto then = [parts = *this](const std::vector<Value>& results) -> Result<Spliced> {
      FRAZIL_TRY(const Value modified, parts.only(results, "prob_mod"));
      return parts.mix(modified);
    };
    return Spliced{{}, std::make_unique<Splice>(Splice{"prob_mod", *prob_mod, {p}, block, then})};
  }
  Result<Value> only(const std::vector<Value>& results, std::string_view attr) const {
    if (results.size() == 1) return results[0];
    return fail(Code::bad_model,
                "node '{}' (FlexAttention), attribute '{}': the subgraph returns {} values, expected 1",
                proto::shown(name), attr, results.size());
  }
};

}  // namespace

Status flex_attention(Draft& d) {
  FRAZIL_TRY(const auto score_mod, d.take_graph("score_mod"));
  FRAZIL_TRY(auto prob_mod, d.take_graph("prob_mod"));
  if (!score_mod && !prob_mod) return {};
  if (d.in.size() != 3) return d.error("it has {} inputs, expected 3", d.in.size());
  FlexParts parts{&d.builder().graph(), d.block, d.name, {}, {}, std::move(prob_mod), d.in};
  for (NamedAttr& attr : d.attrs)
    (attr.name == "scale" ? parts.scores : parts.probabilities).push_back(std::move(attr));
  d.attrs.clear();
  FRAZIL_TRY(const Value score, parts.emit("frazil.AttentionScores", {d.in[0], d.in[1]}, parts.scores));
  if (score_mod) {
    return splice(d, "score_mod", *score_mod, score, [parts](const std::vector<Value>& results) -> Result<Spliced> {
      FRAZIL_TRY(const Value modified, parts.only(results, "score_mod"));
      return parts.weighted_values(modified);
    });
  }
  FRAZIL_TRY(Spliced next, parts.weighted_values(score));
  d.splice = std::move(next.next);
  return {};
}

}  // namespace frazil::onnx::rules
