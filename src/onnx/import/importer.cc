#include "onnx/import/importer.h"

#include <algorithm>

#include "base/value/text.h"

namespace frazil::onnx {

namespace {

constexpr std::int64_t kNewestIrVersion = 13;
constexpr std::int64_t kInputsOwnInitializers = 4;  ///< the first such IR version; see ImportOptions::fix_defaults

}  // namespace

Result<Graph> Importer::run(Bytes bytes) {
  FRAZIL_TRY(model_, read_model(bytes));
  warnings_ = std::move(model_.warnings);
  FRAZIL_CHECK(check_model());
  FRAZIL_CHECK(index_functions());
  keep_bounds();
  FRAZIL_CHECK(start());
  if (Status done = walk(); !done) return std::unexpected(explained(std::move(done).error()));
  compare_said();
  keep_calls();
  graph_.info = std::make_shared<const ModelInfo>(std::move(model_.info));
  return std::move(graph_);
}

Status Importer::check_model() {
  if (!model_.has_graph) return fail(Code::bad_model, "not an ONNX model: it has no graph");
  const std::int64_t ir_version = model_.info.ir_version;
  if (ir_version < 1) return fail(Code::bad_model, "not an ONNX model: it has no IR version");
  if (model_.opsets.empty() && ir_version >= 3) return fail(Code::bad_model, "the model imports no opset");
  if (ir_version > kNewestIrVersion) {
    warn("the model is of IR version {}, newer than {}, the newest this version knows", ir_version, kNewestIrVersion);
  }
  return {};
}

Status Importer::index_functions() {
  for (const FunctionParts& f : model_.functions) {
    for (const std::string_view name : {f.name, f.domain, f.overload}) FRAZIL_CHECK(check_name("a function", name));
    if (!functions_.try_emplace({f.domain, f.name, f.overload}, &f).second) {
      return fail(Code::bad_model, "function '{}' of domain '{}' is defined twice", proto::shown(f.name),
                  proto::shown(f.domain));
    }
  }
  return {};
}

Status Importer::start() {
  Frame frame;
  FRAZIL_TRY(frame.body, read_graph(model_.graph));
  if (!frame.body.name.empty()) graph_.name = proto::shown(frame.body.name);
  frame.cx = std::make_shared<Context>();
  frame.cx->opsets = &model_.opsets;
  frame.cx->names.push();
  frame.block = Graph::kMain;
  FRAZIL_CHECK(order_.scan(frame.body));
  const Bytes whole = frame.body.whole;
  FRAZIL_CHECK(push_frame(std::move(frame), whole));
  FRAZIL_CHECK(keep_info());
  FRAZIL_CHECK(read_said(top().body.value_infos));
  FRAZIL_CHECK(read_said(top().body.outputs));
  FRAZIL_TRY(const auto given, initializers(top().body));
  FRAZIL_CHECK(define_inputs(given));
  return define_initializers();
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
  return within(user ? path() : "", std::move(fault));
}

Status Importer::push_frame(Frame frame, Bytes whole, Tag tag) {
  if (frames_.size() >= options_.limits.nesting) {
    return fail(Code::limit, "subgraphs and function calls nest deeper than {} levels", options_.limits.nesting);
  }
  frame.nodes = order_.nodes(whole, tag);
  frames_.push_back(std::move(frame));
  if (const auto cycle = order_.cycle(whole); !cycle.empty()) return cyclic(cycle);
  return {};
}

// ---- start of a block ----

Result<Importer::Initializers> Importer::initializers(const GraphParts& body) const {
  Initializers found;
  const auto add = [&](std::string_view name, Initializer initializer) -> Status {
    if (found.emplace(name, initializer).second) return {};
    return fail(Code::bad_model, "initializer: '{}' is defined already", proto::shown(name));
  };
  for (const Bytes bytes : body.initializers) {
    FRAZIL_TRY(const TensorHeader header, tensor_header(bytes));
    FRAZIL_CHECK(add(header.name, {bytes, false}));
  }
  for (const Bytes bytes : body.sparse_initializers) {
    FRAZIL_TRY(const std::string_view name, sparse_tensor_name(bytes));
    FRAZIL_CHECK(add(name, {bytes, true}));
  }
  return found;
}

Result<Tensor> Importer::read_initializer(const Initializer& initializer) const {
  if (!initializer.sparse) return read_tensor(source_, initializer.bytes);
  FRAZIL_TRY(SparseTensor sparse, read_sparse_tensor(source_, initializer.bytes));
  return std::move(sparse.dense);
}

namespace {

Status check_default(const Tensor& tensor, const Type& type, const Scope& scope) {
  const auto matches = [&] {
    if (!type.is_tensor() || type.elem != tensor.elem()) return false;
    if (!type.ranked) return true;
    return std::ranges::equal(type.shape, tensor.sizes(),
                              [](Dim d, std::int64_t n) { return !d.is_const() || d == n; });
  };
  if (matches()) return {};
  return fail(Code::bad_model, "its initializer is {}, expected {}", tensor.type_str(), str(type, scope));
}

}  // namespace

Status Importer::define_input(const ValueInfo& info, const Initializer* initializer) {
  Builder builder(graph_, Graph::kMain);
  Tensor tensor;
  if (initializer != nullptr) {
    FRAZIL_TRY(tensor, read_initializer(*initializer));
  }
  if (!info.type) return fail(Code::bad_model, "its type is not given");
  FRAZIL_TRY(Type type, read_type(*info.type, builder, proto::shown(info.name), source_));
  if (initializer != nullptr) FRAZIL_CHECK(check_default(tensor, type, graph_.scope()));
  const Expr input = builder.input(info.name, std::move(type), std::move(tensor));
  if (!top().cx->names.define(info.name, input.value)) return fail(Code::bad_model, "it is defined twice");
  return {};
}

Status Importer::define_inputs(const Initializers& given) {
  for (const Bytes bytes : top().body.inputs) {
    FRAZIL_TRY(const ValueInfo info, read_value_info(bytes));
    if (info.name.empty()) return fail(Code::bad_model, "an input of the graph has no name");
    FRAZIL_CHECK(check_name("an input", info.name));
    const auto found = given.find(info.name);
    const bool fixed = model_.info.ir_version < kInputsOwnInitializers ||
                       (options_.fix_defaults && !options_.keep_defaults.contains(info.name));
    if (found != given.end() && fixed) continue;
    const Status status = define_input(info, found == given.end() ? nullptr : &found->second);
    if (!status) return within(fmt::format("input '{}': ", proto::shown(info.name)), status.error());
    if (found != given.end()) defaults_.insert(info.name);
  }
  return {};
}

Status Importer::define_constant(std::string_view name, Tensor tensor) {
  if (name.empty()) return fail(Code::bad_model, "an initializer has no name");
  FRAZIL_CHECK(check_name("an initializer", name));
  const Value v = Builder(graph_, top().block).constant(std::move(tensor)).value;
  return define(name, v, [] { return "initializer"; });
}

Status Importer::define_initializers() {
  const bool main = frames_.size() == 1;
  for (const Bytes bytes : top().body.initializers) {
    FRAZIL_TRY(const TensorHeader header, tensor_header(bytes));
    if (main && defaults_.contains(header.name)) continue;
    FRAZIL_TRY(Tensor tensor, read_tensor(source_, bytes));
    FRAZIL_CHECK(define_constant(header.name, std::move(tensor)));
  }
  for (const Bytes bytes : top().body.sparse_initializers) {
    FRAZIL_TRY(const std::string_view name, sparse_tensor_name(bytes));
    if (main && defaults_.contains(name)) continue;
    FRAZIL_TRY(SparseTensor sparse, read_sparse_tensor(source_, bytes));
    FRAZIL_CHECK(define_constant(sparse.name, std::move(sparse.dense)));
  }
  return {};
}

Status Importer::define_params(const std::vector<Value>& params) {
  const Frame& frame = top();
  const auto where = [] { return "its inputs"; };
  std::size_t k = 0;
  for (const Bytes bytes : frame.body.inputs) {
    FRAZIL_TRY(const ValueInfo info, read_value_info(bytes));
    FRAZIL_CHECK(check_name("a subgraph's input", info.name));
    FRAZIL_CHECK(define(info.name, params[k++], where));
  }
  return {};
}

// ---- end of a block ----

Result<std::vector<Value>> Importer::results(const std::string& what) const {
  std::vector<Value> values;
  for (const Bytes bytes : top().body.outputs) {
    FRAZIL_TRY(const ValueInfo info, read_value_info(bytes));
    const auto value = top().cx->names.find(info.name);
    if (!value || !*value) {
      return fail(Code::bad_model, "{}: output '{}' is not defined", what, proto::shown(info.name));
    }
    values.push_back(*value);
  }
  return values;
}

Status Importer::finish_frame() {
  if (top().call) return finish_call();
  if (top().spliced) return finish_splice();
  return top().region ? finish_block() : finish_main();
}

Status Importer::finish_main() {
  FRAZIL_TRY(const std::vector<Value> values, results("graph"));
  Builder builder(graph_, Graph::kMain);
  std::set<std::string_view> seen;
  for (std::size_t i = 0; i < values.size(); ++i) {
    FRAZIL_TRY(const ValueInfo info, read_value_info(top().body.outputs[i]));
    FRAZIL_CHECK(check_name("an output", info.name));
    if (!seen.insert(info.name).second) {
      warn("graph: output '{}' is listed twice; it is given once", proto::shown(info.name));
      continue;
    }
    builder.output(info.name, {&builder, values[i]});
  }
  frames_.pop_back();
  return {};
}

Status Importer::finish_block() {
  std::unique_ptr<OpenRegion> region = std::move(top().region);
  FRAZIL_TRY(std::vector<Value> values, results(described_block(region->described, region->attr())));
  Builder builder(graph_, region->parent);
  builder.yield(region->id, region->index, std::move(values));
  const std::shared_ptr<Context> cx = top().cx;
  cx->names.pop();
  frames_.pop_back();
  if (++region->index < region->bodies.size()) return open_block(std::move(region));
  FRAZIL_CHECK(builder.close(region->id, region->wanted));
  std::vector<Value> outputs = graph_.node(region->id).out;
  if (region->finish) {
    FRAZIL_TRY(outputs, region->finish(outputs));
  }
  return define_outputs(region->outputs, outputs, [&] { return region->described; });
}

Status Importer::finish_splice() {
  const std::unique_ptr<OpenSplice> open = std::move(top().spliced);
  FRAZIL_TRY(const std::vector<Value> values, results(described_block(open->described, open->splice->attr)));
  top().cx->names.pop();
  frames_.pop_back();
  FRAZIL_TRY(Spliced spliced, open->splice->then(values));
  if (!spliced.next) return define_outputs(open->outputs, spliced.results, [&] { return open->described; });
  return open_splice(std::make_unique<OpenSplice>(std::move(spliced.next), open->outputs, open->described));
}

Status Importer::finish_call() {
  const std::unique_ptr<OpenCall> call = std::move(top().call);
  const std::shared_ptr<Context> cx = top().cx;
  std::vector<Value> values;
  for (const std::string_view name : cx->function->outputs) {
    const auto value = cx->names.find(name);
    if (!value) {
      return fail(Code::bad_model, "{}: the function's output '{}' is not defined", call->described,
                  proto::shown(name));
    }
    values.push_back(*value);
  }
  frames_.pop_back();
  ended_[cx->function] = true;
  calls_[call->number].last_node = graph_.node_count();
  calls_[call->number].outputs = values;
  return define_outputs(call->outputs, values, [&] { return call->described; }, call->first_value);
}

Status Importer::define_outputs(const Texts& names, const std::vector<Value>& values, const Describe& what,
                                std::size_t rename_from) {
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i].empty()) continue;
    if (i >= values.size()) {
      return fail(Code::bad_model, "{}: it has no output {} ('{}')", what(), i, proto::shown(names[i]));
    }
    const Value v = values[i];
    if (v && v.id >= rename_from) Builder(graph_, top().block).name_value(v, {});
    FRAZIL_CHECK(define(names[i], v, what));
  }
  return {};
}

