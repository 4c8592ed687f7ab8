#include "govern/report/route_order.h"

#include <algorithm>
#include <map>
#include <unordered_map>

#include "govern/report/bit_set.h"

namespace frazil::govern {
namespace {

class OrderReader {
 public:
  OrderReader(const Route& route, const std::vector<CalledReport>& called) : called_(called) {
    BitSet passed;
    run(route.nodes, passed);
    order_.always = names_of(passed);
    order_.passes = Json::array();
    for (const auto& [target, before] : before_) {
      order_.passes.push_back({{"to", target}, {"always", names_of(before)}});
    }
  }

  RouteOrder take() { return std::move(order_); }

 private:
  std::size_t number(const std::string& name) {
    const auto [at, is_new] = numbers_.try_emplace(name, names_.size());
    if (is_new) names_.push_back(name);
    return at->second;
  }

  /// Adds what has certainly succeeded after the nodes to `passed`.
  void run(const std::vector<RouteNode>& nodes, BitSet& passed) {
    for (const RouteNode& node : nodes) {
      if (const std::string target = target_of(node); !target.empty()) {
        reach(target, passed);
        if (node.kind == "run") add_called(node, passed);
        passed.add(number(target));
      } else {
        run_branches(node, passed);
      }
      passed.add(number("node '" + node.name + "'"));
    }
  }

  void reach(const std::string& target, const BitSet& passed) {
    const auto [at, is_new] = before_.try_emplace(target, passed);
    if (!is_new) at->second.keep_only(passed);
  }

  void add_called(const RouteNode& node, BitSet& passed) {
    const Json* const report = find_report(called_, node.model, node.version);
    if (report == nullptr) return;
    for (const Json& model : report->value("passes", Json::array())) {
      BitSet before = passed;
      add_names(model.at("always"), before);
      reach(model.at("to"), before);
    }
    if (!report->contains("passes")) {
      for (const Json& model : report->at("models")) reach(name_of_call(model), passed);
    }
    add_names(report->value("always", Json::array()), passed);
  }

  static std::string name_of_call(const Json& model) {
    const Json& version = model.at("version");
    return "model:" + model.at("name").get<std::string>() + "/" + (version.is_null() ? "" : version.dump());
  }

  /// Adds targets of a called pipeline; the names of its nodes are not those of this one.
  void add_names(const Json& names, BitSet& to) {
    for (const Json& name : names) {
      if (!name.get_ref<const std::string&>().starts_with("node ")) to.add(number(name));
    }
  }

  void run_branches(const RouteNode& node, BitSet& passed) {
    std::vector<BitSet> after(node.branches.size(), passed);
    for (std::size_t i = 0; i < after.size(); ++i) run(node.branches[i].nodes, after[i]);
    if (after.empty() || node.kind == "shadow" || (node.kind == "loop" && !node.repeats_always)) return;
    const std::size_t needed =
        node.kind == "ensemble" ? after.size() - std::min(node.least, after.size()) + 1 : after.size();
    for (std::size_t name = 0; name < names_.size(); ++name) {
      const auto count = std::ranges::count_if(after, [&](const BitSet& set) { return set.has(name); });
      if (static_cast<std::size_t>(count) >= needed) passed.add(name);
    }
  }

  Json names_of(const BitSet& set) const {
    std::vector<std::string> names;
    for (std::size_t i = 0; i < names_.size(); ++i) {
      if (set.has(i)) names.push_back(names_[i]);
    }
    std::ranges::sort(names);
    return names;
  }

  const std::vector<CalledReport>& called_;
  std::unordered_map<std::string, std::size_t> numbers_;
  std::vector<std::string> names_;
  std::map<std::string, BitSet> before_;
  RouteOrder order_;
};

}  // namespace

RouteOrder order_of(const Route& route, const std::vector<CalledReport>& called) {
  return OrderReader(route, called).take();
}

}  // namespace frazil::govern
