#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <CLI/App.hpp>

namespace frazil::tool {

/// Titles of option groups. Help, the manual page and completions list groups in this order, then all others.
namespace group {
inline constexpr const char* kInputs = "Inputs";
inline constexpr const char* kExecution = "Execution";
inline constexpr const char* kLimits = "Limits";
inline constexpr const char* kOutput = "Output";
}  // namespace group

/// An option or an argument of a command.
struct OptionRow {
  std::vector<std::string> names;  ///< "-i", "--input"; for an argument its only name, "MODEL"
  std::string value;               ///< "FILE", or alternatives, "auto|ref|0|1|2"; empty for a flag
  std::string text, initial;       ///< description; default, empty if there is none
  bool required = false, repeats = false;
};

struct OptionGroup {
  std::string title;
  std::vector<OptionRow> rows;
};

/// A command as declared with CLI11. Help, the manual page and completions are made from it.
struct CommandTable {
  std::string name, text;
  std::string notes;  ///< paragraphs; lines that begin with a space keep their form
  std::vector<OptionRow> arguments;
  std::vector<OptionGroup> groups;
  std::vector<CommandTable> commands;
};
CommandTable table_of(const CLI::App& app);

/// Returns the alternatives of a value: {"default", "strict"}; empty if it has none.
std::vector<std::string> alternatives(std::string_view value);
/// Returns "-i, --input NAME=SPEC ...".
std::string signature_of(const OptionRow& row);
/// Returns the description with its default.
std::string description_of(const OptionRow& row);
/// Returns "frazil run [OPTIONS] MODEL"; `path` is "frazil run".
std::string synopsis_of(const CommandTable& command, std::string_view path);

}  // namespace frazil::tool
