#pragma once

#include <string>
#include <string_view>

/// The benchmark models, built by the library's own builder and written by its exporter, with random weights. Each has
/// a twin: other sizes, another order of nodes, other operators of the same kind. What is fast only because it knows a
/// model is slower on its twin.
namespace bench {

/// The model's file in `folder`. It is written first where it is missing or older than this program. Throws
/// std::runtime_error where there is no such model.
std::string model_file(const std::string& folder, std::string_view name, bool twin);

}  // namespace bench
