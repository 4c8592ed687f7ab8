#include <algorithm>
#include <array>

#include "server/pipeline/choice.h"
#include "server/pipeline/lowering.h"
#include "server/pipeline/nodes.h"

// Nodes that are control flow of the graph.
namespace frazil::server {
namespace {

using api::Array;
using api::Dtype;
using api::Term;

void count_taken(const Block& block) { block.taken->fetch_add(1, std::memory_order_relaxed); }

/// A decision tree of Ifs finds the number of the case, then Ifs over this number run the case's block.
class SwitchNode : public Node {
 public:
  SwitchNode(std::string name, std::vector<Case> cases, std::vector<Slot> results)
      : Node(std::move(name)), cases_(std::move(cases)), results_(std::move(results)) {}
  std::vector<Slot> reads() const override {
    std::vector<Slot> slots;
    for (const Case& one : cases_) {
      if (one.when) add_slots(slots, one.when->reads());
      add_slots(slots, one.block.captured());
    }
    return slots;
  }
  std::vector<Slot> writes() const override { return results_; }
  Clock::duration expected() const override { return least_expected(cases_); }
  NodeView view() const override {
    NodeView view{.kind = "switch"};
    for (const Case& one : cases_) {
      view.branches.push_back({.block = &one.block,
                               .rule = one.when ? one.when->text() : "otherwise",
                               .cheaper = one.cheaper,
                               .when = one.when ? &*one.when : nullptr});
    }
    return view;
  }

  void lower(Lowering& to) const override {
    to.part(*this, Lowering::kEnter, {}, {});
    const Term forced = to.part(*this, kForced, {}, {Dtype::i64}).front();
    const Term is_forced = to.body().op("GreaterOrEqual", {forced, to.body().scalar(std::int64_t{0})});
    const auto by_request = [&](api::Body&) { return std::vector{forced}; };
    const auto by_formulas = [&](api::Body& body) {
      return std::vector{number_of_case(to.inside(body), 0, body.scalar(std::string()))};
    };
    const Term number = to.body().if_else(is_forced, by_request, by_formulas).front();
    to.define(results_, run_case(to, 0, number));
    to.part(*this, Lowering::kLeave, {}, {});
  }

 protected:
  void start(StepCall call) const override {
    if (call.part == kForced) {
      const std::int64_t forced = forced_block(*call.flow, name(), "switch", cases_);
      if (forced >= 0) count_taken(cases_[static_cast<std::size_t>(forced)].block);
      return call.done(std::vector{Array::scalar(forced)});
    }
    call.done(decided(*call.flow, static_cast<std::size_t>(call.part - kFirstCase), call.inputs));
  }

 private:
  static constexpr std::int64_t kForced = Lowering::kOwn;         ///< returns the case that the request forces, or -1
  static constexpr std::int64_t kFirstCase = Lowering::kOwn + 1;  ///< see decided()

  /// Adds the decision between the cases from `at` on. `why`: string[], the formulas that were false.
  Term number_of_case(Lowering to, std::size_t at, Term why) const {
    const auto part = kFirstCase + static_cast<std::int64_t>(at);
    const std::vector<Dtype> types{Dtype::boolean, Dtype::string, Dtype::i64};
    if (!cases_[at].when) return to.part(*this, part, {why}, types)[2];
    const auto [truth, subject] = to.decision(*cases_[at].when);
    const std::vector<Term> taken = to.part(*this, part, {why, truth, subject}, types);
    if (at + 1 == cases_.size()) return taken[2];
    const auto number = [&](api::Body&) { return std::vector{taken[2]}; };
    const auto next = [&](api::Body& body) { return std::vector{number_of_case(to.inside(body), at + 1, taken[1])}; };
    return to.body().if_else(taken[0], number, next).front();
  }

  /// Takes the text of the false formulas, and for a case with a formula its truth and its subject. Returns the truth,
  /// the longer text, and the case to run if it is true. Refuses the request if the last case's formula is false.
  std::vector<Array> decided(const Flow& flow, std::size_t at, const std::vector<Array>& inputs) const {
    const Case& one = cases_[at];
    std::string why(inputs[0].values<std::string>().front());
    bool taken = true;
    if (one.when) {
      taken = inputs[1].values<bool>().front();
      why += (why.empty() ? "" : "; ") + one.when->text() + " is " + (taken ? "true" : "false") + " for " +
             value_text(inputs[2]);
    }
    if (!taken && at + 1 == cases_.size()) {
      throw Refusal(Http::bad_request, "node '" + name() + "': no case applies: " + why);
    }
    const auto run = static_cast<std::int64_t>(taken ? enter(flow, at, why) : at);
    return {Array::scalar(taken), Array::scalar(why), Array::scalar(run)};
  }

  /// Records that a case runs, and returns it: the chosen one, or a cheaper one.
  std::size_t enter(const Flow& flow, std::size_t chosen, const std::string& why) const {
    const Afforded entered = afforded(flow, name(), "switch", cases_, chosen);
    const Block& block = cases_[entered.branch].block;
    count_taken(block);
    flow.decided({.node = name(), .kind = "switch", .taken = block.name, .why = *entered.why == 0 ? why : entered.why});
    return entered.branch;
  }

