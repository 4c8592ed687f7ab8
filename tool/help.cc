#include "tool/help.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

namespace frazil::tool {
namespace {

constexpr std::size_t kIndent = 2, kNames = 26;  // columns before names; the most that names take

/// Appends `text` at column `at` of the current line. Breaks it at spaces into lines of `width` columns, which begin
/// with `indent` spaces and, except the last, end with `glue`. Breaks only before words that begin with `before`.
void append_wrapped(std::string& out, std::string_view text, std::size_t at, std::size_t indent, std::size_t width,
                    std::string_view glue = "", std::string_view before = "") {
  while (!text.empty()) {
    std::size_t end = text.find(fmt::format(" {}", before), 1);
    end = std::min(end, text.size());
    const std::string_view piece = text.substr(0, end);
    const bool begins = out.empty() || out.back() == ' ' || out.back() == '\n';
    if (!begins && at + piece.size() + glue.size() > width) {
      out += fmt::format("{}\n{:{}}", glue, "", indent);
      at = indent;
      text.remove_prefix(text.front() == ' ' ? 1 : 0);
      continue;
    }
    out += piece;
    at += piece.size();
    text.remove_prefix(end);
  }
}

/// Appends a row of two columns. The second begins at `column`, on a line of its own if the first is too long.
void append_row(std::string& out, std::string_view first, std::string_view second, std::size_t column,
                std::size_t width) {
  out += fmt::format("{:{}}{}", "", kIndent, first);
  const std::size_t at = kIndent + first.size();
  if (second.empty()) {
    out += '\n';
    return;
  }
  out += at + 2 > column ? fmt::format("\n{:{}}", "", column) : fmt::format("{:{}}", "", column - at);
  append_wrapped(out, second, column, column, width);
  out += '\n';
}

/// Appends a line that keeps its form: a row of two columns, or an example, which a backslash continues.
void append_kept(std::string& out, std::string_view line, std::size_t width) {
  const std::size_t begin = line.find_first_not_of(' ');
  const std::size_t gap = line.find("  ", begin);
  if (gap != std::string_view::npos) {
    const std::size_t column = line.find_first_not_of(' ', gap);
    out += line.substr(0, column);
    append_wrapped(out, line.substr(column), column, column, width);
  } else {
    out += line.substr(0, begin);
    append_wrapped(out, line.substr(begin), begin, begin + 4, width, " \\", "-");
  }
  out += '\n';
}

void append_rows(std::string& out, std::string_view title, const std::vector<OptionRow>& rows, std::size_t column,
                 std::size_t width) {
  if (rows.empty()) return;
  out += fmt::format("\n{}:\n", title);
  for (const OptionRow& row : rows) append_row(out, signature_of(row), description_of(row), column, width);
}

void append_commands(std::string& out, const std::vector<CommandTable>& commands, std::size_t column,
                     std::size_t width) {
  if (commands.empty()) return;
  out += "\nCommands:\n";
  for (const CommandTable& command : commands) append_row(out, command.name, command.text, column, width);
}

/// Returns the column of descriptions: the first after all names that are not too long.
std::size_t column_of(const CommandTable& command, std::size_t width) {
  const std::size_t most = std::min(kNames, width * 2 / 5);
  std::size_t longest = 0;
  const auto see = [&](std::size_t size) {
    if (size <= most) longest = std::max(longest, size);
  };
  for (const OptionRow& row : command.arguments) see(signature_of(row).size());
  for (const CommandTable& inner : command.commands) see(inner.name.size());
  for (const OptionGroup& g : command.groups) {
    for (const OptionRow& row : g.rows) see(signature_of(row).size());
  }
  return kIndent + longest + 2;
}

}  // namespace

std::size_t help_width() {
  constexpr std::int64_t kUsual = 80, kLeast = 40, kMost = 100;
  const char* const given = std::getenv("COLUMNS");
  const std::string_view text = given == nullptr ? "" : given;
  std::int64_t width = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), width);
  if (error != std::errc() || end != text.data() + text.size()) width = 0;
  winsize size{};
  if (width <= 0 && ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0) width = size.ws_col;
  return static_cast<std::size_t>(std::clamp(width > 0 ? width : kUsual, kLeast, kMost));
}

std::string notes_of(std::string_view notes, std::size_t width) {
  std::string out;
  while (!notes.empty()) {
    const std::size_t end = std::min(notes.find('\n'), notes.size());
    const std::string_view line = notes.substr(0, end);
    if (line.starts_with(' ')) {
      append_kept(out, line, width);
    } else {
      append_wrapped(out, line, 0, 0, width);
      out += '\n';
    }
    notes.remove_prefix(std::min(end + 1, notes.size()));
  }
  return out;
}

std::string help_of(const CommandTable& command, std::string_view path, std::size_t width) {
  const std::size_t column = column_of(command, width);
  std::string out = "Usage: ";
  append_wrapped(out, synopsis_of(command, path), out.size(), out.size(), width);
  out += "\n\n";
  append_wrapped(out, command.text, 0, 0, width);
  out += '\n';
  append_rows(out, "Arguments", command.arguments, column, width);
  append_commands(out, command.commands, column, width);
  for (const OptionGroup& g : command.groups) append_rows(out, g.title, g.rows, column, width);
  if (!command.notes.empty()) out += '\n';
  return out + notes_of(command.notes, width);
}

}  // namespace frazil::tool
