#include "govern/policy/hooks.h"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

namespace frazil::govern {
namespace {

// Budgets in units of about 10 ns: 0.2 ms for what each request asks, 100 ms for what an operator's action asks.
constexpr double kRequestBudget = 20'000, kActionBudget = 10'000'000;
constexpr std::uint32_t kName = 256, kDigest = 71, kPath = 1024, kText = 4096;

ValueType text(std::uint32_t bound) { return {.kind = ValueKind::text, .bound = bound}; }
ValueType boolean() { return {.kind = ValueKind::boolean}; }
ValueType integer() { return {.kind = ValueKind::integer}; }
/// `element` must outlive the type.
ValueType list_of(const ValueType& element, std::uint32_t bound) {
  return {.kind = ValueKind::list, .bound = bound, .element = &element};
}
ValueType record_of(const RecordType& record) { return {.kind = ValueKind::record, .record = &record}; }

constexpr bool kOptional = true, kPerRequest = true;

/// The records and element types inside the records of hooks.
struct Parts {
  const ValueType name = text(kName), path = text(kPath), parameter = text(kPath);

  const RecordType signature = {
      "signature",
      {{"valid", boolean(), "whether enough valid signatures of trusted keys cover every file"},
       {"signer", text(kName), "the name of the key in the trust settings; absent unless valid", kOptional},
       {"state", text(64), "`valid`, `missing`, `untrusted`, or `incomplete` if a file is not covered"}}};

  const RecordType op = {"operator",
                         {{"domain", text(kName), "the domain as written; empty for ONNX's own"},
                          {"name", text(kName), "the operator type"},
                          {"opset", integer(), "the opset version that the file imports for the domain"}}};
  const ValueType operator_type = record_of(op);

  const RecordType influence = {
      "influence",
      {{"from", text(kName),
        "`tensor:NAME`, `parameter:NAME`, `feature:STEP.OUTPUT`, `http`, `code`, `chance`, `clock`, or `state`: "
        "what earlier requests left"},
       {"to", text(kPath), "`model:NAME/VERSION`, `endpoint:URL`, `code:FILE` or `output:NAME`"},
       {"how", text(16),
        "`chooses` if it may decide whether `to` runs; `reaches` if its values may get there, by their content or by "
        "such a decision"}}};
  const ValueType influence_type = record_of(influence);

  const RecordType passed = {
      "passed",
      {{"to", text(kPath), "`model:NAME/VERSION`, `endpoint:URL` or `code:FILE` that a path may reach"},
       {"always", list_of(path, 256), "those that have succeeded before it on every path"}}};
  const ValueType passed_type = record_of(passed);

  const RecordType report = {
      "report",
      {{"digest", text(kDigest), "the digest of the report's canonical JSON"},
       {"operators", list_of(name, 1024), "operators that any path may execute: `Add`, `ai.onnx.ml.Scaler`"},
       {"models", list_of(name, 1024), "versions that any path may reach: `NAME/VERSION`"},
       {"endpoints", list_of(path, 256), "URLs that any path may call"},
       {"code", list_of(path, 256), "host programs that any path may start"},
       {"worst_cost_ns", integer(), "the worst predicted cost of a request in nanoseconds; absent if unbounded",
        kOptional},
       {"worst_memory", integer(), "the worst memory of a request in bytes; absent if unbounded", kOptional},
       {"bounded", boolean(), "whether cost and memory have a proven bound"},
       {"influences", list_of(influence_type, 4096), "which inputs may choose which route, and reach what"},
       {"passes", list_of(passed_type, 512), "what every path of a pipeline runs before something; empty for models"}}};

  const RecordType approvals = {
      "approvals",
      {{"count", integer(), "persons other than the author whose approvals hold for this definition and parent"},
       {"approvers", list_of(name, 64), "their names in the trust settings"},
       {"roles", list_of(name, 64), "their roles, each once"},
       {"includes_author", boolean(), "whether the author approved it too, which does not count"}}};

  const RecordType diff = {"diff",
                           {{"added_operators", list_of(name, 1024), "operators that the parent does not execute"},
                            {"removed_operators", list_of(name, 1024), "operators that only the parent executes"},
                            {"added_models", list_of(name, 1024), "versions that the parent does not reach"},
                            {"added_endpoints", list_of(path, 256), "URLs that the parent does not call"},
                            {"added_nodes", integer(), "number of nodes added or changed"},
                            {"removed_nodes", integer(), "number of nodes removed"},
                            {"weights_changed", boolean(), "whether a weight differs"}}};

  const RecordType forecast = {
      "forecast",
      {{"cost_ns", integer(),
        "predicted nanoseconds: the mean worker time of earlier requests of the version; "
        "before the first, the bound of the report; absent without either",
        kOptional},
       {"memory", integer(), "the bound of the report in bytes; absent if it is unbounded", kOptional}}};

  const RecordType change = {"change",
                             {{"path", text(kPath), "the setting: `models.bert.batching.delay_ms`"},
                              {"old", text(kText), "its value as JSON; absent if it is new", kOptional},
                              {"new", text(kText), "its value as JSON; absent if it was removed", kOptional}}};
  const ValueType change_type = record_of(change);

