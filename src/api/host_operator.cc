#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <mutex>
#include <optional>

#include <frazil/host_operator.h>

#include "api/host_call.h"
#include "base/limits/execution_limits.h"
#include "base/thread/mutex.h"
#include "ir/infer/infer.h"
#include "ir/op/op.h"
#include "onnx/upgrade/upgrade.h"

namespace frazil::api {

Array operand_of(const OpaqueCall& call, std::size_t i, bool views) {
  if (!call.has(i)) return {};
  if (!views) {
    const Datum value = call.datum(i);  // empty after a failure that the executor reports
    return value.is_tensor() ? Access::array(take(value.tensor().packed())) : Array();
  }
  const TensorView view = call.in(i);
  const auto bytes = static_cast<std::size_t>(view.count()) * frazil::byte_size(view.elem);
  return Access::array(take(
      Tensor::over(view.elem, {view.sizes.begin(), view.sizes.end()}, Buffer::borrow({view.data, bytes}, nullptr))));
}

Status put_result(OpaqueCall& call, std::size_t k, const Array& made) {
  if (!made.is_tensor()) return fail(frazil::Code::bad_input, "its function gives no tensor as output {}", k);
  const Tensor& from = Access::elements(made);
  if (from.elem() != call.out_elem(k)) {
    return fail(frazil::Code::bad_input, "its function gives {} as output {}, promised {}", from.type_str(), k,
                frazil::name_of(call.out_elem(k)));
  }
  if (call.shares(k)) return call.put(k, Datum(from));
  auto to = call.out(k, from.sizes());
  if (!to && to.error().code == frazil::Code::internal) to.error().code = frazil::Code::bad_input;
  FRAZIL_TRY(std::byte* const bytes, std::move(to));
  if (from.elem() == Elem::string) {
    auto* text = reinterpret_cast<std::string*>(bytes);
    for (const std::string& s : from.as<std::string>()) assign_text(*text++, s);
  } else if (from.bytes() != 0) {
    std::memcpy(bytes, from.data(), from.bytes());
  }
  return {};
}

/// The event of a reply, with its content.
struct HostReply::State : Event {
  /// Returns the results of a reply, or throws its exception.
  std::vector<Array> take() {
    if (why) std::rethrow_exception(why);
    return std::move(results);
  }
  void reply(std::vector<Array> given, std::exception_ptr failure) {
    if (replied.exchange(true)) return;
    results = std::move(given);
    why = std::move(failure);
    fire();
  }
  std::atomic<bool> replied = false;
  std::vector<Array> results;
  std::exception_ptr why;
};

/// Destroyed with the last handle.
class HostReply::Last {
 public:
  explicit Last(std::shared_ptr<State> state) : state_(std::move(state)) {}
  Last(const Last&) = delete;
  Last& operator=(const Last&) = delete;
  ~Last() {
    if (state_->replied) return;
    state_->reply({}, std::make_exception_ptr(Error(api::Code::bad_input, "its function ended without a reply")));
  }

 private:
  std::shared_ptr<State> state_;
};

HostReply::HostReply(std::shared_ptr<State> state) : state_(std::move(state)), last_(std::make_shared<Last>(state_)) {}

void HostReply::give(std::vector<Array> results) const { state_->reply(std::move(results), nullptr); }

void HostReply::fail(std::exception_ptr why) const { state_->reply({}, std::move(why)); }

HostReply Access::reply(std::shared_ptr<ReplyState> state) { return HostReply(std::move(state)); }

/// A definition in the form of other operators. Nodes refer to it by address: one in the registry is never freed, and
/// one of a model lives as long as attributes of its nodes.
struct HostDef : OpDef, std::enable_shared_from_this<HostDef> {
  explicit HostDef(HostOperator given);
  /// Returns the minimal number of operands that functions are called with, including absent ones.
  std::size_t fixed_inputs() const { return host.inputs + host.optional_inputs; }

