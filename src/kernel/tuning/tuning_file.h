#pragma once

#include <string>
#include <string_view>

#include "base/value/error.h"
#include "kernel/tuning/tuning.h"

namespace frazil::kernel {

/// What a table was measured for: it holds for nothing else.
struct TuningKey {
  std::string cpu;  ///< the model's name; one line
  Isa isa = Isa::base;
  bool byte_dot = false;
};
/// The key of this machine, with features().
TuningKey tuning_key();

/// A table as text: its version, its key, a line for each constant and a check sum.
std::string tuning_text(const Tuning& tuning, const TuningKey& key);
/// Code::bad_input, naming what is wrong: damaged, cut off, of another version, for another key, or with constants that
/// are missing, unknown or not in 1e-6..1e9.
Result<Tuning> parse_tuning(std::string_view text, const TuningKey& key);

/// The user's own file for a key: in $XDG_CACHE_HOME/frazil, or ~/.cache/frazil. Empty where there is neither.
std::string tuning_path(const TuningKey& key);
/// Writes a file that only the user may read. Makes the folder of the user's own file, and no other one. Errors name
/// the file. Sets the process's umask meanwhile: for programs of one thread.
Status save_tuning(const std::string& path, const Tuning& tuning, const TuningKey& key);

/// Installs for the vector set in use what the knob FRAZIL_TUNING says: a file, "off", or empty for the user's own. A
/// bad file is an error if it was named. Where it is the user's own it is left alone with a warning, also if it belongs
/// to another user.
Status use_tuning(std::string_view knob);

}  // namespace frazil::kernel
