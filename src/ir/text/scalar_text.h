#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "ir/op/scalar.h"
#include "ir/text/text_lexer.h"

// The text form of scalar instructions: "f32 load 1", "f32 constant 0.5", "f32 add %0 %1", "i64 cast %2".
namespace frazil {

std::optional<ScalarOp> scalar_op_from_name(std::string_view name);

/// The instruction without its type: "add %0 %1".
std::string text_of(const ScalarIns& ins);
/// Reads what text_of writes into `ins`, whose type is set; errors tell line and column of the text.
Status read_scalar(Tokens& tokens, ScalarIns& ins);
/// "%3": a position in a tape.
Result<std::uint32_t> read_scalar_value(Tokens& tokens);

/// Straight-line code from one instruction per string, `f32 add %0 %1`; errors name the instruction.
Result<ScalarTape> parse_tape(std::span<const std::string> instructions);
/// What parse_tape reads.
std::vector<std::string> lines_of(const ScalarTape& tape);

/// Checks a tape from outside: every operand stands before its use, loads have the compute types of `operands`,
/// instructions are defined for the types they are given. Code::bad_model names the instruction.
Status check(const ScalarTape& tape, std::span<const Elem> operands);

}  // namespace frazil
