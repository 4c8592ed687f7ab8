#include "python/src/governor.h"

#include <frazil/policy.h>

#include "govern/audit/audit_log.h"
#include "govern/base/file.h"
#include "govern/gate/governor.h"
#include "govern/policy/policy.h"
#include "govern/sign/approval.h"
#include "python/src/arrays.h"
#include "python/src/policy.h"
#include "python/src/raised.h"

namespace frazil::python {
namespace {

constexpr std::size_t kMaxGovernorFile = std::size_t{1} << 20U;

struct GovernorFiles {
  std::string policy, trust, audit, key, origin;
};

/// A governor and its audit log.
class PythonGovernor {
 public:
  PythonGovernor(const GovernorFiles& files, std::function<void(std::string_view)> warn) {
    if (files.audit.empty() != files.key.empty()) refuse("expected both 'audit' and 'key', or none of them");
    govern::GovernorOptions options{.policy = govern::Policy::read_file(files.policy), .warn = std::move(warn)};
    if (!files.trust.empty()) {
      const std::string text = govern::read_file(files.trust, kMaxGovernorFile);
      options.trusted = govern::read_persons(text, "file '" + files.trust + "'");
    }
    if (!files.audit.empty()) open_audit(files);
    options.audit = audit_;
    governor_ = std::make_shared<govern::Governor>(std::move(options));
  }

  std::shared_ptr<Policy> for_model() const { return governor_->for_model({}); }
  void install() const { install_policy(governor_->for_process()); }
  void replace(const std::string& policy) const { governor_->replace(govern::Policy::read_file(policy)); }
  void close() {
    const auto audit = std::exchange(audit_, nullptr);
    if (audit == nullptr) return;
    audit->append_durable({{"kind", "shutdown"}, {"reason", "closed"}});
    audit->close();
  }

 private:
  void open_audit(const GovernorFiles& files) {
    const std::string pem = govern::read_file(files.key, kMaxGovernorFile);
    audit_ = std::make_shared<govern::AuditLog>(
        govern::AuditOptions{.folder = files.audit,
                             .origin = files.origin,
                             .key = govern::SigningKey::from_pem(pem, "file '" + files.key + "'")});
    audit_->append_durable({{"kind", "boot"}, {"build", FRAZIL_VERSION}});
  }

  std::shared_ptr<govern::AuditLog> audit_;
  std::shared_ptr<govern::Governor> governor_;
};

/// Returns a function that calls one of Python on any thread. Its exceptions are dropped.
std::function<void(std::string_view)> warner_of(const py::object& to) {
  return [to = py::handle(to), held = kept(to)](std::string_view text) {
    const Locked locked;
    try {
      to(std::string(text));
    } catch (py::error_already_set& error) {
      error.discard_as_unraisable("a warning of a policy");
    }
  };
}

}  // namespace

void bind_governors(py::module_& m) {
  py::class_<PythonGovernor, std::shared_ptr<PythonGovernor>>(m, "Governor")
      .def(py::init([](const std::string& policy, const std::string& trust, const std::string& audit,
                       const std::string& key, const std::string& origin, const py::object& warn) {
        const GovernorFiles files{.policy = policy, .trust = trust, .audit = audit, .key = key, .origin = origin};
        auto warner = warner_of(warn);
        return unlocked([&] { return std::make_shared<PythonGovernor>(files, std::move(warner)); });
      }))
      .def("install", [](const PythonGovernor& governor) { unlocked([&] { governor.install(); }); })
      .def("replace", [](const PythonGovernor& governor,
                         const std::string& policy) { unlocked([&] { governor.replace(policy); }); })
      .def("close", [](PythonGovernor& governor) { unlocked([&] { governor.close(); }); });
}

std::shared_ptr<Policy> governed_policy(const py::object& object) {
  return py::isinstance<PythonGovernor>(object) ? object.cast<std::shared_ptr<PythonGovernor>>()->for_model() : nullptr;
}

}  // namespace frazil::python
