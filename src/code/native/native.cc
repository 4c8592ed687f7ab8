#include "code/native/native.h"

#include <algorithm>
#include <bit>
#include <iterator>

namespace frazil::code {

std::string_view name_of(InnerStep step) {
  switch (step) {
    case InnerStep::one: return "one";
    case InnerStep::dense: return "dense";
    case InnerStep::strided: return "strided";
  }
  return "?";
}

std::string LoopForm::str() const {
  std::string text;
  for (const InnerStep s : steps) text += (text.empty() ? "" : " ") + std::string(name_of(s));
  return text;
}

std::vector<bool> single_values(const TileCode& code, const LoopForm& form) {
  std::vector<bool> single;
  for (const TileCode::Ins& i : code.body) {
    const FusedIns& ins = i.ins;
    bool one = ins.row == RowOp::none || is_fold(ins.row);
    if (ins.is(ScalarOp::load)) one = form.steps[ins.scalar.operand] == InnerStep::one;
    if (ins.row == RowOp::none) for_operands(i, [&](std::uint32_t a) { one = one && single[a]; });
    single.push_back(one);
  }
  return single;
}

std::vector<bool> parameters(const TileCode& code) {
  std::vector<bool> found;
  for (const TileCode::Ins& i : code.body) {
    const ScalarOp op = i.ins.scalar.op;
    const bool sums = op == ScalarOp::add || op == ScalarOp::sub || op == ScalarOp::mul || op == ScalarOp::div;
    const bool fits = i.quantises || (i.ins.row == RowOp::none && sums);
    if (!fits) for_operands(i, [&](std::uint32_t a) { found[a] = false; });
    found.push_back(i.ins.is(ScalarOp::constant) && i.ins.scalar.type == Elem::f32);
  }
  for (const FusedStore& s : code.stores) found[s.value] = false;
  return found;
}

std::string why_not_native(const TileCode& code, const LoopForm& form) {
  const auto is_known = [](Elem e) { return compute_elem(e) == e || e == Elem::f16 || e == Elem::bf16; };
  for (const FusedOperand& o : code.operands) {
    if (!is_known(o.elem)) return fmt::format("it reads elements of type {}", name_of(o.elem));
  }
  for (const FusedStore& s : code.stores) {
    if (!is_known(s.elem)) return fmt::format("it writes elements of type {}", name_of(s.elem));
  }
  const std::vector<bool> single = single_values(code, form);
  for (const TileCode::Ins& i : code.body) {
    if (i.ins.row >= RowOp::softmax) return fmt::format("no code is generated for {} of rows", name_of(i.ins.row));
    const bool repeats = i.ins.row != RowOp::none && single[i.ins.scalar.a];
    if (repeats) return "it folds a row of one element";
  }
  return {};
}

std::string key_of(const TileCode& code, bool numbers) {
  std::string key;
  auto to = std::back_inserter(key);
  const std::vector<bool> read = numbers ? std::vector<bool>(code.body.size()) : parameters(code);
  for (std::size_t k = 0; k < code.body.size(); ++k) {
    const TileCode::Ins& i = code.body[k];
    const ScalarIns& s = i.ins.scalar;
    const std::uint64_t real = read[k] ? 0 : std::bit_cast<std::uint64_t>(s.real);
    const std::string_view name = i.quantises ? "quantise" : read[k] ? "parameter" : name_of(s.op);
    fmt::format_to(to, "{} {} {} {} {} {} {} {:x} {} {};", name, name_of(i.ins.row), name_of(s.type), s.a, s.b, s.c,
                   s.operand, real, s.integer, i.buffer);
  }
  for (const FusedOperand& o : code.operands) fmt::format_to(to, "in {};", name_of(o.elem));
  for (const FusedStore& s : code.stores) fmt::format_to(to, "out {} {};", s.value, name_of(s.elem));
  return key;
}

}  // namespace frazil::code
