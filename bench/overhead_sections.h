#pragma once

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "bench/frazil_runner.h"
#include "bench/interleave.h"

/// Sections of `overhead` that measure only Frazil. Each prints its lines and returns the same data as JSON.
namespace bench {

/// Measures an attached Observer that does nothing: a test and a virtual call per event; without one, only the test.
nlohmann::json observer_cost(const std::string& name, std::shared_ptr<frazil::exec::Executable> executable,
                             const Requests& requests, const InterleaveOptions& options);

/// Measures the cost that a new shape adds to a request, on models written to `scratch_dir`.
nlohmann::json unseen_shapes(const std::string& scratch_dir, int rounds);

/// Measures a step that appends to a large value, in a loop and between requests.
nlohmann::json appended_values(int rounds);

/// Compares 2,000 requests with different shapes to 2,000 with one shape.
nlohmann::json shape_stream(const std::string& scratch_dir, int rounds);

/// Measures the load time of a 400 MB model, and the memory of its process after one run.
nlohmann::json large_load(const std::string& scratch_dir);

/// Measures an edit of one elementwise node in the middle of the model at `path`: its commit, and planning before and
/// after it.
nlohmann::json edited_graph(const std::string& path, int rounds);

/// Measures edits of a LiveModel of bert_base, to an elementwise node, to the weights of a product, and to a node that
/// moves into a new If; and of the model `branches`, to a node inside of a branch: the cost of an edit and of the first
/// run after it, relative to a steady run. Also compares the memory of `versions` edited versions to that of one.
nlohmann::json live_edits(const std::string& path, const std::string& branches, int rounds, int versions);

/// Edits a small LiveModel while threads run it. Reports wrong answers, and memory after a tenth of the edits and at
/// the end.
nlohmann::json edits_under_load(int edits, int threads);

/// Runs as the child process of large_load: loads `path`, runs `rows` rows and prints JSON.
void load_child(const std::string& path, std::int64_t rows);

}  // namespace bench
