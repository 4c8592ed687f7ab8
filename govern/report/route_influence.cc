#include "govern/report/route_influence.h"

#include <algorithm>
#include <map>
#include <unordered_map>

#include "govern/report/bit_set.h"

namespace frazil::govern {
namespace {

constexpr std::string_view kTensor = "tensor:";

bool is_pipeline(const Json& report) { return report.contains("paths"); }

class RouteFlow {
 public:
  RouteFlow(const Route& route, const std::vector<CalledReport>& called) : called_(called) {
    for (const RouteNode::Port& input : route.inputs) value(input.value).add(source(std::string(kTensor) + input.name));
    do {
      grew_ = false;
      (void)run(route.nodes, {});
    } while (grew_);
    for (const RouteNode::Port& output : route.outputs) {
      join(influence_["output '" + output.name + "'"], value(output.value));
    }
  }

  RouteInfluence take() const { return {names_of(influence_), names_of(reaches_)}; }

 private:
  using Sources = BitSet;
  using Named = std::map<std::string, Sources>;

  std::size_t source(const std::string& name) {
    const auto [at, is_new] = numbers_.try_emplace(name, names_.size());
    if (is_new) names_.push_back(name);
    return at->second;
  }
  Sources& value(std::size_t id) { return values_[id]; }
  void join(Sources& to, const Sources& from) { grew_ |= to.join(from); }
  static Sources both(Sources a, const Sources& b) {
    a.join(b);
    return a;
  }
  Sources with(Sources set, std::initializer_list<const char*> sources) {
    for (const char* const name : sources) set.add(source(name));
    return set;
  }

  Sources of_formula(const RouteFormula& formula) {
    Sources set;
    for (const std::size_t id : formula.values) set.join(value(id));
    for (const std::string& name : formula.parameters) set.add(source("parameter:" + name));
    return set;
  }

  /// Runs nodes under a condition. Returns what may decide whether one of them fails. Where a failure is caught, it
  /// decides whether the nodes after it run.
  Sources run(const std::vector<RouteNode>& nodes, const Sources& context) {
    Sources fails;
    for (const RouteNode& node : nodes) fails.join(run(node, caught_ > 0 ? both(context, fails) : context));
    return fails;
  }
  Sources run_caught(const std::vector<RouteNode>& nodes, const Sources& context) {
    ++caught_;
    const Sources fails = run(nodes, context);
    --caught_;
    return fails;
  }

  Sources run(const RouteNode& node, const Sources& context) {
    if (node.kind == "run") return run_call(node, context);
    if (!node.endpoint.empty()) return run_host(node, context);
    if (node.kind == "switch") return run_switch(node, context);
    if (node.kind == "split") return run_split(node, context);
    if (node.kind == "loop") return run_loop(node, context);
    if (node.kind == "shadow") return run_shadow(node, context);
    return run_blocks(node, context);
  }

  // ---- calls ----

  /// The sources of a called report's names, in the calling pipeline.
  Sources mapped(const Json& names, const RouteNode& node, bool pipeline) {
    Sources set;
    for (const Json& item : names) {
      const auto& name = item.get_ref<const std::string&>();
      if (pipeline && !name.starts_with(kTensor)) {
        set.add(source(name));
        continue;
      }
      const auto port =
          std::ranges::find(node.inputs, pipeline ? name.substr(kTensor.size()) : name, &RouteNode::Port::name);
      if (port == node.inputs.end()) {
        set.add(source("state"));
      } else {
        set.join(value(port->value));
      }
    }
    return set;
  }

  Sources run_call(const RouteNode& node, const Sources& context) {
    const Json& report = *find_report(called_, node.model, node.version);
    Sources given;
    for (const RouteNode::Port& port : node.inputs) given.join(value(port.value));
    add_target(target_of(node), context, given);
    Sources all = both(given, context);
    const bool pipeline = is_pipeline(report);
    const bool chance = !pipeline && report.at("draws").get<bool>();
    if (chance) all.add(source("chance"));
    add_called(node, report, context, all);
    const auto result = [&](const std::string& name) {
      const std::string key = "output '" + name + "'";
      if (!report.contains("influence") || !report.at("influence").contains(key)) return all;
      const Sources set = both(mapped(report.at("influence").at(key), node, pipeline), context);
      return chance ? with(set, {"chance"}) : set;
    };
    for (const RouteNode::Port& port : node.outputs) join(value(port.value), result(port.name));
    for (const auto& [there, here] : node.emits) join(influence_["output '" + here + "'"], result(there));
    return with(all, {"clock"});
  }

  /// Adds what a called version may choose and reach, and to `all` what may decide whether it fails.
  void add_called(const RouteNode& node, const Json& report, const Sources& context, Sources& all) {
    const bool pipeline = is_pipeline(report);
    Named chosen, reached;
    for (const char* const member : {"influence", "reaches"}) {
      Named& to = member == std::string_view("influence") ? chosen : reached;
      if (!report.contains(member)) continue;
      for (const auto& [key, names] : report.at(member).items()) {
        if (!pipeline && key.starts_with("node ")) continue;
        const Sources set = mapped(names, node, pipeline);
        all.join(set);
        if (!key.starts_with("output ") && !key.starts_with("node ")) to[key] = both(set, context);
      }
    }
    const Sources fails = caught_ > 0 ? all : Sources();
    for (const auto& [key, set] : chosen) join(influence_[key], both(set, fails));
    for (const auto& [key, set] : reached) join(reaches_[key], both(set, fails));
  }