  /// Adds the blocks of the cases from `at` on.
  std::vector<Term> run_case(Lowering& to, std::size_t at, Term number) const {
    const auto block = [&](api::Body& body) { return to.inside(body).block(cases_[at].block); };
    if (at + 1 == cases_.size()) return block(to.body());
    const Term here = to.body().op("Equal", {number, to.body().scalar(static_cast<std::int64_t>(at))});
    return to.body().if_else(here, block, [&](api::Body& body) {
      Lowering inner = to.inside(body);
      return run_case(inner, at + 1, number);
    });
  }

  std::vector<Case> cases_;
  std::vector<Slot> results_;
};

class LoopNode : public Node {
 public:
  LoopNode(std::string name, LoopParts parts, Workers& workers)
      : Node(std::move(name)), parts_(std::move(parts)), workers_(workers) {}
  std::vector<Slot> reads() const override {
    std::vector<Slot> slots, used = parts_.block.captured();
    if (parts_.again) add_slots(used, parts_.again->reads());
    for (const auto& one : parts_.carried) {
      add_slots(slots, {one.from});
      std::erase(used, one.value);
    }
    add_slots(slots, used);
    return slots;
  }
  std::vector<Slot> writes() const override {
    std::vector<Slot> slots;
    for (const auto& one : parts_.carried) slots.push_back(one.value);
    slots.push_back(parts_.count);
    return slots;
  }
  Clock::duration expected() const override { return parts_.again ? Clock::duration::zero() : parts_.block.expected(); }
  NodeView view() const override {
    const std::string rule = parts_.again ? "while " + parts_.again->text() : "";
    return {.kind = "loop",
            .branches = {{.block = &parts_.block, .rule = rule}},
            .most = parts_.most,
            .decision = parts_.again ? &*parts_.again : nullptr,
            .carried = parts_.carried,
            .emitted = parts_.emits};
  }

  void lower(Lowering& to) const override {
    to.part(*this, Lowering::kEnterLoop, {}, {});
    api::Body& body = to.body();
    std::vector<Term> carried;
    for (const auto& one : parts_.carried) {
      carried.push_back(to.value(one.from));
      to.define({one.value}, std::array{carried.back()});
    }
    carried.push_back(body.scalar(std::int64_t{0}));
    const Term again = parts_.again ? to.decision(*parts_.again).truth : Term();
    const auto iteration = [&](api::Body& inner, std::span<const Term> params) { return iterated(to, inner, params); };
    const std::vector<Term> ended = body.loop(body.scalar(parts_.most), again, carried, iteration);
    to.define(writes(), ended);
    to.part(*this, Lowering::kLeaveLoop, {}, {});
    to.part(*this, kEnded, {ended.back()}, {});
  }

 protected:
  void start(StepCall call) const override {
    const Flow& flow = *call.flow;
    if (call.part == kEnded) {
      const std::int64_t count = call.inputs[0].values<std::int64_t>().front();
      flow.decided({.node = name(), .kind = "loop", .taken = std::to_string(count) + " iterations"});
      return call.done(std::vector<Array>{});
    }
    count_taken(parts_.block);
    if (flow.emitter != nullptr && !parts_.emits.empty()) {
      std::vector<NamedArray> values;
      for (std::size_t i = 0; i < parts_.emits.size(); ++i) {
        values.emplace_back(parts_.emits[i].first, std::move(call.inputs[i]));
      }
      flow.emit(std::move(values));
    }
    if (flow.caller->disconnected()) throw Refusal(Http::cancelled, "the caller has disconnected");
    // Other requests run between two iterations.
    workers_.post([call = std::move(call)] {
      const BusyScope scope(call.flow->cost);
      call.done(std::vector<Array>{});
    });
  }

 private:
  static constexpr std::int64_t kEnded = Lowering::kOwn;  ///< takes the number of iterations

  /// Adds the body. Takes the number of the iteration, the condition and the carried values, the last of which counts.
  std::vector<Term> iterated(const Lowering& to, api::Body& body, std::span<const Term> params) const {
    Lowering inner = to.inside(body);
    for (std::size_t i = 0; i < parts_.carried.size(); ++i) {
      inner.define({parts_.carried[i].value}, params.subspan(2 + i, 1));
    }
    inner.block(parts_.block);
    std::vector<Term> next;
    for (const auto& one : parts_.carried) next.push_back(inner.value(one.next.value_or(one.value)));
    for (std::size_t i = 0; i < next.size(); ++i) inner.define({parts_.carried[i].value}, std::array{next[i]});
    std::vector<Term> emitted;
    for (const auto& [output, slot] : parts_.emits) emitted.push_back(inner.value(slot));
    inner.part(*this, Lowering::kIterated, std::move(emitted), {});
    std::vector<Term> results{parts_.again ? inner.decision(*parts_.again).truth : body.scalar(true)};
    results.insert(results.end(), next.begin(), next.end());
    results.push_back(body.op("Add", {params.back(), body.scalar(std::int64_t{1})}));
    return results;
  }

  LoopParts parts_;
  Workers& workers_;
};

}  // namespace

NodePtr switch_node(std::string name, std::vector<Case> cases, std::vector<Slot> results) {
  return std::make_unique<SwitchNode>(std::move(name), std::move(cases), std::move(results));
}
NodePtr loop_node(std::string name, LoopParts parts, Workers& workers) {
  return std::make_unique<LoopNode>(std::move(name), std::move(parts), workers);
}

}  // namespace frazil::server
