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

/// Requests to one session, in order: a single one, or a stream with changing inputs. Request n has each[n %
/// each.size()] and the carried inputs, which are `initial` for the first request.
struct Requests {
  std::vector<NamedTensors> each;
  NamedTensors initial{};
  std::vector<Carry> carried{};
};

/// Parses requests from words separated by blanks. Throws std::runtime_error.
///   NAME=SPEC            an input; SPEC as in make_input. A final * in NAME stands for all inputs with that prefix
///   NAME=FILE.wav:64+512 one request for each 512 samples of the file, with these and the 64 samples before them;
///                        +512/2: every second sample
///   OUTPUT>INPUT         carried; an initial value is needed. A final * in both stands for the same text
///   #N                   N requests; 1 by default, without a file of samples
/// Files are relative to `folder`.
Requests make_requests(const std::vector<Port>& inputs, std::string_view words, const std::string& folder);

/// Returns the first file in `words` that is missing in `folder`; empty if there is none.
std::string missing_file(std::string_view words, const std::string& folder);

}  // namespace bench
