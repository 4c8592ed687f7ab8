#include "plan/program.h"

#include <algorithm>
#include <array>
#include <bit>
#include <span>
#include <utility>

#include <fmt/format.h>

namespace frazil {

std::string_view name_of(RowOp op) {
  constexpr std::string_view names[] = {"none",    "sum",         "mean",       "max",
                                        "min",     "prod",        "sum_square", "sum_abs",
                                        "softmax", "log_softmax", "layer_norm", "layer_norm_bias"};
  return names[static_cast<std::size_t>(op)];
}

namespace {

std::size_t operand_count(const ProgramIns& ins) {
  if (ins.row == RowOp::none) return static_cast<std::size_t>(arity(ins.scalar.op));
  if (ins.row == RowOp::layer_norm_bias) return 3;
  return ins.row == RowOp::layer_norm ? 2 : 1;
}

template <class F>
void for_operands(const ProgramIns& ins, F f) {
  const std::array all{ins.scalar.a, ins.scalar.b, ins.scalar.c};
  for (std::uint32_t operand : std::span(all).first(operand_count(ins))) f(operand);
}

/// True when `ins` may write where its operand `a` lies: each element is read before it is written there.
bool may_overwrite(const Program& program, const ProgramIns& ins, std::uint32_t a) {
  if (is_fold(ins.row) || byte_size(program.code[a].scalar.type) != byte_size(ins.scalar.type)) return false;
  if (ins.row == RowOp::none) return true;
  int reads = 0;
  for_operands(ins, [&](std::uint32_t operand) { reads += operand == a ? 1 : 0; });
  return a == ins.scalar.a && reads == 1;
}

/// A buffer for each instruction, taken again once what lies in it has been read for the last time.
class BufferAssignment {
 public:
  explicit BufferAssignment(Program& program) : program_(program), last_(program.code.size()) {
    for (std::uint32_t i = 0; i < last_.size(); ++i) {
      last_[i] = i;
      for_operands(program.code[i], [&](std::uint32_t a) { last_[a] = i; });
    }
  }

  void run() {
    for (std::uint32_t i = 0; i < program_.code.size(); ++i) {
      ProgramIns& ins = program_.code[i];
      program_.width = std::max(program_.width, static_cast<std::uint16_t>(byte_size(ins.scalar.type)));
      const std::uint32_t buffer = choose(i);
      holds_[buffer] = i;
      ins.buffer = static_cast<std::uint16_t>(buffer);
    }
    program_.buffers = static_cast<std::uint16_t>(holds_.size());
  }

 private:
  std::uint32_t choose(std::uint32_t i) {
    for (std::uint32_t b = 0; b < holds_.size(); ++b) {
      const std::uint32_t held = holds_[b];
      if (last_[held] < i || (last_[held] == i && may_overwrite(program_, program_.code[i], held))) return b;
    }
    holds_.push_back(i);
    return static_cast<std::uint32_t>(holds_.size() - 1);
  }

  Program& program_;
  std::vector<std::uint32_t> last_;   // per instruction: the last that reads it
  std::vector<std::uint32_t> holds_;  // per buffer: the instruction whose elements lie there
};

std::string operand_str(const ProgramIns& ins) {
  std::string s;
  for_operands(ins, [&](std::uint32_t a) { s += fmt::format(" %{}", a); });
  return s;
}

std::string ins_str(const ProgramIns& ins) {
  const ScalarIns& s = ins.scalar;
  if (ins.row != RowOp::none) return fmt::format("row {}{}", name_of(ins.row), operand_str(ins));
  if (s.op == ScalarOp::load) return fmt::format("load {}", s.operand);
  if (s.op == ScalarOp::constant) {
    return is_float(s.type) ? fmt::format("constant {}", s.real) : fmt::format("constant {}", s.integer);
  }
  return fmt::format("{}{}", name_of(s.op), operand_str(ins));
}

}  // namespace

std::string Program::str() const {
  std::string s;
  for (std::size_t i = 0; i < code.size(); ++i) {
    s += fmt::format("{}      %{}: {} {}", i == 0 ? "" : "\n", i, name_of(code[i].scalar.type), ins_str(code[i]));
    for (std::size_t k = 0; k < results.size(); ++k) {
      if (results[k] == i) s += fmt::format(" -> {}", k);
    }
  }
  return s;
}

std::uint32_t last_use(const Program& program, std::uint32_t i) {
  std::uint32_t last = i;
  for (std::uint32_t k = i + 1; k < program.code.size(); ++k) {
    for_operands(program.code[k], [&](std::uint32_t a) {
      if (a == i) last = k;
    });
  }
  return last;
}

std::uint32_t load_of(const Program& program, std::size_t k) {
  const auto is_load = [&](const ProgramIns& ins) {
    return ins.row == RowOp::none && ins.scalar.op == ScalarOp::load && ins.scalar.operand == k;
  };
  return static_cast<std::uint32_t>(std::ranges::find_if(program.code, is_load) - program.code.begin());
}

std::uint32_t ProgramBuilder::add(const ScalarIns& scalar, RowOp row) {
  ScalarIns key = scalar;  // constants are told apart by their bits
  key.integer ^= std::bit_cast<std::int64_t>(std::exchange(key.real, 0));
  const auto [it, is_new] = known_.emplace(std::pair(key, row), static_cast<std::uint32_t>(program_.code.size()));
  if (is_new) {
    program_.code.push_back({scalar, row});
    program_.rows |= row != RowOp::none;
  }
  return it->second;
}

std::uint32_t ProgramBuilder::load(std::uint32_t k, Elem type) {
  return add({.op = ScalarOp::load, .type = type, .operand = k}, RowOp::none);
}

std::uint32_t ProgramBuilder::constant(Elem type, double real, std::int64_t integer) {
  return add({.op = ScalarOp::constant, .type = type, .real = real, .integer = integer}, RowOp::none);
}

std::uint32_t ProgramBuilder::row(RowOp op, Elem type, std::uint32_t a, std::uint32_t b, std::uint32_t c, double real) {
  return add({.type = type, .a = a, .b = b, .c = c, .real = real}, op);
}

std::uint32_t ProgramBuilder::inline_tape(const ScalarTape& tape, const std::vector<std::uint32_t>& operands) {
  std::vector<std::uint32_t> at(tape.code.size());
  for (std::size_t i = 0; i < tape.code.size(); ++i) {
    ScalarIns ins = tape.code[i];
    if (ins.op == ScalarOp::load) {
      at[i] = operands[ins.operand];
      continue;
    }
    const int n = arity(ins.op);
    if (n > 0) ins.a = at[ins.a];
    if (n > 1) ins.b = at[ins.b];
    if (n > 2) ins.c = at[ins.c];
    at[i] = add(ins, RowOp::none);
  }
  return at.back();
}

Program ProgramBuilder::finish(std::vector<std::uint32_t> results, std::vector<bool> lacks_last) && {
  program_.results = std::move(results);
  program_.lacks_last = std::move(lacks_last);
  BufferAssignment(program_).run();
  return std::move(program_);
}

}  // namespace frazil
