#include "python/src/policy.h"

#include <array>

#include "python/src/arrays.h"
#include "python/src/raised.h"

namespace frazil::python {
namespace {

constexpr std::array kPolicyFunctions{"check_load", "check_edit", "check_run"};

py::object model_object(const Model& model) {
  return py::module_::import("frazil.model").attr("Model")(model, Options());
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

  std::optional<std::string> check_load(const Model& model) override { return ask(0, model); }
  std::optional<std::string> check_edit(const Model& from, const Model& to) override { return ask(1, from, to); }
  std::optional<std::string> check_run(const Model& model) override { return ask(2, model); }

 private:
  template <class... M>
  std::optional<std::string> ask(std::size_t function, const M&... models) {
    if (!overridden_[function]) return std::nullopt;
    const Locked locked;
    try {
      const py::object reason = to_.attr(kPolicyFunctions[function])(model_object(models)...);
      if (reason.is_none()) return std::nullopt;
      if (py::isinstance<py::str>(reason)) return reason.cast<std::string>();
      refuse(std::string(kPolicyFunctions[function]) + "() must return a text or None, got " +
             py::repr(reason).cast<std::string>());
    } catch (py::error_already_set& error) {
      throw_raised(error, std::string(kPolicyFunctions[function]) + "(): ");
    }
  }

  py::handle to_;
  std::shared_ptr<const void> held_;  ///< keeps `to_` alive
  std::array<bool, kPolicyFunctions.size()> overridden_{};
};

}  // namespace

std::shared_ptr<Policy> policy_of(const py::object& object) {
  return object.is_none() ? nullptr : std::make_shared<PythonPolicy>(object);
}

}  // namespace frazil::python
