#include <algorithm>
#include <set>

#include <frazil/model.h>

#include "api/dot.h"
#include "api/host_call.h"
#include "api/load.h"
#include "api/open.h"
#include "api/type_text.h"
#include "base/os/knobs.h"
#include "base/os/log.h"
#include "exec/package/package.h"
#include "ir/graph/model_info.h"
#include "ir/graph/source_bytes.h"
#include "ir/graph/verify.h"
#include "ir/op/op.h"
#include "ir/text/text.h"
#include "onnx/export/export.h"
#include "onnx/import/import.h"
#include "pass/batch/ragged.h"

namespace frazil::api {
namespace {

/// Returns the type of a value that is not absent.
const Type& required(const Type& type) { return type.kind == Type::Kind::optional ? required(*type.item) : type; }

Array::Kind kind_of(const Type& type) {
  switch (type.kind) {
    case Type::Kind::sequence: return Array::Kind::sequence;
    case Type::Kind::map: return Array::Kind::map;
    case Type::Kind::optional: return kind_of(*type.item);
    case Type::Kind::tensor: break;
  }
  return Array::Kind::tensor;
}

Port port_of(const Scope& scope, const Type& type, const std::string& name) {
  Port port{
      .name = name, .type = type_text(type, scope), .kind = kind_of(type), .dims = {}, .full_type = str(type, scope)};
  port.optional = type.kind == Type::Kind::optional;
  const Type& own = required(type);
  port.dtype = static_cast<Dtype>(own.elem);
  port.ranked = own.is_tensor() && own.ranked;
  if (own.item != nullptr) port.item = std::make_shared<const Port>(port_of(scope, *own.item, {}));
  for (const Dim d : own.shape) {
    port.dims.push_back(scope.str(d));
    port.extents.push_back(d.is_const() ? d.value() : -1);
  }
  return port;
}

/// Counts the text of a port's types. Extents as text repeat subexpressions that their expressions share.
void count_port(const Port& port, std::size_t& bytes) {
  constexpr std::size_t kMaxBytes = std::size_t{64} << 20;
  bytes += 2 * port.full_type.size();
  if (bytes <= kMaxBytes) return;
  refuse(frazil::Code::limit, "'{}': the types of inputs and outputs take more than {} bytes as text", port.name,
         kMaxBytes);
}

/// Sets what the file declares for the ports.
void declare(std::vector<Port>& ports, const ModelInfo::Declared& declared) {
  for (Port& port : ports) {
    if (const auto at = declared.find(port.name); at != declared.end()) port.declared = at->second;
  }
}

/// Checks constants for extents. `option` is the name of the field that has them.
onnx::FixedExtents::ByText fixed_extents(const std::map<std::string, std::int64_t>& extents, std::string_view option) {
  for (const auto& [name, extent] : extents) {
    if (extent >= 0 && extent <= Dim::kMax) continue;
    refuse(frazil::Code::bad_input, "LoadOptions::{}: '{}' is {}, expected 0 to {}", option, name, extent, Dim::kMax);
  }
  return {extents.begin(), extents.end()};
}

ImportOptions import_options(const LoadOptions& options, const Inherited& inherited) {
  LoadBounds bounds = bounds_of(options);
  return {.limits = bounds.limits,
          .time = bounds.time,
          .stop = std::move(bounds.stop),
          .fix_defaults = options.fix_defaults,
          .operators = inherited.operators.get(),
          .lenient = options.lenient,
          .copies = options.copies,
          .keep_defaults = {options.keep_defaults.begin(), options.keep_defaults.end()},
          .extents = {.by_name = fixed_extents(options.extents, "extents"),
                      .by_denotation = fixed_extents(options.denoted_extents, "denoted_extents")},
          .files = {.by_location = {options.files.begin(), options.files.end()}, .keep_alive = options.files_owner},
          .check_file = inherited.policies.file_check()};
}

}  // namespace

LoadBounds usual_bounds() { return {.limits = knobs()->load, .time = knobs()->load_time, .stop = {}}; }

std::chrono::steady_clock::duration duration_of(double milliseconds, std::string_view option) {
  if (!(milliseconds >= 0)) refuse(frazil::Code::bad_input, "{}: expected at least 0", option);
  constexpr double kMax = 1e12;  // about 30 years; fits a duration
  return std::chrono::duration_cast<std::chrono::steady_clock::duration>(
      std::chrono::duration<double, std::milli>(std::min(milliseconds, kMax)));
}

LoadBounds bounds_of(const LoadOptions& options) {
  LoadBounds bounds = usual_bounds();
  LoadLimits& limits = bounds.limits;
  limits.memory_bytes = options.memory_limit.value_or(limits.memory_bytes);
  limits.tensor_elements = options.max_elements.value_or(limits.tensor_elements);
  limits.nodes = options.max_nodes.value_or(limits.nodes);
  limits.nesting = options.max_nesting.value_or(limits.nesting);
  limits.name_bytes = options.max_name_bytes.value_or(limits.name_bytes);
  if (options.deadline_ms) {
    const auto time = duration_of(*options.deadline_ms, "LoadOptions::deadline_ms");
    bounds.time = time.count() > 0 ? std::optional(time) : std::nullopt;
  }
  bounds.stop = options.stop;
  bounds.log = sink_of(options.log);
  return bounds;
}

exec::Options options_of(ExecutionMode mode) {
  return {.reference = mode == ExecutionMode::reference,
          .passes = knobs()->passes,
          .verify = knobs()->verify,
          .tier = mode == ExecutionMode::reference ? exec::Tier::interpreted : static_cast<exec::Tier>(mode)};
}

std::shared_ptr<exec::Executable> Model::Impl::executable(ExecutionMode mode) {
  const std::scoped_lock lock(mutex);
  std::shared_ptr<exec::Executable>& known = executables[static_cast<std::size_t>(mode)];
  if (known) return known;
  const LoadScope scope(bounds, "planning the model", source_bytes(*graph));
  known = take(exec::Executable::make(graph, options_of(mode)));
  if (mode != ExecutionMode::reference && logging::enabled(2)) {
    logging::debug(2, "plan", "plan:\n{}", known->explain());
  }
  return known;
}

void Model::Impl::forget_plans() {
  std::shared_ptr<Impl> other;
  {
    const std::scoped_lock lock(own_extents_mutex);
    other = own_extents;
  }
  if (other != nullptr) other->forget_plans();
  const std::scoped_lock lock(mutex);
  executables = {};
}

bool Model::Impl::has_equal_extents(std::span<const Datum> given) const {
  const auto extent = [&](std::size_t input, std::size_t axis) -> std::optional<std::int64_t> {
    const bool has = input < given.size() && given[input].is_tensor();
    const Tensor* const tensor = has ? &given[input].tensor() : graph->input_default(input);
    if (tensor == nullptr || tensor->rank() != graph->type(graph->main().params[input]).rank()) return std::nullopt;
    return tensor->sizes()[axis];
  };
  return std::ranges::all_of(equal_axes, [&](const EqualAxes& axes) {
    const auto a = extent(axes.first_input, axes.first_axis), b = extent(axes.input, axes.axis);
    return !a || !b || *a == *b;
  });
}

std::shared_ptr<Model::Impl> Model::Impl::with_own_extents() {
  const std::scoped_lock lock(own_extents_mutex);
  if (own_extents != nullptr) return own_extents;
  const LoadScope scope(bounds, "planning the model for inputs without equal extents", source_bytes(*graph));
  auto made = std::make_shared<Impl>(static_cast<const Inherited&>(*this));
  made->graph = std::make_shared<const Graph>(take(frazil::with_own_extents(*graph, equal_axes)));
  logging::warn("plan", fmt::format("model '{}': extents of one name differ between inputs; such runs use a plan "
                                    "that does not bind names",
                                    graph->name));
  return own_extents = std::move(made);
}

Model Access::model(Graph graph, const Inherited& from, bool check_calls) {
  if (check_calls) api::check_calls(graph, from.registry);
  Model made = derived(std::move(graph), from);
  from.policies.check_load(made);
  return made;
}

Model Access::derived(Graph graph, const Inherited& from) {
  check(verify(graph, knobs()->verify));
  auto impl = std::make_shared<Model::Impl>(from);
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < graph.main().params.size(); ++i) {
    impl->inputs.push_back(port_of(graph.scope(), graph.type(graph.main().params[i]), graph.input_names()[i]));
    impl->inputs.back().has_default = graph.input_default(i) != nullptr;
    impl->inputs.back().optional |= impl->inputs.back().has_default;
    count_port(impl->inputs.back(), bytes);
  }
  for (std::size_t i = 0; i < graph.main().results.size(); ++i) {
    impl->outputs.push_back(port_of(graph.scope(), graph.type(graph.main().results[i]), graph.output_names()[i]));
    count_port(impl->outputs.back(), bytes);
  }
  if (graph.info != nullptr) {
    declare(impl->inputs, graph.info->declared_inputs);
    declare(impl->outputs, graph.info->declared_outputs);
  }
  impl->output_names = std::make_shared<const std::vector<std::string>>(graph.output_names());
  if (from.lenient) impl->equal_axes = equal_axes(graph);
  impl->graph = std::make_shared<const Graph>(std::move(graph));
  return Model(impl);
}

