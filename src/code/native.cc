#include "code/native.h"

#include <algorithm>

namespace frazil {

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

std::string why_not_native(const TileCode& code) {
  const auto is_known = [](Elem e) { return compute_elem(e) == e || e == Elem::f16 || e == Elem::bf16; };
  for (const FusedOperand& o : code.operands) {
    if (!is_known(o.elem)) return fmt::format("it reads elements of type {}", name_of(o.elem));
  }
  for (const FusedStore& s : code.stores) {
    if (!is_known(s.elem)) return fmt::format("it writes elements of type {}", name_of(s.elem));
  }
  for (const TileCode::Ins& i : code.body) {
    if (i.ins.row >= RowOp::softmax) return fmt::format("no code is generated for {} of rows", name_of(i.ins.row));
  }
  return {};
}

}  // namespace frazil
