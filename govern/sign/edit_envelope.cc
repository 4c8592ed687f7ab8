#include "govern/sign/edit_envelope.h"

#include <algorithm>
#include <array>

#include <frazil/text.h>

#include "govern/base/error.h"

namespace frazil::govern {
namespace {

using AllowedOperator = EditEnvelope::Operator;
using CalledModel = EditEnvelope::Model;
using AllowedEndpoint = EditEnvelope::Endpoint;

constexpr std::string_view kAnyName = "*";
constexpr std::array<std::string_view, 9> kEnvelopeMembers = {
    "operators",          "models",    "endpoints", "code", "extents", "worst_cost_ns",
    "worst_memory_bytes", "max_steps", "influence"};

const Json& envelope_list(const Json& json, const char* name, std::string_view what) {
  const Json& list = member(json, name, what);
  if (!list.is_array()) fail(Code::bad_input, "{}: '{}': expected a list, got {}", what, name, list.type_name());
  return list;
}

const Json& envelope_object(const Json& json, const char* name, std::string_view what) {
  const Json& object = member(json, name, what);
  if (!object.is_object())
    fail(Code::bad_input, "{}: '{}': expected an object, got {}", what, name, object.type_name());
  return object;
}

/// Returns a number of at least 0, or nullopt for null.
std::optional<double> envelope_bound(const Json& json, const char* name, std::string_view what) {
  const Json& value = member(json, name, what);
  if (value.is_null()) return std::nullopt;
  if (value.is_number() && value.get<double>() >= 0) return value.get<double>();
  fail(Code::bad_input, "{}: '{}': expected a number of at least 0", what, name);
}

/// Returns the text of a member, or "" if it is null or missing.
std::string envelope_text(const Json& json, const char* name, std::string_view what) {
  const auto at = json.is_object() ? json.find(name) : json.end();
  return at == json.end() || at->is_null() ? "" : text_member(json, name, what);
}

double envelope_number(const Json& json, const char* name, std::string_view what) {
  const auto bound = envelope_bound(json, name, what);
  if (!bound) fail(Code::bad_input, "{}: '{}': expected a number", what, name);
  return *bound;
}

std::set<std::string> envelope_texts(const Json& list, const char* name, std::string_view what) {
  std::set<std::string> texts;
  if (!list.is_array()) fail(Code::bad_input, "{}: '{}': expected a list of texts", what, name);
  for (const Json& text : list) {
    if (!text.is_string()) fail(Code::bad_input, "{}: '{}': expected texts", what, name);
    texts.insert(text.get<std::string>());
  }
  return texts;
}

/// Returns an opset. Larger numbers than any opset has would not fit a comparison of signed integers.
std::int64_t envelope_opset(const Json& json, std::string_view what) {
  constexpr std::int64_t kMost = 1'000'000;
  if (json.is_number_integer() && json >= 0 && json <= kMost) return json.get<std::int64_t>();
  fail(Code::bad_input, "{}: 'opset': expected a number of at most {}", what, kMost);
}

AllowedOperator operator_from(const Json& json, std::string_view what) {
  const Json& range = member(json, "opset", what);
  const bool pair = range.is_array() && range.size() == 2;
  const std::int64_t first = pair ? envelope_opset(range[0], what) : 1,
                     last = pair ? envelope_opset(range[1], what) : 0;
  if (first > last) {
    fail(Code::bad_input, "{}: operator '{}': 'opset': expected [FIRST, LAST]", what,
         api::printable(text_member(json, "name", what)));
  }
  return {.domain = text_member(json, "domain", what),
          .name = text_member(json, "name", what),
          .first = first,
          .last = last};
}

CalledModel called_from(const Json& json, std::string_view what) {
  CalledModel called{.name = envelope_text(json, "name", what), .digest = envelope_text(json, "digest", what)};
  if (called.name.empty() && called.digest.empty()) {
    fail(Code::bad_input, "{}: 'models': expected a name or a digest", what);
  }
  return called;
}

AllowedEndpoint endpoint_from(const Json& json, std::string_view what) {
  AllowedEndpoint endpoint{
      .kind = text_member(json, "kind", what), .host = text_member(json, "host", what), .path = {}};
  if (json.contains("path") && !json["path"].is_null()) endpoint.path = text_member(json, "path", what);
  return endpoint;
}

std::string shown_name(const std::string& domain, const std::string& name) {
  return "operator '" + (domain.empty() ? "" : api::printable(domain) + '.') + api::printable(name) + "'";
}
std::string shown_name(const AllowedEndpoint& endpoint) {
  return fmt::format("endpoint '{}://{}{}'", api::printable(endpoint.kind), api::printable(endpoint.host),
                     api::printable(endpoint.path.value_or("")));
}
std::string shown_name(const CalledModel& called) {
  return called.name.empty() ? "model " + api::printable(called.digest) : "model '" + api::printable(called.name) + "'";
}

bool allows_name(std::string_view allowed, std::string_view name) { return allowed == kAnyName || allowed == name; }

/// The checks that reports and inner envelopes share. `what` is allowed if the envelope has it.
class EnvelopeCheck {
 public:
  explicit EnvelopeCheck(const EditEnvelope& envelope) : envelope_(envelope) {}