// ---- names ----

Status Importer::check_name(std::string_view what, std::string_view name) const {
  if (!is_utf8(name)) return fail(Code::bad_model, "the name of {} is not UTF-8: '{}'", what, proto::shown(name));
  if (name.size() <= options_.limits.name_bytes) return {};
  return fail(Code::limit, "a name has {} bytes, at most {} are allowed: '{}'", name.size(), options_.limits.name_bytes,
              proto::shown(name));
}

Status Importer::define(std::string_view name, Value value, const Describe& what) {
  Context& cx = *top().cx;
  if (!cx.names.define(name, value)) {
    return fail(Code::bad_model, "{}: '{}' is defined already", what(), proto::shown(name));
  }
  if (const auto said = top().said.find(name); value && said != top().said.end()) {
    said_.push_back({value, cx.prefix + std::string(name), said->second});
    count_graph_bytes(sizeof(Said) + said_.back().name.size());
  }
  if (value && graph_.value_name(value).empty()) {
    Builder(graph_, top().block).name_value(value, cx.prefix.empty() ? name : cx.prefix + std::string(name));
    count_graph_bytes(graph_.value_name(value).size());
  }
  return {};
}

Result<Value> Importer::resolve(std::string_view name, const NodeParts& node) const {
  if (name.empty()) return Value{};
  if (const auto value = top().cx->names.find(name)) return *value;
  return fail_at(describe(node), Code::bad_model, "input '{}' is not defined", proto::shown(name));
}

Result<std::vector<Value>> Importer::resolve_inputs(const NodeParts& node) const {
  std::vector<Value> values;
  for (const std::string_view name : node.inputs) {
    FRAZIL_TRY(values.emplace_back(), resolve(name, node));
  }
  return values;
}

}  // namespace frazil::onnx
