#pragma once

#include <span>

#include "exec/run/interpreter.h"
#include "plan/resume/resume.h"

namespace frazil::exec {

/// Transfers the values that a request has made in one plan to another plan. Objects that loops have collected are
/// moved.
class Transfer {
 public:
  Transfer(Values& from, Values& to, Memory& memory, RegisterGroups& groups, Interpreter& interpreter)
      : from_(from), to_(to), memory_(memory), groups_(groups), interpreter_(interpreter) {}
  /// Returns false if the two plans disagree about an extent, or a guard misses on the way.
  Result<bool> run(const Resume& resume);

 private:
  void forget(const Resume& resume);
  Result<bool> act(std::span<const Resume::Action> actions);
  Result<bool> act(const Resume::Run& run);
  Result<bool> act(const Resume::CopySlot& copy);
  Result<bool> act(const Resume::CopyRegister& copy);
  Result<bool> act(const Resume::CopyAccumulator& copy);
  Status make_room(const Slot& slot);

  Values& from_;
  Values& to_;
  Memory& memory_;
  RegisterGroups& groups_;
  Interpreter& interpreter_;
};

}  // namespace frazil::exec