Model Access::governed(Model model, const Model& from) {
  Model::Impl& own = *model.impl_;
  if (own.policies.has(from.impl_->policies)) return model;
  auto impl = std::make_shared<Model::Impl>(static_cast<const Inherited&>(own));
  impl->graph = own.graph;
  impl->policies.add(from.impl_->policies);
  impl->inputs = own.inputs;
  impl->outputs = own.outputs;
  impl->output_names = own.output_names;
  impl->equal_axes = own.equal_axes;
  {
    const std::scoped_lock lock(own.mutex);
    impl->executables = own.executables;
  }
  return Model(impl);
}

Inherited inherited(const LoadOptions& options, LoadBounds bounds) {
  const Policies policies(options.policy);
  return {.policies = policies,
          .bounds = std::move(bounds),
          .registry = CalledModels(options.registry),
          .operators = own_operators(options.operators.get(), policies),
          .lenient = options.lenient};
}

Model Model::load(const std::string& path, const LoadOptions& options) {
  start();
  const Inherited from = inherited(options, bounds_of(options));
  const logging::SinkScope log(from.bounds.log);
  auto graph = load_file(path, import_options(options, from));
  const bool packaged = graph && exec::packaged_choices(*graph);
  if (graph) {
    logging::debug(1, "load", "loaded '{}': {} nodes, {} inputs, {} outputs", path, graph->node_count(),
                   graph->input_names().size(), graph->output_names().size());
  }
  Model model = Access::model(take(std::move(graph)), from, options.check_calls);
  if (packaged) Access::impl(model).executable(mode_of({}));
  return model;
}

