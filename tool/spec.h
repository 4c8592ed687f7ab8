#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/value/error.h"
#include "ir/graph/graph.h"
#include "tensor/datum.h"

namespace frazil::tool {

/// The value of an input as written on the command line or in a stream.
struct Spec {
  enum class Kind : std::uint8_t {
    file,    ///< `text` is the path
    random,  ///< a tensor of `sizes` with random elements
    fill,    ///< the declared shape with 1 for free extents, filled with `text`
  };
  Kind kind = Kind::fill;
  std::string text;
  Sizes sizes;
  std::optional<std::pair<std::string, std::string>> range;  ///< random: half-open range
};

/// Parses "@path", "*.npy", "*.pb", "1x3", "scalar", "1x3:0..10" or "=v".
Result<Spec> parse_spec(std::string_view text);

/// Splits "NAME=VALUE" at the first '='. `flag` is named in the error.
Result<std::pair<std::string, std::string>> split_pair(std::string_view text, std::string_view flag);

/// Creates values from specs for one graph.
///
/// Random elements depend only on (seed, input name, request, element number). They come from a counter-based generator
/// with SplitMix64's finaliser, independent of order and threads. Floats are N(0,1) by Box-Muller, integers and bools 0
/// or 1. With a range, they are uniform in it.
class ValueSource {
 public:
  ValueSource(const Graph& graph, std::uint64_t seed, std::size_t max_bytes)
      : graph_(graph), seed_(seed), max_bytes_(max_bytes) {}

  /// Creates the value of an input. Relative paths are resolved against `folder`; empty: the working directory.
  Result<Datum> make(std::size_t input, const Spec& spec, const std::string& folder, std::uint64_t request) const;
  /// Returns the index of the input with this name, or an error that lists the names.
  Result<std::size_t> find_input(std::string_view name) const;
  Result<std::size_t> find_output(std::string_view name) const;
  const Graph& graph() const { return graph_; }

 private:
  Result<Datum> from_file(const Type& type, std::string path, const std::string& folder) const;
  Result<Datum> random(const Type& type, const Spec& spec, std::uint64_t key) const;
  Result<Datum> filled(const Type& type, std::string_view text) const;
  Result<Tensor> make_tensor(Elem elem, Sizes sizes) const;

  const Graph& graph_;
  std::uint64_t seed_;
  std::size_t max_bytes_;
};

}  // namespace frazil::tool
