#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <frazil/array.h>
#include <nlohmann/json.hpp>

#include "tool/error.h"

namespace frazil::tool {

using api::Array;
using Json = nlohmann::ordered_json;

/// Exit codes of the command.
enum Exit : int { kDone = 0, kFailed = 1, kBadInput = 2, kStopped = 3 };
int exit_code(Code code);

/// Writes text to stderr and ignores errors.
void print_error(const std::string& text);
/// Writes the error as one line to stderr and returns its exit code.
int report(const Error& error);
/// Replaces control characters, including line breaks, by spaces, and escapes bytes that are not UTF-8 as \xHH.
std::string one_line(std::string_view text);

/// Returns `json` as one line. Bytes that are not UTF-8 are replaced.
std::string json_text(const Json& json);
/// Writes `json` as one line to stdout.
void print_json(const Json& json);
/// Writes text, which ends with a line break, to stdout.
void print_text(std::string_view text);
/// Writes one line of text to stdout.
void print_line(std::string_view line);
/// Returns true if stdout is a terminal.
bool prints_to_terminal();
/// Flushes stdout. Returns an error if output was lost, except to a closed pipe.
std::optional<Error> finish_output();

/// Returns "f32[2,3]", "seq(2)", "map(3)" or "none".
std::string type_of(const Array& value);
/// Returns a one-line summary of the value: range and mean of numbers, and the first elements.
std::string summary_of(const Array& value);
/// Returns {"name", "type", "shape", "min", "max", "mean"}. Members that do not apply are omitted.
Json json_of(std::string_view name, const Array& value);

/// A progress line on stderr if stderr is a terminal.
class Progress {
 public:
  Progress();
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  /// Replaces the line. Updates are throttled.
  void show(std::string_view text);
  /// Removes the line before other output.
  void clear();

 private:
  bool terminal_;
  bool shown_ = false;
  double last_ = 0;
};

/// Returns the time of a steady clock in seconds.
double now();

}  // namespace frazil::tool