Model Model::from_bytes(std::span<const std::byte> bytes, const LoadOptions& options) {
  start();
  const Inherited from = inherited(options, bounds_of(options));
  const logging::SinkScope log(from.bounds.log);
  return Access::model(take(import_onnx_bytes(bytes, nullptr, options.folder, import_options(options, from))), from,
                       options.check_calls);
}

Model Model::from_text(std::string_view text, const std::map<std::string, Array>& weights, const LoadOptions& options) {
  start();
  const WeightSource source = [&](std::string_view name) {
    const auto at = weights.find(std::string(name));
    return at != weights.end() && at->second.is_tensor() ? Access::dense(at->second).tensor() : Tensor();
  };
  const Inherited from = inherited(options, bounds_of(options));
  const LoadScope scope(from.bounds, "loading the model", text.size());
  return Access::model(take(parse(text, source, from.operators.get())), from, options.check_calls);
}

const std::string& Model::name() const { return impl_->graph->name; }
const std::vector<Port>& Model::inputs() const { return impl_->inputs; }
const std::vector<Port>& Model::outputs() const { return impl_->outputs; }

Sizes Model::sizes(std::string_view port, const std::map<std::string, std::int64_t>& names, std::int64_t others) const {
  const Graph& graph = *impl_->graph;
  const auto& params = graph.input_names();
  const auto input = std::ranges::find(params, port);
  const auto output = std::ranges::find(graph.output_names(), port);
  if (input == params.end() && output == graph.output_names().end()) {
    refuse(frazil::Code::bad_input, "the model has no input or output '{}'", port);
  }
  const Value value = input != params.end()
                          ? graph.main().params[static_cast<std::size_t>(input - params.begin())]
                          : graph.main().results[static_cast<std::size_t>(output - graph.output_names().begin())];
  const Type& type = required(graph.type(value));
  if (!type.is_tensor() || !type.ranked) refuse(frazil::Code::bad_input, "'{}' has no rank", port);
  const Scope& scope = graph.scope();
  std::vector<std::int64_t> values(scope.symbol_count(), others);
  for (std::size_t s = 0; s < values.size(); ++s) {
    const auto given = names.find(std::string(scope.symbol_name(static_cast<SymbolId>(s))));
    if (given != names.end()) values[s] = given->second;
  }
  Sizes sizes;
  for (const Dim d : type.shape) {
    const auto extent = eval(scope, d, values);
    if (!extent || *extent < 0) refuse(frazil::Code::bad_input, "'{}': {} is not an extent", port, scope.str(d));
    sizes.push_back(*extent);
  }
  return sizes;
}

