#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "debug/sites.h"
#include "tensor/datum.h"

namespace frazil::debug {

/// A condition at which a run stops.
struct Breakpoint {
  enum class When : std::uint8_t {
    made,   ///< each time a value is made
    nan,    ///< an element is NaN
    inf,    ///< an element is infinite
    above,  ///< an element is greater than `bound`
    below,  ///< an element is less than `bound`
    shape,  ///< its extents are `shape`
    guard,  ///< a guard of a plan missed and the run continues with another plan; independent of values
  };
  std::uint32_t number = 0;        ///< numbered from 1
  std::string text;                ///< as parsed
  std::vector<std::size_t> sites;  ///< sorted; empty: all
  When when = When::made;
  double bound = 0;
  Sizes shape;

  bool is_of(std::size_t site) const;
  bool holds(const Datum& value) const;
};

/// Parses "NAME" of a value, a node or an operator; "nan", "inf", "guard"; "NAME nan", "NAME inf", "NAME > 3.5",
/// "NAME < -1", "NAME shape 1x64". Returns Code::bad_input for anything else. Leaves `number` 0.
Result<Breakpoint> parse_breakpoint(std::string_view text, const Sites& sites);

}  // namespace frazil::debug
