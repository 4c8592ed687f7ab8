#include "govern/gate/facts.h"

#include <algorithm>
#include <set>

#include <frazil/live.h>

#include "govern/report/report.h"

namespace frazil::govern {
namespace {

std::string operator_name(const Json& op) {
  const std::string& domain = op.at("domain").get_ref<const std::string&>();
  const std::string& name = op.at("name").get_ref<const std::string&>();
  return domain.empty() ? name : domain + "." + name;
}

std::string model_name(const Json& model) {
  const Json& version = model.at("version");
  const std::string text = version.is_null() ? "" : version.is_string() ? version.get<std::string>() : version.dump();
  return model.at("name").get<std::string>() + "/" + text;
}

std::string endpoint_name(const Json& endpoint) {
  return endpoint.at("kind").get<std::string>() + "://" + endpoint.at("host").get<std::string>() +
         endpoint.at("path").get<std::string>();
}

std::string program_name(const Json& program) { return program.at("name"); }

Json names(const Json& list, std::string (*name)(const Json&)) {
  Json result = Json::array();
  for (const Json& item : list) result.push_back(name(item));
  return result;
}

/// Returns what a rule sees of an entry of `influence` or `reaches`; empty for nodes, which only reviewers need.
std::string influenced_name(const std::string& key) {
  if (key.starts_with("node ")) return "";
  constexpr std::string_view kOutput = "output '";
  return key.starts_with(kOutput) ? "output:" + key.substr(kOutput.size(), key.size() - kOutput.size() - 1) : key;
}

/// Adds {from, to, how} for each source. Sources in the report of a model are names of inputs.
void add_influences(Json& list, const Json& report, const char* member, const char* how) {
  const bool pipeline = report.contains("paths");
  for (const auto& [key, sources] : report.at(member).items()) {
    const std::string to = influenced_name(key);
    if (to.empty()) continue;
    for (const Json& source : sources) {
      const auto& from = source.get_ref<const std::string&>();
      list.push_back({{"from", pipeline ? from : "tensor:" + from},
                      {"to", to},
                      {"how", to.starts_with("output:") ? "reaches" : how}});
    }
  }
}

/// Returns what every path passes before each model, endpoint and program. A model runs nothing before itself.
Json passes_facts(const Json& report) {
  Json list = Json::array();
  for (const Json& one : report.value("passes", Json::array())) {
    Json always = Json::array();
    for (const Json& name : one.at("always")) {
      if (!name.get_ref<const std::string&>().starts_with("node ")) always.push_back(name);
    }
    list.push_back({{"to", one.at("to")}, {"always", std::move(always)}});
  }
  return list;
}

Json report_facts(const Json& report) {
  Json facts = {{"digest", digest_of_report(report)},
                {"operators", names(report.at("operators"), operator_name)},
                {"models", names(report.at("models"), model_name)},
                {"endpoints", names(report.at("endpoints"), endpoint_name)},
                {"code", names(report.at("code"), program_name)},
                {"bounded", report.at("unbounded").empty()},
                {"influences", Json::array()},
                {"passes", passes_facts(report)}};
  if (report.at("worst_cost_ns").is_number_integer()) facts["worst_cost_ns"] = report.at("worst_cost_ns");
  if (report.at("worst_memory_bytes").is_number_integer()) facts["worst_memory"] = report.at("worst_memory_bytes");
  add_influences(facts["influences"], report, "influence", "chooses");
  add_influences(facts["influences"], report, "reaches", "reaches");
  return facts;
}

/// Returns the items of `a` that `b` lacks.
Json without(const Json& a, const Json& b) {
  Json result = Json::array();
  for (const Json& item : a) {
    if (std::ranges::find(b, item) == b.end()) result.push_back(item);
  }
  return result;
}

std::int64_t lines_of(const std::string& difference, char sign) {
  std::int64_t count = 0;
  for (std::size_t at = 0; at < difference.size(); at = difference.find('\n', at) + 1) {
    count += difference[at] == sign ? 1 : 0;
    if (difference.find('\n', at) == std::string::npos) break;
  }
  return count;
}

Json diff_facts(const Json& now, const Json& before) {
  return {{"added_operators", without(now.at("operators"), before.at("operators"))},
          {"removed_operators", without(before.at("operators"), now.at("operators"))},
          {"added_models", without(now.at("models"), before.at("models"))},
          {"added_endpoints", without(now.at("endpoints"), before.at("endpoints"))}};
}

void add_graph_diff(Json& diff, const api::Change& change) {
  const std::string lines = api::diff(change.from, change.to);
  diff["added_nodes"] = lines_of(lines, '+');
  diff["removed_nodes"] = lines_of(lines, '-');
  diff["weights_changed"] = lines.empty() && change.from.digest() != change.to.digest();
}

}  // namespace

Json file_facts(const api::FileFacts& file, const std::string& digest, const LoadSignature& signature) {
  Json operators = Json::array();
  for (const api::UsedOperator& op : file.operators()) {
    operators.push_back({{"domain", op.domain}, {"name", op.name}, {"opset", op.opset}});
  }
  return {{"path", file.path},
          {"format", file.kind == api::FileFacts::Kind::model ? "onnx" : name_of(file.kind)},
          {"digest", digest},
          {"signature", signature.facts()},
          {"bytes", file.content.size()},
          {"operators", std::move(operators)}};
}

Json load_facts(const Json& report, const ServedName& name, const LoadSignature& signature) {
  return {{"model", name.model},
          {"version", name.version},
          {"digest", report.at("digest")},
          {"signature", signature.facts()},
          {"report", report_facts(report)}};
}

Json change_facts(const Json& report, const Json& before, const ServedName& name) {
  Json facts = load_facts(report, name, {});
  facts["parent"] = before.at("digest");
  facts["author"] = "";
  facts["diff"] = diff_facts(facts.at("report"), report_facts(before));
  return facts;
}

Json change_facts(const api::Change& change, const Json& report, const Json& before, const ServedName& name) {
  Json facts = change_facts(report, before, name);
  if (change.note != nullptr) facts["author"] = change.note->author;
  if (change.note != nullptr && !change.note->reason.empty()) facts["reason"] = change.note->reason;
  add_graph_diff(facts["diff"], change);
  return facts;
}

Json config_facts(const ConfigQuestion& question) {
  Json changes = Json::array();
  for (const ConfigQuestion::Setting& setting : question.changes) {
    Json& change = changes.emplace_back(Json{{"path", setting.path}});
    if (setting.before) change["old"] = *setting.before;
    if (setting.after) change["new"] = *setting.after;
  }
  return {{"user", question.user},
          {"changes", std::move(changes)},
          {"lowered",
           {{"redaction", question.lowered_redaction},
            {"sampling", question.lowered_sampling},
            {"witness", question.lowered_witness}}}};
}

Json register_facts(const RegisterQuestion& question, bool serving) {
  Json facts = {{"kind", question.kind}, {"name", question.name}, {"phase", serving ? "serving" : "start"}};
  if (question.digest) facts["digest"] = *question.digest;
  return facts;
}

}  // namespace frazil::govern
