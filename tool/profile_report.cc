#include "tool/profile_report.h"

#include <algorithm>

#include "ir/op/op.h"
#include "tool/machine.h"

namespace frazil::tool {
namespace {

constexpr std::size_t kMaxOpsLength = 48, kMaxLineLength = 160;

void add(ProfileRow& row, const StepTotals& totals, double ns) {
  const double bytes = totals.read + totals.written;
  const double bandwidth = machine().gbs_for(bytes / static_cast<double>(totals.calls));
  row.calls += totals.calls;
  row.ns += ns;
  row.flops += totals.flops;
  row.read += totals.read;
  row.written += totals.written;
  row.flop_ns += machine().peak_gflops > 0 ? totals.flops / machine().peak_gflops : 0;
  row.byte_ns += bandwidth > 0 ? bytes / bandwidth : 0;
  row.flops_known &= totals.flops_known;
}

void longest_first(std::vector<ProfileRow>& rows) {
  std::ranges::stable_sort(rows, std::ranges::greater{}, &ProfileRow::ns);
}

std::vector<ProfileRow> rows_of(const auto& by_key) {
  std::vector<ProfileRow> rows;
  for (const auto& [key, row] : by_key) rows.push_back(row);
  longest_first(rows);
  return rows;
}

double rate(double amount, double ns) { return ns > 0 ? amount / ns : 0; }

/// The fraction of the machine's limits that a row achieves.
struct Reached {
  double compute, bandwidth;
  explicit Reached(const ProfileRow& row) : compute(rate(row.flop_ns, row.ns)), bandwidth(rate(row.byte_ns, row.ns)) {}
  std::string str(const ProfileRow& row) const {
    if (!row.flops_known) return "-";
    return compute >= bandwidth ? fmt::format("{:.0f}% flop", 100 * compute)
                                : fmt::format("{:.0f}% byte", 100 * bandwidth);
  }
};

/// Returns the end of a long text, as the ends of ONNX names are more specific.
std::string shortened(const std::string& text, std::size_t most) {
  const std::string line = one_line(text);
  return line.size() <= most ? line : "~" + line.substr(line.size() - most + 1);
}

constexpr const char* kHead = "{:<{}}  {:>9} {:>11} {:>6} {:>10} {:>10} {:>8} {:>10} {:>8} {:>10}";

void print_head(const char* title, std::size_t width) {
  print_line(fmt::format(kHead, title, width, "calls", "us", "share", "us/call", "MFLOP", "GFLOP/s", "KB", "GB/s",
                         "of limit"));
}

/// Returns the beginning of a long text.
std::string clipped(const std::string& text, std::size_t most) {
  const std::string line = one_line(text);
  return line.size() <= most ? line : line.substr(0, most - 1) + "~";
}

/// Returns the time of the requests without profiling, which is at least the sum of the rows.
double all_ns(const Profile& profile) {
  return std::max(profile.request_ns - profile.own_ns, profile.step_ns + profile.flow_ns);
}

double between_ns(const Profile& profile) { return all_ns(profile) - profile.step_ns; }

class RowPrinter {
 public:
  RowPrinter(const Profile& profile, std::size_t width)
      : passes_(static_cast<double>(profile.passes)), all_ns_(all_ns(profile)), width_(width) {}

  void print(const std::string& what, const ProfileRow& row) const {
    const double bytes = row.read + row.written, calls = static_cast<double>(row.calls);
    const bool counted = row.flops > 0;
    print_line(fmt::format(kHead, what, width_, fmt::format("{:.0f}", calls / passes_),
                           fmt::format("{:.2f}", row.ns / passes_ * 1e-3), share(row.ns),
                           fmt::format("{:.3f}", calls > 0 ? row.ns / calls * 1e-3 : 0),
                           counted ? fmt::format("{:.3f}", row.flops / passes_ * 1e-6) : "-",
                           counted ? fmt::format("{:.2f}", rate(row.flops, row.ns)) : "-",
                           bytes > 0 ? fmt::format("{:.1f}", bytes / passes_ * 1e-3) : "-",
                           bytes > 0 ? fmt::format("{:.2f}", rate(bytes, row.ns)) : "-", Reached(row).str(row)));
  }
  void print_time(const std::string& what, double ns) const {
    print_line(fmt::format("{:<{}}  {:>9} {:>11.2f} {:>6}", what, width_, "", ns / passes_ * 1e-3, share(ns)));
  }

