#pragma once

#include <cstdint>
#include <string_view>
#include <variant>
#include <vector>

#include "ir/graph/assumption.h"
#include "ir/graph/handles.h"
#include "plan/model/kernel_params.h"

namespace frazil {

/// An integer register: symbols first, then derived values.
using Reg = std::uint32_t;
inline constexpr Reg kNoReg = ~0u;
inline constexpr std::uint32_t kNone = ~0u;
/// A position in Plan::steps.
using StepIndex = std::uint32_t;

/// Who has memory and runs kernels: the host, or a device by its number, from 1 on.
enum class DeviceId : std::uint8_t {};
inline constexpr DeviceId kHost{0};

/// Handles into a Plan's tables.
struct SlotId {
  std::uint32_t id = kNone;
  auto operator<=>(const SlotId&) const = default;
  explicit operator bool() const { return id != kNone; }
};
struct AccumulatorId {
  std::uint32_t id = kNone;
  auto operator<=>(const AccumulatorId&) const = default;
};

/// The kinds of steps. Each names its operands and their roles once, in `fields(self, v)`; the printer, the verifier,
/// lifetimes, the linker and the resume analysis read that. `v` has one function per role, each taking the field's name
/// and the field:
///   reads, writes, updates   a SlotId (which may be absent) or a list of them; `updates` reads and writes
///   uses, defines            a Reg or a list of them
///   target                   a StepIndex to jump to
///   group, accumulator       an entry of Plan::groups, Plan::accumulators
///   fused                    an entry of Plan::fused, or kNone
///   value                    anything else: numbers, flags, parameters
namespace step {

/// Recomputes register group `group` where a source changed.
struct Evaluate {
  static constexpr std::string_view kName = "eval";
  std::uint32_t group = 0;
  static void fields(auto& self, auto&& v) { v.group("group", self.group); }
};

/// A register that a kernel step itself defines: extent `axis` of its output `output`.
struct OutputExtent {
  Reg to = kNoReg;
  std::uint32_t output = 0, axis = 0;
};

/// Runs a kernel.
struct Launch {
  static constexpr std::string_view kName = "launch";
  KernelParams params;
  std::vector<SlotId> in, out;        ///< an absent operand is SlotId{}
  std::uint32_t fused = kNone;        ///< of params::Fused: which kernel of the plan
  std::vector<Reg> domain;            ///< of params::Fused: its extents; of params::Contraction: the space's numbers
  bool in_place = false;              ///< a result may take the bytes of an operand of the same extents
  std::vector<OutputExtent> extents;  ///< that only the run tells
  DeviceId device = kHost;            ///< who runs it; its operands and results lie there
  std::uint32_t together = 1;  ///< steps, from this one on, that may run at the same time; see plan/memory/together.h
  static void fields(auto& self, auto&& v) {
    v.value("params", self.params);
    v.fused("fused", self.fused);
    v.reads("in", self.in);
    v.writes("out", self.out);
    v.uses("domain", self.domain);
    v.value("in_place", self.in_place);
    v.value("device", self.device);
    for (auto& e : self.extents) v.defines("extent", e.to);
    v.value("together", self.together);
  }
  Kernel kernel() const { return kernel_of(params); }
};

/// Copies the bytes of a storage into one of another device. Both slots are all of theirs.
struct Transfer {
  static constexpr std::string_view kName = "transfer";
  SlotId from, to;
  static void fields(auto& self, auto&& v) {
    v.reads("from", self.from);
    v.writes("to", self.to);
  }
};

/// Registers := elements of a tensor of i64, i32 or bool, cut to the range of a Dim.
/// Elements that a tensor of assumed length does not have are 0.
struct Bind {
  static constexpr std::string_view kName = "bind";
  struct Element {
    Reg to = kNoReg;
    std::uint32_t element = 0;
  };
  SlotId from;
  Reg count = kNoReg;  ///< of the tensor's elements, if it is assumed
  std::vector<Element> elements;
  static void fields(auto& self, auto&& v) {
    v.reads("from", self.from);
    if (self.count != kNoReg) v.uses("count", self.count);
    for (auto& e : self.elements) v.value("element", e.element);
    for (auto& e : self.elements) v.defines("to", e.to);
  }
};

/// Registers := registers, all at once.
struct Assign {
  static constexpr std::string_view kName = "assign";
  struct Copy {
    Reg to = kNoReg, from = kNoReg;
  };
  std::vector<Copy> copies;
  static void fields(auto& self, auto&& v) {
    for (auto& c : self.copies) v.uses("from", c.from);
    for (auto& c : self.copies) v.defines("to", c.to);
  }
};

/// Register := number.
struct Set {
  static constexpr std::string_view kName = "set";
  Reg to = kNoReg;
  std::int64_t number = 0;
  static void fields(auto& self, auto&& v) {
    v.value("number", self.number);
    v.defines("to", self.to);
  }
};

/// Register += number.
struct Add {
  static constexpr std::string_view kName = "add";
  Reg to = kNoReg;
  std::int64_t number = 0;
  static void fields(auto& self, auto&& v) {
    v.uses("to", self.to);
    v.value("number", self.number);
    v.defines("to", self.to);
  }
};

/// Register := the integer scalar in `from`.
struct Load {
  static constexpr std::string_view kName = "load";
  Reg to = kNoReg;
  SlotId from;
  static void fields(auto& self, auto&& v) {
    v.reads("from", self.from);
    v.defines("to", self.to);
  }
};

/// Register := the integer scalar in `index` as a position of `extent`: from the end where negative, else an error.
struct Pick {
  static constexpr std::string_view kName = "pick";
  Reg to = kNoReg;
  SlotId index;
  Reg extent = kNoReg;
  static void fields(auto& self, auto&& v) {
    v.reads("index", self.index);
    v.uses("extent", self.extent);
    v.defines("to", self.to);
  }
};

/// Elements of an integer tensor := registers.
struct Store {
  static constexpr std::string_view kName = "store";
  SlotId to;
  std::vector<Reg> elements;
  static void fields(auto& self, auto&& v) {
    v.uses("elements", self.elements);
    v.writes("to", self.to);
  }
};

struct Jump {
  static constexpr std::string_view kName = "jump";
  StepIndex target = kNone;
  static void fields(auto& self, auto&& v) { v.target("target", self.target); }
};

/// To `target` unless `condition` is true.
struct Branch {
  static constexpr std::string_view kName = "branch";
  SlotId condition;
  StepIndex target = kNone;
  static void fields(auto& self, auto&& v) {
    v.reads("condition", self.condition);
    v.target("target", self.target);
  }
};

/// To `target` when register `counter` has reached register `limit`.
struct LeaveAt {
  static constexpr std::string_view kName = "leave_at";
  Reg counter = kNoReg, limit = kNoReg;
  StepIndex target = kNone;
  static void fields(auto& self, auto&& v) {
    v.uses("counter", self.counter);
    v.uses("limit", self.limit);
    v.target("target", self.target);
  }
};

/// Back edge: one iteration is done.
struct Again {
  static constexpr std::string_view kName = "again";
  StepIndex target = kNone;
  static void fields(auto& self, auto&& v) { v.target("target", self.target); }
};

/// An object slot := what another slot holds.
struct Move {
  static constexpr std::string_view kName = "move";
  SlotId from, to;
  static void fields(auto& self, auto&& v) {
    v.reads("from", self.from);
    v.writes("to", self.to);
  }
};

/// An object slot := the part of an object slot at position `at` of `axis`, that axis removed.
struct Slice {
  static constexpr std::string_view kName = "slice";
  SlotId from, to;
  Reg at = kNoReg;
  std::int64_t axis = 0;
  bool reversed = false;
  static void fields(auto& self, auto&& v) {
    v.reads("from", self.from);
    v.uses("at", self.at);
    v.value("axis", self.axis);
    v.value("reversed", self.reversed);
    v.writes("to", self.to);
  }
};

/// The storages of two slots change places.
struct Swap {
  static constexpr std::string_view kName = "swap";
  SlotId source, variable;
  static void fields(auto& self, auto&& v) {
    v.updates("source", self.source);
    v.updates("variable", self.variable);
  }
};

/// Register `capacity` := a capacity along `axis` of slot `of` that holds `needed`. With `keep` its elements stay, and
/// the capacity does where it is enough.
struct Grow {
  static constexpr std::string_view kName = "grow";
  SlotId of;
  Reg capacity = kNoReg, needed = kNoReg;
  std::uint32_t axis = 0;
  bool keep = false;
  static void fields(auto& self, auto&& v) {
    v.uses("needed", self.needed);
    self.keep ? v.updates("of", self.of) : v.writes("of", self.of);
    v.value("axis", self.axis);
    v.value("keep", self.keep);
    if (self.keep) v.uses("capacity", self.capacity);
    v.defines("capacity", self.capacity);
  }
};

/// The accumulator gets capacity for one more element of `bytes` bytes.
struct Reserve {
  static constexpr std::string_view kName = "reserve";
  AccumulatorId accumulator;
  Reg bytes = kNoReg;
  static void fields(auto& self, auto&& v) {
    v.accumulator("accumulator", self.accumulator);
    v.uses("bytes", self.bytes);
  }
};

/// The accumulator gets one more element, which is there already with `in_place`.
struct Append {
  static constexpr std::string_view kName = "append";
  AccumulatorId accumulator;
  SlotId part;
  bool in_place = false;
  static void fields(auto& self, auto&& v) {
    v.reads("part", self.part);
    v.accumulator("accumulator", self.accumulator);
    v.value("in_place", self.in_place);
  }
};

/// The accumulator is emptied.
struct Reset {
  static constexpr std::string_view kName = "reset";
  AccumulatorId accumulator;
  static void fields(auto& self, auto&& v) { v.accumulator("accumulator", self.accumulator); }
};

/// An object slot := the objects in the accumulator, along `axis`.
struct Stack {
  static constexpr std::string_view kName = "stack";
  AccumulatorId accumulator;
  SlotId to;
  std::int64_t axis = 0;
  bool reversed = false;
  static void fields(auto& self, auto&& v) {
    v.accumulator("accumulator", self.accumulator);
    v.value("axis", self.axis);
    v.value("reversed", self.reversed);
    v.writes("to", self.to);
  }
};

/// Two registers must agree, or the run ends with the user's error of Plan::checks[`check`].
struct Check {
  static constexpr std::string_view kName = "check";
  Reg a = kNoReg, b = kNoReg;
  std::uint32_t what = kNone;  ///< of Plan::texts
  static void fields(auto& self, auto&& v) {
    v.uses("a", self.a);
    v.uses("b", self.b);
    v.value("what", self.what);
  }
};

/// The types of this plan hold while `predicate` is `expected`; else another specialisation of the graph goes on from
/// the guard of the same node.
struct Guard {
  static constexpr std::string_view kName = "guard";
  Reg predicate = kNoReg;
  std::int64_t expected = 1;
  AssumptionKey key;
  static void fields(auto& self, auto&& v) {
    v.uses("predicate", self.predicate);
    v.value("expected", self.expected);
    v.value("stable", self.key.stable);
    v.value("number", self.key.number);
  }
};

/// The end of the run.
struct Halt {
  static constexpr std::string_view kName = "halt";
  static void fields(auto&, auto&&) {}
};

using Body = std::variant<Launch, Evaluate, Branch, LeaveAt, Again, Jump, Set, Add, Swap, Load, Store, Assign, Check,
                          Bind, Pick, Append, Reserve, Reset, Grow, Move, Slice, Stack, Guard, Transfer, Halt>;

}  // namespace step

/// One instruction of a plan.
struct Step {
  step::Body body = step::Halt{};
  NodeId node{};                ///< the node that it computes; of a group: the last member
  std::vector<NodeId> members;  ///< of a launch for several nodes: all, in order

