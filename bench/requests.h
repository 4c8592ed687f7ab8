#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "bench/host_tensor.h"

namespace bench {

/// An output of a request that is an input of the next one.
struct Carry {
  std::string output, input;
};

/// Requests to one session, in order: one, or a stream of them whose inputs change. Request n has each[n % each.size()]
/// and the carried inputs, which are `initial` for the first one.
struct Requests {
  std::vector<NamedTensors> each;
  NamedTensors initial{};
  std::vector<Carry> carried{};
};

/// Requests from words separated by blanks:
///   NAME=SPEC            an input; SPEC as in make_input. A name that ends in * stands for all inputs that begin so
///   NAME=FILE.wav:64+512 for each 512 samples of the file, a request with these and the 64 before them; +512/2: of
///   every
///                        second sample
///   OUTPUT>INPUT         carried; an initial value is needed. Both may end in *, which stands for the same text
///   #N                   N requests; 1 unless there is a file of samples
/// Files are relative to `folder`. Throws std::runtime_error.
Requests make_requests(const std::vector<Port>& inputs, std::string_view words, const std::string& folder);

/// The first file in `words` that `folder` does not have; empty when there is none.
std::string missing_file(std::string_view words, const std::string& folder);

}  // namespace bench