 private:
  std::string share(double ns) const { return fmt::format("{:.1f}%", all_ns_ > 0 ? 100 * ns / all_ns_ : 0); }
  double passes_, all_ns_;
  std::size_t width_;
};

constexpr std::size_t kReportWidth = 56;

std::string kind_of(const ProfileRow& row, std::size_t most) {
  return fmt::format("{} [{}]", clipped(row.op, most - row.kernel.size() - 3), row.kernel);
}

std::string title_of(const ProfileRow& row) {
  const std::string more = row.members.size() > 1 ? fmt::format(" +{}", row.members.size() - 1) : "";
  const std::string kind = kind_of(row, kReportWidth / 2);
  return fmt::format("{}{}  {}", shortened(row.node, kReportWidth - more.size() - kind.size() - 2), more, kind);
}

void print_rows(const Profile& profile, std::size_t top) {
  const RowPrinter out(profile, kReportWidth);
  print_head("kind of step, per pass", kReportWidth);
  for (const ProfileRow& row : profile.groups) out.print(kind_of(row, kReportWidth), row);
  out.print_time("between steps: shapes, control flow, results", between_ns(profile));
  print_line("");
  print_head("node or fused group, per pass", kReportWidth);
  for (std::size_t i = 0; i < std::min(top, profile.nodes.size()); ++i) {
    const ProfileRow& row = profile.nodes[i];
    out.print(title_of(row), row);
    if (row.members.size() > 1)
      print_line(clipped(fmt::format("    of {}", fmt::join(row.members, ", ")), kMaxLineLength));
  }
  if (profile.nodes.size() > top) {
    double rest = 0;
    for (std::size_t i = top; i < profile.nodes.size(); ++i) rest += profile.nodes[i].ns;
    out.print_time(fmt::format("{} more (--top shows them)", profile.nodes.size() - top), rest);
  }
}

void print_flows(const Profile& profile) {
  if (profile.flows.empty()) return;
  constexpr const char* row = "{:<40}  {:>9} {:>11} {:>9} {:>9} {:>11} {:>11} {:>12}";
  print_line("");
  print_line(fmt::format(row, "control flow, per pass", "entries", "iterations", "true", "false", "total us", "self us",
                         "us/iteration"));
  const auto passes = static_cast<double>(profile.passes);
  const auto per_pass = [&](std::uint64_t n) { return fmt::format("{:.6g}", static_cast<double>(n) / passes); };
  for (const FlowRow& flow : profile.flows) {
    const FlowTotals& t = flow.totals;
    print_line(fmt::format(
        row, shortened(fmt::format("{}  {}", flow.node, flow.op), 40), per_pass(t.entries),
        flow.loop ? per_pass(t.iterations) : "-", per_pass(t.yes), per_pass(t.no),
        fmt::format("{:.2f}", flow.total_ns / passes * 1e-3), fmt::format("{:.2f}", flow.self_ns / passes * 1e-3),
        t.iterations > 0 ? fmt::format("{:.4f}", flow.total_ns / static_cast<double>(t.iterations) * 1e-3) : "-"));
  }
}

void print_notes(const Profile& profile) {
  const Machine& m = machine();
  print_line("");
  print_line(fmt::format(
      "machine: {} {:.0f} GFLOP/s; reads {:.0f} GB/s from L2 ({} KiB), {:.0f} from L3 ({} KiB), {:.0f} from {} MiB; "
      "measured in {:.0f} ms",
      m.isa, m.peak_gflops, m.l2_gbs, m.l2_bytes >> 10, m.l3_gbs, m.l3_bytes >> 10, m.memory_gbs, m.memory_bytes >> 20,
      m.seconds * 1e3));
  if (profile.counters.empty()) {
    print_line(fmt::format("counters: {}", profile.counters_missing));
  } else {
    std::string text = "counters per pass, without profiling:";
    for (const auto& [name, value] : profile.counters) text += fmt::format(" {} {:.4g}", name, value);
    print_line(text);
  }
  print_line(fmt::format("passes {}, of which the fastest {} are shown; requests {}, plans {}, shape changes {}",
                         profile.recorded, profile.passes, profile.requests, profile.plans, profile.shape_changes));
  print_line(fmt::format(
      "a pass takes {:.3f} ms; step by step on one thread, as it is profiled, {:.3f} ms without "
      "profiling and {:.3f} ms with it: {:+.1f}%",
      profile.overhead.alone_ms, profile.overhead.off_ms, profile.overhead.on_ms, 100 * (profile.overhead.ratio - 1)));
}

Json json_of_row(const ProfileRow& row, const Profile& profile) {
  const auto passes = static_cast<double>(profile.passes);
  const Reached reached(row);
  Json json;
  if (!row.node.empty()) json["node"] = row.node;
  json["op"] = row.op;
  json["kernel"] = row.kernel;
  if (row.members.size() > 1) json["members"] = row.members;
  json["calls"] = static_cast<double>(row.calls) / passes;
  json["us"] = row.ns / passes * 1e-3;
  json["share"] = rate(row.ns, all_ns(profile));
  json["flops"] = row.flops / passes;
  json["flops_known"] = row.flops_known;
  json["bytes_read"] = row.read / passes;
  json["bytes_written"] = row.written / passes;
  json["gflops"] = rate(row.flops, row.ns);
  json["gbs"] = rate(row.read + row.written, row.ns);
  if (row.flops_known) {
    json["of_peak_flops"] = reached.compute;
    json["of_bandwidth"] = reached.bandwidth;
  }
  return json;
}

Json json_of_flow(const FlowRow& row, const Profile& profile) {
  const auto passes = static_cast<double>(profile.passes);
  Json json{{"node", row.node}, {"op", row.op}, {"entries", static_cast<double>(row.totals.entries) / passes}};
  if (row.loop) json["iterations"] = static_cast<double>(row.totals.iterations) / passes;
  json["true"] = static_cast<double>(row.totals.yes) / passes;
  json["false"] = static_cast<double>(row.totals.no) / passes;
  json["total_us"] = row.total_ns / passes * 1e-3;
  json["self_us"] = row.self_ns / passes * 1e-3;
  return json;
}

}  // namespace

std::string node_label(const Plan& plan, NodeId id) {
  const Node& node = plan.graph->node(id);
  return node.name.empty() ? fmt::format("#{}", node.stable) : node.name;
}

std::string step_label(const Plan& plan, const Step& step) {
  if (!step.members.empty()) return node_label(plan, step.members.front());
  return step.node ? node_label(plan, step.node) : "";
}

std::string_view kernel_name(const Plan& plan, const Step& step) {
  const auto kernel = plan.kernel_of(step);
  return kernel ? name_of(*kernel) : std::string_view();
}

std::string op_label(const Plan& plan, const Step& step) {
  std::vector<NodeId> members = members_of(step);
  if (members.empty() && step.node) members = {step.node};
  std::vector<std::string_view> ops;
  for (NodeId id : members) {
    const std::string_view op = plan.graph->node(id).op->name;
    if (std::ranges::find(ops, op) == ops.end()) ops.push_back(op);
  }
  std::string text = fmt::format("{}", fmt::join(ops, "+"));
  if (text.size() > kMaxOpsLength) text = text.substr(0, kMaxOpsLength) + "~";
  return text;
}

namespace {

class Summary {
 public:
  Summary(const Recorder& recorder, Profile& profile) : recorder_(recorder), profile_(profile) {}

