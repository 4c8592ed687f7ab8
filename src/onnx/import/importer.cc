#include "onnx/import/importer.h"

#include <algorithm>

#include "onnx/import/graph_inputs.h"
#include "onnx/import/metadata.h"
#include "onnx/import/relax_graph.h"
#include "onnx/import/warn.h"

namespace frazil::onnx {
namespace {

constexpr std::int64_t kNewestIrVersion = 13;

Status check_model(const ModelParts& model, bool lenient, std::vector<std::string>& warnings) {
  if (!model.has_graph) return fail(Code::bad_model, "not an ONNX model: it has no graph");
  const std::int64_t ir_version = model.info.ir_version;
  if (ir_version < 1 && !lenient) return fail(Code::bad_model, "not an ONNX model: it has no IR version");
  if (ir_version < 1) warn(warnings, "the model has no IR version; it is read as one of version 3");
  if (model.opsets.empty() && (ir_version >= 3 || ir_version < 1))
    return fail(Code::bad_model, "the model imports no opset");
  if (ir_version > kNewestIrVersion) {
    warn(warnings, "the model is of IR version {}, newer than {}, the newest this version knows", ir_version,
         kNewestIrVersion);
  }
  return {};
}

}  // namespace

Result<Graph> Importer::run(Bytes bytes) {
  FRAZIL_TRY(model_, read_model(bytes));
  warnings_ = std::move(model_.warnings);
  FRAZIL_CHECK(check_model(model_, options_.lenient, warnings_));
  if (options_.lenient) source_.ignored = [this](const std::string& fault) { warn(warnings_, "{}", fault); };
  FRAZIL_CHECK(functions_.index(model_.functions, options_.limits, options_.lenient ? &warnings_ : nullptr));
  take_bounds(model_, source_, warnings_);
  FRAZIL_CHECK(start());
  if (Status done = walk(); !done) {
    return std::unexpected(declared_.explain(std::move(done).error(), graph_, source_));
  }
  declared_.compare(graph_, source_, warnings_);
  calls_.write(model_, graph_);
  graph_.info = std::make_shared<const ModelInfo>(std::move(model_.info));
  return std::move(graph_);
}

Status Importer::start() {
  Frame frame;
  FRAZIL_TRY(frame.body, read_graph(model_.graph));
  if (options_.lenient) {
    FRAZIL_CHECK(relax_inputs(frame.body, warnings_));
    FRAZIL_CHECK(relax_initializers(frame.body, warnings_));
  }
  if (!frame.body.name.empty()) graph_.name = proto::shown(frame.body.name);
  frame.cx = std::make_shared<NameContext>();
  frame.cx->opsets = &model_.opsets;
  frame.cx->names.push();
  frame.block = Graph::kMain;
  FRAZIL_CHECK(order_.scan(frame.body));
  const Bytes whole = frame.body.whole;
  FRAZIL_CHECK(frames_.push(std::move(frame), whole));
  FRAZIL_CHECK(keep_graph_info(model_, top().body));
  FRAZIL_CHECK(read_declared(top().body.value_infos, top().declared));
  FRAZIL_CHECK(read_declared(top().body.outputs, top().declared));
  FRAZIL_TRY(const auto inputs, define_inputs(top(), graph_, source_, options_, model_.info.ir_version));
  return definer_.define_initializers(top(), inputs);
}

Status Importer::walk() {
  while (!frames_.empty()) {
    FRAZIL_CHECK(check_load());
    if (Status done = step(); !done) return located(std::move(done).error());
  }
  return {};
}

Status Importer::step() {
  FRAZIL_TRY(const std::optional<Bytes> node, top().nodes.next());
  return node ? append_node(*node) : finish_frame();
}

Status Importer::located(Fault fault) const {
  const bool user = fault.code == Code::bad_model || fault.code == Code::unsupported;
  return within(user ? frames_.path() : "", std::move(fault));
}

// ---- end of a block ----

Status Importer::finish_frame() {
  if (top().call) return finish_call();
  if (top().spliced) return finish_splice();
  return top().region ? finish_block() : finish_main();
}

Status Importer::finish_main() {
  FRAZIL_TRY(const std::vector<Value> values, results(top(), "graph"));
  Builder builder(graph_, Graph::kMain);
  std::set<std::string_view> seen;
  for (std::size_t i = 0; i < values.size(); ++i) {
    FRAZIL_TRY(const ValueInfo info, read_value_info(top().body.outputs[i]));
    FRAZIL_CHECK(check_name("an output", info.name, options_.limits));
    if (!seen.insert(info.name).second) {
      warn(warnings_, "graph: output '{}' is listed twice; it is given once", proto::shown(info.name));
      continue;
    }
    builder.output(info.name, {&builder, values[i]});
  }
  frames_.pop();
  return {};
}

Status Importer::finish_block() {
  std::unique_ptr<OpenRegion> region = std::move(top().region);
  FRAZIL_TRY(std::vector<Value> values, results(top(), described_block(region->described, region->attr())));
  Builder builder(graph_, region->parent);
  builder.yield(region->id, region->index, std::move(values));
  const std::shared_ptr<NameContext> cx = top().cx;
  cx->names.pop();
  frames_.pop();
  if (++region->index < region->bodies.size()) return open_block(std::move(region));
  FRAZIL_CHECK(builder.close(region->id, region->wanted));
  std::vector<Value> outputs = graph_.node(region->id).out;
  if (region->finish) {
    FRAZIL_TRY(outputs, region->finish(outputs));
  }
  return definer_.define_outputs(top(), region->outputs, outputs, [&] { return region->described; });
}

Status Importer::finish_splice() {
  const std::unique_ptr<OpenSplice> open = std::move(top().spliced);
  FRAZIL_TRY(const std::vector<Value> values, results(top(), described_block(open->described, open->splice->attr)));
  top().cx->names.pop();
  frames_.pop();
  FRAZIL_TRY(Spliced spliced, open->splice->then(values));
  if (!spliced.next)
    return definer_.define_outputs(top(), open->outputs, spliced.results, [&] { return open->described; });
  return open_splice(std::make_unique<OpenSplice>(std::move(spliced.next), open->outputs, open->described));
}

Status Importer::finish_call() {
  const std::unique_ptr<OpenCall> call = std::move(top().call);
  const std::shared_ptr<NameContext> cx = top().cx;
  std::vector<Value> values;
  for (const std::string_view name : cx->function->outputs) {
    const auto value = cx->names.find(name);
    if (!value) {
      return fail(Code::bad_model, "{}: the function's output '{}' is not defined", call->described,
                  proto::shown(name));
    }
    values.push_back(*value);
  }
  frames_.pop();
  functions_.end_call(*cx->function);
  calls_.end(call->number, graph_.node_count(), values);
  return definer_.define_outputs(top(), call->outputs, values, [&] { return call->described; }, call->first_value);
}

}  // namespace frazil::onnx
