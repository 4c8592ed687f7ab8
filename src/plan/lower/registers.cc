#include "plan/lower/registers.h"

#include <algorithm>

namespace frazil {

Registers::Registers(const Scope& scope, std::vector<RegGroup>& groups, std::uint32_t symbols)
    : scope_(scope), groups_(groups), group_of_(symbols, kNone), count_(symbols) {
  new_group();
}

std::uint32_t Registers::new_group() {
  groups_.emplace_back();
  known_.emplace_back();
  return static_cast<std::uint32_t>(groups_.size() - 1);
}

void Registers::own(Reg r, std::uint32_t group) {
  if (reg_group_.size() <= r) reg_group_.resize(r + 1, 0);
  reg_group_[r] = group;
}

void Registers::bind(SymbolId symbol, std::uint32_t group) {
  if (group_of_.size() <= symbol) group_of_.resize(symbol + 1, kNone);
  group_of_[symbol] = group;
  own(symbol, group);
}

std::uint32_t Registers::group(Dim d) const {
  std::uint32_t latest = 0;
  if (d.is_const()) return latest;
  for (SymbolId s : scope_.symbols_of(d)) {
    if (is_bound(s)) latest = std::max(latest, group_of_[s]);
  }
  return latest;
}

Reg Registers::reg(Dim d) {
  const auto hit = cache_.find(d.bits());
  if (hit != cache_.end()) return hit->second;
  const std::uint32_t g = group(d);
  RegGroup& home = groups_[g];
  for (SymbolId s : d.is_const() ? std::vector<SymbolId>{} : scope_.symbols_of(d)) {
    if (!is_bound(s) && !missing_) missing_ = s;
    if (std::ranges::find(home.sources, s) == home.sources.end()) home.sources.push_back(s);
  }
  home.program.registers = count_;
  const Reg r = scope_.emit(d, home.program, known_[g]);
  for (Reg fresh = count_; fresh < home.program.registers; ++fresh) own(fresh, g);
  count_ = home.program.registers;
  cache_[d.bits()] = r;
  return r;
}

Reg Registers::plain() {
  own(count_, 0);
  return count_++;
}

}  // namespace frazil
