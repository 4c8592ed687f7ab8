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

/// Returns the instruction without its type: "add %0 %1".
std::string text_of(const ScalarIns& ins);
/// Reads the output of text_of() into `ins`, whose type is set. Errors contain line and column of the text.
Status read_scalar(Tokens& tokens, ScalarIns& ins);
/// Reads "%3", a position in a tape.
Result<std::uint32_t> read_scalar_value(Tokens& tokens);

/// Parses straight-line code with one instruction per string, such as `f32 add %0 %1`. Errors name the instruction.
Result<ScalarTape> parse_tape(std::span<const std::string> instructions);
/// Returns the strings that parse_tape() reads.
std::vector<std::string> lines_of(const ScalarTape& tape);

/// Checks a tape from an external source. Every operand must come before its use, loads must have the compute types of
/// `operands`, and instructions must be defined for their types. Otherwise returns Code::bad_model, naming the
/// instruction.
Status check(const ScalarTape& tape, std::span<const Elem> operands);

}  // namespace frazil