  void add(const char* rule, std::string object, std::string reason) {
    violations_.push_back({.rule = rule, .object = std::move(object), .reason = std::move(reason)});
  }
  void check(const AllowedOperator& used) {
    std::string ranges;
    for (const AllowedOperator& allowed : envelope_.operators) {
      if (allowed.domain != used.domain || !allows_name(allowed.name, used.name)) continue;
      if (allowed.first <= used.first && used.last <= allowed.last) return;
      ranges += fmt::format("{}{} to {}", ranges.empty() ? "" : ", ", allowed.first, allowed.last);
    }
    const std::string opset =
        used.first == used.last ? fmt::format("{}", used.first) : fmt::format("{} to {}", used.first, used.last);
    add("operators", shown_name(used.domain, used.name),
        ranges.empty() ? "it is not in the envelope" : fmt::format("expected opset {}, got {}", ranges, opset));
  }
  void check(const CalledModel& used) {
    const auto allows = [&](const CalledModel& allowed) {
      return (allowed.name.empty() || allowed.name == used.name) &&
             (allowed.digest.empty() || allowed.digest == used.digest);
    };
    if (std::ranges::any_of(envelope_.models, allows)) return;
    const bool named = std::ranges::any_of(envelope_.models, [&](const CalledModel& m) { return m.name == used.name; });
    add("models", shown_name(used),
        named && !used.name.empty()
            ? fmt::format("expected the digest of the envelope, got {}", used.digest.empty() ? "none" : used.digest)
            : "it is not in the envelope");
  }
  void check(const AllowedEndpoint& used) {
    const auto allows = [&](const AllowedEndpoint& allowed) {
      return allowed.kind == used.kind && allowed.host == used.host && (!allowed.path || allowed.path == used.path);
    };
    if (!std::ranges::any_of(envelope_.endpoints, allows))
      add("endpoints", shown_name(used), "it is not in the envelope");
  }
  void check_code(const std::string& name, const std::string& digest) {
    if (!envelope_.code.contains(digest)) {
      add("code", "program '" + api::printable(name) + "'",
          fmt::format("its digest {} is not in the envelope", api::printable(digest)));
    }
  }
  void check_extent(const std::string& name, std::optional<double> largest) {
    const auto bound = envelope_.extents.find(name);
    if (bound == envelope_.extents.end()) return;
    if (largest && *largest <= static_cast<double>(bound->second)) return;
    add("extents", "extent '" + api::printable(name) + "'",
        fmt::format("expected at most {}, got {}", bound->second, shown(largest)));
  }
  void check_bound(const char* rule, std::optional<double> worst, double bound) {
    if (worst && *worst <= bound) return;
    add(rule, "report", fmt::format("expected at most {}, got {}", bound, shown(worst)));
  }
  void check_influence(const std::string& route, const std::set<std::string>& labels) {
    auto allowed = envelope_.influence.find(route);
    if (allowed == envelope_.influence.end()) allowed = envelope_.influence.find(std::string(kAnyName));
    const std::string object = "route '" + api::printable(route) + "'";
    if (allowed == envelope_.influence.end()) return add("influence", object, "it is not in the envelope");
    for (const std::string& label : labels) {
      if (allowed->second.contains(label)) continue;
      add("influence", object,
          fmt::format("it may be steered by '{}', expected only {}", api::printable(label), listed(allowed->second)));
    }
  }
  std::vector<Violation> take() { return std::move(violations_); }