  template <class T>
  const T* as() const {
    return std::get_if<T>(&body);
  }
  template <class T>
  T* as() {
    return std::get_if<T>(&body);
  }
};

std::string_view name_of(const Step& step);

/// Visits the fields of a step by role; see namespace step.
template <class S, class V>
void for_fields(S& step, V&& visitor) {
  std::visit([&](auto& body) { body.fields(body, visitor); }, step.body);
}

/// A visitor whose functions do nothing; others override the roles that they want.
struct FieldVisitor {
  void reads(std::string_view, auto&) {}
  void writes(std::string_view, auto&) {}
  void updates(std::string_view, auto&) {}
  void uses(std::string_view, auto&) {}
  void defines(std::string_view, auto&) {}
  void target(std::string_view, auto&) {}
  void group(std::string_view, auto&) {}
  void accumulator(std::string_view, auto&) {}
  void fused(std::string_view, auto&) {}
  void value(std::string_view, auto&) {}
};

template <class F>
struct SlotVisitor : FieldVisitor {
  F& f;
  explicit SlotVisitor(F& of) : f(of) {}
  void one(SlotId s) {
    if (s) f(s);
  }
  void one(const std::vector<SlotId>& list) {
    for (SlotId s : list) one(s);
  }
  void reads(std::string_view, const auto& x) { one(x); }
  void writes(std::string_view, const auto& x) { one(x); }
  void updates(std::string_view, const auto& x) { one(x); }
};

/// Calls f(SlotId) for each slot that the step names, absent ones aside.
template <class F>
void for_slots(const Step& step, F f) {
  for_fields(step, SlotVisitor<F>(f));
}

}  // namespace frazil
