#include "server/service/label_values.h"

#include <map>
#include <utility>

#include <frazil/graph.h>

#include "govern/report/influence.h"
#include "server/model/served_model.h"
#include "server/pipeline/formula.h"
#include "server/pipeline/pipeline.h"

namespace frazil::server {
namespace {

using NameSet = std::set<std::string, std::less<>>;

/// Adds the outputs of a model that personal inputs reach, and the inputs that carry them to the next request.
void follow_model(const ServedModel& served, NameSet& values) {
  const govern::Influence influence = govern::influence_of(served.model());
  for (std::size_t before = values.size() + 1; before != values.size();) {
    before = values.size();
    for (const api::Port& output : served.outputs()) {
      const auto from = influence.find("output '" + output.name + "'");
      const bool reached = from == influence.end() ||
                           std::ranges::any_of(from->second, [&](const auto& name) { return values.contains(name); });
      if (reached) values.insert(output.name);
    }
    for (const StateLink& link : served.config().sequences.states) {
      if (values.contains(link.output)) values.insert(link.input);
    }
  }
}

/// Returns the formulas that decide what a node runs.
std::vector<const Formula*> formulas_of(const NodeView& view) {
  std::vector<const Formula*> formulas;
  if (view.decision != nullptr) formulas.push_back(view.decision);
  for (const NodeView::Branch& branch : view.branches) {
    if (branch.when != nullptr) formulas.push_back(branch.when);
  }
  return formulas;
}

/// Follows values through a version and all that it calls.
class LabelWalk {
 public:
  explicit LabelWalk(const PersonalNames& names) : names_(names) {}

  /// Returns the personal inputs and outputs of a version. `given`: inputs that the caller knows to be personal.
  /// `place`: before the names of its steps.
  NameSet follow(const Served& served, NameSet given, bool condition, const std::string& place) {
    const PersonalNames outer = std::exchange(names_, names_.with(served.personal()));
    for (const api::Port& input : served.inputs()) {
      if (names_.is_personal(input.name)) given.insert(input.name);
    }
    any_ |= !given.empty();
    NameSet values = std::move(given);
    if (const auto* const pipeline = dynamic_cast<const Pipeline*>(&served)) {
      follow_pipeline(*pipeline, values, condition, place);
    } else if (const auto* const model = dynamic_cast<const ServedModel*>(&served)) {
      follow_model(*model, values);
      note_step(place.empty() ? "" : place.substr(0, place.size() - 1), condition || !values.empty());
    } else if (!values.empty()) {
      for (const api::Port& output : all_outputs(served)) values.insert(output.name);
    }
    if (condition) {
      for (const api::Port& output : all_outputs(served)) values.insert(output.name);
    }
    std::erase_if(values, [&](const auto& name) { return names_.shown.contains(name); });
    names_ = outer;
    return values;
  }

  bool any() const { return any_; }
  NameSet open_steps() const {
    NameSet open;
    for (const auto& [step, personal] : steps_) {
      if (!personal) open.insert(step);
    }
    return open;
  }

 private:
  /// Slots of one pipeline. Slots without a definition are values that iterations of the innermost loop hand on.
  struct Slots {
    std::set<std::size_t> defined, personal;
    bool in_loop = false;
  };

  void note_step(const std::string& step, bool personal) { steps_[step] |= personal; }

  bool is_personal(const Slot& slot) const {
    return slots_.personal.contains(slot.id) || (slots_.in_loop && !slots_.defined.contains(slot.id));
  }
  bool any_personal(const std::vector<Slot>& slots) const {
    return std::ranges::any_of(slots, [&](const Slot& slot) { return is_personal(slot); });
  }
  void define(const Slot& slot, bool personal) {
    slots_.defined.insert(slot.id);
    if (personal) slots_.personal.insert(slot.id);
  }

  void follow_pipeline(const Pipeline& pipeline, NameSet& values, bool condition, const std::string& place) {
    const Slots outer = std::exchange(slots_, Slots());
    for (std::size_t i = 0; i < pipeline.inputs().size(); ++i) {
      define(pipeline.input_slots()[i], values.contains(pipeline.inputs()[i].name));
    }
    const std::size_t emitted = pipeline.emitted().size();
    walk(pipeline.block(), condition, place);
    for (std::size_t k = 0; k < pipeline.outputs().size(); ++k) {
      if (is_personal(pipeline.block().results[k])) values.insert(pipeline.outputs()[k].name);
    }
    // A part may be any value of the pipeline.
    if (emitted > 0 && !slots_.personal.empty()) {
      for (const api::Port& port : pipeline.emitted()) values.insert(port.name);
    }
    slots_ = outer;
  }

