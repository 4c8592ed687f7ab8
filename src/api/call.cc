#include <array>
#include <map>
#include <mutex>

#include <frazil/registry.h>

#include "api/host_call.h"
#include "base/limits/execution_limits.h"
#include "base/thread/mutex.h"
#include "base/value/elem.h"
#include "base/value/text.h"
#include "ir/infer/infer.h"
#include "ir/op/op.h"

namespace frazil::api {

struct Registry::Impl {
  mutable Mutex mutex;
  std::map<std::string, LiveModel, std::less<>> models;
};

Registry::Registry() : impl_(std::make_unique<Impl>()) {}

Registry::~Registry() = default;

Registry& Registry::instance() {
  static auto& registry = *new Registry;  // models may outlive main()
  return registry;
}

void Registry::put(std::string_view name, LiveModel model) {
  const std::scoped_lock lock(impl_->mutex);
  impl_->models.insert_or_assign(std::string(name), std::move(model));
}

std::optional<LiveModel> Registry::find(std::string_view name) const {
  const std::scoped_lock lock(impl_->mutex);
  const auto at = impl_->models.find(name);
  return at == impl_->models.end() ? std::nullopt : std::optional(at->second);
}

LiveModel Registry::get(std::string_view name) const {
  auto model = find(name);
  if (!model) refuse(frazil::Code::bad_input, "there is no model '{}' in the registry", name);
  return std::move(*model);
}

void Registry::remove(std::string_view name) {
  const std::scoped_lock lock(impl_->mutex);
  const auto at = impl_->models.find(name);
  if (at == impl_->models.end()) refuse(frazil::Code::bad_input, "there is no model '{}' in the registry", name);
  impl_->models.erase(at);
}

std::vector<std::string> Registry::names() const {
  const std::scoped_lock lock(impl_->mutex);
  std::vector<std::string> names;
  for (const auto& [name, model] : impl_->models) names.push_back(name);
  return names;
}

LiveModel CalledModels::get(std::string_view name) const {
  if (!is_own_) return Registry::instance().get(name);
  if (const auto registry = registry_.lock()) return registry->get(name);
  refuse(frazil::Code::bad_input, "there is no model '{}': the registry of the calling model has ended", name);
}

namespace {

// ---- contracts ----

/// A parsed type, such as "f32[N,64]".
struct TypeText {
  Elem elem = Elem::f32;
  std::vector<std::string> dims;
};

Result<TypeText> parse_type(std::string_view text) {
  const std::size_t bracket = text.find('[');
  const auto elem = elem_from_name(text.substr(0, bracket));
  if (!elem || bracket == std::string_view::npos || !text.ends_with(']')) {
    return fail(frazil::Code::bad_model, "'{}' is not a type such as 'f32[N,64]'", text);
  }
  TypeText parsed{.elem = *elem, .dims = {}};
  std::string_view rest = text.substr(bracket + 1, text.size() - bracket - 2);
  while (!rest.empty()) {
    const std::size_t comma = rest.find(',');
    std::string_view dim = rest.substr(0, comma);
    while (dim.starts_with(' ')) dim.remove_prefix(1);
    while (dim.ends_with(' ')) dim.remove_suffix(1);
    if (dim.empty()) return fail(frazil::Code::bad_model, "'{}' has an extent without a name", text);
    parsed.dims.emplace_back(dim);
    rest = comma == std::string_view::npos ? std::string_view() : rest.substr(comma + 1);
  }
  return parsed;
}

struct CallAttrs {
  std::string model;
  std::int64_t version = 0;
  Strings takes, gives;
  static constexpr std::array fields{required<&CallAttrs::model>("model", "name of the model in the registry"),
                                     attr<&CallAttrs::version>("version", "its version; 0: the current one"),
                                     required<&CallAttrs::takes>("takes", "the type of each input: 'f32[N,64]'"),
                                     required<&CallAttrs::gives>("gives", "the type of each output")};
};

// ---- types ----

class Contract {
 public:
  explicit Contract(InferCx& cx) : cx_(cx), attrs_(cx.attrs<CallAttrs>()) {}

