#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "govern/policy/input.h"

// The questions of programs to a governor, as plain data: the records of govern/policy/hooks.cc. Absent values are
// absent fields.
namespace frazil::govern {

/// The predicted cost of a request.
struct RunForecast {
  std::optional<std::int64_t> cost_ns;  ///< nanoseconds of the machine
  std::optional<std::int64_t> memory;   ///< bytes
};

/// A request that a program admits.
struct RunQuestion {
  std::string model, version, digest;
  std::int64_t priority = 0;
  std::vector<std::pair<std::string, std::string>> parameters = {};  ///< name and text, with distinct names
  RunForecast forecast = {};
  std::optional<std::int64_t> budget_left = {};  ///< nanoseconds; nullopt: the tenant has no budget
};

/// A version that a client, a step or a model is about to run.
struct DispatchQuestion {
  std::string_view by;      ///< "client", "call", "split", "fallback", "race", "ensemble" or "shadow"
  std::string_view caller;  ///< "NAME/VERSION"; empty for a client
  std::string model, version, digest;
  bool explicit_version = false;
};

/// A connection that is about to be made or used, or a program that is about to be started.
struct ExternalQuestion {
  std::string kind;  ///< "http", "redis" or "code"
  std::string host = {}, address = {};
  std::int64_t port = 0;
  std::string path = {};
  std::optional<std::string> digest = {};
  std::string sandbox = "none";
  std::string model = {};
};

/// An access of an operator to requests, tensors, records or settings.
struct AdminQuestion {
  std::string action;
  std::string user;
  std::optional<std::string> tenant = {}, model = {};
};

/// A change of the configuration.
struct ConfigQuestion {
  struct Setting {
    std::string path;
    std::optional<std::string> before, after;  ///< JSON
  };
  struct Tenant {
    std::string name, action;  ///< "add", "change" or "remove"
  };
  std::string user = {};
  std::vector<Setting> changes = {};
  std::vector<Tenant> tenants = {};
  bool lowered_redaction = false, lowered_sampling = false, lowered_witness = false;
};

/// A custom operator, a host function or a program.
struct RegisterQuestion {
  std::string kind;  ///< "operator", "host_function" or "program"
  std::string name;
  std::optional<std::string> digest = {};
};

// Fill an empty input of the hook. The input refers to texts of the question, which must outlive the decision.

/// `per_request`: also the fields that differ between requests of one version and tenant.
void fill(Input& input, const RunQuestion& question, std::string_view tenant, bool per_request);
void fill(Input& input, const DispatchQuestion& question, std::string_view tenant);
void fill(Input& input, const ExternalQuestion& question, std::string_view tenant);
void fill(Input& input, const AdminQuestion& question);

}  // namespace frazil::govern