 private:
  static std::string shown(std::optional<double> number) { return number ? fmt::format("{}", *number) : "no bound"; }
  static std::string listed(const std::set<std::string>& labels) {
    return labels.empty() ? "nothing" : api::printable(fmt::format("{}", fmt::join(labels, ", ")));
  }

  const EditEnvelope& envelope_;
  std::vector<Violation> violations_;
};

/// Compares the cost of a report. A limit on steps replaces a bound that the graph does not have.
void check_cost(EnvelopeCheck& check, const EditEnvelope& envelope, std::optional<double> cost,
                std::optional<double> steps) {
  const bool limited = !cost && envelope.max_steps && steps;
  if (!limited) return check.check_bound("worst_cost_ns", cost, envelope.worst_cost_ns);
  check.check_bound("max_steps", steps, *envelope.max_steps);
}

void check_lists(EnvelopeCheck& check, const Json& report, std::string_view what) {
  for (const Json& used : envelope_list(report, "operators", what)) {
    const std::int64_t opset = envelope_opset(member(used, "opset", what), what);
    check.check(AllowedOperator{.domain = text_member(used, "domain", what),
                                .name = text_member(used, "name", what),
                                .first = opset,
                                .last = opset});
  }
  for (const Json& used : envelope_list(report, "models", what)) {
    check.check(CalledModel{.name = text_member(used, "name", what), .digest = envelope_text(used, "digest", what)});
  }
  for (const Json& used : envelope_list(report, "endpoints", what)) check.check(endpoint_from(used, what));
  for (const Json& used : envelope_list(report, "code", what)) {
    check.check_code(text_member(used, "name", what), text_member(used, "digest", what));
  }
}

/// Returns the larger end of a range [least, most], or nullopt for null.
std::optional<double> largest_extent(const Json& extents, const std::string& name, std::string_view what) {
  const Json& range = extents.at(name);
  if (range.is_null()) return std::nullopt;
  if (!range.is_array() || range.size() != 2 || !range[1].is_number()) {
    fail(Code::bad_input, "{}: 'extents': '{}': expected [LEAST, MOST] or null", what, api::printable(name));
  }
  return range[1].get<double>();
}

}  // namespace

EditEnvelope read_edit_envelope(std::string_view text, std::string_view what) {
  const Json json = parse_json(text, what);
  EditEnvelope read;
  for (const Json& one : envelope_list(json, "operators", what)) read.operators.insert(operator_from(one, what));
  for (const Json& one : envelope_list(json, "models", what)) read.models.insert(called_from(one, what));
  for (const Json& one : envelope_list(json, "endpoints", what)) read.endpoints.insert(endpoint_from(one, what));
  read.code = envelope_texts(envelope_list(json, "code", what), "code", what);
  const Json& extents = envelope_object(json, "extents", what);
  for (const auto& [name, value] : extents.items()) {
    read.extents[name] = static_cast<std::int64_t>(number_member(extents, name.c_str(), what));
  }
  read.worst_cost_ns = envelope_number(json, "worst_cost_ns", what);
  read.worst_memory_bytes = envelope_number(json, "worst_memory_bytes", what);
  read.max_steps = envelope_bound(json, "max_steps", what);
  for (const auto& [route, labels] : envelope_object(json, "influence", what).items()) {
    read.influence[route] = envelope_texts(labels, "influence", what);
  }
  for (const auto& [name, value] : json.items()) {
    if (std::ranges::find(kEnvelopeMembers, name) == kEnvelopeMembers.end()) {
      fail(Code::bad_input, "{}: '{}' is not a member of envelopes", what, api::printable(name));
    }
  }
  return read;
}

std::string text_of(const EditEnvelope& envelope) {
  Json operators = Json::array(), models = Json::array(), endpoints = Json::array();
  for (const auto& [domain, name, first, last] : envelope.operators) {
    operators.push_back({{"domain", domain}, {"name", name}, {"opset", {first, last}}});
  }
  for (const auto& [name, digest] : envelope.models) {
    models.push_back(
        {{"name", name.empty() ? Json() : Json(name)}, {"digest", digest.empty() ? Json() : Json(digest)}});
  }
  for (const auto& [kind, host, path] : envelope.endpoints) {
    endpoints.push_back({{"kind", kind}, {"host", host}, {"path", path ? Json(*path) : Json()}});
  }
  return canonical({{"operators", std::move(operators)},
                    {"models", std::move(models)},
                    {"endpoints", std::move(endpoints)},
                    {"code", envelope.code},
                    {"extents", envelope.extents},
                    {"worst_cost_ns", envelope.worst_cost_ns},
                    {"worst_memory_bytes", envelope.worst_memory_bytes},
                    {"max_steps", envelope.max_steps ? Json(*envelope.max_steps) : Json()},
                    {"influence", envelope.influence}});
}

std::vector<Violation> contains(const EditEnvelope& envelope, const Json& report, std::string_view what) {
  EnvelopeCheck check(envelope);
  check_lists(check, report, what);
  if (!envelope.extents.empty()) {
    const Json& extents = envelope_object(report, "extents", what);
    for (const auto& [name, bound] : envelope.extents) {
      if (extents.contains(name)) check.check_extent(name, largest_extent(extents, name, what));
    }
  }
  check_cost(check, envelope, envelope_bound(report, "worst_cost_ns", what), envelope_bound(report, "max_steps", what));
  check.check_bound("worst_memory_bytes", envelope_bound(report, "worst_memory_bytes", what),
                    envelope.worst_memory_bytes);
  for (const auto& [route, labels] : envelope_object(report, "influence", what).items()) {
    check.check_influence(route, envelope_texts(labels, "influence", what));
  }
  return check.take();
}

std::vector<Violation> contains(const EditEnvelope& outer, const EditEnvelope& inner) {
  EnvelopeCheck check(outer);
  for (const AllowedOperator& used : inner.operators) check.check(used);
  for (const CalledModel& used : inner.models) check.check(used);
  for (const AllowedEndpoint& used : inner.endpoints) check.check(used);
  for (const std::string& digest : inner.code) check.check_code(digest, digest);
  for (const auto& [name, bound] : outer.extents) {
    const auto own = inner.extents.find(name);
    check.check_extent(name,
                       own == inner.extents.end() ? std::nullopt : std::optional(static_cast<double>(own->second)));
  }
  check.check_bound("worst_cost_ns", inner.worst_cost_ns, outer.worst_cost_ns);
  check.check_bound("worst_memory_bytes", inner.worst_memory_bytes, outer.worst_memory_bytes);
  if (inner.max_steps && (!outer.max_steps || *inner.max_steps > *outer.max_steps)) {
    check.add("max_steps", "envelope",
              fmt::format("expected at most {}, got {}", outer.max_steps.value_or(0), *inner.max_steps));
  }
  for (const auto& [route, labels] : inner.influence) check.check_influence(route, labels);
  if (const auto others = inner.influence.find(std::string(kAnyName)); others != inner.influence.end()) {
    for (const auto& [route, allowed] : outer.influence) {
      if (!inner.influence.contains(route)) check.check_influence(route, others->second);
    }
  }
  return check.take();
}

}  // namespace frazil::govern
