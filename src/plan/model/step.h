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

/// An owner of memory that runs kernels: the host, or a device by its number, from 1 on.
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

/// The kinds of steps. Each kind lists its fields and their roles once, in `fields(self, v)`. The printer, the
/// verifier, lifetimes, the linker and the resume analysis use this list.
/// `v` has one function per role, which takes the field's name and the field:
///   reads, writes, updates   a SlotId (which may be absent) or a list of them; `updates` reads and writes
///   uses, defines            a Reg or a list of them
///   target                   a StepIndex to jump to
///   group, accumulator       an entry of Plan::groups, Plan::accumulators
///   fused                    an entry of Plan::fused, or kNone
///   value                    anything else: numbers, flags, parameters
namespace step {

/// Recomputes register group `group` if a source changed.
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
  std::vector<SlotId> in, out;  ///< an absent operand is SlotId{}
  std::uint32_t fused = kNone;  ///< of params::Fused: index in Plan::fused
  std::vector<Reg> domain;      ///< of params::Fused: its extents; of params::Contraction: the numbers of the space
  bool in_place = false;        ///< a result may take the bytes of an operand of the same extents
  std::vector<OutputExtent> extents;  ///< those that are known only after the kernel has run
  DeviceId device = kHost;            ///< runs it and holds its operands and results
  std::uint32_t concurrent = 1;  ///< steps from this one on that may run together; see plan/memory/concurrent_steps.h
  static void fields(auto& self, auto&& v) {
    v.value("params", self.params);
    v.fused("fused", self.fused);
    v.reads("in", self.in);
    v.writes("out", self.out);
    v.uses("domain", self.domain);
    v.value("in_place", self.in_place);
    v.value("device", self.device);
    for (auto& e : self.extents) v.defines("extent", e.to);
    v.value("together", self.concurrent);
  }
  Kernel kernel() const { return kernel_of(params); }
};

/// Copies the bytes of a storage to a storage of another device. Each slot covers its storage.
struct Transfer {
  static constexpr std::string_view kName = "transfer";
  SlotId from, to;
  static void fields(auto& self, auto&& v) {
    v.reads("from", self.from);
    v.writes("to", self.to);
  }
};

/// Sets registers to elements of a tensor of i64, i32 or bool, clipped to the range of a Dim. Elements beyond the end
/// of the tensor are 0.
struct Bind {
  static constexpr std::string_view kName = "bind";
  struct Element {
    Reg to = kNoReg;
    std::uint32_t element = 0;
  };
  SlotId from;
  Reg count = kNoReg;  ///< of the tensor's elements; kNoReg if it is constant
  std::vector<Element> elements;
  static void fields(auto& self, auto&& v) {
    v.reads("from", self.from);
    if (self.count != kNoReg) v.uses("count", self.count);
    for (auto& e : self.elements) v.value("element", e.element);
    for (auto& e : self.elements) v.defines("to", e.to);
  }
};

/// Copies registers to registers, all at the same time.
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

/// Sets a register to a number.
struct Set {
  static constexpr std::string_view kName = "set";
  Reg to = kNoReg;
  std::int64_t number = 0;
  static void fields(auto& self, auto&& v) {
    v.value("number", self.number);
    v.defines("to", self.to);
  }
};

/// Adds a number to a register.
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

/// Sets a register to the integer scalar in `from`.
struct Load {
  static constexpr std::string_view kName = "load";
  Reg to = kNoReg;
  SlotId from;
  static void fields(auto& self, auto&& v) {
    v.reads("from", self.from);
    v.defines("to", self.to);
  }
};

/// Sets a register to the integer scalar in `index`, a position along `extent`. A negative index counts from the end.
/// An index outside of the extent is an error.
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

/// Sets the elements of an integer or bool tensor to registers.
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

/// Jumps to `target` unless `condition` is true.
struct Branch {
  static constexpr std::string_view kName = "branch";
  SlotId condition;
  StepIndex target = kNone;
  static void fields(auto& self, auto&& v) {
    v.reads("condition", self.condition);
    v.target("target", self.target);
  }
};

/// Jumps to `target` when register `counter` has reached register `limit`.
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

/// The back edge of a loop: ends an iteration and jumps to `target`.
struct BackEdge {
  static constexpr std::string_view kName = "back_edge";
  StepIndex target = kNone;
  static void fields(auto& self, auto&& v) { v.target("target", self.target); }
};

/// Sets an object slot to the content of another slot.
struct Move {
  static constexpr std::string_view kName = "move";
  SlotId from, to;
  static void fields(auto& self, auto&& v) {
    v.reads("from", self.from);
    v.writes("to", self.to);
  }
};

/// Sets an object slot to the part of another one at position `at` of `axis`, with that axis removed.
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

/// Swaps the storages of two slots.
struct Swap {
  static constexpr std::string_view kName = "swap";
  SlotId source, variable;
  static void fields(auto& self, auto&& v) {
    v.updates("source", self.source);
    v.updates("variable", self.variable);
  }
};

/// Gives slot `of` a capacity of at least `needed` along `axis`, and sets register `capacity` to it. If `keep` is
/// set, the elements are preserved, and a sufficient capacity does not change.
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

/// Gives the accumulator capacity for one more element of `bytes` bytes.
struct Reserve {
  static constexpr std::string_view kName = "reserve";
  AccumulatorId accumulator;
  Reg bytes = kNoReg;
  static void fields(auto& self, auto&& v) {
    v.accumulator("accumulator", self.accumulator);
    v.uses("bytes", self.bytes);
  }
};

/// Adds an element to the accumulator. With `in_place`, its bytes are already there.
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

/// Empties the accumulator.
struct Reset {
  static constexpr std::string_view kName = "reset";
  AccumulatorId accumulator;
  static void fields(auto& self, auto&& v) { v.accumulator("accumulator", self.accumulator); }
};

/// Sets an object slot to the objects in the accumulator, stacked along `axis`.
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

/// Compares two registers. If they differ, the run ends with a user error that names Plan::texts[`what`].
struct Check {
  static constexpr std::string_view kName = "check";
  Reg a = kNoReg, b = kNoReg;
  std::uint32_t what = kNone;  ///< index in Plan::texts
  static void fields(auto& self, auto&& v) {
    v.uses("a", self.a);
    v.uses("b", self.b);
    v.value("what", self.what);
  }
};

/// Continues if `predicate` is `expected`: only then do the types of this plan hold. Otherwise, another specialisation
/// of the graph continues from the guard of the same node.
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

using Body = std::variant<Launch, Evaluate, Branch, LeaveAt, BackEdge, Jump, Set, Add, Swap, Load, Store, Assign, Check,
                          Bind, Pick, Append, Reserve, Reset, Grow, Move, Slice, Stack, Guard, Transfer, Halt>;

}  // namespace step

/// One instruction of a plan.
struct Step {
  step::Body body = step::Halt{};
  NodeId node{};                ///< the node that it computes; for a group: the last member
  std::vector<NodeId> members;  ///< all nodes, in order, of a launch that computes several nodes

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

/// A visitor whose functions do nothing. Derived visitors override the roles that they need.
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

/// Calls f(SlotId) for each slot that the step names, except absent ones.
template <class F>
void for_slots(const Step& step, F f) {
  for_fields(step, SlotVisitor<F>(f));
}

}  // namespace frazil