  Status check() {
    if (attrs_.version < 0) return cx_.error("version {} is negative", attrs_.version);
    if (attrs_.takes.size() != cx_.input_count() || attrs_.gives.size() != cx_.output_count()) {
      return cx_.error("its contract has {} inputs and {} outputs, the node {} and {}", attrs_.takes.size(),
                       attrs_.gives.size(), cx_.input_count(), cx_.output_count());
    }
    for (std::size_t i = 0; i < attrs_.takes.size(); ++i) FRAZIL_CHECK(input(i));
    for (std::size_t k = 0; k < attrs_.gives.size(); ++k) FRAZIL_CHECK(output(k));
    return {};
  }

 private:
  Status input(std::size_t i) {
    FRAZIL_TRY(const TypeText wanted, parsed(attrs_.takes[i]));
    if (!cx_.has(i)) return cx_.error("input {} is absent", i);
    const Type type = cx_.type(i);
    const bool fits =
        type.is_tensor() && type.elem == wanted.elem && (!type.ranked || type.rank() == wanted.dims.size());
    if (!fits) return cx_.error("input {}: expected {}, got {}", i, attrs_.takes[i], cx_.type_str(i));
    for (std::size_t axis = 0; axis < type.shape.size(); ++axis) {
      const std::string& dim = wanted.dims[axis];
      if (dim == "?") continue;
      const auto number = parse_integer(dim);
      const auto [at, fresh] = bound_.try_emplace(dim, number ? Dim(*number) : type.shape[axis]);
      if (fresh && !number) continue;
      FRAZIL_CHECK(cx_.require_equal(type.shape[axis], at->second, fmt::format("extent '{}' of input {}", dim, i)));
    }
    return {};
  }

  Status output(std::size_t k) {
    FRAZIL_TRY(const TypeText given, parsed(attrs_.gives[k]));
    if (!cx_.wants(k)) return {};
    Shape shape;
    for (std::size_t axis = 0; axis < given.dims.size(); ++axis) {
      const std::string& dim = given.dims[axis];
      const auto at = bound_.find(dim);
      if (const auto number = parse_integer(dim)) {
        shape.push_back(Dim(*number));
      } else if (at != bound_.end()) {
        shape.push_back(at->second);
      } else {
        shape.push_back(cx_.data_extent(k, static_cast<int>(axis)));
        if (dim != "?") bound_.emplace(dim, shape.back());
      }
    }
    cx_.out(k, Type::tensor(given.elem, std::move(shape)));
    return {};
  }

  Result<TypeText> parsed(const std::string& text) const {
    auto type = parse_type(text);
    if (!type) return cx_.error("{}", type.error().text());
    return type;
  }

  InferCx& cx_;
  const CallAttrs& attrs_;
  std::map<std::string, Dim, std::less<>> bound_;
};

Status types(InferCx& cx) { return Contract(cx).check(); }

// ---- runs ----

/// A counter of the nested calls on this thread.
class Depth {
 public:
  Depth() { ++depth; }
  ~Depth() { --depth; }
  Depth(const Depth&) = delete;
  Depth& operator=(const Depth&) = delete;
  static bool exceeded() { return depth > 32; }