  void walk(const Block& block, bool condition, const std::string& place) {
    for (const NodePtr& node : block.nodes) visit(*node, condition, place);
  }

  bool is_personal(const Formula& formula) {
    bool personal = false;
    for (const Formula::Use& use : formula.uses()) {
      const bool parameter = use.function.empty();
      const bool named = parameter && names_.is_personal(use.of);
      any_ |= named;
      personal |= named || (!parameter && is_personal(use.slot) && !names_.shows(use.function, use.of));
    }
    return personal;
  }

  bool is_decided_by_personal(const NodeView& view) {
    bool personal = false;
    for (const Formula* formula : formulas_of(view)) personal |= is_personal(*formula);
    return personal;
  }

  /// Returns whether a personal value reaches the results of a node, other than by its formulas.
  bool reads_personal(const Node& node, const NodeView& view) const {
    std::vector<Slot> inside;
    for (const NodeView::Branch& branch : view.branches) add_slots(inside, branch.block->captured());
    const std::vector<const Formula*> formulas = formulas_of(view);
    return std::ranges::any_of(node.reads(), [&](const Slot& slot) {
      const bool of_formula = std::ranges::any_of(formulas, [&](const Formula* formula) {
        return std::ranges::find(formula->reads(), slot) != formula->reads().end();
      });
      const bool decides_only = of_formula && view.kind != "loop" && std::ranges::find(inside, slot) == inside.end();
      return !decides_only && is_personal(slot);
    });
  }

  void visit(const Node& node, bool condition, const std::string& place) {
    const NodeView view = node.view();
    if (view.target != nullptr) return visit_call(node, view, condition, place);
    const bool reads = reads_personal(node, view);
    bool decides = condition;
    const bool outer_loop = slots_.in_loop;
    if (view.kind == "loop") slots_.in_loop = reads || condition;
    decides |= is_decided_by_personal(view);
    // A failure of a part may depend on its values.
    const bool by_failure = view.kind == "fallback" || view.kind == "race" || view.kind == "ensemble";
    if (by_failure) decides |= reads;
    bool personal = decides || reads;
    personal |= walk_branches(view, decides, place);
    if (view.kind == "loop" && personal && !slots_.in_loop) {
      slots_.in_loop = true;
      decides |= is_decided_by_personal(view);
      (void)walk_branches(view, decides, place);
    }
    slots_.in_loop = outer_loop;
    for (const Slot& slot : node.writes()) define(slot, personal);
    for (const auto& [name, slot] : view.outputs) {
      const bool named = view.kind == "features" && names_.is_personal(name);
      any_ |= named;
      if (named) define(slot, true);
    }
    note_step(place + node.name(), decides || (view.branches.empty() && reads));
  }

  /// Returns whether a result of a branch is personal.
  bool walk_branches(const NodeView& view, bool condition, const std::string& place) {
    bool personal = false;
    for (const NodeView::Branch& branch : view.branches) {
      walk(*branch.block, condition, place);
      personal |= any_personal(branch.block->results);
    }
    return personal;
  }

  void visit_call(const Node& node, const NodeView& view, bool condition, const std::string& place) {
    NameSet given;
    for (const auto& [name, slot] : view.inputs) {
      if (is_personal(slot)) given.insert(name);
    }
    const NameSet values = follow(*view.target, std::move(given), condition, place + node.name() + ".");
    for (const auto& [name, slot] : view.outputs) define(slot, condition || values.contains(name));
  }

  PersonalNames names_;
  Slots slots_;
  bool any_ = false;
  std::map<std::string, bool> steps_;  ///< whether their reasons are personal
};

/// Returns whether a version or one that it calls declares personal values.
bool declares(const Served& served) {
  const auto* const pipeline = dynamic_cast<const Pipeline*>(&served);
  return !served.personal().empty() ||
         (pipeline != nullptr &&
          std::ranges::any_of(pipeline->uses(), [](const Pipeline::Use& use) { return declares(*use.target); }));
}

}  // namespace

Labels labels_of(const Served& served, const PersonalNames& names) {
  if (names.personal.empty() && !declares(served)) return {};
  LabelWalk walk(names);
  Labels labels;
  labels.values = walk.follow(served, {}, false, "");
  labels.any = walk.any();
  if (!labels.any) return labels;
  labels.open = walk.open_steps();
  if (const auto* const model = dynamic_cast<const ServedModel*>(&served)) {
    const api::GraphView graph(model->model());
    for (const std::uint32_t id : graph.nodes()) labels.node_texts.insert(graph.node(id).text);
  }
  return labels;
}

}  // namespace frazil::server