  Sources run_host(const RouteNode& node, const Sources& context) {
    Sources given;
    for (const RouteNode::Port& port : node.inputs) given.join(value(port.value));
    add_target(target_of(node), context, given);
    Sources all = with(both(given, context), {"clock"});
    if (node.kind != "features") all.add(source(node.kind));
    for (const RouteNode::Port& port : node.outputs) {
      Sources set = all;
      if (node.kind == "features") set.add(source("feature:" + node.name + "." + port.name));
      join(value(port.value), set);
    }
    return all;
  }

  void add_target(const std::string& target, const Sources& context, const Sources& given) {
    join(influence_[target], context);
    join(reaches_[target], both(given, context));
  }

  // ---- branches ----

  void add_decision(const RouteNode& node, const Sources& decision) {
    join(influence_["node '" + node.name + "'"], decision);
  }

  void add_results(const RouteNode& node, const RouteNode::Branch& branch, const Sources& decision) {
    for (std::size_t i = 0; i < std::min(node.outputs.size(), branch.results.size()); ++i) {
      join(value(node.outputs[i].value), both(value(branch.results[i]), decision));
    }
  }

  Sources run_switch(const RouteNode& node, const Sources& context) {
    Sources decision = context, fails;
    for (const RouteNode::Branch& branch : node.branches) {
      decision.join(of_formula(branch.when));
      fails.join(run(branch.nodes, decision));
    }
    add_decision(node, decision);
    for (const RouteNode::Branch& branch : node.branches) add_results(node, branch, decision);
    return both(fails, decision);
  }

  Sources run_split(const RouteNode& node, const Sources& context) {
    Sources decision = both(context, of_formula(node.decision)), fails;
    if (node.draws) decision.add(source("chance"));
    const bool guarded = std::ranges::any_of(node.branches, &RouteNode::Branch::guarded);
    if (guarded) decision = with(decision, {"state", "clock"});
    add_decision(node, decision);
    for (const RouteNode::Branch& branch : node.branches) {
      fails.join(run(branch.nodes, decision));
      add_results(node, branch, decision);
    }
    return both(fails, decision);
  }

  Sources run_loop(const RouteNode& node, const Sources& context) {
    for (const RouteNode::Carried& one : node.carried) join(value(one.value), value(one.from));
    const Sources decision = both(context, of_formula(node.decision));
    add_decision(node, decision);
    Sources fails = run(node.branches.at(0).nodes, decision);
    if (caught_ > 0) {  // an earlier iteration may have failed
      fails = run(node.branches[0].nodes, both(decision, fails));
      add_decision(node, both(decision, fails));
    }
    for (const RouteNode::Carried& one : node.carried) join(value(one.value), both(value(one.next), decision));
    for (const std::size_t id : node.count) join(value(id), decision);
    for (const RouteNode::Port& output : node.emitted) {
      join(influence_["output '" + output.name + "'"], both(value(output.value), decision));
    }
    return both(fails, decision);
  }

  Sources run_shadow(const RouteNode& node, const Sources& context) {
    const Sources decision = node.draws ? with(context, {"chance"}) : context;
    add_decision(node, decision);
    for (const RouteNode::Branch& branch : node.branches) (void)run_caught(branch.nodes, decision);
    return {};
  }

  /// A fallback, a race or an ensemble: which results count depends on which blocks fail, and on when they end.
  Sources run_blocks(const RouteNode& node, const Sources& context) {
    Sources decision = with(context, {"clock"}), fails;
    const bool race = node.kind == "race";
    if (race) decision.add(source("chance"));
    const Sources first = node.kind == "ensemble" ? context : decision;
    for (const RouteNode::Branch& branch : node.branches) {
      fails.join(run_caught(branch.nodes, node.kind == "fallback" ? both(first, fails) : first));
    }
    decision.join(fails);
    add_decision(node, decision);
    for (const RouteNode::Branch& branch : node.branches) add_results(node, branch, decision);
    return decision;
  }

  Json names_of(const Named& sets) const {
    Json made = Json::object();
    for (const auto& [key, set] : sets) {
      std::vector<std::string> names;
      for (std::size_t i = 0; i < names_.size(); ++i) {
        if (set.has(i)) names.push_back(names_[i]);
      }
      std::ranges::sort(names);
      made[key] = names;
    }
    return made;
  }

  const std::vector<CalledReport>& called_;
  std::unordered_map<std::string, std::size_t> numbers_;
  std::vector<std::string> names_;
  std::unordered_map<std::size_t, Sources> values_;
  Named influence_, reaches_;
  int caught_ = 0;  ///< number of nodes around that go on without what fails
  bool grew_ = false;
};

}  // namespace

RouteInfluence influence_of(const Route& route, const std::vector<CalledReport>& called) {
  return RouteFlow(route, called).take();
}

}  // namespace frazil::govern