std::vector<std::string> Model::operators() const {
  const Graph& graph = *impl_->graph;
  std::set<std::string> names;
  for (const NodeId id : graph.nodes()) {
    const OpDef& op = *graph.node(id).op;
    names.insert(op.domain.empty() ? std::string(op.name) : fmt::format("{}.{}", op.domain, op.name));
  }
  return {names.begin(), names.end()};
}

std::vector<ModelCall> Model::calls() const { return calls_of(*impl_->graph); }
void Model::check_calls() const { api::check_calls(*impl_->graph, impl_->registry); }

Metadata Model::metadata() const {
  Metadata data;
  data.graph_name = name();
  if (impl_->graph->info == nullptr) return data;
  const ModelInfo& info = *impl_->graph->info;
  data.producer = info.producer;
  data.producer_version = info.producer_version;
  data.domain = info.domain;
  data.description = info.model.doc;
  data.graph_description = info.graph.doc;
  data.model_version = info.model_version;
  data.ir_version = info.ir_version;
  data.opsets = {info.opsets.begin(), info.opsets.end()};
  for (const auto& [key, text] : info.model.metadata) data.properties[key] = text;
  return data;
}

Model Model::ragged(std::string_view extent) const {
  const LoadScope scope(impl_->bounds, "joining requests", source_bytes(*impl_->graph));
  return Access::derived(take(pass::ragged(*impl_->graph, extent)), *impl_);
}

void Model::save(const std::string& path, const SaveOptions& options) const {
  const onnx::ExportOptions how{options.opset, static_cast<std::size_t>(options.external_bytes)};
  check(onnx::export_file(*impl_->graph, path, how));
}

std::string Model::text() const { return print(*impl_->graph); }

std::map<std::string, Array> Model::weights() const {
  std::map<std::string, Array> arrays;
  for (auto& [name, tensor] : weights_of(*impl_->graph)) arrays.emplace(name, Access::array(tensor));
  return arrays;
}

std::string Model::dot() const { return dot_of(*impl_->graph); }
std::string Model::explain() const { return impl_->executable(mode_of({}))->explain(); }

}  // namespace frazil::api
