#pragma once

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "bench/frazil_runner.h"
#include "bench/interleave.h"

/// What `overhead` measures of our side alone. Each prints its lines and returns the same as JSON.
namespace bench {

/// What an attached Observer costs that does nothing: a test and a virtual call per event, where none costs the test.
nlohmann::json observer_cost(const std::string& name, std::shared_ptr<frazil::exec::Executable> executable,
                             const NamedTensors& inputs, const InterleaveOptions& options);

/// What a shape never seen before adds to a request, on models written to `scratch_dir`.
nlohmann::json unseen_shapes(const std::string& scratch_dir, int rounds);

/// What a step costs that appends to a value of many, in a loop and from request to request.
nlohmann::json appended_values(int rounds);

/// 2,000 requests of as many shapes against 2,000 of one.
nlohmann::json shape_stream(const std::string& scratch_dir, int rounds);

/// How long a 400 MB model takes to load, and how much memory its process holds after one run.
nlohmann::json large_load(const std::string& scratch_dir);

/// The fresh process of large_load: loads `path`, runs `rows` rows and prints JSON.
void load_child(const std::string& path, std::int64_t rows);

}  // namespace bench
