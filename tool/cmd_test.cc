#include <algorithm>
#include <exception>
#include <filesystem>
#include <memory>
#include <optional>
#include <regex>
#include <set>

#include <fmt/ranges.h>

#include "tool/commands.h"
#include "tool/common.h"
#include "tool/option_table.h"
#include "tool/report.h"
#include "tool/spec.h"

namespace frazil::tool {
namespace {

namespace fs = std::filesystem;

struct TestOptions {
  Common common;
  std::vector<std::string> folders;
  std::string filter;
  bool list = false;
};

/// Returns the folder's test_data_set_*, in order.
std::vector<fs::path> data_sets(const fs::path& folder) {
  std::vector<fs::path> sets;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    std::error_code ignored;
    if (it->path().filename().string().starts_with("test_data_set_") && it->is_directory(ignored)) {
      sets.push_back(it->path());
    }
  }
  std::ranges::sort(sets);
  return sets;
}

bool is_case(const fs::path& folder) {
  std::error_code ignored;
  return fs::is_regular_file(folder / "model.onnx", ignored) && !data_sets(folder).empty();
}

std::set<fs::path> find_cases(const TestOptions& options) {
  std::set<fs::path> cases;
  for (const std::string& root : options.folders) {
    std::error_code error;
    if (!fs::is_directory(root, error)) fail(Code::bad_input, "'{}' is not a folder", root);
    if (is_case(root)) cases.insert(fs::path(root));
    fs::recursive_directory_iterator it(root, fs::directory_options::skip_permission_denied, error), end;
    for (; !error && it != end; it.increment(error)) {
      std::error_code ignored;
      if (it->is_directory(ignored) && is_case(it->path())) cases.insert(it->path());
    }
  }
  if (!options.filter.empty()) {
    try {
      const std::regex wanted(options.filter);
      std::erase_if(cases, [&](const fs::path& path) { return !std::regex_search(path.string(), wanted); });
    } catch (const std::regex_error&) {
      fail(Code::bad_input, "--filter: '{}' is not a regular expression", options.filter);
    }
  }
  if (cases.empty()) {
    fail(Code::bad_input, "no case found in '{}'{}: a case is a folder with model.onnx and test_data_set_*",
         fmt::join(options.folders, "', '"),
         options.filter.empty() ? "" : fmt::format(" that matches '{}'", options.filter));
  }
  return cases;
}

/// Reads a value. The file of an optional value may also have the type of its element.
Array read_declared(const fs::path& path, const Port& port) {
  const Array::Kind kind = file_kind(port);
  try {
    return Array::read_pb(path.string(), kind);
  } catch (const Error& declared) {
    if (kind == port.kind) throw;
    try {
      return Array::read_pb(path.string(), port.kind);
    } catch (const Error&) {
      throw Error(declared);
    }
  }
}

/// Reads the files `stem`_0.pb, `stem`_1.pb, ... as values of the declared types.
std::vector<Array> read_files(const fs::path& set, std::string_view stem, const std::vector<Port>& declared) {
  std::vector<Array> values;
  for (std::size_t i = 0;; ++i) {
    const fs::path path = set / fmt::format("{}_{}.pb", stem, i);
    std::error_code ignored;
    if (!fs::exists(path, ignored)) return values;
    if (i >= declared.size()) {
      fail(Code::bad_input, "{} is one {} more than the model has", path.filename().string(), stem);
    }
    values.push_back(read_declared(path, declared[i]));
  }
}

void run_set(Session& session, const Model& model, const fs::path& set) {
  const auto inputs = read_files(set, "input", model.inputs());
  const auto wanted = read_files(set, "output", model.outputs());
  const Results got = session.run(inputs);
  if (wanted.size() != got.size()) {
    fail(Code::bad_input, "{} output files, but the model has {} outputs", wanted.size(), got.size());
  }
  for (std::size_t i = 0; i < got.size(); ++i) {
    if (const auto what = api::difference(got[i], wanted[i])) {
      fail(Code::bad_input, "output '{}': {}", model.outputs()[i].name, *what);
    }
  }
}

void run_sets(const fs::path& folder, const Common& common) {
  const Model model = load_model(folder / "model.onnx", common);
  Session session = open_session(model, common);
  const auto sets = data_sets(folder);
  for (const fs::path& set : sets) {
    within(sets.size() > 1 ? set.filename().string() + ": " : "", [&] { run_set(session, model, set); });
  }
}

/// Returns why a case cannot be run; nullopt if it can.
std::optional<std::string> reason_to_skip(const fs::path& folder) {
  for (const fs::path& set : data_sets(folder)) {
    std::error_code ignored;
    if (!fs::exists(set / "output_0.pb", ignored)) return set.filename().string() + " has no output_0.pb";
  }
  return std::nullopt;
}

/// Runs a case and returns its error, if there is one.
std::optional<Error> run_case(const fs::path& folder, const Common& common) {
  try {
    run_sets(folder, common);
    return std::nullopt;
  } catch (const Error& error) {
    return error;
  } catch (const std::bad_alloc&) {
    return Error(Code::out_of_memory, "out of memory");
  } catch (const std::exception& e) {
    return Error(Code::internal, fmt::format("internal error: {}", e.what()));
  }
}

class Tally {
 public:
  explicit Tally(bool json) : json_(json) {}
  void pass() { ++passed_; }
  void fail(const fs::path& path, const Error& error) {
    ++failed_;
    print_outcome("FAIL", path, error.what());
    failures_.push_back({{"path", path.string()}, {"code", name_of(error.code())}, {"reason", one_line(error.what())}});
  }
  void skip(const fs::path& path, const std::string& reason) {
    ++skipped_;
    print_outcome("SKIP", path, reason);
    skips_.push_back({{"path", path.string()}, {"reason", reason}});
  }
  int finish() {
    progress.clear();
    if (json_) {
      print_json({{"passed", passed_},
                  {"failed", failed_},
                  {"skipped", skipped_},
                  {"failures", failures_},
                  {"skips", skips_}});
    } else {
      print_line(fmt::format("{} passed, {} failed, {} skipped", passed_, failed_, skipped_));
    }
    return failed_ == 0 ? kDone : kFailed;
  }
  Progress progress;

