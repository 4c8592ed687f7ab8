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
    file,    ///< `text` is its path
    random,  ///< a tensor of `sizes` with random elements
    fill,    ///< the declared shape, its free extents 1, filled with `text`
  };
  Kind kind = Kind::fill;
  std::string text;
  Sizes sizes;
  std::optional<std::pair<std::string, std::string>> range;  ///< random: half-open range
};

/// "@path", "*.npy", "*.pb", "1x3", "scalar", "1x3:0..10", "=v".
Result<Spec> parse_spec(std::string_view text);

/// Splits "NAME=VALUE" at the first '='. `flag` is used in the message.
Result<std::pair<std::string, std::string>> split_pair(std::string_view text, std::string_view flag);

/// Makes values from specs for one graph.
///
/// Random elements are a function of (seed, input name, request, element number) alone: a counter-based generator with
/// SplitMix64's finaliser, independent of order and threads. Floats are N(0,1) by Box-Muller, integers and bools 0 or
/// 1;
/// with a range, uniform in it.
class ValueSource {
 public:
  ValueSource(const Graph& graph, std::uint64_t seed, std::size_t max_bytes)
      : graph_(graph), seed_(seed), max_bytes_(max_bytes) {}

  /// Relative paths are resolved against `folder`; empty: the working directory.
  Result<Datum> make(std::size_t input, const Spec& spec, const std::string& folder, std::uint64_t request) const;
  /// The index of the input of that name, or an error that lists the names.
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
