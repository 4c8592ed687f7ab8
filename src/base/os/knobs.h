#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/limits/limits.h"
#include "base/value/cpu_features.h"
#include "base/value/error.h"
#include "base/value/pass_set.h"

namespace frazil {

/// An environment variable that changes the behaviour of Frazil. knob_table() lists all of them.
struct Knob {
  std::string_view name;     ///< name of the environment variable
  std::string_view type;     ///< "integer", or the allowed words
  std::string_view initial;  ///< the default, as text
  std::string_view range;    ///< "0..3"; empty for words
  std::string_view doc;
};
std::span<const Knob> knob_table();

/// The values of all knobs; initially their defaults.
struct Knobs {
  int debug = 0;
  int verify = 0;
  std::string tier = "auto";         ///< the tier of runs that ask for "auto"
  bool jit = true;                   ///< whether machine code may be generated and loaded
  bool onnxruntime = false;          ///< whether the Python package takes the name onnxruntime, which it reads itself
  std::string code_generator;        ///< path of the code generator; empty: that of the installation or build
  std::string code_cache;            ///< a folder, "off", or empty for the user's own
  std::string code_symbols = "off";  ///< tools that get symbols of generated code: "off", "perf", "gdb" or "perf,gdb"
  std::string tuning;                ///< a file, "off", or empty for the user's own
  unsigned threads = 1;
  std::size_t lazy_bytes = 64U << 20U;  ///< bytes of programs of recorded operators
  std::optional<CpuFeatures> features;  ///< CPU features that kernels may use; nullopt: all that the machine supports
  std::optional<std::uint8_t> fill;     ///< the byte with which new buffers are filled; nullopt: not filled
  PassSet passes;
  Limits limits;
  LoadLimits load;
  std::optional<std::chrono::steady_clock::duration> load_time;  ///< time limit of a load, and of planning a model
};

/// Reads every knob through `get`, which returns a variable's text or nullopt. Returns Code::bad_input, naming the
/// variable, for the first malformed one. An empty text means unset.
Result<Knobs> parse_knobs(const std::function<std::optional<std::string>(std::string_view)>& get);

/// Returns the knobs of the process environment, parsed on the first call. Thread-safe.
const Result<Knobs>& knobs();

}  // namespace frazil