 private:
  void print_outcome(std::string_view what, const fs::path& path, std::string_view reason) {
    progress.clear();
    const std::string line = fmt::format("{} {}: {}", what, path.string(), one_line(reason));
    if (json_) {
      fmt::print(stderr, "{}\n", line);
    } else {
      print_line(line);
    }
  }
  bool json_;
  std::size_t passed_ = 0, failed_ = 0, skipped_ = 0;
  Json failures_ = Json::array(), skips_ = Json::array();
};

int list(const std::set<fs::path>& cases, bool json) {
  Json all = Json::array();
  for (const fs::path& path : cases) {
    if (json) {
      all.push_back(path.string());
    } else {
      print_line(path.string());
    }
  }
  if (json) print_json({{"cases", all}});
  return kDone;
}

int test(const TestOptions& options) {
  prepare(options.common);
  const auto cases = find_cases(options);
  if (options.list) return list(cases, options.common.json);
  Tally tally(options.common.json);
  std::size_t number = 0;
  for (const fs::path& path : cases) {
    tally.progress.show(fmt::format("{}/{} {}", ++number, cases.size(), path.filename().string()));
    if (const auto reason = reason_to_skip(path)) {
      tally.skip(path, *reason);
    } else if (const auto error = run_case(path, options.common)) {
      tally.fail(path, *error);
    } else {
      tally.pass();
    }
  }
  return tally.finish();
}

}  // namespace

void add_test(CLI::App& app, Action& action) {
  auto options = std::make_shared<TestOptions>();
  CLI::App* command = app.add_subcommand("test", "Run ONNX test cases and compare with their stored outputs");
  command->add_option("DIR", options->folders, "Folders to search for cases: model.onnx beside test_data_set_*")
      ->required();
  command->option_defaults()->group(group::kInputs);
  command->add_option("--filter", options->filter, "Only cases whose path matches")->type_name("REGEX");
  command->add_flag("--list", options->list, "List the cases without running them")->group(group::kOutput);
  add_common(*command, options->common);
  command->footer(
      "Outputs must agree to rtol 1e-3 and atol 1e-7, in type and in shape. A data set without outputs is skipped.\n"
      "\n"
      "Examples:\n"
      "  frazil test onnx-tests/node\n"
      "  frazil test onnx-tests --filter 'test_(if|loop)' --tier ref");
  command->callback([options, &action] { action = [options] { return test(*options); }; });
}

}  // namespace frazil::tool