  const RecordType lowered = {"lowered",
                              {{"redaction", boolean(), "whether less is redacted than before"},
                               {"sampling", boolean(), "whether fewer requests are recorded than before"},
                               {"witness", boolean(), "whether a witness of the audit log is removed"}}};
};

const Parts& parts() {
  static const Parts all;
  return all;
}

RecordType file_record() {
  const Parts& p = parts();
  return {
      "file",
      {{"path", text(kPath), "the path that is loaded; of external data the path in the model's folder"},
       {"format", text(32), "`onnx`, `external` for its external data, or `package` for a file of `frazil compile`"},
       {"digest", text(kDigest), "the digest of the bytes that are loaded"},
       {"bytes", integer(), "the size in bytes"},
       {"signature", record_of(p.signature), "the signature of the model, as far as its files were read"},
       {"operators", list_of(p.operator_type, 1024),
        "each operator that occurs in an ONNX file once, in subgraphs, functions and unused nodes as well"}}};
}

std::vector<Field> load_fields() {
  const Parts& p = parts();
  return {{"model", text(kName), "the name under which the model is served"},
          {"version", text(64), "the version"},
          {"digest", text(kDigest), "the digest of the definition, as `frazil inspect` prints it"},
          {"signature", record_of(p.signature), "the result of verifying the folder's signatures"},
          {"report", record_of(p.report), "the static report over all paths"}};
}

std::vector<Field> change_fields() {
  const Parts& p = parts();
  std::vector<Field> fields = load_fields();
  const std::vector<Field> own = {
      {"parent", text(kDigest), "the digest of the definition that is replaced; absent for a first version", kOptional},
      {"author", text(kName), "the identity that asks for the change"},
      {"reason", text(kText), "the author's text; absent if none was given", kOptional},
      {"approvals", record_of(p.approvals), "the approvals that were presented"},
      {"within_envelope", boolean(), "whether the definition is proven to lie within the approved envelope"},
      {"diff", record_of(p.diff), "the difference from the parent; empty lists for a first version"}};
  fields.insert(fields.end(), own.begin(), own.end());
  return fields;
}

RecordType register_record() {
  return {"register",
          {{"kind", text(64), "`operator`, `host_function` or `program`"},
           {"name", text(kName), "the operator or function: `my.domain.Score`"},
           {"digest", text(kDigest), "the digest of the library or program; absent if it is linked in", kOptional},
           {"phase", text(16), "`start`, or `serving` once requests are served, when every registration is refused"}}};
}

RecordType dispatch_record() {
  return {"dispatch",
          {{"by", text(16), "`client`, `call`, `split`, `fallback`, `race`, `ensemble` or `shadow`"},
           {"caller", text(kName), "the calling model or pipeline as `NAME/VERSION`; empty for a client"},
           {"model", text(kName), "the called model"},
           {"version", text(64), "the version that would run"},
           {"digest", text(kDigest), "the digest of its definition"},
           {"explicit_version", boolean(), "whether the caller named the version"},
           {"tenant", text(kName), "the tenant, by its credential; empty without tenants"}}};
}

RecordType external_record() {
  return {"external",
          {{"kind", text(32), "`http`, `redis` or `code`"},
           {"host", text(kName), "the host as configured; empty for code"},
           {"address", text(64),
            "the resolved address that is connected, that of the proxy if there is one; empty for code"},
           {"port", integer(), "the port; 0 for code"},
           {"path", text(kPath), "the path of the URL, or the program's file"},
           {"digest", text(kDigest),
            "the SHA-256 of the output of `sha256sum *.py` in the program's folder; absent for hosts", kOptional},
           {"sandbox", text(32), "`none`, `limits`, `no-network` or `isolated`: the level that was reached"},
           {"model", text(kName),
            "the pipeline that asks; empty for the server itself: stored states, a collector of spans"},
           {"tenant", text(kName), "the tenant of the request; empty without one, and for code"}}};
}

RecordType run_record() {
  const Parts& p = parts();
  const ValueType parameters = {.kind = ValueKind::map, .bound = 64, .key_bound = 64, .element = &p.parameter};
  return {"run",
          {{"tenant", text(kName), "the tenant, by its credential; empty without tenants"},
           {"model", text(kName), "the model"},
           {"version", text(64), "the version that would run"},
           {"digest", text(kDigest), "the digest of its definition"},
           {"priority", integer(), "the priority level; 1 is the highest", false, kPerRequest},
           {"parameters", parameters, "the request's parameters, as text", false, kPerRequest},
           {"forecast", record_of(p.forecast), "the predicted cost of this request", false, kPerRequest},
           {"budget_left", integer(), "nanoseconds left in the tenant's budget; absent without a budget", kOptional,
            kPerRequest}}};
}

RecordType config_record() {
  const Parts& p = parts();
  return {"config",
          {{"user", text(kName), "the tenant that asks; empty at the start and for SIGHUP"},
           {"changes", list_of(p.change_type, 1024), "every setting that differs"},
           {"lowered", record_of(p.lowered),
            "protections that the change reduces; at the start, compared with the defaults"}}};
}

RecordType admin_record() {
  return {"admin",
          {{"action", text(64),
            "`replay`, `view_paths`, `live_view`, `view_graph`, `tap` (values of tensors), `load`, `unload`, `reset`, "
            "`reload_config`, `log_settings`, `trace_settings` or `shared_memory`"},
           {"user", text(kName), "the tenant that asks; empty without tenants"},
           {"tenant", text(kName), "the tenant whose data is concerned; absent for all", kOptional},
           {"model", text(kName), "the model that is concerned; absent for all", kOptional}}};
}

std::vector<HookInfo> make_table() {
  const RecordType change = {"change", change_fields()};
  return {
      {Hook::file, "file", "before a model file is imported or typed", file_record(), kActionBudget},
      {Hook::load, "load", "before a loaded definition becomes ready", {"load", load_fields()}, kActionBudget},
      {Hook::edit, "edit", "before an edit of a live model takes effect", change, kActionBudget},
      {Hook::publish, "publish", "before a version receives requests", change, kActionBudget},
      {Hook::roll_back, "roll_back", "before an earlier version receives requests again", change, kActionBudget},
      {Hook::register_code, "register", "before a custom operator or host function is added", register_record(),
       kActionBudget},
      {Hook::dispatch, "dispatch", "before a model or an arm calls a version, and for versions that clients name",
       dispatch_record(), kRequestBudget},
      {Hook::external, "external", "before a connection to a host, and before a program is started", external_record(),
       kRequestBudget},
      {Hook::run, "run", "before each request", run_record(), kRequestBudget},
      {Hook::config, "config", "before a configuration takes effect", config_record(), kActionBudget},
      {Hook::admin, "admin", "before an operator's access to requests, tensors or records", admin_record(),
       kActionBudget},
  };
}

const std::vector<HookInfo>& table() {
  static const std::vector<HookInfo> rows = make_table();
  return rows;
}

void append_fields(std::string& out, const RecordType& record, const std::string& prefix) {
  for (const Field& field : record.fields) {
    const std::string name = prefix + field.name;
    const bool of_records = field.type.element != nullptr && field.type.element->kind == ValueKind::record;
    out += fmt::format("| `{}` | `{}` | {}{}{} |\n", name, bounded_name_of(field.type), field.doc,
                       field.optional ? "; optional" : "", field.per_request ? "; per request" : "");
    if (field.type.kind == ValueKind::record) append_fields(out, *field.type.record, name + ".");
    if (of_records) append_fields(out, *field.type.element->record, name + "[].");
  }
}

constexpr const char* kPageBegin =
    R"(# Hooks of policies

This page lists for authors of policies what each hook is asked with. [policies.md](../how-to/policies.md) shows how to write rules. `frazil policy
hooks --markdown` prints this page from the table that the language uses (`govern/policy/hooks.cc`).

A bound such as `string<=256` counts bytes, those of lists and maps count elements. An input beyond a bound is denied: the policy could not decide.
The worst-case cost of a rule follows from the bounds; a rule over the hook's budget is refused when the policy is read. A unit is about 10 ns.
`frazil serve --policy` asks every hook. `Governor` (C++, govern/gate/governor.h) is what programs ask. `approvals` and `within_envelope` are filled with
`--approvals` and `--envelope` (`ChangeEvidence`); without them, a rule that reads one cannot decide, and denies. A run of the library outside of a server is asked
without the fields of `run` that are marked `per request`, and without a tenant.

A request asks `run` once, for the version that answers the client; a pipeline does not ask it again for its steps. The calls of the version ask `dispatch`:
steps of pipelines, and nodes `frazil.Call` of graphs, whose check is made when the node runs. A rejected arm of a `fallback` is a failed arm.

`has(FIELD)` returns whether an optional field is present; reading an absent field is an error, which denies. Decisions of rules that read no field
marked `per request` can be kept.
)";

}  // namespace

std::span<const HookInfo> hooks() { return table(); }
const HookInfo& info_of(Hook hook) { return table()[static_cast<std::size_t>(hook)]; }
std::string_view name_of(Hook hook) { return info_of(hook).name; }

std::optional<Hook> hook_named(std::string_view name) {
  const auto found = std::ranges::find(table(), name, &HookInfo::name);
  if (found == table().end()) return std::nullopt;
  return found->hook;
}

std::string hooks_markdown() {
  std::string out = kPageBegin;
  const HookInfo* previous = nullptr;
  for (const HookInfo& row : table()) {
    out += fmt::format("\n## {}\n\nAsked {}. Budget of a rule: {:.0f} units.\n\n", row.name, row.doc, row.budget);
    if (previous != nullptr && std::string_view(previous->record.name) == row.record.name) {
      out += fmt::format("The fields are those of [{0}](#{0}).\n", previous->name);
      continue;
    }
    out += "| field | type | meaning |\n|---|---|---|\n";
    append_fields(out, row.record, "");
    previous = &row;
  }
  return out;
}

}  // namespace frazil::govern
