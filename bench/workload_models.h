#pragma once

#include <string>
#include <string_view>

/// The benchmark models, built by the library's builder and written by its exporter, with random weights. Each has a
/// twin with other sizes, another order of nodes, or other operators of the same kind: an optimisation specific to one
/// model does not apply to its twin.
namespace bench {

/// The model's file in `folder`, written first when it is missing or older than this program. Throws std::runtime_error
/// when there is no such model.
std::string model_file(const std::string& folder, std::string_view name, bool twin);

}  // namespace bench
