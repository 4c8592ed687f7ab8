#pragma once

#include <string>
#include <string_view>

#include "base/value/error.h"
#include "kernel/tuning/tuning.h"

namespace frazil::kernel {

/// The machine and instruction set that a table was measured for. It is valid for no other.
struct TuningKey {
  std::string cpu;  ///< model name, one line
  Isa isa = Isa::base;
  bool byte_dot = false;
};
/// Returns the key of this machine, with features().
TuningKey tuning_key();

/// Formats a table as text: its version, its key, a line for each constant and a check sum.
std::string tuning_text(const Tuning& tuning, const TuningKey& key);
/// Parses the text of a table. Fails with Code::bad_input if the text is damaged, cut off, of another version or for
/// another key. Also fails if constants are missing, unknown or not in 1e-6..1e9. The message names the problem.
Result<Tuning> parse_tuning(std::string_view text, const TuningKey& key);

/// Returns the path of the user's own file for a key: in $XDG_CACHE_HOME/frazil, or ~/.cache/frazil. Empty if there is
/// neither.
std::string tuning_path(const TuningKey& key);
/// Writes a file that only the user may read. Creates the folder of the user's own file, but no other one. Errors name
/// the path. Sets the process's umask during the call, so that only single-threaded programs may call it.
Status save_tuning(const std::string& path, const Tuning& tuning, const TuningKey& key);

/// Installs a table for the vector set in use. `knob` is the value of FRAZIL_TUNING: a file, "off", or empty for the
/// user's own file. A bad file is an error if the knob names it. The user's own file is skipped with a warning if it is
/// bad or belongs to another user.
Status use_tuning(std::string_view knob);

}  // namespace frazil::kernel