  HostOperator host;
  std::vector<std::string> names;  ///< names of inputs, then of outputs
  std::vector<frazil::Port> ports;
  std::vector<AttrField> fields;
  std::vector<AttrValue> defaults;
};

namespace {

constexpr std::size_t kMaxAttributes = 16;

/// The attributes of one node, by their index in the definition.
struct HostAttrs {
  std::array<std::optional<AttrValue>, kMaxAttributes> values;
  /// The run of an Opaque receives only the attributes. The type rule, which always runs first, stores the definition
  /// here.
  mutable std::atomic<const HostDef*> def{nullptr};

  HostAttrs() = default;
  HostAttrs(const HostAttrs& other) : values(other.values), def(other.def.load()), owner_(other.owner_) {}
  HostAttrs& operator=(const HostAttrs&) = delete;
  ~HostAttrs() = default;
  /// Stores the definition, and keeps it alive if it is not in the registry. The first call precedes all other uses.
  void set(const HostDef& given) const {
    std::call_once(owned_, [&] { owner_ = given.weak_from_this().lock(); });
    def.store(&given);
  }

 private:
  mutable std::once_flag owned_;
  mutable std::shared_ptr<const HostDef> owner_;
};

template <std::size_t I, std::size_t Kind>
Status set_value(std::string_view name, void* attrs, const AttrValue& value) {
  if (value.index() != Kind) return detail::wrong_kind(name, static_cast<AttrKind>(Kind), value);
  static_cast<HostAttrs*>(attrs)->values[I] = value;
  return {};
}
template <std::size_t I>
std::optional<AttrValue> get_value(const void* attrs) {
  return static_cast<const HostAttrs*>(attrs)->values[I];
}

using Setter = Status (*)(std::string_view, void*, const AttrValue&);
using Getter = std::optional<AttrValue> (*)(const void*);

template <std::size_t I, std::size_t... Kind>
constexpr std::array<Setter, sizeof...(Kind)> setters_of(std::index_sequence<Kind...>) {
  return {&set_value<I, Kind>...};
}
template <std::size_t... I>
AttrField field_at(std::size_t index, std::string_view name, std::size_t kind, std::index_sequence<I...>) {
  using Kinds = std::make_index_sequence<std::variant_size_v<AttrValue>>;
  static constexpr std::array setters{setters_of<I>(Kinds())...};
  static constexpr std::array<Getter, sizeof...(I)> getters{&get_value<I>...};
  return {name, static_cast<AttrKind>(kind), false, {}, setters[index][kind], getters[index]};
}

// ---- types ----

bool starts_name(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool in_name(char c) { return starts_name(c) || (c >= '0' && c <= '9'); }

/// Returns a name in the text of an extent that is not a symbol of an operand.
std::optional<std::string> unknown_name(const Scope& scope, std::string_view text) {
  constexpr std::array<std::string_view, 4> kFunctions{"floordiv", "mod", "min", "max"};
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = at + 1;
    if (starts_name(text[at])) {
      while (end < text.size() && in_name(text[end])) ++end;
      const std::string_view name = text.substr(at, end - at);
      if (std::ranges::find(kFunctions, name) == kFunctions.end() && !scope.find_symbol(name)) return std::string(name);
    } else if (in_name(text[at])) {
      while (end < text.size() && in_name(text[end])) ++end;
    }
    at = end;
  }
  return std::nullopt;
}

class TypeCall {
 public:
  TypeCall(InferCx& cx, const HostDef& def) : cx_(cx), def_(def) {}

