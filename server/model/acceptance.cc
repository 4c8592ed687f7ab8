#include "server/model/acceptance.h"

#include <frazil/error.h>

#include "server/core/port.h"

namespace frazil::server {
namespace {

using api::Array;

std::optional<std::string> try_out(const BatchPlan& plan, const api::Model& model, const api::SessionPool& sessions,
                                   std::int64_t size) {
  const std::int64_t lengths[] = {size - 1, size + 1, size + 4};
  std::vector<std::vector<Array>> requests;
  std::vector<BatchPlan::Shape> shapes;
  for (std::size_t i = 0; i < std::size(lengths); ++i) {
    requests.push_back(plan.sample(static_cast<std::int64_t>(i) + 1, lengths[i], size, static_cast<unsigned>(i)));
    const auto shape = plan.shape_of(requests.back());
    if (!shape) return "requests cannot be joined";
    shapes.push_back(*shape);
  }
  const auto session = sessions.acquire();
  const auto run = [&](std::size_t first, std::size_t count) {
    const std::vector<std::span<const Array>> some(requests.begin() + static_cast<std::ptrdiff_t>(first),
                                                   requests.begin() + static_cast<std::ptrdiff_t>(first + count));
    const api::Results results = session->run(plan.join(some, std::span(shapes).subspan(first, count)));
    return std::vector<Array>(results.begin(), results.end());
  };
  const std::vector<Array> joined = run(0, requests.size());
  std::int64_t at = 0;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const std::vector<Array> alone = run(i, 1), part = plan.slice(joined, at, shapes[i], shapes.back().length);
    for (std::size_t k = 0; k < alone.size(); ++k) {
      if (!agree(part[k], alone[k])) return "output '" + model.outputs()[k].name + "' of a joined request differs";
    }
    at += shapes[i].count;
  }
  return std::nullopt;
}

/// Returns the fault of a plan, or nullopt if batched requests have the same results as alone. Tries several sizes, as
/// a model may require a minimum extent.
std::optional<std::string> try_out(const BatchPlan& plan, const api::Model& model, const api::SessionPool& sessions) {
  constexpr std::int64_t kSizes[] = {4, 16, 64, 256, 1024};
  std::string why;
  for (const std::int64_t size : kSizes) {
    try {
      return try_out(plan, model, sessions, size);
    } catch (const api::Error& error) {
      why = error.what();
    }
  }
  return "requests could not be tried out: " + why;
}

/// Runs the sample batched with itself and checks both results.
void try_batched(api::Session& session, const Canary& canary, const ModelParts& parts, const BatchPlan& plan) {
  const auto shape = plan.shape_of(canary.inputs);
  if (!shape || 2 * static_cast<std::uint64_t>(shape->count) > parts.config.batching.most) return;
  const BatchPlan::Shape both[] = {*shape, *shape};
  const api::Results results = session.run(plan.join({canary.inputs, canary.inputs}, both));
  const std::vector<Array> joined(results.begin(), results.end());
  for (const std::int64_t at : {std::int64_t{0}, shape->count}) {
    check_canary(canary, parts.model, plan.slice(joined, at, *shape, shape->length), parts.config.canary,
                 ", joined with itself");
  }
}

void try_regrouped(const Canary& canary, const ModelParts& parts, const api::BatchedModel& regrouped) {
  const std::vector<std::vector<Array>> twice(2, canary.inputs);
  for (const std::vector<Array>& results : regrouped.run(twice, {.always = true})) {
    check_canary(canary, parts.model, results, parts.config.canary, ", regrouped with itself");
  }
}

void try_canary(api::Session& session, const Canary& canary, const ModelParts& parts, const ModelRuns& runs) try {
  const api::Results results = session.run(canary.inputs);
  check_canary(canary, parts.model, std::vector<Array>(results.begin(), results.end()), parts.config.canary);
  if (runs.plan != nullptr) try_batched(session, canary, parts, *runs.plan);
  if (runs.regrouped != nullptr) try_regrouped(canary, parts, *runs.regrouped);
} catch (const CanaryFault&) {
  throw;
} catch (const api::Error& error) {
  throw CanaryFault("canary '" + canary.name + "': " + error.what());
}

}  // namespace

BatchPlan plan_batches(const std::string& name, const ModelParts& parts, const api::SessionPool& sessions) {
  const BatchPlan::ModelView of{
      .model = name, .inputs = parts.model.inputs(), .outputs = parts.model.outputs(), .config = parts.config};
  const std::vector<std::string> symbols = BatchPlan::symbols(of);
  std::string why;
  for (const std::string& symbol : symbols) {
    BatchPlan plan(of, symbol);
    const std::optional<std::string> fault = try_out(plan, parts.model, sessions);
    if (!fault) return plan;
    why += (why.empty() ? "" : "; ") + ("along '" + symbol + "' " + *fault);
  }
  throw api::Error(api::Code::bad_input, "model '" + name + "': batching changes results: " + why);
}

void warm_up(const ModelParts& parts, const api::SessionPool& sessions, const ModelRuns& runs) {
  const auto session = sessions.acquire();
  for (std::uint64_t i = 0; i <= parts.config.warm_up; ++i) {
    for (const Canary& canary : parts.canaries) try_canary(*session, canary, parts, runs);
  }
  if (parts.config.warm_up == 0 || !parts.canaries.empty()) return;
  std::vector<Array> values;
  for (const api::Port& port : parts.model.inputs()) values.push_back(port.optional ? Array() : zeros_of(port));
  for (std::uint64_t i = 0; i < parts.config.warm_up; ++i) session->run(values);
}

}  // namespace frazil::server
