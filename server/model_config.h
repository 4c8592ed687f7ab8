#pragma once

#include <chrono>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// How a model is served, as plain data; config.pbtxt and the server's configuration file are read into it.
namespace frazil::server {

// The largest values that configuration files may have.
inline constexpr std::uint64_t kMostCount = std::numeric_limits<std::int32_t>::max();
inline constexpr std::uint64_t kMostLevels = 1000;
inline constexpr std::uint64_t kMostMicroseconds = 365ULL * 86'400 * 1'000'000;
inline constexpr double kMostMilliseconds = 1e9;
inline constexpr std::uint64_t kMostAxis = 63;

/// An axis along which requests of one batch may differ: shorter ones are padded, and results are cut back.
struct Padding {
  std::string input;
  std::size_t axis = 1;
  double value = 0;  ///< of what is added

  bool operator==(const Padding&) const = default;
};

/// Whether requests that each take their own branches and iterations run together.
enum class Regroup : std::uint8_t { off, where_it_pays, always };

struct Batching {
  std::uint64_t most = 0;                ///< elements along the batch axis that run as one; 0: no batching
  std::vector<std::uint64_t> preferred;  ///< sizes that are not waited beyond, ascending
  std::chrono::microseconds delay{0};    ///< how long a request waits for others at most
  std::uint64_t most_queued = 0;         ///< requests that wait for this model; more are refused; 0: the server's limit
  std::uint64_t levels = 1;              ///< of priority
  std::uint64_t default_level = 1;
  std::optional<std::chrono::microseconds> time_out;              ///< of requests without one of their own
  std::optional<std::pair<std::string, std::size_t>> batch_axis;  ///< an input and its axis; unset: is found
  std::vector<Padding> paddings;
  std::string lengths;      ///< an input that takes each request's length along the padded axis; empty: none
  double most_waste = 0.5;  ///< share of padding that a batch may have
  Regroup regroup = Regroup::off;

  bool operator==(const Batching&) const = default;
};

/// An output that becomes an input of the sequence's next request.
struct StateLink {
  std::string input, output;             ///< it starts with zeros, or with the input's default
  std::optional<std::size_t> axis = {};  ///< along which it gets longer; unset: is found

  bool operator==(const StateLink&) const = default;
};

struct Sequences {
  std::vector<StateLink> states;               ///< empty: the model has no sequences
  std::chrono::microseconds idle{60'000'000};  ///< after which a sequence is forgotten

  bool operator==(const Sequences&) const = default;
};

struct VersionPolicy {
  enum class Kind : std::uint8_t { latest, all, specific };
  Kind kind = Kind::all;
  std::uint64_t latest = 1;
  std::vector<std::uint64_t> specific;

  bool operator==(const VersionPolicy&) const = default;
};

/// How far numbers may be apart: by `absolute + relative * |wanted|`.
struct Tolerance {
  double relative = 1e-3, absolute = 1e-7;

  bool operator==(const Tolerance&) const = default;
};

/// An input or output as config.pbtxt declares it.
struct DeclaredPort {
  std::string name;
  std::string datatype;             ///< of the protocol, "FP32", "BYTES"; empty: not declared
  std::vector<std::int64_t> shape;  ///< of the model's own tensor, with the batch axis; -1 varies
  bool has_shape = false;
  std::size_t line = 0;

  bool operator==(const DeclaredPort&) const = default;
};

/// Whether requests may give values for inputs that have a default.
enum class Defaults : std::uint8_t {
  usual,   ///< as `inputs`, with a warning for those that may be weights; as `fixed` where inputs are declared
  fixed,   ///< only for those that are declared or carry state
  inputs,  ///< for all
};
/// Of "fixed" and "inputs"; nothing for other words.
inline std::optional<Defaults> defaults_from(std::string_view word) {
  if (word == "fixed") return Defaults::fixed;
  return word == "inputs" ? std::optional(Defaults::inputs) : std::nullopt;
}

struct ModelConfig {
  std::vector<DeclaredPort> inputs, outputs;  ///< those that are not declared are as the model has them
  std::uint64_t most_in_request = 0;          ///< along the first axis of a request; 0: any, and the axis is no batch
  Defaults defaults = Defaults::usual;
  Batching batching;
  Sequences sequences;
  VersionPolicy versions;
  std::vector<std::pair<std::string, std::string>> labels;  ///< output and the file of its classes, beside the config
  std::uint64_t warm_up = 0;                  ///< runs on recorded samples, or on zeros, before the model is ready
  Tolerance canary;                           ///< of results from those of recorded samples
  std::optional<double> deadline_ms;          ///< of a run
  std::optional<std::uint64_t> memory_limit;  ///< bytes of intermediate values of a run

  bool operator==(const ModelConfig&) const = default;
};

}  // namespace frazil::server