  Status run() {
    std::vector<TensorType> operands;
    for (std::size_t i = 0; i < cx_.input_count(); ++i) {
      if (cx_.has(i) && !cx_.type(i).is_tensor()) {
        return cx_.error("input '{}': expected a tensor, got {}", def_.names[std::min(i, def_.names.size() - 1)],
                         cx_.type_str(i));
      }
      operands.push_back(operand(i));
    }
    while (operands.size() < def_.fixed_inputs()) operands.push_back({.dims = {}, .given = false});
    const NodeAttributes attributes = Access::attributes(cx_.node().attrs.get());
    auto types = called([&] { return def_.host.types(attributes, operands); });
    if (!types) return at_node(cx_.graph().describe(cx_.id()), std::move(types).error());
    const std::size_t outputs = cx_.node().out.size();
    if (types->size() < outputs || types->size() > def_.host.outputs) {
      return cx_.error("its type function gives {} types for {} outputs", types->size(), outputs);
    }
    for (std::size_t k = 0; k < outputs; ++k) {
      if (cx_.wants(k)) FRAZIL_CHECK(result(k, (*types)[k]));
    }
    return {};
  }

 private:
  TensorType operand(std::size_t i) {
    if (!cx_.has(i)) return {.dims = {}, .given = false};
    const Type& type = cx_.type(i);
    TensorType known{.dtype = static_cast<Dtype>(type.elem), .dims = {}, .ranked = type.ranked};
    for (const Dim d : type.shape) {
      known.dims.push_back(cx_.scope().str(d));
      dims_.emplace_back(known.dims.back(), d);
    }
    return known;
  }

  Status result(std::size_t k, const TensorType& type) {
    if (type.dtype > Dtype::u2) return cx_.error("its type function gives output {} no element type", k);
    const Elem elem = static_cast<Elem>(type.dtype);
    if (!type.ranked) {
      cx_.out(k, Type::unranked(elem));
      return {};
    }
    Shape shape;
    for (const std::string& dim : type.dims) {
      FRAZIL_TRY(const Dim d, extent(k, static_cast<int>(shape.size()), dim));
      shape.push_back(d);
    }
    cx_.out(k, Type::tensor(elem, std::move(shape)));
    return {};
  }

  Result<Dim> extent(std::size_t k, int axis, const std::string& text) {
    if (text == "?") return cx_.data_extent(k, axis);
    const auto same = std::ranges::find(dims_, text, &std::pair<std::string, Dim>::first);
    if (same != dims_.end()) return same->second;
    if (const auto name = unknown_name(cx_.scope(), text)) {
      return cx_.error("its type function gives output {} the extent '{}', but no operand has '{}'", k, text, *name);
    }
    auto dim = parse_dim(cx_.scope(), text);
    if (!dim) return cx_.error("its type function gives output {} the extent '{}': {}", k, text, dim.error().text());
    return *dim;
  }

