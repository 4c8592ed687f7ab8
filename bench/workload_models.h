#pragma once

#include <string>
#include <string_view>

/// The benchmark models, built with the library's builder and exporter, with random weights. Each has a twin with other
/// sizes, another order of nodes, or other operators of the same kind, to which an optimisation for one specific model
/// does not apply.
namespace bench {

/// Returns the model's file in `folder`. Writes it first if it is missing or older than this program. Throws
/// std::runtime_error for an unknown model.
std::string model_file(const std::string& folder, std::string_view name, bool twin);

}  // namespace bench
