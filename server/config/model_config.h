#pragma once

#include <chrono>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// Settings for serving a model, as plain data. They are read from config.pbtxt and from the server's configuration
// file.
namespace frazil::server {

// Largest values that configuration files may contain.
inline constexpr std::uint64_t kMaxCount = std::numeric_limits<std::int32_t>::max();
inline constexpr std::uint64_t kMaxLevels = 1000;
inline constexpr std::uint64_t kMaxMicroseconds = 365ULL * 86'400 * 1'000'000;
inline constexpr double kMaxMilliseconds = 1e9;
inline constexpr std::uint64_t kMaxAxis = 63;

/// An axis along which requests of one batch may differ. Shorter requests are padded and their results are trimmed.
struct Padding {
  std::string input;
  std::size_t axis = 1;
  double value = 0;  ///< value of the padding

  bool operator==(const Padding&) const = default;
};

/// Whether to batch work of requests that take different branches and iteration counts.
enum class Regroup : std::uint8_t { off, where_it_pays, always };

struct Batching {
  std::uint64_t most = 0;                ///< largest extent of the batch axis in one run; 0: no batching
  std::vector<std::uint64_t> preferred;  ///< batch sizes at which waiting ends, ascending
  std::chrono::microseconds delay{0};    ///< longest wait of a request for others
  std::uint64_t max_queued = 0;          ///< limit for waiting requests of this model; 0: the server's limit
  std::uint64_t levels = 1;              ///< number of priority levels
  std::uint64_t default_level = 1;
  std::optional<std::chrono::microseconds> time_out;              ///< for requests without their own time-out
  std::optional<std::pair<std::string, std::size_t>> batch_axis;  ///< an input and its axis; nullopt: detect it
  std::vector<Padding> paddings;
  std::string lengths;     ///< input that receives each request's length along the padded axis; empty: none
  double max_waste = 0.5;  ///< largest share of padding in a batch
  Regroup regroup = Regroup::off;

  bool operator==(const Batching&) const = default;
};

/// An output that becomes an input of the sequence's next request.
struct StateLink {
  std::string input, output;             ///< the input starts with its default, or with zeros
  std::optional<std::size_t> axis = {};  ///< the axis that grows; nullopt: detect it

  bool operator==(const StateLink&) const = default;
};

struct Sequences {
  std::vector<StateLink> states;               ///< empty: the model has no sequences
  std::chrono::microseconds idle{60'000'000};  ///< time after which an unused sequence is dropped

  bool operator==(const Sequences&) const = default;
};

struct VersionPolicy {
  enum class Kind : std::uint8_t { latest, all, specific };
  Kind kind = Kind::all;
  std::uint64_t latest = 1;
  std::vector<std::uint64_t> specific;

  bool operator==(const VersionPolicy&) const = default;
};

/// The tolerance of a comparison: numbers may differ by `absolute + relative * |wanted|`.
struct Tolerance {
  double relative = 1e-3, absolute = 1e-7;

  bool operator==(const Tolerance&) const = default;
};

/// An input or output as declared in config.pbtxt.
struct DeclaredPort {
  std::string name;
  std::string datatype;             ///< name in the protocol, "FP32" or "BYTES"; empty: undeclared
  std::vector<std::int64_t> shape;  ///< shape in the model, including the batch axis; -1 varies
  bool has_shape = false;
  std::size_t line = 0;

  bool operator==(const DeclaredPort&) const = default;
};

/// Selects the defaults of inputs that requests may override.
enum class Defaults : std::uint8_t {
  usual,   ///< as `fixed` if inputs are declared; otherwise as `inputs`, with a warning for likely weights
  fixed,   ///< only for inputs that are declared or carry state
  inputs,  ///< for all inputs
};
/// Parses "fixed" or "inputs"; returns nullopt for other words.
inline std::optional<Defaults> defaults_from(std::string_view word) {
  if (word == "fixed") return Defaults::fixed;
  return word == "inputs" ? std::optional(Defaults::inputs) : std::nullopt;
}

struct ModelConfig {
  std::vector<DeclaredPort> inputs, outputs;  ///< undeclared ones are taken from the model
  std::uint64_t max_in_request = 0;           ///< limit for the first axis of a request; 0: no limit and no batch axis
  Defaults defaults = Defaults::usual;
  Batching batching;
  Sequences sequences;
  VersionPolicy versions;
  std::vector<std::pair<std::string, std::string>> labels;  ///< output and its label file, beside the config
  std::uint64_t warm_up = 0;                  ///< runs on recorded samples, or zeros, before the model is ready
  Tolerance canary;                           ///< of canary results
  std::optional<double> deadline_ms;          ///< of a run
  std::optional<std::uint64_t> memory_limit;  ///< for intermediate values of a run, in bytes
  std::vector<std::string> personal;          ///< inputs with personal values; "*": all

  bool operator==(const ModelConfig&) const = default;
};

}  // namespace frazil::server