  InferCx& cx_;
  const HostDef& def_;
  std::vector<std::pair<std::string, Dim>> dims_;  ///< extents of the operands by name
};

Status infer_host(InferCx& cx) {
  const auto& def = static_cast<const HostDef&>(*cx.node().op);
  cx.attrs<HostAttrs>().set(def);
  return TypeCall(cx, def).run();
}

// ---- runs ----

std::vector<Array> operands_of(const OpaqueCall& call, const HostDef& def, bool views) {
  std::vector<Array> operands;
  for (std::size_t i = 0; i < call.input_count(); ++i) operands.push_back(operand_of(call, i, views));
  operands.resize(std::max(operands.size(), def.fixed_inputs()));
  return operands;
}

Status put_results(OpaqueCall& call, const HostDef& def, const std::vector<Array>& results) {
  if (results.size() < call.output_count() || results.size() > def.host.outputs) {
    return fail(frazil::Code::bad_input, "its function gives {} results for {} outputs", results.size(),
                call.output_count());
  }
  for (std::size_t k = 0; k < call.output_count(); ++k) {
    if (call.wants(k)) FRAZIL_CHECK(put_result(call, k, results[k]));
  }
  return {};
}

Status run_host(OpaqueCall& call) {
  const HostDef& def = *call.attrs<HostAttrs>().def.load();
  FRAZIL_TRY(const std::vector<Array> results, called([&] {
               return def.host.run(Access::attributes(&call.attrs<HostAttrs>()),
                                   operands_of(call, def, def.host.views));
             }));
  return put_results(call, def, results);
}

Status start_host(OpaqueCall& call) {
  const HostDef& def = *call.attrs<HostAttrs>().def.load();
  auto state = std::static_pointer_cast<Access::ReplyState>(call.waited());
  if (state == nullptr) {
    state = std::make_shared<Access::ReplyState>();
    FRAZIL_CHECK(called([&] {
      const ExecutionLimits* const limits = ExecutionLimits::current();
      HostStart start{.attributes = Access::attributes(&call.attrs<HostAttrs>()),
                      .inputs = operands_of(call, def, false),
                      .context = limits != nullptr ? limits->context() : nullptr,
                      .deadline = limits != nullptr ? limits->deadline() : std::nullopt};
      def.host.start(std::move(start), Access::reply(state));
      return true;
    }));
  }
  FRAZIL_TRY(const bool replied, call.wait(state));
  if (!replied) return {};
  FRAZIL_TRY(const std::vector<Array> results, called([&] { return state->take(); }));
  return put_results(call, def, results);
}

// ---- registration ----

bool is_name(std::string_view text, bool dotted) {
  if (text.empty() || !starts_name(text[0]) || text.back() == '.') return false;
  return std::ranges::all_of(text, [&](char c) { return in_name(c) || (dotted && c == '.'); });
}

/// `own`: the operator belongs to one model.
void check_host(const HostOperator& op, bool own) {
  const auto refuse_it = [&](std::string_view why) {
    refuse(frazil::Code::bad_input, "operator '{}' of domain '{}': {}", op.name, op.domain, why);
  };
  if (!is_name(op.name, false)) refuse_it("its name must consist of letters, digits and _");
  if (!is_name(op.domain, true) && !(own && op.domain.empty()))
    refuse_it("its domain must consist of names with dots between them");
  if (!op.types || (!op.run && !op.start)) refuse_it("it needs the functions types and run, or types and start");
  if (op.run && op.start) refuse_it("it has run and start: expected one of them");
  if (op.effects && op.pure) refuse_it("an operator with effects is not pure");
  if (op.outputs == 0) refuse_it("it needs at least one output");
  if (op.variadic && op.optional_inputs != 0) refuse_it("its further inputs are either optional or variadic");
  if (op.attributes.size() > kMaxAttributes) refuse_it("it has more than 16 attributes");
  for (const auto& [name, value] : op.attributes) {
    const auto same = [&](const auto& other) { return other.first == name; };
    if (!is_name(name, false) || std::ranges::count_if(op.attributes, same) > 1) {
      refuse_it(fmt::format("its attributes need names of their own, got '{}'", name));
    }
  }
}

}  // namespace

HostDef::HostDef(HostOperator given) : OpDef{}, host(std::move(given)) {
  using Use = frazil::Port::Use;
  const std::size_t further = host.variadic ? 1 : host.optional_inputs;
  const std::size_t in = host.inputs + further;
  for (std::size_t i = 0; i < in; ++i) names.push_back(fmt::format("in{}", i));
  for (std::size_t k = 0; k < host.outputs; ++k) names.push_back(fmt::format("out{}", k));
  for (std::size_t i = 0; i < names.size(); ++i) {
    const Use use = i < host.inputs || i >= in ? Use::required : host.variadic ? Use::variadic : Use::optional;
    ports.push_back({.name = names[i], .var = {}, .set = 0, .use = use});
  }
  for (const auto& [attribute, value] : host.attributes) {
    defaults.push_back(Access::attribute(value));
    fields.push_back(
        field_at(fields.size(), attribute, defaults.back().index(), std::make_index_sequence<kMaxAttributes>()));
  }
  name = host.name;
  domain = host.domain;
  doc = host.doc;
  attrs = {fields, [] { return std::shared_ptr<void>(std::make_shared<HostAttrs>()); },
           [](const void* p) {
             return std::shared_ptr<void>(std::make_shared<HostAttrs>(*static_cast<const HostAttrs*>(p)));
           }};
  inputs = std::span(ports).first(in);
  outputs = std::span(ports).subspan(in);
  form = Opaque{infer_host, host.start ? start_host : run_host, "a program defines it", true, Opaque::Work::unknown};
  stateful = !host.pure;
  effects = host.effects;
}

void register_operator(HostOperator op) {
  start();
  check_host(op, false);
  Policies().check_operator(op);
  static Mutex mutex;
  static auto& kept = *new std::vector<std::unique_ptr<HostDef>>;  // models may outlive main()
  const std::scoped_lock lock(mutex);
  kept.push_back(std::make_unique<HostDef>(std::move(op)));
  const HostDef& def = *kept.back();
  if (OpRegistry::global().add(def)) return;
  const std::string why = fmt::format("domain '{}' has an operator '{}' already", def.domain, def.name);
  kept.pop_back();
  refuse(frazil::Code::bad_input, "{}", why);
}

std::shared_ptr<const OpSet> own_operators(const std::vector<HostOperator>* operators, const Policies& policies) {
  if (operators == nullptr) return nullptr;
  auto set = std::make_shared<OpSet>();
  for (const HostOperator& op : *operators) {
    check_host(op, true);
    policies.check_operator(op);
    auto def = std::make_shared<HostDef>(op);
    if (op.domain == "ai.onnx") def->domain = "";
    const bool built_in = OpRegistry::global().find("", op.name) != nullptr || onnx::has_upgrade("", op.name);
    if (def->domain.empty() && built_in) {
      refuse(frazil::Code::bad_input, "operator '{}' is built in: give the model's operator a domain", op.name);
    }
    if (!set->add(def)) {
      refuse(frazil::Code::bad_input, "the model's operators have '{}' of domain '{}' twice", op.name, op.domain);
    }
  }
  return set;
}

NodeAttributes Access::attributes(const void* attrs) {
  NodeAttributes attributes;
  attributes.attrs_ = attrs;
  return attributes;
}

template <class T>
const T& NodeAttributes::get(std::string_view name) const {
  if (attrs_ == nullptr) refuse(frazil::Code::bad_input, "these attributes are of no node: there is no '{}'", name);
  const auto& attrs = *static_cast<const HostAttrs*>(attrs_);
  const HostDef& def = *attrs.def.load();
  const auto at = std::ranges::find(def.fields, name, &AttrField::name);
  if (at == def.fields.end()) refuse(frazil::Code::bad_input, "operator '{}' has no attribute '{}'", def.name, name);
  const auto index = static_cast<std::size_t>(at - def.fields.begin());
  const AttrValue& value = attrs.values[index] ? *attrs.values[index] : def.defaults[index];
  if (const T* wanted = std::get_if<T>(&value)) return *wanted;
  refuse(frazil::Code::bad_input, "attribute '{}' of operator '{}' is {}", name, def.name, frazil::name_of(at->kind));
}

std::int64_t NodeAttributes::integer(std::string_view name) const { return get<std::int64_t>(name); }
float NodeAttributes::real(std::string_view name) const { return get<float>(name); }
std::string NodeAttributes::text(std::string_view name) const { return get<std::string>(name); }
std::vector<std::int64_t> NodeAttributes::integers(std::string_view name) const { return get<Ints>(name); }
std::vector<float> NodeAttributes::reals(std::string_view name) const { return get<Floats>(name); }
std::vector<std::string> NodeAttributes::texts(std::string_view name) const { return get<Strings>(name); }
Array NodeAttributes::tensor(std::string_view name) const { return Access::array(get<Tensor>(name)); }

}  // namespace frazil::api
