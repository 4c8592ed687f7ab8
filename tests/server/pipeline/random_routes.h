#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "server/asked.h"
#include "server/folder.h"

// Random pipelines and requests for them, for comparing recorded paths with reports.
namespace frazil::test {

/// Writes the models that random pipelines run, and registers the function "halve". Two of them fail: "fails" always,
/// "picky" for values above 4. "two" has two inputs, of which one reaches its first output.
void add_random_route_models(const Folder& folder);

/// Returns the file of a random pipeline with the inputs a, b and c, the outputs y and z, and the parameters p, q and
/// r. It may run `pipelines`, which have the same form. Equal seeds give equal files.
std::string random_pipeline(std::uint64_t seed, const std::vector<std::string>& pipelines);

/// The sources that requests have: "tensor:a" to "tensor:c", "parameter:p" to "parameter:r".
extern const std::vector<std::string> kRandomSources;
/// Returns a random request for a pipeline.
Asking random_request(std::mt19937_64& random, const std::string& pipeline);
/// Replaces the value of one source by another one.
void change_source(std::mt19937_64& random, Asking& request, const std::string& source);

}  // namespace frazil::test
