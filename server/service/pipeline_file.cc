#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <utility>

#include <frazil/error.h>

#include "server/config/governance_yaml.h"
#include "server/config/yaml.h"
#include "server/core/digest.h"
#include "server/core/port.h"
#include "server/host/host_node.h"
#include "server/pipeline/nodes.h"
#include "server/pipeline/pipeline.h"

namespace frazil::server {
namespace {

using api::Port;

constexpr std::int64_t kMaxIterations = 1'000'000;
constexpr const char* kPipelineVersion = "1";

using Scope = std::map<std::string, TypedSlot, std::less<>>;

bool same_type(const Port& a, const Port& b) {
  if (a.kind != b.kind || a.dtype != b.dtype) return false;
  if (a.kind != api::Array::Kind::tensor || !a.ranked || !b.ranked) return true;
  return a.dims.size() == b.dims.size() && std::ranges::equal(a.dims, b.dims, [](const auto& x, const auto& y) {
           return !fixed_extent(x) || !fixed_extent(y) || x == y;
         });
}

/// Reads a type in the text form of graphs, such as f32[N,3].
Port port_of(const std::string& name, const YamlNode& node) {
  const auto port = tensor_port(name, node.name());
  if (!port) node.expected("the type of a tensor, such as f32[N,3]");
  return *port;
}

RollbackRules read_guard_rules(const YamlNode& node) {
  RollbackRules rules;
  constexpr double kMaxTimeoutMs = 1e9;
  const auto limit = [&](const char* quantile, double share) {
    return [&rules, quantile, share](const YamlNode& n) {
      rules.limits.push_back({.quantile = quantile, .share = share, .most = time_of(n, 0.001)});
    };
  };
  node.fields({{"errors", [&](const YamlNode& n) { rules.errors = n.number(0, 1); }},
               {"p50_ms", limit("p50", 0.5)},
               {"p90_ms", limit("p90", 0.9)},
               {"p99_ms", limit("p99", 0.99)},
               {"worse_than_baseline", [&](const YamlNode& n) { rules.worse = n.number(1, kMaxTimeoutMs); }},
               {"least", [&](const YamlNode& n) { rules.least = n.whole(1, 1'000'000'000); }},
               {"window_s", [&](const YamlNode& n) { rules.window = time_of(n, 1, 1000); }}});
  if (!rules.errors && !rules.worse && rules.limits.empty()) {
    node.fail("expected at least one of errors, p50_ms, p90_ms, p99_ms and worse_than_baseline");
  }
  return rules;
}

/// Splits NAME or NAME/VERSION.
std::pair<std::string, std::string> split_name(const std::string& model) {
  const std::size_t slash = model.find('/');
  if (slash == std::string::npos) return {model, ""};
  return {model.substr(0, slash), model.substr(slash + 1)};
}

/// The outputs that a pipeline's nodes emit.
class Emissions {
 public:
  void add(const YamlNode& place, const std::string& output, Port type) {
    if (dropped_ > 0) place.fail("what runs in a race, an ensemble or a shadow may be dropped, and cannot emit");
    if (type.kind != api::Array::Kind::tensor) place.fail("'" + output + "' is " + type.type + ": expected a tensor");
    type.name = output;
    const auto before = std::ranges::find(all_, output, [](const auto& one) { return one.second.name; });
    if (before == all_.end()) return void(all_.emplace_back(place, std::move(type)));
    expect_same(place, type, before->second);
  }
  /// Returns all emitted ports. Checks that their types agree with outputs of the same names.
  std::vector<Port> beside(const std::vector<Port>& outputs) const {
    std::vector<Port> ports;
    for (const auto& [place, port] : all_) {
      if (const auto at = position_of(outputs, port.name)) expect_same(place, port, outputs[*at]);
      ports.push_back(port);
    }
    return ports;
  }
  /// Reads blocks whose results may be dropped.
  template <class F>
  auto in_dropped(F read) {
    ++dropped_;
    auto blocks = read();
    --dropped_;
    return blocks;
  }

 private:
  static void expect_same(const YamlNode& place, const Port& here, const Port& there) {
    if (same_type(here, there)) return;
    place.fail("output '" + here.name + "' is " + there.type + " elsewhere, here it is " + here.type);
  }

  std::size_t dropped_ = 0;  // number of enclosing nodes that may drop results
  std::vector<std::pair<YamlNode, Port>> all_;
};

struct ReadBlock {
  Block block;
  Results results;     ///< names and types
  std::string digest;  ///< digest of the models and files that it uses
};
std::vector<Block> bodies_of(std::vector<ReadBlock>& blocks) {
  std::vector<Block> bodies;
  for (ReadBlock& read : blocks) bodies.push_back(std::move(read.block));
  return bodies;
}

std::vector<Slot> slots_of(const Results& results) {
  std::vector<Slot> slots;
  for (const auto& [name, known] : results) slots.push_back(known.slot);
  return slots;
}

std::string text_of(const Results& results) {
  std::string text;
  for (const auto& [name, known] : results) text += (text.empty() ? "" : ", ") + name + ": " + known.type.type;
  return text.empty() ? "none" : text;
}

std::size_t arm_of(const YamlNode& node, const std::string& name, const std::vector<Arm>& arms) {
  const auto at = std::ranges::find(arms, name, [](const Arm& arm) { return arm.block.name; });
  if (at == arms.end()) node.fail("the split has no arm '" + name + "'");
  return static_cast<std::size_t>(at - arms.begin());
}

/// Reads the key `cheaper` of each block in `list`. `branches`: the blocks, by position.
template <class Branches>
void read_cheaper(const YamlNode& list, Branches& branches) {
  const std::vector<YamlNode> items = list.items();
  for (std::size_t i = 0; i < items.size(); ++i) {
    const auto cheaper = items[i].find("cheaper");
    if (!cheaper) continue;
    const auto at = std::ranges::find(branches, cheaper->name(), [](const auto& one) { return one.block.name; });
    if (at == branches.end()) cheaper->fail("there is no block '" + cheaper->name() + "' beside it");
    branches[i].cheaper = static_cast<std::size_t>(at - branches.begin());
  }
  for (std::size_t i = 0; i < items.size(); ++i) {
    std::size_t last = i;
    for (std::size_t steps = 0; branches[last].cheaper; ++steps) {
      if (steps == items.size()) items[i].at("cheaper").fail("its cheaper blocks lead back to it");
      last = *branches[last].cheaper;
    }
  }
}

class PipelineReader {
 public:
  /// `folder` is the file's, `name` the pipeline's.
  /// `source` receives what steps read; `kept`: it has that instead.
  PipelineReader(const Repository& models, Workers& workers, std::string folder, std::string name,
                 const Holdings* before, NoticeSink notify, PipelineRules rules, PipelineSource& source, bool kept)
      : models_(models),
        workers_(workers),
        folder_(std::move(folder)),
        name_(std::move(name)),
        notify_(std::move(notify)),
        rules_(std::move(rules)),
        source_(source),
        kept_(kept),
        holdings_(std::make_shared<Holdings>(before)) {}

  Pipeline::Parts read(const YamlNode& root) {
    Pipeline::Parts parts;
    Scope scope;
    if (const auto personal = root.find("personal")) parts.personal = read_personal(*personal);
    rules_.hides_details |= !parts.personal.empty();
    for (const auto& [name, type] : root.at("inputs").entries()) {
      parts.inputs.push_back(port_of(name, type));
      parts.input_slots.push_back(new_slot(parts.inputs.back().dtype));
      scope[name] = {parts.input_slots.back(), parts.inputs.back()};
    }
    if (parts.inputs.empty()) root.at("inputs").expected("at least one input");
    parts.block.name = name_;
    parts.block.nodes = nodes_of(root.at("steps"), scope);
    root.fields({{"inputs", kReadElsewhere},
                 {"steps", kReadElsewhere},
                 {"outputs", kReadElsewhere},
                 {"personal", kReadElsewhere},
                 {"deadline_ms", [&](const YamlNode& n) { parts.deadline_ms = n.number(0, 1e12); }}});
    for (const auto& [name, known] : named_values(root.at("outputs"), scope)) {
      parts.outputs.push_back(known.type);
      parts.outputs.back().name = name;
      parts.block.results.push_back(known.slot);
    }
    if (parts.outputs.empty()) root.at("outputs").expected("at least one output");
    parts.emitted = emissions_.beside(parts.outputs);
    parts.uses = std::move(uses_);
    holdings_->close();
    parts.holdings = std::move(holdings_);
    return parts;
  }

  const std::set<std::string>& digests() const { return digests_; }
  /// Returns the digests of its code.
  const std::set<std::string>& code() const { return code_; }

 private:
  struct Read {
    NodePtr node;
    Results results;
  };

  Slot new_slot(api::Dtype dtype) { return {.id = slots_++, .dtype = dtype}; }

  static const TypedSlot& find(const YamlNode& node, const std::string& name, const Scope& scope) {
    const auto at = scope.find(name);
    if (at == scope.end()) node.fail("there is no value '" + name + "' here");
    return at->second;
  }

  static Results named_values(const YamlNode& node, const Scope& scope) {
    Results values;
    for (const auto& [name, value] : node.entries()) values.emplace_back(name, find(value, value.name(), scope));
    return values;
  }

  static Formula formula(const YamlNode& node, const Scope& scope) {
    try {
      return Formula::parse(node.name(), [&](std::string_view name) -> std::optional<Slot> {
        const auto at = scope.find(name);
        if (at == scope.end()) return std::nullopt;
        return at->second.slot;
      });
    } catch (const std::invalid_argument& error) {
      node.fail(error.what());
    }
  }

  std::vector<NodePtr> nodes_of(const YamlNode& steps, Scope& scope) {
    std::vector<NodePtr> nodes;
    for (const YamlNode& step : steps.items()) {
      const std::string name = step.at("name").name();
      if (scope.contains(name) || !names_.insert(name).second) step.at("name").fail("'" + name + "' is there already");
      Read read = node_of(step, name, scope);
      for (auto& [result, known] : read.results) scope[std::string(name).append(".").append(result)] = known;
      nodes.push_back(std::move(read.node));
    }
    return nodes;
  }

  Read node_of(const YamlNode& step, const std::string& name, const Scope& scope) {
    using Reader = Read (PipelineReader::*)(const YamlNode&, const std::string&, const Scope&);
    static constexpr std::pair<const char*, Reader> kReaders[] = {
        {"switch", &PipelineReader::read_switch},
        {"split", &PipelineReader::read_split},
        {"fallback", &PipelineReader::read_fallback},
        {"race", &PipelineReader::read_race},
        {"ensemble", &PipelineReader::read_ensemble},
        {"loop", &PipelineReader::read_loop},
        {"shadow", &PipelineReader::read_shadow},
        {"features", &PipelineReader::read_host<read_features_step>},
        {"http", &PipelineReader::read_host<read_http_step>},
        {"code", &PipelineReader::read_host<read_code_step>}};
    if (step.find("model")) return read_call(step, name, scope);
    for (const auto& [kind, reader] : kReaders) {
      const auto inner = step.find(kind);
      if (!inner) continue;
      step.fields({{"name", kReadElsewhere}, {kind, kReadElsewhere}});
      return (this->*reader)(*inner, name, scope);
    }
    step.fail("expected one of model, switch, split, fallback, race, ensemble, loop, shadow, features, http and code");
  }

  // ---- calls ----

  Read read_call(const YamlNode& step, const std::string& name, const Scope& scope) {
    const YamlNode model = step.at("model");
    const auto [of, version] = split_name(model.name());
    CallParts parts{.target = models_.find(of, version),
                    .policy = {.governor = rules_.governor,
                               .by = by_,
                               .caller = name_ + "/" + kPipelineVersion,
                               .explicit_version = !version.empty()}};
    if (parts.target == nullptr) {
      model.fail(models_.why_not_ready(of, version).value_or("there is no model '" + model.name() + "'"));
    }
    uses_.push_back({.model = of, .version = version, .target = parts.target});
    digests_.insert(parts.target->digest());
    step.fields({{"name", kReadElsewhere},
                 {"model", kReadElsewhere},
                 {"share", kReadElsewhere},
                 {"cheaper", kReadElsewhere},
                 {"when", kReadElsewhere},
                 {"inputs", [&](const YamlNode& n) { read_inputs(n, scope, parts); }},
                 {"emit", [&](const YamlNode& n) { read_emits(n, parts); }},
                 {"timeout_ms", [&](const YamlNode& n) {
                    const double milliseconds = n.number(0, 1e9);
                    parts.time_out = std::chrono::microseconds(static_cast<std::int64_t>(milliseconds * 1e3));
                  }}});
    for (const Port& port : parts.target->inputs()) {
      const bool given =
          std::ranges::find(parts.inputs, port.name, [](const auto& p) { return p.first; }) != parts.inputs.end();
      if (!given && parts.target->needs(port))
        step.fail("input '" + port.name + "' of model '" + model.name() + "' is missing");
    }
    Results results;
    for (const Port& port : parts.target->outputs()) {
      if (port.kind != api::Array::Kind::tensor) continue;
      results.emplace_back(port.name, TypedSlot{.slot = new_slot(port.dtype), .type = port});
      parts.outputs.emplace_back(port.name, results.back().second.slot);
    }
    return {call_node(name, std::move(parts)), std::move(results)};
  }

  static void read_inputs(const YamlNode& node, const Scope& scope, CallParts& parts) {
    for (const auto& [input, value] : node.entries()) {
      const auto& ports = parts.target->inputs();
      const auto port = std::ranges::find(ports, input, &Port::name);
      if (port == ports.end()) value.fail("model '" + parts.target->name() + "' has no input '" + input + "'");
      const TypedSlot& known = find(value, value.name(), scope);
      if (!same_type(*port, known.type)) {
        value.fail("model '" + parts.target->name() + "' takes " + port->type + ", '" + value.name() + "' is " +
                   known.type.type);
      }
      parts.inputs.emplace_back(input, known.slot);
    }
  }

  /// Reads the parts of the target's answer that become parts of this pipeline's answer.
  void read_emits(const YamlNode& node, CallParts& parts) {
    for (const auto& [output, value] : node.entries()) {
      const auto& ports = parts.target->emitted();
      const auto port = std::ranges::find(ports, value.name(), &Port::name);
      if (port == ports.end()) {
        value.fail("model '" + parts.target->name() + "' does not emit '" + value.name() + "'");
      }
      emissions_.add(value, output, *port);
      parts.emits.emplace_back(port->name, output);
    }
  }

  // ---- blocks ----

  /// Reads one alternative of the node `of`: a call, or steps with results.
  ReadBlock read_block(const YamlNode& node, const std::string& block, const std::string& of, Scope scope) {
    ReadBlock read{.block = {.name = block}};
    Results from;
    std::set<std::string> others;
    others.swap(digests_);
    if (node.find("model")) {
      Read call = read_call(node, of + "." + block, scope);
      read.block.nodes.push_back(std::move(call.node));
      from = std::move(call.results);
    } else {
      if (const auto steps = node.find("steps")) read.block.nodes = nodes_of(*steps, scope);
      from = named_values(node.at("results"), scope);
      node.fields({{"name", kReadElsewhere},
                   {"steps", kReadElsewhere},
                   {"results", kReadElsewhere},
                   {"share", kReadElsewhere},
                   {"cheaper", kReadElsewhere},
                   {"when", kReadElsewhere}});
    }
    for (const auto& [name, known] : from) read.block.results.push_back(known.slot);
    read.results = std::move(from);
    for (const std::string& digest : digests_) (read.digest += digest) += '\n';
    digests_.merge(others);
    return read;
  }

  /// Reads what runs in a node of a kind, which policies of calls are told about.
  template <class F>
  auto in_node(const char* kind, F read) {
    const char* const outer = std::exchange(by_, kind);
    auto result = read();
    by_ = outer;
    return result;
  }

  /// Reads several blocks with equal result types.
  std::vector<ReadBlock> read_blocks(const YamlNode& list, const std::string& of, const Scope& scope) {
    std::vector<ReadBlock> blocks;
    for (const YamlNode& item : list.items()) {
      blocks.push_back(read_block(item, item.at("name").name(), of, scope));
      const Results &first = blocks.front().results, &own = blocks.back().results;
      const auto same = [](const auto& a, const auto& b) {
        return a.first == b.first && same_type(a.second.type, b.second.type);
      };
      if (std::ranges::equal(first, own, same)) continue;
      item.fail("its results are " + text_of(own) + ", those of '" + blocks.front().block.name + "' are " +
                text_of(first));
    }
    if (blocks.empty()) list.expected("at least one block");
    return blocks;
  }

  /// Returns new slots for the results of a node with these blocks.
  Results results_of(const std::vector<ReadBlock>& blocks) {
    Results results = blocks.front().results;
    for (auto& [name, known] : results) known.slot = new_slot(known.type.dtype);
    return results;
  }

  Read read_switch(const YamlNode& list, const std::string& name, const Scope& scope) {
    std::vector<ReadBlock> blocks = read_blocks(list, name, scope);
    std::vector<Case> cases;
    const std::vector<YamlNode> items = list.items();
    std::vector<Block> bodies = bodies_of(blocks);
    for (std::size_t i = 0; i < items.size(); ++i) {
      const auto when = items[i].find("when");
      if (!when && i + 1 != items.size()) items[i].fail("only the last case may be without \"when\"");
      cases.push_back(
          {.when = when ? std::optional(formula(*when, scope)) : std::nullopt, .block = std::move(bodies[i])});
    }
    read_cheaper(list, cases);
    Results results = results_of(blocks);
    return {switch_node(name, std::move(cases), slots_of(results)), std::move(results)};
  }

  Read read_split(const YamlNode& node, const std::string& name, const Scope& scope) {
    SplitParts parts;
    const YamlNode list = node.at("arms");
    std::vector<ReadBlock> blocks = in_node("split", [&] { return read_blocks(list, name, scope); });
    std::vector<Block> bodies = bodies_of(blocks);
    double sum = 0;
    for (std::size_t i = 0; i < bodies.size(); ++i) {
      parts.arms.push_back({.share = list.items()[i].at("share").number(0, 1), .block = std::move(bodies[i])});
      sum += parts.arms.back().share;
    }
    read_cheaper(list, parts.arms);
    constexpr double kSlack = 1e-9;
    if (std::abs(sum - 1) > kSlack) list.fail("the shares sum to " + std::to_string(sum) + ": expected 1");
    node.fields({{"by", [&](const YamlNode& n) { parts.by = formula(n, scope); }},
                 {"arms", kReadElsewhere},
                 {"baseline", [&](const YamlNode& n) { parts.baseline = arm_of(n, n.name(), parts.arms); }},
                 {"guard", kReadElsewhere}});
    const auto guard = node.find("guard");
    if (!guard && node.find("baseline")) node.at("baseline").fail("requires the key 'guard'");
    if (guard) read_guards(*guard, name, blocks, parts);
    Results results = results_of(blocks);
    return {split_node(name, std::move(parts), slots_of(results)), std::move(results)};
  }

  /// Reads guards. An arm with the same name, rules, models and files keeps its existing guard.
  void read_guards(const YamlNode& node, const std::string& split, const std::vector<ReadBlock>& blocks,
                   SplitParts& parts) {
    const std::string baseline = parts.arms[parts.baseline].block.name;
    for (const auto& [arm, rules] : node.entries()) {
      const std::size_t i = arm_of(rules, arm, parts.arms);
      if (i == parts.baseline) rules.fail("it is the baseline, which the others are compared with");
      std::string what = "split '";
      what.append(split).append("': arm '").append(arm);
      what.append("' is rolled back to '").append(baseline).append("': ");
      const RollbackRules read = read_guard_rules(rules);
      std::string declaration;
      for (const auto& part : {split, arm, baseline, read.text(), blocks[i].digest}) (declaration += part) += '\n';
      parts.arms[i].rollback = holdings_->get<Rollback>(
          declaration, [&] { return std::make_shared<Rollback>(read, "pipeline '" + name_ + "'", what, notify_); });
      parts.arms[i].rollback->set_baseline(blocks[parts.baseline].digest);
    }
    if (node.entries().empty()) node.expected("rules for at least one arm: {ARM: {errors: 0.02}}");
  }

  Read read_fallback(const YamlNode& list, const std::string& name, const Scope& scope) {
    std::vector<ReadBlock> blocks = in_node("fallback", [&] { return read_blocks(list, name, scope); });
    Results results = results_of(blocks);
    return {fallback_node(name, bodies_of(blocks), slots_of(results)), std::move(results)};
  }

  Read read_race(const YamlNode& list, const std::string& name, const Scope& scope) {
    std::vector<ReadBlock> blocks =
        in_node("race", [&] { return emissions_.in_dropped([&] { return read_blocks(list, name, scope); }); });
    Results results = results_of(blocks);
    return {race_node(name, bodies_of(blocks), slots_of(results), workers_), std::move(results)};
  }

  Read read_ensemble(const YamlNode& node, const std::string& name, const Scope& scope) {
    EnsembleParts parts{.blocks = {}, .least = 1, .mean = false};
    std::vector<ReadBlock> blocks = in_node(
        "ensemble", [&] { return emissions_.in_dropped([&] { return read_blocks(node.at("blocks"), name, scope); }); });
    node.fields({{"blocks", kReadElsewhere},
                 {"least", [&](const YamlNode& n) { parts.least = n.whole(1, blocks.size()); }},
                 {"combine", [&](const YamlNode& n) {
                    if (n.name() != "mean" && n.name() != "first") n.expected("mean or first");
                    parts.mean = n.name() == "mean";
                  }}});
    Results results = results_of(blocks);
    for (const auto& [result, known] : results) {
      if (parts.mean && known.type.dtype != api::Dtype::f32) node.fail("the mean needs results of f32");
    }
    parts.blocks = bodies_of(blocks);
    return {ensemble_node(name, std::move(parts), slots_of(results), workers_), std::move(results)};
  }

  Read read_loop(const YamlNode& node, const std::string& name, const Scope& outer) {
    Scope scope = outer;
    LoopParts parts{.most = kMaxIterations, .count = new_slot(api::Dtype::i64)};
    Results carried;
    for (const auto& [value, known] : named_values(node.at("start"), outer)) {
      if (outer.contains(value)) node.at("start").fail("'" + value + "' is there already");
      carried.emplace_back(value, TypedSlot{.slot = new_slot(known.type.dtype), .type = known.type});
      parts.carried.push_back({.from = known.slot, .value = carried.back().second.slot, .next = {}});
      scope[value] = carried.back().second;
    }
    node.fields(
        {{"start", kReadElsewhere},
         {"while", [&](const YamlNode& n) { parts.again = formula(n, scope); }},
         {"most", [&](const YamlNode& n) { parts.most = static_cast<std::int64_t>(n.whole(1, kMaxIterations)); }},
         {"steps", kReadElsewhere},
         {"next", kReadElsewhere},
         {"emit", kReadElsewhere}});
    if (!parts.again && !node.find("most")) node.fail("expected \"while\" or \"most\"");
    parts.block.name = name;
    parts.block.nodes = nodes_of(node.at("steps"), scope);
    read_next(node.at("next"), scope, carried, parts);
    if (const auto emit = node.find("emit")) {
      for (const auto& [output, value] : emit->entries()) {
        const TypedSlot& known = find(value, value.name(), scope);
        emissions_.add(value, output, known.type);
        parts.emits.emplace_back(output, known.slot);
        add_slots(parts.block.results, {known.slot});
      }
    }
    const Port count{.name = "count", .type = "i64[]", .dtype = api::Dtype::i64};
    carried.emplace_back("count", TypedSlot{.slot = parts.count, .type = count});
    return {loop_node(name, std::move(parts), workers_), std::move(carried)};
  }

  /// Reads the values that an iteration hands on.
  static void read_next(const YamlNode& node, const Scope& scope, const Results& carried, LoopParts& parts) {
    for (const auto& [value, known] : named_values(node, scope)) {
      const auto to = std::ranges::find(carried, value, [](const auto& c) { return c.first; });
      if (to == carried.end()) node.fail("'" + value + "' is not in \"start\"");
      if (!same_type(to->second.type, known.type)) {
        node.fail("'" + value + "' is " + to->second.type.type + ", its next value " + known.type.type);
      }
      parts.carried[static_cast<std::size_t>(to - carried.begin())].next = known.slot;
      add_slots(parts.block.results, {known.slot});
    }
  }

  Read read_shadow(const YamlNode& node, const std::string& name, const Scope& scope) {
    const double share = node.at("share").number(0, 1);
    ReadBlock read =
        in_node("shadow", [&] { return emissions_.in_dropped([&] { return read_block(node, name, name, scope); }); });
    return {shadow_node(name, share, std::move(read.block), workers_), {}};
  }

  template <auto kReader>
  Read read_host(const YamlNode& node, const std::string& name, const Scope& scope) {
    HostStep step = kReader(node, name,
                            {.find = [&](const YamlNode& n) { return find(n, n.name(), scope); },
                             .new_slot = [&](api::Dtype dtype) { return new_slot(dtype); },
                             .folder = folder_,
                             .workers = workers_,
                             .holdings = *holdings_,
                             .pipeline = name_,
                             .notify = notify_,
                             .source = source_,
                             .kept = kept_,
                             .least_sandbox = rules_.least_sandbox,
                             .hides_details = rules_.hides_details,
                             .governor = rules_.governor});
    if (!step.content.empty()) code_.insert(*digests_.insert(sha256(step.content)).first);
    return {std::move(step.node), std::move(step.results)};
  }

  const Repository& models_;
  Workers& workers_;
  const std::string folder_, name_;
  const NoticeSink notify_;
  PipelineRules rules_;
  PipelineSource& source_;
  const bool kept_;
  const char* by_ = "call";  // see CallPolicy
  std::shared_ptr<Holdings> holdings_;
  std::vector<Pipeline::Use> uses_;
  std::size_t slots_ = 0;
  Emissions emissions_;
  std::set<std::string> names_, digests_, code_;
};

/// Sets the digests of a pipeline: of its file and what it uses, and of its file and its code.
void set_digests(Pipeline::Parts& parts, const PipelineSource& source, const PipelineReader& reader) {
  const auto digest_with = [&](const std::set<std::string>& others) {
    std::string content = source.digest;
    for (const std::string& digest : others) (content += '\n') += digest;
    return "sha256:" + sha256(content);
  };
  parts.digest = digest_with(reader.digests());
  parts.own_digest = digest_with(reader.code());
}

void collect_models(const YamlNode& node, std::set<std::string>& names) {
  if (node.is_map()) {
    for (const auto& [key, value] : node.entries()) {
      if (key == "model" && value.is_scalar())
        names.insert(split_name(value.name()).first);
      else
        collect_models(value, names);
    }
  } else if (node.is_list()) {
    for (const YamlNode& item : node.items()) collect_models(item, names);
  }
}

}  // namespace

std::vector<std::string> models_of_pipeline(const std::string& path) {
  std::set<std::string> names;
  collect_models(read_yaml(path).at("steps"), names);
  return {names.begin(), names.end()};
}

std::shared_ptr<Pipeline> read_pipeline(const std::string& path, const std::string& name, const Repository& models,
                                        const Pipeline* before, Workers& workers, const NoticeSink& notify,
                                        const PipelineRules& rules) {
  auto source = std::make_shared<PipelineSource>();
  source->text = read_config_file(path);
  source->digest = sha256(source->text);
  PipelineReader reader(models, workers, std::filesystem::path(path).parent_path().string(), name,
                        before != nullptr ? before->holdings() : nullptr, notify, rules, *source, false);
  Pipeline::Parts parts = reader.read(read_yaml(path));
  set_digests(parts, *source, reader);
  parts.source = std::move(source);
  return std::make_shared<Pipeline>(name, std::move(parts));
}

std::shared_ptr<Pipeline> kept_pipeline(const PipelineSource& source, const std::string& name, const Repository& models,
                                        Workers& workers) {
  auto own = std::make_shared<PipelineSource>(source);
  PipelineReader reader(models, workers, "", name, nullptr, [](const Notice&) {}, {}, *own, true);
  Pipeline::Parts parts = reader.read(read_yaml_text(own->text, name + ".yaml"));
  set_digests(parts, *own, reader);
  parts.source = std::move(own);
  return std::make_shared<Pipeline>(name, std::move(parts));
}

}  // namespace frazil::server