  void add(const PassTotals& pass) {
    profile_.request_ns += static_cast<double>(pass.ticks) * profile_.ns_per_tick;
    profile_.events += pass.events;
    for (std::size_t k = 0; k < pass.steps.size(); ++k) {
      const Plan& plan = recorder_.plans()[k]->plan;
      for (std::size_t pc = 0; pc < plan.steps.size(); ++pc) {
        if (pass.steps[k][pc].calls == 0) continue;
        const double ns = add_step(plan, plan.steps[pc], pass.steps[k][pc]);
        const std::uint32_t span = recorder_.plans()[k]->innermost[pc];
        if (span != kNone) flows_[{k, span}].total_ns += ns;
      }
      for (std::size_t i = 0; i < pass.flows[k].size(); ++i) {
        if (pass.flows[k][i].entries > 0) add_flow(k, i, pass.flows[k][i]);
      }
    }
  }

  /// Precondition: the cost of an event is known.
  void finish() {
    profile_.nodes = rows_of(nodes_);
    profile_.groups = rows_of(groups_);
    // Spans inside have higher numbers.
    for (auto at = flows_.rbegin(); at != flows_.rend(); ++at) {
      auto& [key, row] = *at;
      const FlowTotals& t = row.totals;
      const double outside = static_cast<double>(t.ticks - std::min(t.ticks, t.inner)) * profile_.ns_per_tick;
      row.self_ns = std::max(0.0, outside - static_cast<double>(t.own_events) * profile_.ns_per_event);
      row.total_ns += row.self_ns;
      profile_.flow_ns += row.self_ns;
      const std::uint32_t parent = recorder_.plans()[key.first]->spans[key.second].parent;
      if (parent != kNone) flows_[{key.first, parent}].total_ns += row.total_ns;
    }
    for (const auto& [key, row] : flows_) profile_.flows.push_back(row);
  }
  double calls() const { return calls_; }

