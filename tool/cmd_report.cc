#include <filesystem>
#include <map>
#include <memory>

#include "govern/base/file.h"
#include "govern/report/compare_reports.h"
#include "govern/report/report.h"
#include "tool/commands.h"
#include "tool/common.h"
#include "tool/extent_ranges.h"
#include "tool/option_table.h"
#include "tool/report.h"
#include "tool/served_report.h"

namespace frazil::tool {
namespace {

struct PathReportOptions {
  std::string path, against;
  std::vector<std::string> extents;  // NAME=LEAST..MOST
  api::LoadOptions load;
  bool json = false;
};

std::string bound_text(const govern::Json& bound, double unit, std::string_view name) {
  return bound.is_null() ? "unbounded" : fmt::format("{:.3g} {}", bound.get<double>() / unit, name);
}

/// Returns the items, of which at most `most` are shown.
std::string list_text(const govern::Json& list, const auto& text, std::size_t most = 40) {
  std::string line;
  for (std::size_t i = 0; i < std::min(list.size(), most); ++i) line += (i == 0 ? "" : ", ") + text(list[i]);
  if (list.size() > most) line += fmt::format(" and {} more", list.size() - most);
  return line.empty() ? "none" : line;
}

/// Prints each reason once, with the first node and the number of others.
void print_unbounded(const govern::Json& parts) {
  std::map<std::pair<std::string, std::string>, std::vector<std::string>> places;
  for (const auto& part : parts) places[{part["of"], part["why"]}].push_back(part["where"]);
  for (const auto& [reason, where] : places) {
    const std::string others = where.size() == 1 ? "" : fmt::format(" and {} more", where.size() - 1);
    print_line(fmt::format("  no bound of {}: {}{}: {}", reason.first, one_line(where.front()), others,
                           one_line(reason.second)));
  }
}

std::string operator_text(const govern::Json& op) {
  const std::string domain = op["domain"].get<std::string>();
  return (domain.empty() ? "" : domain + ".") + op["name"].get<std::string>();
}

std::string model_text(const govern::Json& model) {
  const govern::Json& version = model["version"];
  const std::string number = version.is_null()     ? "current"
                             : version.is_string() ? version.get<std::string>()
                                                   : version.dump();
  return fmt::format("{} ({})", model["name"].get<std::string>(), number);
}

void print_report(const govern::Json& report) {
  const auto text = [](const govern::Json& item) { return item.get<std::string>(); };
  print_line(fmt::format("{}  {}", one_line(report["name"].get<std::string>()), report["digest"].get<std::string>()));
  print_line("  operators    " + list_text(report["operators"], operator_text));
  print_line("  models       " + list_text(report["models"], model_text));
  if (report.contains("paths")) {
    print_line("  endpoints    " + list_text(report["endpoints"], [&](const auto& end) {
                 return text(end["kind"]) + " " + text(end["host"]) + text(end["path"]);
               }));
    print_line("  code         " +
               list_text(report["code"], [&](const auto& program) { return text(program["name"]); }));
    print_line(fmt::format("  paths        {:.6g}", report["paths"].get<double>()));
  }
  print_line(fmt::format(
      "  at most      {}, {}, outputs of {}", bound_text(report["worst_cost_ns"], 1e6, "ms of a core"),
      bound_text(report["worst_memory_bytes"], 1e6, "MB"), bound_text(report["worst_output_bytes"], 1e6, "MB")));
  print_unbounded(report["unbounded"]);
  for (const auto& [what, inputs] : report["influence"].items()) {
    print_line(fmt::format("  {} depends on {}", one_line(what), one_line(list_text(inputs, text, 8))));
  }
  for (const auto& [what, inputs] : report["reaches"].items()) {
    print_line(fmt::format("  {} may get {}", one_line(what), one_line(list_text(inputs, text, 8))));
  }
  for (const auto& one : report["selections"]) print_line(one_line("  selection " + govern::selection_text(one)));
}

govern::Json reports_of(const std::string& path, const PathReportOptions& options) {
  const govern::ReportOptions assumed{.extents = extent_ranges(options.extents)};
  if (std::filesystem::is_directory(path)) return report_of_folder(path, assumed);
  return {{"models", govern::Json::array({govern::report_of(load_model(path, options.load), assumed)})}};
}

/// Returns the reports in a file of `frazil report --json`, or those of a model or folder.
govern::Json approved_reports(const std::string& path, const PathReportOptions& options) {
  constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 30;
  if (std::filesystem::is_directory(path) || !path.ends_with(".json")) return reports_of(path, options);
  const std::string place = fmt::format("file '{}'", path);
  const govern::Json json = govern::parse_json(govern::read_file(path, kMostBytes), place);
  if (json.is_object() && (json.contains("models") || json.contains("pipelines")) && !json.contains("operators")) {
    return json;
  }
  if (json.is_object() && json.contains("operators")) return {{"models", govern::Json::array({json})}};
  fail(Code::bad_input, "{}: expected the output of 'frazil report --json'", place);
}

/// Returns the reports by "model NAME/VERSION". A single one has an empty name, so that it is compared with any other.
std::map<std::string, govern::Json> by_served_name(const govern::Json& all) {
  std::map<std::string, govern::Json> named;
  for (const auto& [kind, reports] : all.items()) {
    for (const auto& report : reports) {
      const std::string what = kind == "models" ? "model " : "pipeline ";
      named[what + report.value("name", "") + "/" + report.value("version", "")] = report;
    }
  }
  if (named.size() != 1) return named;
  return {{"", named.begin()->second}};
}

/// Prints what is new or missing against an approved report. Returns kFailed if something is.
int print_differences(const govern::Json& approved, const govern::Json& now) {
  const auto before = by_served_name(approved), after = by_served_name(now);
  bool equal = true;
  const auto say = [&](const std::string& line) {
    equal = false;
    print_line(one_line(line));
  };
  for (const auto& [name, report] : after) {
    const auto old = before.find(name);
    if (old == before.end()) {
      say(fmt::format("+ {}", name.empty() ? report.value("name", "") : name));
      continue;
    }
    for (const std::string& line : govern::differences(old->second, report)) {
      say(name.empty() ? line : fmt::format("{}: {}", name, line));
    }
  }
  for (const auto& [name, report] : before) {
    if (!after.contains(name)) say(fmt::format("- {}", name.empty() ? report.value("name", "") : name));
  }
  if (equal) print_line("the reports are equal");
  if (const auto error = finish_output()) throw *error;
  return equal ? kDone : kFailed;
}

int write_report(const PathReportOptions& options) {
  const govern::Json all = reports_of(options.path, options);
  if (!options.against.empty()) return print_differences(approved_reports(options.against, options), all);
  if (options.json) {
    print_text(govern::canonical(all) + "\n");
  } else {
    for (const auto& [kind, reports] : all.items()) {
      for (const auto& report : reports) print_report(report);
    }
  }
  if (const auto error = finish_output()) throw *error;
  return kDone;
}

}  // namespace

void add_report(CLI::App& app, Action& action) {
  auto options = std::make_shared<PathReportOptions>();
  CLI::App* command =
      app.add_subcommand("report", "Report what a model or pipeline can reach and take, over all of its paths");
  command->add_option("DIR", options->path, "A model, or a folder of models and pipelines as in 'frazil serve'")
      ->required();
  command->option_defaults()->group(group::kInputs);
  add_extents(*command, options->extents);
  command
      ->add_option("--against", options->against,
                   "Compare with an approved report, a .json file of --json, or with another model or folder: print "
                   "what is new or missing, with exit code 1 if anything is")
      ->type_name("PATH");
  add_load_limits(*command, options->load);
  command
      ->add_flag("--json", options->json, "Write one JSON object in canonical form, alone on the last line of stdout")
      ->group(group::kOutput);
  command->footer(
      "Nothing is run. The report lists operators, models and endpoints that any path can reach, upper bounds of work "
      "and memory for all inputs in the given ranges, and the inputs that may influence each output and decision. A "
      "part without a bound is named with its reason.\n\n"
      "Example:\n"
      "  frazil report models --extent N=1..8 --extent tokens=1..512\n"
      "  frazil report model.onnx --against approved.json");
  command->callback([options, &action] { action = [options] { return write_report(*options); }; });
}

}  // namespace frazil::tool
