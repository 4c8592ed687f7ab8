#pragma once

#include <map>
#include <string>

#include "ir/graph/graph.h"

// Initial inputs of the fuzzers, by file name.
namespace frazil::fuzz {

using Seeds = std::map<std::string, std::string>;

Seeds model_seeds();
Seeds npy_seeds();
Seeds infer_seeds();
Seeds connection_seeds();
Seeds pb_seeds();
/// Returns inputs of bundle_fuzz: a selecting byte and a text.
Seeds bundle_seeds(const Seeds& models);
/// Returns printed models, and the cases of tests/**/*.frz.
Seeds text_seeds(const Seeds& models);

/// Returns the policies of examples/ and conditions, with the byte that selects which.
Seeds policy_seeds();

std::string text_dictionary();
std::string policy_dictionary();
std::string npy_dictionary();
std::string connection_dictionary();

/// Adds small models and messages of ONNX's test cases, if the shared folder has them.
void add_onnx_cases(Seeds& models, Seeds& messages);

}  // namespace frazil::fuzz
