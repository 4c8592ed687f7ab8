#include "tool/coverage.h"

#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <tuple>

#include <frazil/operators.h>

#include "tool/report.h"

namespace frazil::tool {
namespace {

namespace fs = std::filesystem;
using api::UsedOperator;

/// The operators of one model, or the error of reading it.
struct Survey {
  std::string model;
  std::vector<UsedOperator> operators;
  std::optional<Error> error = {};

  std::size_t nodes() const {
    std::size_t sum = 0;
    for (const UsedOperator& op : operators) sum += op.nodes;
    return sum;
  }
  std::vector<UsedOperator> missing() const {
    std::vector<UsedOperator> list;
    for (const UsedOperator& op : operators) {
      if (!op.available) list.push_back(op);
    }
    return list;
  }
};

/// The missing operators of all models.
struct CoverageTotals {
  struct Missing {
    std::size_t nodes = 0, models = 0;
  };
  std::map<std::tuple<std::string, std::string, std::int64_t>, Missing> missing;  ///< by domain, name and opset
  std::size_t models = 0, nodes = 0, incomplete = 0;
  std::vector<Error> errors;

  void add(const Survey& survey) {
    ++models;
    nodes += survey.nodes();
    if (survey.error) errors.push_back(*survey.error);
    const auto list = survey.missing();
    if (!list.empty()) ++incomplete;
    for (const UsedOperator& op : list) {
      Missing& entry = missing[{op.domain, op.name, op.opset}];
      entry.nodes += op.nodes;
      ++entry.models;
    }
  }
};

void add_folder(const std::string& folder, std::set<std::string>& models) {
  std::error_code error;
  fs::recursive_directory_iterator it(folder, fs::directory_options::skip_permission_denied, error), end;
  const std::size_t before = models.size();
  std::size_t found = 0;
  for (; !error && it != end; it.increment(error)) {
    std::error_code ignored;
    if (it->path().extension() != ".onnx" || !it->is_regular_file(ignored)) continue;
    models.insert(it->path().string());
    ++found;
  }
  if (error) fail(Code::bad_input, "'{}': {}", folder, error.message());
  if (found == 0 && models.size() == before) {
    fail(Code::bad_input, "no model found in '{}': a folder is searched for *.onnx", folder);
  }
}

std::set<std::string> find_models(const std::vector<std::string>& paths) {
  std::set<std::string> models;
  for (const std::string& path : paths) {
    std::error_code error;
    if (!fs::exists(path, error)) fail(Code::bad_input, "'{}' does not exist", path);
    if (fs::is_directory(path, error)) {
      add_folder(path, models);
    } else {
      models.insert(path);
    }
  }
  return models;
}

Survey survey_of(const std::string& model) {
  try {
    return {model, api::used_operators(model)};
  } catch (const Error& error) {
    return {model, {}, error};
  }
}

std::string plural(std::size_t count, std::string_view what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

std::string called(std::string_view domain, std::string_view name, std::int64_t opset) {
  const std::string from = opset == 0 ? "no opset of this domain" : fmt::format("opset {}", opset);
  return one_line(fmt::format("{}{}{} ({})", domain, domain.empty() ? "" : ".", name, from));
}

void print_survey(const Survey& s) {
  if (s.error) return print_line(one_line(s.error->what()));
  const auto missing = s.missing();
  const std::string result = missing.empty() ? "all available" : fmt::format("{} missing", missing.size());
  print_line(fmt::format("{}: {}, {}: {}", one_line(s.model), plural(s.nodes(), "node"),
                         plural(s.operators.size(), "operator"), result));
  for (const UsedOperator& op : missing) {
    print_line(fmt::format("  {}: {}", called(op.domain, op.name, op.opset), plural(op.nodes, "node")));
  }
}

void print_totals(const CoverageTotals& t) {
  std::string text = fmt::format("total: {}, {}: ", plural(t.models, "model"), plural(t.nodes, "node"));
  text += t.missing.empty()
              ? "all operators available"
              : fmt::format("{} missing, in {}", plural(t.missing.size(), "operator"), plural(t.incomplete, "model"));
  if (!t.errors.empty()) text += fmt::format("; {} cannot be read", plural(t.errors.size(), "model"));
  print_line(text);
  for (const auto& [key, entry] : t.missing) {
    const auto& [domain, name, opset] = key;
    print_line(fmt::format("  {}: {} in {}", called(domain, name, opset), plural(entry.nodes, "node"),
                           plural(entry.models, "model")));
  }
}

Json coverage_json(const Survey& s) {
  if (s.error) return {{"model", s.model}, {"error", s.error->what()}};
  Json missing = Json::array();
  for (const UsedOperator& op : s.missing()) {
    missing.push_back({{"domain", op.domain}, {"name", op.name}, {"opset", op.opset}, {"nodes", op.nodes}});
  }
  return {{"model", s.model}, {"nodes", s.nodes()}, {"operators", s.operators.size()}, {"missing", std::move(missing)}};
}

Json coverage_json(const CoverageTotals& t, Json models) {
  Json missing = Json::array();
  for (const auto& [key, entry] : t.missing) {
    const auto& [domain, name, opset] = key;
    missing.push_back(
        {{"domain", domain}, {"name", name}, {"opset", opset}, {"nodes", entry.nodes}, {"models", entry.models}});
  }
  return {{"nodes", t.nodes},
          {"missing", std::move(missing)},
          {"unreadable", t.errors.size()},
          {"models", std::move(models)}};
}

}  // namespace

int report_coverage(const std::vector<std::string>& paths, bool json) {
  CoverageTotals totals;
  Json models = Json::array();
  for (const std::string& model : find_models(paths)) {
    const Survey survey = survey_of(model);
    totals.add(survey);
    if (json) models.push_back(coverage_json(survey));
    if (!json) print_survey(survey);
  }
  if (json) print_json(coverage_json(totals, std::move(models)));
  if (!json) print_totals(totals);
  if (totals.errors.size() == 1) throw Error(totals.errors[0]);
  if (!totals.errors.empty()) {
    fail(Code::bad_input, "{} of {} models cannot be read; the first error: {}", totals.errors.size(), totals.models,
         totals.errors[0].what());
  }
  return totals.missing.empty() ? kDone : kFailed;
}

}  // namespace frazil::tool
