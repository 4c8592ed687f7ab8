#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <frazil/array.h>
#include <frazil/model.h>
#include <frazil/session.h>

#include "tool/error.h"

namespace frazil::tool {

using api::Array;
using api::Model;
using api::Port;
using api::Results;
using api::Sizes;

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
Spec parse_spec(std::string_view text);

/// Splits "NAME=VALUE" at the first '='. `flag` is named in the error.
std::pair<std::string, std::string> split_pair(std::string_view text, std::string_view flag);

/// Returns the kind of a .pb file with a value of this type, as Array::read_pb takes it.
Array::Kind file_kind(const Port& port);

/// Returns the values, which are in the order of the model's inputs, with their names. The model must outlive them.
std::vector<api::Named> named(const Model& model, const std::vector<Array>& values);

/// Creates values from specs for one model.
///
/// Random elements depend only on (seed, input name, request, element number). They come from a counter-based generator
/// with SplitMix64's finaliser, independent of order and threads. Floats are N(0,1) by Box-Muller, integers and bools 0
/// or 1. With a range, they are uniform in it.
class ValueSource {
 public:
  ValueSource(const Model& model, std::uint64_t seed, std::uint64_t max_bytes)
      : model_(model), seed_(seed), max_bytes_(max_bytes) {}

  /// Creates the value of an input. Relative paths are resolved against `folder`; empty: the working directory.
  Array make(std::size_t input, const Spec& spec, const std::string& folder, std::uint64_t request) const;
  /// Returns the index of the input with this name, or an error that lists the names.
  std::size_t find_input(std::string_view name) const;
  std::size_t find_output(std::string_view name) const;
  const Model& model() const { return model_; }

 private:
  Array from_file(const Port& port, std::string path, const std::string& folder) const;
  Array random(const Port& port, const Spec& spec, std::uint64_t key) const;
  Array filled(const Port& port, std::string_view text) const;

  Model model_;
  std::uint64_t seed_, max_bytes_;
};

}  // namespace frazil::tool
