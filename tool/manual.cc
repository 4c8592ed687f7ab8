#include "tool/manual.h"

#include <fmt/format.h>
#include <frazil/environment.h>

namespace frazil::tool {
namespace {

/// Escapes text for roff.
std::string roff(std::string_view text) {
  std::string out;
  if (text.starts_with('.') || text.starts_with('\'')) out += "\\&";
  for (const char c : text) {
    if (c == '\\') {
      out += "\\e";
    } else if (c == '-') {
      out += "\\-";
    } else {
      out += c;
    }
  }
  return out;
}

std::string item(std::string_view name, std::string_view text) {
  return fmt::format(".TP\n.B {}\n{}\n", roff(name), roff(text));
}

std::string options_text(const CommandTable& command) {
  std::string out;
  for (const OptionRow& row : command.arguments) out += item(signature_of(row), description_of(row));
  for (const OptionGroup& g : command.groups) {
    out += fmt::format(".PP\n.I {}\n", roff(g.title));
    for (const OptionRow& row : g.rows) out += item(signature_of(row), description_of(row));
  }
  return out;
}

/// Lines that begin with a space keep their form.
std::string notes_text(std::string_view notes) {
  std::string out;
  bool kept = false;
  while (!notes.empty()) {
    const std::size_t end = std::min(notes.find('\n'), notes.size());
    const std::string_view line = notes.substr(0, end);
    if (line.starts_with(' ') != kept) out += kept ? ".EE\n" : ".EX\n";
    if (!line.starts_with(' ')) out += ".PP\n";
    kept = line.starts_with(' ');
    if (!line.empty()) out += roff(line) + "\n";
    notes.remove_prefix(std::min(end + 1, notes.size()));
  }
  return kept ? out + ".EE\n" : out;
}

/// `around` is the name of the command that a command belongs to, with a space; empty for most.
std::string command_text(const CommandTable& command, const std::string& around = "") {
  const std::string name = around + command.name;
  std::string out =
      fmt::format(".SS {}\n.B {}\n.PP\n{}\n{}{}", roff(name), roff(synopsis_of(command, "frazil " + name)),
                  roff(command.text), options_text(command), notes_text(command.notes));
  for (const CommandTable& inner : command.commands) out += command_text(inner, name + " ");
  return out;
}

std::string environment_text() {
  std::string out = ".SH ENVIRONMENT\n";
  for (const api::EnvironmentVariable& knob : api::environment()) {
    const std::string range = knob.range.empty() ? "" : fmt::format(" in {}", knob.range);
    const std::string initial = knob.initial.empty() ? "" : fmt::format(" [default: {}]", knob.initial);
    out += item(knob.name, fmt::format("{} Values: {}{}.{}", knob.doc, knob.type, range, initial));
  }
  return out;
}

}  // namespace

std::string manual_of(const CommandTable& program, std::string_view version) {
  std::string out = fmt::format(".TH FRAZIL 1 \"\" \"frazil {}\" \"User Commands\"\n", roff(version));
  out += ".SH NAME\nfrazil \\- run, measure, inspect and serve ONNX models\n";
  out += fmt::format(".SH SYNOPSIS\n.B {}\n", roff(synopsis_of(program, program.name)));
  out += fmt::format(".SH DESCRIPTION\n{}\n{}{}", roff(program.text), options_text(program), notes_text(program.notes));
  out += ".SH COMMANDS\n";
  for (const CommandTable& command : program.commands) out += command_text(command);
  return out + environment_text();
}

}  // namespace frazil::tool
