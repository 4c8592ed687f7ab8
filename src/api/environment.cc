#include <frazil/environment.h>

#include "api/access.h"
#include "base/limits/limits.h"
#include "base/os/knobs.h"
#include "base/thread/cores.h"

namespace frazil::api {
namespace {

using Milliseconds = std::chrono::duration<double, std::milli>;

template <class T, class U>
void set_default(std::optional<T>& option, const U& value) {
  if (!option) option = value;
}

void set_default(std::optional<double>& option, const std::optional<std::chrono::steady_clock::duration>& time) {
  if (!option && time) option = Milliseconds(*time).count();
}

}  // namespace

std::vector<EnvironmentVariable> environment() {
  std::vector<EnvironmentVariable> all;
  for (const Knob& knob : knob_table()) {
    all.push_back({std::string(knob.name), std::string(knob.type), std::string(knob.initial), std::string(knob.range),
                   std::string(knob.doc)});
  }
  return all;
}

Options with_environment(Options options) {
  start();
  const Knobs& values = *knobs();
  if (options.tier == "auto") options.tier = values.tier;
  set_default(options.threads, values.threads);
  set_default(options.memory_limit, values.limits.memory_bytes);
  set_default(options.arena_limit, values.limits.arena_bytes);
  set_default(options.max_elements, values.limits.tensor_elements);
  set_default(options.max_steps, values.limits.steps);
  set_default(options.deadline_ms, values.limits.time);
  return options;
}

LoadOptions with_environment(LoadOptions options) {
  start();
  const Knobs& values = *knobs();
  set_default(options.memory_limit, values.load.memory_bytes);
  set_default(options.max_elements, values.load.tensor_elements);
  set_default(options.max_nodes, values.load.nodes);
  set_default(options.max_nesting, values.load.nesting);
  set_default(options.max_name_bytes, values.load.name_bytes);
  set_default(options.deadline_ms, values.load_time);
  return options;
}

Resources resources() { return {usable_cores(), usual_memory_limit()}; }

}  // namespace frazil::api
