#include "server/core/json_text.h"
#include "server/pipeline/pipeline.h"
#include "server/service/process_metrics.h"
#include "server/service/service.h"

// Prometheus's text format (https://prometheus.io/docs/instrumenting/exposition_formats/). Names that begin with
// nv_inference_ are compatible with dashboards for Triton.
namespace frazil::server {
namespace {

using Models = std::vector<std::shared_ptr<const Served>>;

std::string escaped(std::string_view text) {
  std::string to;
  for (const char c : text) {
    if (c == '\\' || c == '"')
      (to += '\\') += c;
    else if (c == '\n')
      to += "\\n";
    else
      to += c;
  }
  return to;
}

std::string labels_of(const Served& served) {
  return "{model=\"" + escaped(served.name()) + "\",version=\"" + served.version() + "\"";
}

void head(std::string& to, std::string_view name, std::string_view type, std::string_view help) {
  ((((to += "# HELP ") += name) += ' ') += help) += '\n';
  ((((to += "# TYPE ") += name) += ' ') += type) += '\n';
}

template <class T>
void line(std::string& to, std::string_view name, const std::string& labels, T value) {
  ((to += name) += labels) += ' ';
  append_number(to, value);
  to += '\n';
}

using Count = std::uint64_t (*)(const Statistics&);
struct Counter {
  std::string_view name, help;
  Count count;
  std::string_view type = "counter";
};

constexpr std::uint64_t kNanosecondsInMicrosecond = 1000;

constexpr Counter kCounters[] = {
    {"nv_inference_request_success", "Requests that were answered",
     [](const Statistics& s) { return s.success.count(); }},
    {"nv_inference_request_failure", "Requests that failed", [](const Statistics& s) { return s.fail.count(); }},
    {"nv_inference_count", "Inferences", [](const Statistics& s) { return s.success.count(); }},
    {"nv_inference_exec_count", "Runs of the model", [](const Statistics& s) { return s.runs.count(); }},
    {"nv_inference_request_duration_us", "Microseconds from arrival to answer",
     [](const Statistics& s) { return s.success.nanoseconds() / kNanosecondsInMicrosecond; }},
    {"nv_inference_queue_duration_us", "Microseconds that requests waited",
     [](const Statistics& s) { return s.queue.nanoseconds() / kNanosecondsInMicrosecond; }},
    {"nv_inference_compute_input_duration_us", "Microseconds of reading requests",
     [](const Statistics& s) { return s.compute_input.nanoseconds() / kNanosecondsInMicrosecond; }},
    {"nv_inference_compute_infer_duration_us", "Microseconds of running models",
     [](const Statistics& s) { return s.compute_infer.nanoseconds() / kNanosecondsInMicrosecond; }},
    {"nv_inference_compute_output_duration_us", "Microseconds of writing answers",
     [](const Statistics& s) { return s.compute_output.nanoseconds() / kNanosecondsInMicrosecond; }},
    {"nv_inference_pending_request_count", "Requests that wait for a run or are in one",
     [](const Statistics& s) { return s.pending.load(std::memory_order_relaxed); }, "gauge"},
    {"frazil_batch_elements_total", "Elements along the padded axis of requests that ran together, with padding",
     [](const Statistics& s) { return s.elements.load(std::memory_order_relaxed); }},
    {"frazil_path_outside_total", "Requests whose recorded path is not within the report that the policy accepted",
     [](const Statistics& s) { return s.outside.load(std::memory_order_relaxed); }},
    {"frazil_batch_padding_total", "Elements of padding among them",
     [](const Statistics& s) { return s.padded.load(std::memory_order_relaxed); }},
};

void append_outcomes(std::string& to, const Models& models, const Tenants::Identity& identity) {
  constexpr std::string_view kName = "frazil_requests_total";
  head(to, kName, "counter", "Requests for a model by outcome");
  for (const auto& served : models) {
    const Statistics& s = served->counts().seen_by(identity);
    const auto outcome = [&](std::string_view text, std::uint64_t count) {
      line(to, kName, labels_of(*served) + ",outcome=\"" + std::string(text) + "\"}", count);
    };
    outcome("success", s.success.count());
    outcome("failure", s.fail.count());
    outcome("cancelled", s.cancelled.load(std::memory_order_relaxed));
    outcome("rejected", s.rejected.load(std::memory_order_relaxed));
  }
}

void append_tenants(std::string& to, const std::vector<Tenants::Counts>& tenants, const auto& shows) {
  const auto metric = [&](std::string_view name, std::string_view type, std::string_view help, auto count) {
    head(to, name, type, help);
    for (const auto& tenant : tenants) {
      if (shows(tenant.name)) line(to, name, "{tenant=\"" + escaped(tenant.name) + "\"}", count(tenant));
    }
  };
  metric("frazil_tenant_requests_total", "counter", "Requests that were let in",
         [](const auto& t) { return t.requests; });
  metric("frazil_tenant_refused_total", "counter", "Requests that were refused",
         [](const auto& t) { return t.refused; });
  metric("frazil_tenant_waiting", "gauge", "Requests that run or wait", [](const auto& t) { return t.waiting; });
}

/// Appends the refusals of queues and of budgets.
void append_refused(std::string& to, std::uint64_t queues, const std::vector<std::shared_ptr<const Budget>>& budgets) {
  constexpr std::string_view kName = "frazil_refused_total";
  head(to, kName, "counter", "Requests that were refused because too many waited, or by a rule of a budget");
  line(to, kName, "", queues);
  std::map<std::string, std::uint64_t> rules;
  for (const auto& budget : budgets) {
    for (const auto& [rule, count] : budget->refused()) rules[rule] += count;
  }
  for (const auto& [rule, count] : rules) line(to, kName, "{rule=\"budget." + rule + "\"}", count);
}

void append_budgets(std::string& to, const std::vector<std::shared_ptr<const Budget>>& budgets, const auto& shows) {
  constexpr double kBudgetUnit = 1e6;
  head(to, "frazil_budget_left", "gauge", "Milliseconds of cost that requests may still reserve today");
  for (const auto& budget : budgets) {
    const auto left = budget->state().left;
    if (!left || !shows(budget->tenant())) continue;
    line(to, "frazil_budget_left", "{tenant=\"" + escaped(budget->tenant()) + "\"}",
         static_cast<double>(*left) / kBudgetUnit);
  }
}

/// Appends the busy time of workers by account, as far as the caller may see the tenant that pays.
void append_costs(std::string& to, const Models& models, Nanoseconds others, const auto& shows) {
  constexpr std::string_view kName = "frazil_cost_ns_total";
  head(to, kName, "counter", "Busy time of workers in nanoseconds by the account that pays it");
  const auto cost = [&](const std::string& tenant, const std::string& model, const std::string& version,
                        std::string_view account, Nanoseconds time) {
    line(to, kName,
         "{tenant=\"" + escaped(tenant) + "\",model=\"" + escaped(model) + "\",version=\"" + version + "\",account=\"" +
             std::string(account) + "\"}",
         static_cast<std::uint64_t>(time.count()));
  };
  for (const auto& served : models) {
    for (const auto& [key, time] : served->counts().costs()->rows()) {
      if (shows(key.first)) cost(key.first, served->name(), served->version(), name_of(key.second), time);
    }
  }
  if (shows("")) cost("", "", "", "server", others);
}

void append_checks(std::string& to, const Models& models) {
  head(to, "frazil_checked_runs_total", "counter", "Runs that the reference executor has checked");
  for (const auto& served : models)
    line(to, "frazil_checked_runs_total", labels_of(*served) + "}", served->checked().runs);
  head(to, "frazil_different_runs_total", "counter", "Checked runs with results that differ");
  for (const auto& served : models) {
    line(to, "frazil_different_runs_total", labels_of(*served) + "}", served->checked().different);
  }
}

void append_canaries(std::string& to,
                     const std::map<std::pair<std::string, std::string>, Loader::CanaryCounts>& canary_counts,
                     const auto& shows) {
  constexpr std::string_view kName = "frazil_canaries_total";
  head(to, kName, "counter", "Times that a version was tried on its recorded samples before it is served, by outcome");
  for (const auto& [of, counts] : canary_counts) {
    if (!shows(of.first)) continue;
    const std::string labels = "{model=\"" + escaped(of.first) + "\",version=\"" + of.second + "\",outcome=\"";
    line(to, kName, labels + "success\"}", counts.passed);
    line(to, kName, labels + "failure\"}", counts.failed);
  }
}

void append_not_ready(std::string& to, const Repository& models, const auto& shows) {
  constexpr std::string_view kName = "frazil_not_ready";
  head(to, kName, "gauge", "Versions of the folder that are not ready");
  for (const Repository::NotReady& one : models.not_ready()) {
    if (!shows(one.name)) continue;
    line(to, kName, "{model=\"" + escaped(one.name) + "\",version=\"" + std::to_string(one.version) + "\"}", 1);
  }
}

void append_guards(std::string& to, const Models& models) {
  const auto metric = [&](std::string_view name, std::string_view type, std::string_view help, auto value) {
    head(to, name, type, help);
    for (const auto& served : models) {
      const auto* const pipeline = dynamic_cast<const Pipeline*>(served.get());
      if (pipeline == nullptr) continue;
      for_each_guard(pipeline->block(), [&](const Node& split, const NodeView::Branch& arm) {
        line(to, name,
             labels_of(*served) + ",split=\"" + escaped(split.name()) + "\",arm=\"" + escaped(arm.block->name) + "\"}",
             value(*arm.rollback));
      });
    }
  };
  metric("frazil_rollbacks_total", "counter", "Times that an arm of a split was rolled back",
         [](const Rollback& guard) { return guard.rollbacks(); });
  metric("frazil_rolled_back", "gauge", "Whether an arm of a split is rolled back",
         [](const Rollback& guard) { return guard.rolled_back() ? 1 : 0; });
}

void append_states(std::string& to, const StateStore::Counts& counts) {
  const auto metric = [&](std::string_view name, std::string_view type, std::string_view help, std::uint64_t value) {
    head(to, name, type, help);
    line(to, name, "", value);
  };
  metric("frazil_sequences", "gauge", "Sequences whose state is in memory", counts.sequences);
  metric("frazil_sequence_bytes", "gauge", "Bytes of their states", counts.bytes);
  metric("frazil_sequences_written_total", "counter", "States that were written out of memory", counts.written_out);
  metric("frazil_sequences_read_total", "counter", "States that were read back", counts.read_back);
  metric("frazil_sequences_expired_total", "counter", "Sequences that were forgotten because they were idle",
         counts.expired);
  metric("frazil_sequence_pages", "gauge", "Pages of states that grow, in memory", counts.pages);
  metric("frazil_sequence_page_bytes", "gauge", "Bytes of them", counts.page_bytes);
  metric("frazil_sequence_pages_shared", "gauge", "Pages that several sequences have", counts.shared_pages);
  metric("frazil_sequence_shared_bytes", "gauge", "Bytes that there would be more without that", counts.saved_bytes);
  metric("frazil_sequence_page_hits_total", "counter", "Times that a page of a state was there already",
         counts.page_hits);
}

void append_batches(std::string& to, const Models& models, const Tenants::Identity& identity) {
  constexpr std::string_view kName = "frazil_batches_total";
  head(to, kName, "counter", "Runs by the number of requests in them");
  for (const auto& served : models) {
    for (const auto& [size, runs] : served->counts().seen_by(identity).batches.by_size()) {
      line(to, kName, labels_of(*served) + ",size=\"" + std::to_string(size) + "\"}", runs.count);
    }
  }
}

void append_histogram(std::string& to, const std::string& name, const std::string& labels, const Histogram& times,
                      std::uint64_t nanoseconds) {
  for (std::size_t i = 0; i <= Histogram::kBounds.size(); ++i) {
    std::string bound = ",le=\"";
    i < Histogram::kBounds.size() ? append_number(bound, Histogram::kBounds[i]) : void(bound += "+Inf");
    line(to, name + "_bucket", labels + bound + "\"}", times.up_to(i));
  }
  line(to, name + "_sum", labels + "}", static_cast<double>(nanoseconds) * 1e-9);
  line(to, name + "_count", labels + "}", times.up_to(Histogram::kBounds.size()));
}

void append_durations(std::string& to, const Models& models, const Tenants::Identity& identity) {
  const std::string name = "frazil_request_duration_seconds";
  head(to, name, "histogram", "From arrival to answer, of all requests for a model");
  for (const auto& served : models) {
    const Statistics& s = served->counts().seen_by(identity);
    append_histogram(to, name, labels_of(*served), s.duration, s.success.nanoseconds() + s.fail.nanoseconds());
  }
}

/// Appends the metrics of models with partial answers.
void append_parts(std::string& to, Models models, const Tenants::Identity& identity) {
  std::erase_if(models, [](const auto& served) { return served->emitted().empty(); });
  head(to, "frazil_parts_total", "counter", "Parts of answers before the last one");
  for (const auto& served : models) {
    line(to, "frazil_parts_total", labels_of(*served) + "}",
         served->counts().seen_by(identity).parts.load(std::memory_order_relaxed));
  }
  const std::string name = "frazil_first_part_seconds";
  head(to, name, "histogram", "From arrival to the first part, of requests that have one");
  for (const auto& served : models) {
    const Statistics& s = served->counts().seen_by(identity);
    append_histogram(to, name, labels_of(*served), s.first_part_time, s.first_part.nanoseconds());
  }
}

void append_traffic(std::string& to, const Traffic& traffic) {
  head(to, "frazil_open_connections", "gauge", "Open connections by protocol");
  for (std::size_t i = 0; i < kProtocolNames.size(); ++i) {
    line(to, "frazil_open_connections", "{protocol=\"" + std::string(kProtocolNames[i]) + "\"}",
         traffic.open(static_cast<Protocol>(i)));
  }
  head(to, "frazil_responses_total", "counter", "Responses by protocol and its status");
  traffic.for_each_status([&](std::string_view protocol, std::size_t status, std::uint64_t count) {
    line(to, "frazil_responses_total",
         "{protocol=\"" + std::string(protocol) + "\",status=\"" + std::to_string(status) + "\"}", count);
  });
}

/// Appends the metrics that Prometheus' client libraries have for each process, and frazil_build_info.
void append_process(std::string& to, const ServiceOptions& options) {
  const auto metric = [&](std::string_view name, std::string_view type, std::string_view help, const auto& value) {
    if (!value) return;
    head(to, name, type, help);
    line(to, name, "", *value);
  };
  const ProcessFigures process = process_figures();
  metric("process_cpu_seconds_total", "counter", "User and system CPU time in seconds", process.cpu_seconds);
  metric("process_start_time_seconds", "gauge", "Start of the process in seconds since 1970",
         process.start_time_seconds);
  metric("process_resident_memory_bytes", "gauge", "Resident memory in bytes", process.resident_bytes);
  metric("process_virtual_memory_bytes", "gauge", "Virtual memory in bytes", process.virtual_bytes);
  metric("process_open_fds", "gauge", "Open file descriptors", process.open_files);
  metric("process_max_fds", "gauge", "Limit for open file descriptors", process.max_files);
  metric("process_threads", "gauge", "Threads", process.threads);
  head(to, "frazil_build_info", "gauge", "The server's version and the version of its code generator; always 1");
  line(to, "frazil_build_info",
       "{version=\"" + escaped(options.version) + "\",code_generator=\"" + escaped(options.code_generator) + "\"}", 1);
}

}  // namespace

Reply Service::metrics(const std::optional<Tenants::Identity>& identity) const {
  const auto served_now = repository();
  const Models models = identity ? models_->seen_by(*identity) : Models();
  const auto shows = [&](std::string_view model) { return identity && identity->may_use(model); };
  Reply reply{.type = "text/plain; version=0.0.4; charset=utf-8"};
  std::string& to = reply.body;
  const Tenants::Identity caller = identity.value_or(Tenants::Identity());
  append_outcomes(to, models, caller);
  const auto budgets = costs_.budgets().all();
  const auto sees = [&](const std::string& tenant) { return identity && identity->sees(tenant); };
  append_refused(to, admission_.refused(), budgets);
  append_budgets(to, budgets, sees);
  append_costs(to, models, workers_.other()->total() + changes_.other()->total(), sees);
  head(to, "frazil_worker_busy_ns_total", "counter", "Busy time of workers in nanoseconds");
  line(to, "frazil_worker_busy_ns_total", "", static_cast<std::uint64_t>((workers_.busy() + changes_.busy()).count()));
  head(to, "frazil_waiting_requests", "gauge", "Requests that run or wait");
  line(to, "frazil_waiting_requests", "", admission_.waiting());
  head(to, "frazil_config_reloads_total", "counter", "Times that the configuration was read again by outcome");
  line(to, "frazil_config_reloads_total", R"({outcome="success"})", reloads_.load(std::memory_order_relaxed));
  line(to, "frazil_config_reloads_total", R"({outcome="failure"})", failed_reloads_.load(std::memory_order_relaxed));
  if (poll_ != nullptr) {
    constexpr std::string_view kChanges = "frazil_repository_changes_total";
    head(to, kChanges, "counter", "Loads and unloads because the folder has changed, by outcome");
    line(to, kChanges, R"({outcome="success"})", poll_->counts().applied);
    line(to, kChanges, R"({outcome="failure"})", poll_->counts().failed);
  }
  head(to, "frazil_refusals_total", "counter", "Answers with an error, by protocol and its status");
  for (const auto& [kind, count] : traffic_.refusals().counts()) {
    const std::string labels = "{protocol=\"" + kind.first + "\",status=\"" + std::to_string(kind.second) + "\"}";
    line(to, "frazil_refusals_total", labels, count);
  }
  append_traffic(to, traffic_);
  append_process(to, options_);
  head(to, "frazil_log_lines_dropped_total", "counter", "Lines of the log that could not be written");
  line(to, "frazil_log_lines_dropped_total", "", options_.dropped_notices());
  head(to, "frazil_access_log_lines_dropped_total", "counter", "Lines of the access log that could not be written");
  line(to, "frazil_access_log_lines_dropped_total", "", options_.dropped_accesses());
  if (options_.exposures != nullptr) {
    head(to, "frazil_exposure_log_lines_dropped_total", "counter", "Lines of --exposure-log that could not be written");
    line(to, "frazil_exposure_log_lines_dropped_total", "", options_.exposures->dropped());
  }
  append_states(to, states_->counts());
  append_batches(to, models, caller);
  append_checks(to, models);
  append_guards(to, models);
  append_canaries(to, models_->canary_counts(), shows);
  append_not_ready(to, *served_now, shows);
  append_tenants(to, tenants_.counts(), sees);
  append_durations(to, models, caller);
  append_parts(to, models, caller);
  for (const Counter& counter : kCounters) {
    head(to, counter.name, counter.type, counter.help);
    for (const auto& served : models) {
      line(to, counter.name, labels_of(*served) + "}", counter.count(served->counts().seen_by(caller)));
    }
  }
  return reply;
}

}  // namespace frazil::server
