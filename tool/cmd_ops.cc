#include <algorithm>
#include <functional>
#include <memory>

#include <frazil/environment.h>
#include <frazil/operators.h>

#include "tool/commands.h"
#include "tool/coverage.h"
#include "tool/op_facts.h"
#include "tool/option_table.h"
#include "tool/report.h"

namespace frazil::tool {
namespace {

struct ListOptions {
  bool json = false, markdown = false;
};

using api::Dtype;
using api::OperatorInfo;
using OperatorPort = OperatorInfo::Port;

/// Names of sets of element types.
const std::vector<std::pair<std::vector<Dtype>, std::string_view>>& named_sets() {
  using enum Dtype;
  static const auto sets = [] {
    std::vector<Dtype> all;
    for (int i = 0; i <= static_cast<int>(u2); ++i) all.push_back(static_cast<Dtype>(i));
    return std::vector<std::pair<std::vector<Dtype>, std::string_view>>{
        {{}, "any"},
        {all, "all"},
        {{i8, i16, i32, i64, u8, u16, u32, u64, f16, bf16, f32, f64}, "numeric"},
        {{f16, bf16, f32, f64}, "float"},
        {{i8, i16, i32, i64, u8, u16, u32, u64}, "integer"},
        {{i8, i16, i32, i64}, "signed"},
        {{u8, u16, u32, u64}, "unsigned"}};
  }();
  return sets;
}

/// Returns "float", "i32 i64", ...
std::string set_text(const std::vector<Dtype>& types) {
  for (const auto& [set, name] : named_sets()) {
    if (set == types) return std::string(name);
  }
  std::string text;
  for (const Dtype type : types) text += (text.empty() ? "" : " ") + std::string(name_of(type));
  return text;
}

std::string_view use_text(OperatorInfo::Use use) {
  constexpr std::string_view names[] = {"required", "optional", "variadic"};
  return names[static_cast<int>(use)];
}

/// Returns "A, B?, C...", with "?" for optional and "..." for variadic ports.
std::string ports_text(const std::vector<OperatorPort>& ports) {
  std::string text;
  for (const OperatorPort& port : ports) {
    if (!text.empty()) text += ", ";
    text += port.name;
    if (port.use == OperatorInfo::Use::optional) text += "?";
    if (port.use == OperatorInfo::Use::variadic) text += "...";
  }
  return text;
}

/// Returns "T: float; I: i32 i64", with each variable once.
std::string types_text(const OperatorInfo& op) {
  std::vector<std::pair<std::string, std::string>> rows;
  for (const auto* ports : {&op.inputs, &op.outputs}) {
    for (const OperatorPort& port : *ports) {
      std::string key = port.variable.empty() ? port.name : port.variable;
      const bool known = std::ranges::any_of(rows, [&](const auto& row) { return row.first == key; });
      if (!known) rows.emplace_back(std::move(key), set_text(port.types));
    }
  }
  std::string text;
  for (const auto& [key, set] : rows) text += fmt::format("{}{}: {}", text.empty() ? "" : "; ", key, set);
  return text;
}

Json ports_json(const std::vector<OperatorPort>& ports) {
  Json json = Json::array();
  for (const OperatorPort& port : ports) {
    Json types = Json::array();
    for (const Dtype type : port.types) types.push_back(name_of(type));
    json.push_back({{"name", port.name}, {"var", port.variable}, {"types", types}, {"use", use_text(port.use)}});
  }
  return json;
}

Json op_json(const OperatorInfo& op) {
  const OpFacts facts = facts_of(op);
  Json attributes = Json::array();
  for (const OperatorInfo::Field& field : op.attributes) {
    attributes.push_back(
        {{"name", field.name}, {"type", name_of(field.kind)}, {"required", field.required}, {"doc", field.doc}});
  }
  return {{"name", op.name},
          {"domain", op.domain},
          {"since", op.since},
          {"oldest", op.oldest},
          {"form", op.form},
          {"kernels", facts.kernels},
          {"numerics", facts.numerics},
          {"doc", op.doc},
          {"inputs", ports_json(op.inputs)},
          {"outputs", ports_json(op.outputs)},
          {"attributes", attributes}};
}

/// Escapes text for a cell of a Markdown table.
std::string cell(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '|') out += '\\';
    out += c == '\n' ? ' ' : c;
  }
  return out;
}

/// Returns "7-14": the oldest opset with this form of the operator, and the newest that changed its meaning.
std::string opsets_text(const OperatorInfo& op) {
  return op.oldest == op.since ? fmt::format("{}", op.since) : fmt::format("{}-{}", op.oldest, op.since);
}

void ops_markdown(const std::vector<OperatorInfo>& all) {
  print_line("| operator | opset | form | kernels | numerics | inputs | outputs | element types | meaning |");
  print_line("|---|---|---|---|---|---|---|---|---|");
  for (const OperatorInfo& op : all) {
    const OpFacts facts = facts_of(op);
    print_line(fmt::format("| {} | {} | {} | {} | {} | {} | {} | {} | {} |", op.full_name(), opsets_text(op), op.form,
                           facts.kernels, facts.numerics, ports_text(op.inputs), ports_text(op.outputs), types_text(op),
                           cell(op.doc)));
  }
}

