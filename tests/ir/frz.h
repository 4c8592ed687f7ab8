#pragma once

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "ir/text/text.h"
#include "tensor/compare.h"

namespace frazil::test {

/// One run of a case: inputs and expected outputs.
struct FrzRun {
  std::size_t line = 0;  ///< of the file
  std::string text;      ///< as written, for messages
  Bindings inputs, outputs;
  std::optional<std::string> error;  ///< part of the message of the expected failure; no outputs then
  Tolerance tolerance{.rtol = 1e-5, .atol = 1e-6};
};

/// One case of a .frz file. A file is a list of cases:
///
///   ; case: doubles                    starts a case; line numbers in its errors count from the next line
///   graph doubles(%x: f32[N]) {
///     %y: f32[N] = Add(%x, %x)
///     return y = %y
///   }
///   ; expect: exact                    the graph prints as it is written (except comments and blank lines)
///   ; expect: prints %y: f32[N]        the printed graph contains this
///   ; expect: error line 2, column 3   parsing fails, and the message contains this
///   ; run %x = f32[2] [1, 2] => y = f32[2] [2, 4]
///   ; run %x = f32[1] 0.1 => y = f32[1] 0.2 within 1e-4
///   ; run %x = f32[1] 1, %k = i64[] 0 => error k must be positive
///
/// A comment that starts with three blanks continues the directive above it. Other comments are ignored.
struct FrzCase {
  std::string file, name, text;
  std::size_t line = 0;  ///< of the file
  bool exact = false;
  std::vector<std::string> prints;
  std::optional<std::string> error;
  std::vector<FrzRun> runs;

  /// The text without comment lines and blank lines.
  std::string bare() const {
    std::istringstream lines(text);
    std::string out;
    for (std::string row; std::getline(lines, row);) {
      if (!row.empty() && row[0] != ';') out += row + "\n";
    }
    return out;
  }
};

namespace frz {

inline bool take(std::string& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return false;
  text.erase(0, prefix.size());
  return true;
}

inline std::string trim(std::string text) {
  text.erase(0, std::min(text.find_first_not_of(' '), text.size()));
  text.erase(text.find_last_not_of(' ') + 1);
  return text;
}

inline Status read_run(FrzRun& run) {
  const std::size_t arrow = run.text.find("=>");
  if (arrow == run.text.npos) return fail(Code::bad_input, "a run line without =>");
  FRAZIL_TRY(run.inputs, parse_bindings(std::string_view(run.text).substr(0, arrow)));
  std::string outputs = trim(run.text.substr(arrow + 2));
  if (take(outputs, "error ")) {
    run.error = outputs;
    return {};
  }
  if (const std::size_t within = outputs.rfind(" within "); within != outputs.npos) {
    run.tolerance.rtol = run.tolerance.atol = std::strtod(outputs.c_str() + within + 8, nullptr);
    outputs.resize(within);
  }
  FRAZIL_TRY(run.outputs, parse_bindings(outputs));
  return {};
}

inline Status directive(FrzCase& c, std::string text, std::size_t line) {
  if (take(text, "run ")) {
    FrzRun& run = c.runs.emplace_back();
    run.line = line;
    run.text = text;
    return read_run(run);
  }
  if (!take(text, "expect: ")) return {};
  if (text == "exact") {
    c.exact = true;
  } else if (take(text, "prints ")) {
    c.prints.push_back(text);
  } else if (take(text, "error ")) {
    c.error = text;
  } else {
    return fail(Code::bad_input, "unknown expectation '{}'", text);
  }
  return {};
}

inline bool is_directive(std::string_view text) { return text.starts_with("run ") || text.starts_with("expect: "); }

}  // namespace frz

/// The cases of one file; an error names the file and the line.
inline Result<std::vector<FrzCase>> read_frz(const std::filesystem::path& path) {
  std::ifstream in(path);
  if (!in) return fail(Code::bad_input, "{}: cannot be read", path.string());
  std::vector<FrzCase> cases;
  std::string pending;
  std::size_t number = 0, pending_line = 0;
  const auto flush = [&]() -> Status {
    if (pending.empty()) return {};
    Status s = frz::directive(cases.back(), std::exchange(pending, {}), pending_line);
    if (!s) return within(fmt::format("{}:{}: ", path.string(), pending_line), std::move(s).error());
    return {};
  };
  for (std::string line; std::getline(in, line);) {
    ++number;
    std::string comment = line.starts_with(";") ? line.substr(1) : "";
    const bool goes_on = comment.starts_with("   ") && !pending.empty();
    comment = frz::trim(comment);
    if (goes_on) {
      pending += " " + comment;
    } else {
      FRAZIL_CHECK(flush());
      if (frz::take(comment, "case: ")) {
        cases.push_back({.file = path.filename().string(), .name = comment, .text = {}, .line = number});
        continue;
      }
      if (!cases.empty() && frz::is_directive(comment)) {
        pending = comment;
        pending_line = number;
      }
    }
    if (!cases.empty()) cases.back().text += line + "\n";
  }
  FRAZIL_CHECK(flush());
  return cases;
}

/// The cases of every .frz file of a folder, by file name.
inline Result<std::vector<FrzCase>> read_frz_folder(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() == ".frz") paths.push_back(entry.path());
  }
  std::ranges::sort(paths);
  std::vector<FrzCase> all;
  for (const auto& path : paths) {
    FRAZIL_TRY(std::vector<FrzCase> cases, read_frz(path));
    std::ranges::move(cases, std::back_inserter(all));
  }
  return all;
}

}  // namespace frazil::test
