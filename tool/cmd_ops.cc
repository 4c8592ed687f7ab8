#include <algorithm>
#include <memory>

#include "base/os/knobs.h"
#include "ir/op/op.h"
#include "pass/engine/passes.h"
#include "pass/engine/rules.h"
#include "tool/commands.h"
#include "tool/op_facts.h"
#include "tool/option_table.h"
#include "tool/report.h"

namespace frazil::tool {
namespace {

struct ListOptions {
  bool json = false, markdown = false;
};

struct NamedSet {
  ElemSet set;
  std::string_view name;
};
constexpr NamedSet kNamedSets[] = {{0, "any"},
                                   {elems::kTensor, "all"},
                                   {elems::kNumeric, "numeric"},
                                   {elems::kFloat, "float"},
                                   {elems::kInt, "integer"},
                                   {elems::kSigned, "signed"},
                                   {elems::kUnsigned, "unsigned"}};

/// Returns "float", "i32 i64", ...
std::string set_text(ElemSet set) {
  for (const NamedSet& named : kNamedSets) {
    if (named.set == set) return std::string(named.name);
  }
  std::string text;
  for (int i = 0; i < kElemCount; ++i) {
    const auto elem = static_cast<Elem>(i);
    if (contains(set, elem)) text += (text.empty() ? "" : " ") + std::string(name_of(elem));
  }
  return text;
}

std::string_view use_text(Port::Use use) {
  constexpr std::string_view names[] = {"required", "optional", "variadic"};
  return names[static_cast<int>(use)];
}

std::string full_name(const OpDef& op) {
  return op.domain.empty() ? std::string(op.name) : fmt::format("{}.{}", op.domain, op.name);
}

/// Returns "A, B?, C...", with "?" for optional and "..." for variadic ports.
std::string ports_text(std::span<const Port> ports) {
  std::string text;
  for (const Port& port : ports) {
    if (!text.empty()) text += ", ";
    text += port.name;
    if (port.use == Port::Use::optional) text += "?";
    if (port.use == Port::Use::variadic) text += "...";
  }
  return text;
}

/// Returns "T: float; I: i32 i64", with each variable once.
std::string types_text(const OpDef& op) {
  std::vector<std::pair<std::string, std::string>> rows;
  for (const auto ports : {op.inputs, op.outputs}) {
    for (const Port& port : ports) {
      std::string key(port.var.empty() ? port.name : port.var);
      const bool known = std::ranges::any_of(rows, [&](const auto& row) { return row.first == key; });
      if (!known) rows.emplace_back(std::move(key), set_text(port.set));
    }
  }
  std::string text;
  for (const auto& [key, set] : rows) text += fmt::format("{}{}: {}", text.empty() ? "" : "; ", key, set);
  return text;
}

Json ports_json(std::span<const Port> ports) {
  Json json = Json::array();
  for (const Port& port : ports) {
    Json types = Json::array();
    for (int i = 0; i < kElemCount; ++i) {
      if (contains(port.set, static_cast<Elem>(i))) types.push_back(name_of(static_cast<Elem>(i)));
    }
    json.push_back({{"name", port.name}, {"var", port.var}, {"types", types}, {"use", use_text(port.use)}});
  }
  return json;
}

Json op_json(const OpDef& op) {
  const OpFacts facts = facts_of(op);
  Json attributes = Json::array();
  for (const AttrField& field : op.attrs.fields) {
    attributes.push_back(
        {{"name", field.name}, {"type", name_of(field.kind)}, {"required", field.required}, {"doc", field.doc}});
  }
  return {{"name", op.name},
          {"domain", op.domain},
          {"since", op.since.newest},
          {"oldest", op.since.oldest},
          {"form", form_name(op.form)},
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
std::string opsets_text(OpsetRange since) {
  return since.oldest == since.newest ? fmt::format("{}", since.newest)
                                      : fmt::format("{}-{}", since.oldest, since.newest);
}

void ops_markdown(const std::vector<const OpDef*>& all) {
  print_line("| operator | opset | form | kernels | numerics | inputs | outputs | element types | meaning |");
  print_line("|---|---|---|---|---|---|---|---|---|");
  for (const OpDef* op : all) {
    const OpFacts facts = facts_of(*op);
    print_line(fmt::format("| {} | {} | {} | {} | {} | {} | {} | {} | {} |", full_name(*op), opsets_text(op->since),
                           form_name(op->form), facts.kernels, facts.numerics, ports_text(op->inputs),
                           ports_text(op->outputs), types_text(*op), cell(op->doc)));
  }
}

Result<int> list_ops(const ListOptions& options) {
  const auto all = OpRegistry::global().all();
  if (options.json) {
    Json list = Json::array();
    for (const OpDef* op : all) list.push_back(op_json(*op));
    print_json({{"operators", std::move(list)}});
  } else if (options.markdown) {
    ops_markdown(all);
  } else {
    for (const OpDef* op : all) {
      print_line(fmt::format("{:<28} {:>2}  {:<11}  {}", full_name(*op), op->since.newest, form_name(op->form),
                             one_line(op->doc)));
    }
  }
  return kDone;
}

Result<int> list_knobs(const ListOptions& options) {
  if (options.json) {
    Json list = Json::array();
    for (const Knob& k : knob_table()) {
      list.push_back({{"name", k.name}, {"type", k.type}, {"default", k.initial}, {"range", k.range}, {"doc", k.doc}});
    }
    print_json({{"knobs", std::move(list)}});
    return kDone;
  }
  if (options.markdown) {
    print_line("| variable | values | default | meaning |");
    print_line("|---|---|---|---|");
  }
  for (const Knob& k : knob_table()) {
    const std::string values = k.range.empty() ? std::string(k.type) : fmt::format("{} in {}", k.type, k.range);
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
  for (const pass::PassRow& row : pass::pass_list()) {
    passes.push_back({{"name", row.name}, {"doc", row.what}, {"optional", row.pass.has_value()}});
  }
  for (const pass::Rule* rule : pass::all_rules()) {
    rules.push_back({{"name", rule->name}, {"doc", rule->what}, {"numerics", name_of(rule->numerics)}});
  }
  return {{"passes", std::move(passes)}, {"rules", std::move(rules)}};
}

Result<int> list_passes(const ListOptions& options) {
  if (options.json) {
    print_json(passes_json());
    return kDone;
  }
  if (options.markdown) print_line("| pass | what it does |\n|---|---|");
  for (const pass::PassRow& row : pass::pass_list()) {
    const std::string name = fmt::format("{}{}", row.name, row.pass ? "" : " (always)");
    print_line(options.markdown ? fmt::format("| {} | {} |", name, cell(row.what))
                                : fmt::format("{:<16}  {}", name, row.what));
  }
  print_line("");
  if (options.markdown) print_line("| rule | what it does | result |\n|---|---|---|");
  for (const pass::Rule* rule : pass::all_rules()) {
    const std::string_view how = name_of(rule->numerics);
    print_line(options.markdown ? fmt::format("| {} | {} | {} |", rule->name, cell(rule->what), how)
                                : fmt::format("{:<16}  {} ({})", rule->name, rule->what, how));
  }
  return kDone;
}

void add_list(CLI::App& app, Action& action, const char* name, const char* doc,
              Result<int> (*list)(const ListOptions&)) {
  auto options = std::make_shared<ListOptions>();
  CLI::App* command = app.add_subcommand(name, doc);
  command->option_defaults()->group(group::kOutput);
  auto* json = command->add_flag("--json", options->json, "Write one JSON object, alone on the last line of stdout");
  command->add_flag("--markdown", options->markdown, "A Markdown table, for the documentation")->excludes(json);
  command->callback([options, list, &action] { action = [options, list] { return list(*options); }; });
}

}  // namespace

void add_ops(CLI::App& app, Action& action) {
  add_list(app, action, "ops", "List the operators of this build", list_ops);
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
    action = [name]() -> Result<int> {
      return fail(Code::unsupported, "'frazil {}' is not available in this build", name);
    };
  });
}

}  // namespace frazil::tool
