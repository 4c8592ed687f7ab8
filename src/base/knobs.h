#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/limits.h"
#include "base/pass_set.h"

namespace frazil {

/// One environment variable that changes what Frazil does. The table of them is knob_table() and nowhere else.
struct Knob {
  std::string_view name;     ///< of the environment variable
  std::string_view type;     ///< "integer", or the words that it takes
  std::string_view initial;  ///< its default, as text
  std::string_view range;    ///< "0..3"; empty for words
  std::string_view doc;
};
std::span<const Knob> knob_table();

/// Values of all knobs, at their defaults.
struct Knobs {
  int debug = 0;
  int verify = 0;
  std::string isa;  ///< empty: the widest that the machine runs
  unsigned threads = 1;
  PassSet passes;
  Limits limits;
  LoadLimits load;
};

/// Reads every knob through `get`, which gives a variable's text or nullopt. The first malformed one is
/// Code::bad_input and names the variable; an empty text counts as unset.
Result<Knobs> parse_knobs(const std::function<std::optional<std::string>(std::string_view)>& get);

/// The process environment's knobs, parsed at the first call. Thread-safe.
const Result<Knobs>& knobs();

}  // namespace frazil