int list_ops(const ListOptions& options) {
  const std::vector<OperatorInfo> all = api::operators();
  if (options.json) {
    Json list = Json::array();
    for (const OperatorInfo& op : all) list.push_back(op_json(op));
    print_json({{"operators", std::move(list)}});
  } else if (options.markdown) {
    ops_markdown(all);
  } else {
    for (const OperatorInfo& op : all) {
      print_line(fmt::format("{:<28} {:>2}  {:<11}  {}", op.full_name(), op.since, op.form, one_line(op.doc)));
    }
  }
  return kDone;
}

int list_knobs(const ListOptions& options) {
  const std::vector<api::EnvironmentVariable> all = api::environment();
  if (options.json) {
    Json list = Json::array();
    for (const auto& k : all) {
      list.push_back({{"name", k.name}, {"type", k.type}, {"default", k.initial}, {"range", k.range}, {"doc", k.doc}});
    }
    print_json({{"knobs", std::move(list)}});
    return kDone;
  }
  if (options.markdown) {
    print_line("| variable | values | default | meaning |");
    print_line("|---|---|---|---|");
  }
  for (const auto& k : all) {
    const std::string values = k.range.empty() ? k.type : fmt::format("{} in {}", k.type, k.range);
    if (options.markdown) {
      print_line(fmt::format("| `{}` | {} | {} | {} |", k.name, values, k.initial, cell(k.doc)));
    } else {
      print_line(fmt::format("{}: {}{}\n    {}", k.name, values,
                             k.initial.empty() ? "" : fmt::format(", default {}", k.initial), k.doc));
    }
  }
  return kDone;
}

Json passes_json() {
  Json passes = Json::array(), rules = Json::array();
  for (const api::PassInfo& pass : api::passes()) {
    passes.push_back({{"name", pass.name}, {"doc", pass.doc}, {"optional", pass.optional}});
  }
  for (const api::RuleInfo& rule : api::rewrite_rules()) {
    rules.push_back({{"name", rule.name}, {"doc", rule.doc}, {"numerics", rule.numerics}});
  }
  return {{"passes", std::move(passes)}, {"rules", std::move(rules)}};
}

int list_passes(const ListOptions& options) {
  if (options.json) {
    print_json(passes_json());
    return kDone;
  }
  if (options.markdown) print_line("| pass | what it does |\n|---|---|");
  for (const api::PassInfo& pass : api::passes()) {
    const std::string name = fmt::format("{}{}", pass.name, pass.optional ? "" : " (always)");
    print_line(options.markdown ? fmt::format("| {} | {} |", name, cell(pass.doc))
                                : fmt::format("{:<16}  {}", name, pass.doc));
  }
  print_line("");
  if (options.markdown) print_line("| rule | what it does | result |\n|---|---|---|");
  for (const api::RuleInfo& rule : api::rewrite_rules()) {
    print_line(options.markdown ? fmt::format("| {} | {} | {} |", rule.name, cell(rule.doc), rule.numerics)
                                : fmt::format("{:<16}  {} ({})", rule.name, rule.doc, rule.numerics));
  }
  return kDone;
}

using List = std::function<int(const ListOptions&)>;

CLI::App* add_list(CLI::App& app, Action& action, const char* name, const char* doc, List list) {
  auto options = std::make_shared<ListOptions>();
  CLI::App* command = app.add_subcommand(name, doc);
  command->option_defaults()->group(group::kOutput);
  auto* json = command->add_flag("--json", options->json, "Write one JSON object, alone on the last line of stdout");
  command->add_flag("--markdown", options->markdown, "A Markdown table, for the documentation")->excludes(json);
  command->callback(
      [options, list = std::move(list), &action] { action = [options, list] { return list(*options); }; });
  return command;
}

}  // namespace

void add_ops(CLI::App& app, Action& action) {
  auto models = std::make_shared<std::vector<std::string>>();
  CLI::App* command = add_list(app, action, "ops", "List the operators of this build, or those that models lack",
                               [models](const ListOptions& options) {
                                 return models->empty() ? list_ops(options) : report_coverage(*models, options.json);
                               });
  command->add_option("--coverage", *models, "List the operators of these files and folders that are not available")
      ->type_name("MODEL")
      ->group(group::kInputs)
      ->excludes("--markdown");
}

void add_knobs(CLI::App& app, Action& action) {
  add_list(app, action, "knobs", "List the environment variables", list_knobs);
}

void add_passes(CLI::App& app, Action& action) {
  add_list(app, action, "passes", "List the passes and their rewrite rules", list_passes);
}

void add_missing(CLI::App& app, Action& action, const std::string& name, const std::string& help,
                 const std::string& option) {
  CLI::App* command = app.add_subcommand(name, help + " (not in this build: configure with -D" + option + "=ON)");
  command->allow_extras();
  command->callback([name, &action] {
    action = [name]() -> int { fail(Code::unsupported, "'frazil {}' is not available in this build", name); };
  });
}

}  // namespace frazil::tool
