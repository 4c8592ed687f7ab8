#include "server/model/acceptance.h"

#include <frazil/error.h>

#include "server/core/port.h"

namespace frazil::server {
namespace {

using api::Array;

std::vector<Array> run(api::Session& session, std::span<const Array> inputs) {
  const api::Results results = session.run(inputs);
  return {results.begin(), results.end()};
}

/// The sessions of a test: of the model, and of the model that runs joined requests.
struct Sides {
  api::Session &alone, &joined;
};

template <class Plan>
std::optional<std::string> try_out(const Plan& plan, const api::Model& model, const Sides& sides, std::int64_t size) {
  const std::int64_t lengths[] = {size - 1, size + 4, size + 1};
  std::vector<std::vector<Array>> requests;
  std::vector<BatchPlan::Shape> shapes;
  for (std::size_t i = 0; i < std::size(lengths); ++i) {
    requests.push_back(plan.sample(static_cast<std::int64_t>(i) + 1, lengths[i], size, static_cast<unsigned>(i)));
    const auto shape = plan.shape_of(requests.back());
    if (!shape) return "requests cannot be joined";
    shapes.push_back(*shape);
  }
  const auto parts = plan.split(run(sides.joined, plan.join({requests.begin(), requests.end()}, shapes)), shapes);
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const std::vector<Array> alone = run(sides.alone, plan.alone(requests[i], shapes[i]));
    for (std::size_t k = 0; k < alone.size(); ++k) {
      if (!agree(parts[i][k], alone[k])) return "output '" + model.outputs()[k].name + "' of a joined request differs";
    }
  }
  return std::nullopt;
}

/// Returns the fault of a plan, or nullopt if joined requests have the same results as alone. Tries several sizes, as a
/// model may require a minimum extent.
template <class Plan>
std::optional<std::string> try_out(const Plan& plan, const api::Model& model, const Sides& sides) {
  constexpr std::int64_t kSizes[] = {4, 16, 64, 256, 1024};
  std::string why;
  for (const std::int64_t size : kSizes) {
    try {
      return try_out(plan, model, sides, size);
    } catch (const api::Error& error) {
      why = error.what();
    }
  }
  return "requests could not be tried out: " + why;
}

/// Runs the sample joined with itself and checks both results.
template <class Plan>
void try_joined(const Plan& plan, api::Session& joined, const Canary& canary, const ModelParts& parts) {
  const auto shape = plan.shape_of(canary.inputs);
  if (!shape || 2 * static_cast<std::uint64_t>(shape->count) > parts.config.batching.most) return;
  const BatchPlan::Shape both[] = {*shape, *shape};
  for (const auto& results : plan.split(run(joined, plan.join({canary.inputs, canary.inputs}, both)), both)) {
    check_canary(canary, parts.model, results, parts.config.canary, ", joined with itself");
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
  if (runs.ragged != nullptr) {
    try_joined(runs.ragged->plan, *runs.ragged->sessions.acquire(), canary, parts);
  } else if (runs.plan != nullptr) {
    try_joined(*runs.plan, session, canary, parts);
  }
  if (runs.regrouped != nullptr) try_regrouped(canary, parts, *runs.regrouped);
} catch (const CanaryFault&) {
  throw;
} catch (const api::Error& error) {
  throw CanaryFault("canary '" + canary.name + "': " + error.what());
}

}  // namespace

std::optional<RaggedRuns> plan_ragged(const std::string& name, const ModelParts& parts,
                                      const api::SessionPool& sessions, const api::PoolOptions& options) try {
  auto plan = RaggedPlan::of(
      {.model = name, .inputs = parts.model.inputs(), .outputs = parts.model.outputs(), .config = parts.config});
  if (!plan) return std::nullopt;
  RaggedRuns runs{.plan = *plan, .sessions = api::SessionPool(parts.model.ragged(plan->extent()), options)};
  const auto alone = sessions.acquire(), joined = runs.sessions.acquire();
  if (try_out(runs.plan, parts.model, {*alone, *joined})) return std::nullopt;
  return runs;
} catch (const api::Error& error) {
  if (error.code() == api::Code::unsupported) return std::nullopt;
  throw;
}

BatchPlan plan_batches(const std::string& name, const ModelParts& parts, const api::SessionPool& sessions, bool pad) {
  ModelConfig config = parts.config;
  if (!pad) config.batching.paddings.clear();
  const BatchPlan::ModelView of{
      .model = name, .inputs = parts.model.inputs(), .outputs = parts.model.outputs(), .config = config};
  const std::vector<std::string> symbols = BatchPlan::symbols(of);
  const auto session = sessions.acquire();
  std::string why;
  for (const std::string& symbol : symbols) {
    BatchPlan plan(of, symbol);
    const std::optional<std::string> fault = try_out(plan, parts.model, {*session, *session});
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
