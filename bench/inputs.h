#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "bench/host_tensor.h"

namespace bench {

/// Creates the tensor that `spec` describes for `port`. A spec is one of:
///   path.npy            the file, whose element type must be the port's
///   1x3x224x224, scalar these dims, random values: floats N(0,1), integers and bools 0 or 1
///   1x128:0..30522      these dims, uniform values in [0, 30522)
///   1x5..129            an extent in [5, 129), the same for all inputs with this seed
///   =v                  the declared dims filled with v, free extents 1
/// Random values depend only on `seed` and the port's name. Throws std::runtime_error.
HostTensor make_input(const Port& port, const std::string& spec, std::uint64_t seed);

/// Creates a tensor of the declared dims with random values; free extents are 1.
HostTensor random_input(const Port& port, std::uint64_t seed);

/// Specs by input name.
using InputSpecs = std::map<std::string, std::string>;

/// Adds `NAME=SPEC` to `specs`; the name ends at the first '='. Throws std::runtime_error.
void add_input_spec(InputSpecs& specs, std::string_view text);

}  // namespace bench
