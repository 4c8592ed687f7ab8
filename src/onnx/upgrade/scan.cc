#include "onnx/upgrade/rules.h"

namespace frazil::onnx::rules {
namespace {

/// The region over the batch, which encloses the user's region. It scans all inputs and carries none.
struct Batch {
  BlockId parent;
  NodeId node;
  BlockId body;
  std::vector<bool> wanted;
};

Result<Batch> open_batch(Draft& d, std::vector<Value> inputs) {
  const OpDef* scan = OpRegistry::global().find("", "Scan");
  if (scan == nullptr) return d.unsupported("this build lacks it");
  const auto count = static_cast<std::int64_t>(inputs.size());
  FRAZIL_TRY(Attrs attrs, bind_attributes(*scan, {{"num_scan_inputs", AttrValue(count)}}));
  Batch batch{d.builder().block(), {}, {}, d.wanted};
  FRAZIL_TRY(batch.node,
             d.builder().open(*scan, std::move(inputs), std::move(attrs), {static_cast<std::size_t>(count)}, d.name));
  batch.body = d.builder().graph().node(batch.node).blocks[0];
  return batch;
}

/// Pads axis 0 of `v` with zeros to the extent of `whole`.
Result<Value> pad_to(Draft& d, Value v, Value whole) {
  const auto extent = [&](Value of) { return d.emit("Shape", {of}, {{"end", AttrValue(std::int64_t{1})}}); };
  FRAZIL_TRY(const Value want, extent(whole));
  FRAZIL_TRY(const Value have, extent(v));
  FRAZIL_TRY(const Value rest, d.emit("Sub", {want, have}));
  FRAZIL_TRY(const Value pads, d.emit("Concat", {d.ints({0}), rest}, {{"axis", AttrValue(std::int64_t{0})}}));
  return d.emit("Pad", {v, pads, {}, d.ints({0})});
}

/// Ends the body of the batch with the results of the user's region. Results from `states` on are padded to the length
/// of `whole`, if given.
Result<std::vector<Value>> close_batch(Graph& graph, const Batch& batch, const std::string& name,
                                       std::vector<Value> results, std::size_t states, Value whole) {
  Builder inside(graph, batch.body);
  Draft d(inside, "Scan", {}, 8);
  d.name = name;
  for (std::size_t i = states; whole && i < results.size(); ++i) {
    FRAZIL_TRY(results[i], pad_to(d, results[i], whole));
  }
  Builder outside(graph, batch.parent);
  outside.yield(batch.node, 0, std::move(results));
  FRAZIL_CHECK(outside.close(batch.node, batch.wanted));
  return graph.node(batch.node).out;
}

/// Slices the scanned inputs of each item of the batch to the item's length.
Status cut_sequences(Draft& d, const Batch& batch, Value length, std::size_t states) {
  Builder inside(d.builder().graph(), batch.body);
  Draft cut(inside, d.op, d.domain, d.opset);
  cut.name = d.name;
  FRAZIL_TRY(const Value end, cut.emit("Unsqueeze", {length, cut.ints({0})}));
  for (std::size_t i = states; i < d.in.size(); ++i) {
    FRAZIL_TRY(d.in[i], cut.emit("Slice", {d.in[i], cut.ints({0}), end, cut.ints({0})}));
  }
  return {};
}

}  // namespace

/// Converts the first version of Scan, which scans axis 1 of a batch on axis 0, with a length for each item. The result
/// is a scan in a scan.
Status batched_scan(Draft& d) {
  FRAZIL_TRY(const auto scanned, d.take<std::int64_t>("num_scan_inputs"));
  FRAZIL_TRY(const auto directions, d.take<Ints>("directions"));
  const auto given = static_cast<std::int64_t>(d.in.size()) - 1;
  if (!scanned || *scanned < 1 || *scanned > given) {
    return d.error("attribute 'num_scan_inputs' must be in [1, {}]", std::max<std::int64_t>(given, 1));
  }
  const std::size_t states = static_cast<std::size_t>(given - *scanned);
  const bool lengths = d.has(0);
  std::vector<Value> inputs(d.in.begin() + (lengths ? 0 : 1), d.in.end());
  FRAZIL_TRY(const Batch batch, open_batch(d, std::move(inputs)));
  const std::vector<Value> params = d.builder().graph().block(batch.body).params;
  const Value whole = lengths ? params[1 + states] : Value{};
  d.in.assign(params.begin() + (lengths ? 1 : 0), params.end());
  if (lengths) FRAZIL_CHECK(cut_sequences(d, batch, params[0], states));
  d.set("num_scan_inputs", *scanned);
  if (directions) d.set("scan_input_directions", *directions);
  d.block = batch.body;
  d.wanted.assign(d.wanted.size(), true);
  d.finish = [&graph = d.builder().graph(), batch, name = d.name, states, whole](const std::vector<Value>& results) {
    return close_batch(graph, batch, name, results, states, whole);
  };
  return {};
}

}  // namespace frazil::onnx::rules