 private:
  double add_step(const Plan& plan, const Step& step, const StepTotals& totals) {
    const double ns = recorder_.clock().ns_of(totals.ticks, totals.calls, profile_.ns_per_tick);
    const std::string op = op_label(plan, step), kernel(kernel_name(plan, step));
    const std::string node = step_label(plan, step);
    ProfileRow& row = nodes_[{node, op, kernel}];
    row.node = node, row.op = op, row.kernel = kernel;
    if (row.members.empty()) {
      for (NodeId id : members_of(step)) row.members.push_back(node_label(plan, id));
    }
    ProfileRow& group = groups_[{op, kernel}];
    group.op = op, group.kernel = kernel;
    tool::add(row, totals, ns);
    tool::add(group, totals, ns);
    profile_.step_ns += ns;
    calls_ += static_cast<double>(totals.calls);
    return ns;
  }

  void add_flow(std::size_t plan, std::size_t span, const FlowTotals& totals) {
    const PlanProfile& recorded = *recorder_.plans()[plan];
    const NodeId node = recorded.spans[span].node;
    FlowRow& row = flows_[{plan, span}];
    row.node = node_label(recorded.plan, node);
    row.op = recorded.plan.graph->node(node).op->name;
    row.loop = recorded.spans[span].loop;
    row.totals.add(totals);
  }

  const Recorder& recorder_;
  Profile& profile_;
  std::map<std::array<std::string, 3>, ProfileRow> nodes_;
  std::map<std::array<std::string, 2>, ProfileRow> groups_;
  std::map<std::pair<std::size_t, std::size_t>, FlowRow> flows_;
  double calls_ = 0;
};

}  // namespace

Profile summarise(const Recorder& recorder, const Overhead& overhead) {
  Profile profile;
  const auto passes = recorder.fastest();
  profile.passes = passes.size();
  profile.recorded = recorder.passes();
  profile.requests = recorder.requests();
  profile.shape_changes = recorder.shape_changes();
  profile.plans = recorder.plans().size();
  profile.ns_per_tick = recorder.clock().ns_per_tick();
  profile.overhead = overhead;
  Summary summary(recorder, profile);
  for (const PassTotals* pass : passes) summary.add(*pass);
  profile.own_ns = std::clamp(1 - 1 / overhead.ratio, 0.0, 1.0) * profile.request_ns;
  const double in_steps =
      summary.calls() * static_cast<double>(recorder.clock().ticks_per_read()) * profile.ns_per_tick;
  profile.ns_per_event = rate(std::max(0.0, profile.own_ns - in_steps), static_cast<double>(profile.events));
  summary.finish();
  return profile;
}

void print_profile(const Profile& profile, std::size_t top) {
  print_rows(profile, top);
  print_flows(profile);
  print_notes(profile);
}

Json json_of(const Profile& profile) {
  const Machine& m = machine();
  const auto passes = static_cast<double>(profile.passes);
  Json json{{"passes", profile.recorded},
            {"passes_shown", profile.passes},
            {"requests", profile.requests},
            {"plans", profile.plans},
            {"total_us", all_ns(profile) / passes * 1e-3},
            {"between_steps_us", between_ns(profile) / passes * 1e-3},
            {"profiling_us", profile.own_ns / passes * 1e-3},
            {"overhead",
             {{"alone_ms", profile.overhead.alone_ms},
              {"off_ms", profile.overhead.off_ms},
              {"on_ms", profile.overhead.on_ms},
              {"ratio", profile.overhead.ratio}}},
            {"machine",
             {{"isa", m.isa},
              {"peak_gflops", m.peak_gflops},
              {"l2_gbs", m.l2_gbs},
              {"l3_gbs", m.l3_gbs},
              {"memory_gbs", m.memory_gbs},
              {"l2_bytes", m.l2_bytes},
              {"l3_bytes", m.l3_bytes},
              {"memory_bytes", m.memory_bytes}}}};
  Json counters = Json::object();
  for (const auto& [name, value] : profile.counters) counters[name] = value;
  if (profile.counters.empty()) counters["missing"] = profile.counters_missing;
  json["counters"] = counters;
  for (const char* part : {"groups", "nodes"}) {
    Json& rows = json[part] = Json::array();
    for (const ProfileRow& row : *part == 'g' ? profile.groups : profile.nodes)
      rows.push_back(json_of_row(row, profile));
  }
  json["control_flow"] = Json::array();
  for (const FlowRow& row : profile.flows) json["control_flow"].push_back(json_of_flow(row, profile));
  return json;
}

}  // namespace frazil::tool
