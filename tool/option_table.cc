#include "tool/option_table.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace frazil::tool {
namespace {

constexpr const char* kHelpTitle = "Help";

OptionRow row_of(const CLI::Option& option) {
  OptionRow row{.text = option.get_description(),
                .initial = option.get_default_str(),
                .required = option.get_required(),
                .repeats = option.get_expected_max() >= CLI::detail::expected_max_vector_size};
  if (option.get_positional()) {
    row.names = {option.get_name(true, false)};
  } else {
    for (const std::string& name : option.get_snames()) row.names.push_back("-" + name);
    for (const std::string& name : option.get_lnames()) row.names.push_back("--" + name);
  }
  const std::string type = option.get_type_name();  // "P:INT in [0 - 65535]" with a validator
  if (option.get_items_expected_max() > 0) row.value = type.substr(0, type.find(':'));
  return row;
}

OptionGroup& group_named(std::vector<OptionGroup>& groups, const std::string& title) {
  const auto at = std::ranges::find(groups, title, &OptionGroup::title);
  return at != groups.end() ? *at : groups.emplace_back(title);
}

std::size_t rank_of(const std::string& title) {
  constexpr std::array<std::string_view, 4> kOrder{group::kInputs, group::kExecution, group::kLimits, group::kOutput};
  if (title == kHelpTitle) return kOrder.size() + 1;
  return static_cast<std::size_t>(std::ranges::find(kOrder, title) - kOrder.begin());
}

/// Adds the options of a command, and of the nameless parts that group options which exclude each other.
void add_options(const CLI::App& app, CommandTable& table) {
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_positional()) {
      table.arguments.push_back(row_of(*option));
      continue;
    }
    const bool help = option == app.get_help_ptr() || option == app.get_version_ptr();
    if (help && app.get_name().empty()) continue;  // of a nameless part
    group_named(table.groups, help ? kHelpTitle : option->get_group()).rows.push_back(row_of(*option));
  }
}

}  // namespace

CommandTable table_of(const CLI::App& app) {
  CommandTable table{.name = app.get_name(), .text = app.get_description(), .notes = app.get_footer()};
  add_options(app, table);
  for (const CLI::App* part : app.get_subcommands(nullptr)) {
    if (part->get_name().empty()) {
      add_options(*part, table);
    } else {
      table.commands.push_back(table_of(*part));
    }
  }
  std::ranges::stable_sort(table.groups, {}, [](const OptionGroup& g) { return rank_of(g.title); });
  return table;
}

std::vector<std::string> alternatives(std::string_view value) {
  if (!value.contains('|')) return {};
  return CLI::detail::split(std::string(value), '|');
}

std::string signature_of(const OptionRow& row) {
  const bool option = row.names.front().starts_with('-');
  return fmt::format("{}{}{}", fmt::join(row.names, ", "), option && !row.value.empty() ? " " + row.value : "",
                     row.repeats ? " ..." : "");
}

std::string description_of(const OptionRow& row) {
  if (row.initial.empty()) return row.text;
  return fmt::format("{} [default: {}]", row.text, row.initial);
}

std::string synopsis_of(const CommandTable& command, std::string_view path) {
  std::string line(path);
  if (!command.groups.empty()) line += " [OPTIONS]";
  if (!command.commands.empty()) line += " COMMAND";
  for (const OptionRow& row : command.arguments) {
    const std::string name = signature_of(row);
    line += row.required ? " " + name : " [" + name + "]";
  }
  return line;
}

}  // namespace frazil::tool