 private:
  static thread_local int depth;
};
thread_local int Depth::depth = 0;

std::vector<Named> by_name(const Model& model, std::span<const Array> operands, const CallAttrs& attrs) {
  const auto& ports = model.inputs();
  if (ports.size() < operands.size() || model.outputs().size() < attrs.gives.size()) {
    refuse(frazil::Code::bad_input, "model '{}' has {} inputs and {} outputs, the contract {} and {}", attrs.model,
           ports.size(), model.outputs().size(), operands.size(), attrs.gives.size());
  }
  std::vector<Named> named;
  for (std::size_t i = 0; i < operands.size(); ++i) named.push_back({ports[i].name, operands[i]});
  return named;
}

/// Returns what the model that runs on this thread has from its load.
const Inherited& running_model() {
  static const Inherited none;
  const ExecutionLimits* const limits = ExecutionLimits::current();
  const auto* const model = limits == nullptr ? nullptr : static_cast<const Inherited*>(limits->caller().get());
  return model == nullptr ? none : *model;
}

Results call_model(const CallAttrs& attrs, std::span<const Array> operands) {
  const Inherited& caller = running_model();
  const LiveModel live = caller.registry.get(attrs.model);
  const Version version = attrs.version == 0 ? live.current() : live.version(static_cast<std::uint64_t>(attrs.version));
  caller.policies.check_dispatch({attrs.model, version.number, version.model});
  return version.model.run(std::span<const Named>(by_name(version.model, operands, attrs)));
}

Status run_call(OpaqueCall& call) {
  const auto& attrs = call.attrs<CallAttrs>();
  const Depth depth;
  if (Depth::exceeded()) return fail(frazil::Code::limit, "models call each other more than 32 deep");
  FRAZIL_TRY(const Results results, called([&] {
               std::vector<Array> operands;
               for (std::size_t i = 0; i < call.input_count(); ++i) operands.push_back(operand_of(call, i, true));
               return call_model(attrs, operands);
             }));
  for (std::size_t k = 0; k < call.output_count(); ++k) {
    if (!call.wants(k)) continue;
    if (Status put = put_result(call, k, results[k]); !put) {
      return within(fmt::format("model '{}': ", attrs.model), std::move(put).error());
    }
  }
  return {};
}

const OpDef& definition() {
  static constexpr std::array<frazil::Port, 1> kIn{{{"inputs", "", 0, frazil::Port::Use::variadic}}};
  static constexpr std::array<frazil::Port, 1> kOut{{{"outputs", "", 0, frazil::Port::Use::variadic}}};
  static const OpDef def{.name = "Call",
                         .domain = "frazil",
                         .doc = "Runs a model of the registry, which is looked up by name in each call.",
                         .attrs = attr_table<CallAttrs>(),
                         .inputs = kIn,
                         .outputs = kOut,
                         .form = Opaque{types, run_call, "another model computes it", false, Opaque::Work::unknown},
                         .stateful = true};
  return def;
}

// ---- checks when a graph is loaded ----

std::string fault_of(const Port& port, const TypeText& type) {
  if (port.kind != Array::Kind::tensor) return "is " + port.type;
  if (static_cast<Elem>(port.dtype) != type.elem) return "is " + port.type;
  if (!port.ranked) return {};
  if (port.dims.size() != type.dims.size()) return "is " + port.type;
  for (std::size_t axis = 0; axis < port.dims.size(); ++axis) {
    const auto theirs = parse_integer(port.dims[axis]), ours = parse_integer(type.dims[axis]);
    if (theirs && ours && *theirs != *ours) return "is " + port.type;
  }
  return {};
}

void check_ports(const std::string& node, std::string_view what, const std::vector<Port>& ports,
                 const Strings& contract) {
  if (ports.size() < contract.size()) {
    refuse(frazil::Code::bad_model, "{}: its model has {} {}s, the contract {}", node, ports.size(), what,
           contract.size());
  }
  for (std::size_t i = 0; i < contract.size(); ++i) {
    const std::string fault = fault_of(ports[i], take(parse_type(contract[i])));
    if (fault.empty()) continue;
    refuse(frazil::Code::bad_model, "{}: {} '{}' of its model {}, the contract has {}", node, what, ports[i].name,
           fault, contract[i]);
  }
}

void check_call(const Graph& graph, NodeId id, const CalledModels& registry) {
  const std::string node = graph.describe(id);
  const auto& attrs = graph.node(id).attributes<CallAttrs>();
  const auto model = called([&] {
    const LiveModel live = registry.get(attrs.model);
    return attrs.version == 0 ? live.current().model : live.version(static_cast<std::uint64_t>(attrs.version)).model;
  });
  if (!model) refuse(frazil::Code::bad_model, "{}: {}", node, model.error().text());
  check_ports(node, "input", model->inputs(), attrs.takes);
  for (std::size_t i = attrs.takes.size(); i < model->inputs().size(); ++i) {
    if (model->inputs()[i].optional) continue;
    refuse(frazil::Code::bad_model, "{}: the contract lacks input '{}' of its model", node, model->inputs()[i].name);
  }
  check_ports(node, "output", model->outputs(), attrs.gives);
}

}  // namespace

void register_call() { OpRegistry::global().add(definition()); }

void check_calls(const Graph& graph, const CalledModels& registry) {
  for (const NodeId n : graph.nodes()) {
    if (graph.node(n).op == &definition()) check_call(graph, n, registry);
  }
}

std::vector<ModelCall> calls_of(const Graph& graph) {
  std::vector<ModelCall> calls;
  for (const NodeId n : graph.nodes()) {
    if (graph.node(n).op != &definition()) continue;
    const auto& attrs = graph.node(n).attributes<CallAttrs>();
    calls.push_back({graph.describe(n), attrs.model, static_cast<std::uint64_t>(attrs.version)});
  }
  return calls;
}

}  // namespace frazil::api
