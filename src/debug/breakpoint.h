#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "debug/sites.h"
#include "tensor/datum.h"

namespace frazil::debug {

/// Where a run stops.
struct Breakpoint {
  enum class When : std::uint8_t {
    made,   ///< each time it is made
    nan,    ///< an element is NaN
    inf,    ///< an element is infinite
    above,  ///< an element is greater than `bound`
    below,  ///< an element is less than `bound`
    shape,  ///< its extents are `shape`
    guard,  ///< what a plan assumed does not hold, and the run goes on with another one; not of a value
  };
  std::uint32_t number = 0;        ///< from 1 on
  std::string text;                ///< as parsed
  std::vector<std::size_t> sites;  ///< sorted; empty: all
  When when = When::made;
  double bound = 0;
  Sizes shape;

  bool is_of(std::size_t site) const;
  bool holds(const Datum& value) const;
};

/// "NAME" of a value, a node or an operator; "nan", "inf", "guard"; "NAME nan", "NAME inf", "NAME > 3.5", "NAME < -1",
/// "NAME shape 1x64". Code::bad_input for anything else. `number` is left 0.
Result<Breakpoint> parse_breakpoint(std::string_view text, const Sites& sites);

}  // namespace frazil::debug
