#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <frazil/model.h>
#include <frazil/session.h>

namespace frazil::api {

/// An environment variable that changes the behaviour of Frazil. It is read once, on the first use of the library.
struct EnvironmentVariable {
  std::string name;
  std::string type;     ///< "integer", or the allowed words
  std::string initial;  ///< the value that an unset variable has, as text; empty: described in `doc`
  std::string range;    ///< "0..3"; empty for words
  std::string doc;
};

/// Returns all environment variables of Frazil, as `frazil knobs` lists them.
std::vector<EnvironmentVariable> environment();

/// Return the options with the values of the environment in place of those that are not set. A deadline stays unset if
/// there is none. Throw Code::bad_input, naming the variable, for a malformed one.
Options with_environment(Options options);
LoadOptions with_environment(LoadOptions options);

/// The cores and the memory that this process may use, within the limits of its control group.
struct Resources {
  unsigned cores = 1;              ///< usable at a time
  std::uint64_t memory_bytes = 0;  ///< four fifths of the memory: the usual limit of runs and loads
};
Resources resources();

}  // namespace frazil::api
