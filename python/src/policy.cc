#include "python/src/policy.h"

#include <array>

#include "python/src/arrays.h"
#include "python/src/governor.h"
#include "python/src/raised.h"

namespace frazil::python {
namespace {

constexpr std::array kPolicyFunctions{"check_file", "check_load",     "check_change",  "check_edit",
                                      "check_run",  "check_dispatch", "check_operator"};
enum class PolicyFunction : std::uint8_t { file, load, change, edit, run, dispatch, host_operator };

py::object model_object(const Model& model) {
  return py::module_::import("frazil.model").attr("Model")(model, Options());
}

py::object make(const char* type, const auto&... fields) {
  return py::module_::import("frazil.policy").attr(type)(fields...);
}

py::object file_object(const FileFacts& facts) {
  py::list operators;
  for (const api::UsedOperator& op : facts.operators()) {
    operators.append(make("FileOperator", op.domain, op.name, op.opset, op.nodes));
  }
  return make("FileFacts", std::string(name_of(facts.kind)), py::bytes(facts.path.data(), facts.path.size()),
              facts.content.size(), facts.digest(), py::tuple(operators));
}

py::object change_object(const Change& change) {
  const VersionNote none;
  const VersionNote& note = change.note == nullptr ? none : *change.note;
  return make("Change", std::string(name_of(change.kind)), model_object(change.from), model_object(change.to),
              note.author, note.reason);
}

/// Calls the methods that the class overrides, and acquires the lock only for these.
class PythonPolicy : public Policy {
 public:
  explicit PythonPolicy(const py::object& to) : to_(to), held_(kept(to)) {
    const py::object base = py::module_::import("frazil.policy").attr("Policy");
    if (!py::isinstance(to, base)) throw py::type_error("a policy must derive from frazil.Policy");
    for (std::size_t f = 0; f < kPolicyFunctions.size(); ++f) {
      overridden_[f] = !to.attr("__class__").attr(kPolicyFunctions[f]).is(base.attr(kPolicyFunctions[f]));
    }
  }

  std::optional<std::string> check_file(const FileFacts& facts) override {
    return ask(PolicyFunction::file, [&](const py::object& f) { return f(file_object(facts)); });
  }
  std::optional<std::string> check_load(const Model& model) override {
    return ask(PolicyFunction::load, [&](const py::object& f) { return f(model_object(model)); });
  }
  std::optional<std::string> check_change(const Change& made) override {
    if (!overridden(PolicyFunction::change)) return Policy::check_change(made);
    return ask(PolicyFunction::change, [&](const py::object& f) { return f(change_object(made)); });
  }
  std::optional<std::string> check_edit(const Model& from, const Model& to) override {
    return ask(PolicyFunction::edit, [&](const py::object& f) { return f(model_object(from), model_object(to)); });
  }
  std::optional<std::string> check_run(const Model& model) override {
    return ask(PolicyFunction::run, [&](const py::object& f) { return f(model_object(model)); });
  }
  std::optional<std::string> check_dispatch(const Dispatch& call) override {
    return ask(PolicyFunction::dispatch,
               [&](const py::object& f) { return f(std::string(call.name), call.version, model_object(call.model)); });
  }
  std::optional<std::string> check_operator(const HostOperator& op) override {
    return ask(PolicyFunction::host_operator, [&](const py::object& f) { return f(op.domain, op.name); });
  }

 private:
  static const char* name(PolicyFunction function) { return kPolicyFunctions[static_cast<std::size_t>(function)]; }
  bool overridden(PolicyFunction function) const { return overridden_[static_cast<std::size_t>(function)]; }
  /// Returns the reason of a function that `call` calls.
  std::optional<std::string> ask(PolicyFunction function, const auto& call) {
    if (!overridden(function)) return std::nullopt;
    const Locked locked;
    try {
      const py::object reason = call(to_.attr(name(function)));
      if (reason.is_none()) return std::nullopt;
      if (py::isinstance<py::str>(reason)) return reason.cast<std::string>();
      refuse(std::string(name(function)) + "() must return a text or None, got " +
             py::repr(reason).cast<std::string>());
    } catch (py::error_already_set& error) {
      throw_raised(error, std::string(name(function)) + "(): ");
    }
  }

  py::handle to_;
  std::shared_ptr<const void> held_;  ///< keeps `to_` alive
  std::array<bool, kPolicyFunctions.size()> overridden_{};
};

}  // namespace

void bind_policies(py::module_& m) {
  m.def("install_policy", [](const py::object& policy) { install_policy(policy_of(policy)); });
}

std::shared_ptr<Policy> policy_of(const py::object& object) {
  if (object.is_none()) return nullptr;
  if (auto governed = governed_policy(object)) return governed;
  return std::make_shared<PythonPolicy>(object);
}

}  // namespace frazil::python
