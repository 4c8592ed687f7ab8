#pragma once

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "bench/frazil_runner.h"
#include "bench/interleave.h"

/// Sections of `overhead` that measure our side alone. Each prints its lines and returns the same as JSON.
namespace bench {

/// The cost of an attached Observer that does nothing: a test and a virtual call per event; without one, the test.
nlohmann::json observer_cost(const std::string& name, std::shared_ptr<frazil::exec::Executable> executable,
                             const Requests& requests, const InterleaveOptions& options);

/// The cost that a new shape adds to a request, on models written to `scratch_dir`.
nlohmann::json unseen_shapes(const std::string& scratch_dir, int rounds);

/// The cost of a step that appends to a large value, in a loop and from request to request.
nlohmann::json appended_values(int rounds);

/// 2,000 requests with different shapes against 2,000 with one shape.
nlohmann::json shape_stream(const std::string& scratch_dir, int rounds);

/// Load time of a 400 MB model, and the memory of its process after one run.
nlohmann::json large_load(const std::string& scratch_dir);

/// An edit of one pointwise node in the middle of the model at `path`: its commit, and planning before and after it.
nlohmann::json edited_graph(const std::string& path, int rounds);

/// Edits of a LiveModel of bert_base, a pointwise node and the weights of a product: what an edit and the first run
/// after it take more than a steady run. Then the memory of `versions` edited versions beside that of one.
nlohmann::json live_edits(const std::string& path, int rounds, int versions);

/// Edits of a small LiveModel while threads run it: wrong answers, and memory after a tenth of the edits and at the
/// end.
nlohmann::json edits_under_load(int edits, int threads);

/// The child process of large_load: loads `path`, runs `rows` rows and prints JSON.
void load_child(const std::string& path, std::int64_t rows);

}  // namespace bench
