#include "tool/completion.h"

#include <algorithm>

#include <fmt/format.h>

namespace frazil::tool {
namespace {

/// The kind of words that complete a value.
enum class Words : std::uint8_t { none, files, folders, listed };

Words words_of(std::string_view value) {
  if (value.contains('|')) return Words::listed;
  if (value == "DIR") return Words::folders;
  constexpr std::string_view files[] = {"FILE", "PATH", "MODEL", "IN", "OUT", "A", "B"};
  return std::ranges::find(files, value) != std::end(files) ? Words::files : Words::none;
}

/// Returns the form of an argument's value: its alternatives, or its name.
const std::string& value_of(const OptionRow& argument) {
  return argument.value.contains('|') ? argument.value : argument.names.front();
}

std::string option_names(const CommandTable& command) {
  std::string names;
  for (const OptionGroup& g : command.groups) {
    for (const OptionRow& row : g.rows) names += fmt::format("{}{}", names.empty() ? "" : " ", row.names.back());
  }
  return names;
}

/// Returns the assignments of the bash function for a value: "kind=words words='auto ref'".
std::string bash_kind(std::string_view value) {
  switch (words_of(value)) {
    case Words::none: return "kind=none";
    case Words::files: return "kind=files";
    case Words::folders: return "kind=folders";
    case Words::listed: return fmt::format("kind=words words='{}'", fmt::join(alternatives(value), " "));
  }
  return {};
}

std::string bash_command(const CommandTable& command);

/// Returns the words of the commands inside of a command: "check test".
std::string inner_names(const CommandTable& command) {
  std::string names;
  for (const CommandTable& inner : command.commands) names += fmt::format("{}{}", names.empty() ? "" : " ", inner.name);
  return names;
}

std::string bash_inner(const CommandTable& command) {
  if (command.commands.empty()) return {};
  std::string out = fmt::format("      kind=words words='{}'\n      case $inner in\n", inner_names(command));
  for (const CommandTable& inner : command.commands) out += bash_command(inner);
  return out + "      esac\n";
}

std::string bash_command(const CommandTable& command) {
  std::string out = fmt::format("    {})\n      options='{}'\n", command.name, option_names(command));
  if (!command.arguments.empty()) out += fmt::format("      {}\n", bash_kind(value_of(command.arguments.front())));
  std::string cases;
  for (const OptionGroup& g : command.groups) {
    for (const OptionRow& row : g.rows) {
      if (row.value.empty()) continue;
      cases += fmt::format("        {}) value=yes {} ;;\n", fmt::join(row.names, "|"), bash_kind(row.value));
    }
  }
  if (!cases.empty()) out += fmt::format("      case $previous in\n{}      esac\n", cases);
  return out + bash_inner(command) + "      ;;\n";
}

/// Escapes text inside of single quotes and the brackets of _arguments.
std::string zsh_text(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\'') {
      out += "'\\''";
      continue;
    }
    if (c == '[' || c == ']' || c == ':' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

std::string zsh_action(std::string_view value) {
  switch (words_of(value)) {
    case Words::none: return " ";
    case Words::files: return "_files";
    case Words::folders: return "_files -/";
    case Words::listed: return fmt::format("({})", fmt::join(alternatives(value), " "));
  }
  return {};
}

std::string zsh_option(const OptionRow& row) {
  std::string out;
  for (const std::string& name : row.names) {
    const std::string_view sign = row.value.empty() ? "" : name.starts_with("--") ? "=" : "+";
    const std::string excluded = row.repeats ? "*" : fmt::format("({})", fmt::join(row.names, " "));
    const std::string value =
        row.value.empty() ? "" : fmt::format(":{}:{}", zsh_text(row.value), zsh_action(row.value));
    out += fmt::format(" \\\n        '{}{}{}[{}]{}'", excluded, name, sign, zsh_text(row.text), value);
  }
  return out;
}

std::string zsh_options(const CommandTable& command) {
  std::string out;
  for (const OptionGroup& g : command.groups) {
    for (const OptionRow& row : g.rows) out += zsh_option(row);
  }
  return out;
}

/// Returns a branch of a `case` whose lines begin with `indent`.
std::string zsh_command(const CommandTable& command, const std::string& indent);

std::string zsh_inner(const CommandTable& command, const std::string& indent) {
  std::string out = fmt::format(
      "{0}{1})\n{0}_arguments -C{2} \\\n        '1:command:({3})' '*::argument:->inner'\n{0}case $words[1] in\n",
      indent, command.name, zsh_options(command), inner_names(command));
  for (const CommandTable& inner : command.commands) out += zsh_command(inner, indent + "  ");
  return out + indent + "esac ;;\n";
}

std::string zsh_command(const CommandTable& command, const std::string& indent) {
  if (!command.commands.empty()) return zsh_inner(command, indent);
  std::string out = fmt::format("{0}{1})\n{0}_arguments -s{2}", indent, command.name, zsh_options(command));
  for (const OptionRow& row : command.arguments) {
    out += fmt::format(" \\\n        '{}:{}:{}'", row.repeats ? "*" : "", zsh_text(row.names.front()),
                       zsh_action(value_of(row)));
  }
  return out + " ;;\n";
}

/// The part of the bash function that finds the command and the option before the word to complete. bash splits words
/// at "=".
constexpr const char* kBashBegin = R"(_frazil() {
  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]} command= inner= options= kind=none words= value= word
  COMPREPLY=()
  if [[ $current == '=' ]]; then
    current=
  elif [[ $previous == '=' ]]; then
    previous=${COMP_WORDS[COMP_CWORD-2]}
  fi
  for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    if [[ $word == -* ]]; then continue; fi
    if [[ -n $command ]]; then inner=$word; break; fi
    command=$word
  done
  case $command in
)";

constexpr const char* kBashEnd = R"(  esac
  if [[ -z $value && $current == -* ]]; then kind=words words=$options; fi
  case $kind in
    words) mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current") ;;
    files) compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- "$current") ;;
    folders) compopt -o filenames; mapfile -t COMPREPLY < <(compgen -d -- "$current") ;;
  esac
}
complete -F _frazil frazil
)";

}  // namespace

std::string bash_completion(const CommandTable& program) {
  std::string out = "# Completions of frazil for bash, printed by 'frazil completion bash'.\n";
  out += kBashBegin;
  std::string commands;
  for (const CommandTable& command : program.commands) {
    out += bash_command(command);
    commands += " " + command.name;
  }
  out += fmt::format("    *) kind=words words='{}' options='{}' ;;\n", commands.substr(1), option_names(program));
  return out + kBashEnd;
}

std::string zsh_completion(const CommandTable& program) {
  std::string out =
      "#compdef frazil\n# Completions of frazil for zsh, printed by 'frazil completion zsh'.\n_frazil() {\n"
      "  local curcontext=$curcontext state state_descr line\n  typeset -A opt_args\n  local -a commands=(\n";
  for (const CommandTable& command : program.commands) {
    out += fmt::format("    '{}:{}'\n", command.name, zsh_text(command.text));
  }
  out += fmt::format("  )\n  _arguments -C{} \\\n        '1:command:->command' '*::argument:->argument'\n",
                     zsh_options(program));
  out += "  case $state in\n    command) _describe command commands ;;\n    argument)\n      case $words[1] in\n";
  for (const CommandTable& command : program.commands) out += zsh_command(command, "      ");
  out += "      esac ;;\n  esac\n}\n";
  return out + "if [ \"$funcstack[1]\" = _frazil ]; then _frazil \"$@\"; else compdef _frazil frazil; fi\n";
}

}  // namespace frazil::tool
