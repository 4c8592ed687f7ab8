#include "tool/profile_report.h"

#include <algorithm>
#include <array>
#include <map>

#include <fmt/ranges.h>

#include "tool/machine.h"

namespace frazil::tool {
namespace {

constexpr std::size_t kMaxLineLength = 160;

/// Adds the time that the machine needs at least for the row.
ProfileRow against_limits(const api::Profile::Row& row) {
  const double bytes = row.bytes_read + row.bytes_written;
  const double bandwidth = machine().gbs_for(bytes / static_cast<double>(row.calls));
  return {.node = row.node,
          .op = row.op,
          .kernel = row.kernel,
          .members = row.members,
          .calls = row.calls,
          .ns = row.seconds * 1e9,
          .flops = row.flops,
          .read = row.bytes_read,
          .written = row.bytes_written,
          .flops_known = row.flops_known,
          .flop_ns = machine().peak_gflops > 0 ? row.flops / machine().peak_gflops : 0,
          .byte_ns = bandwidth > 0 ? bytes / bandwidth : 0};
}

void add(ProfileRow& group, const ProfileRow& row) {
  group.op = row.op, group.kernel = row.kernel;
  group.calls += row.calls;
  group.ns += row.ns;
  group.flops += row.flops;
  group.read += row.read;
  group.written += row.written;
  group.flop_ns += row.flop_ns;
  group.byte_ns += row.byte_ns;
  group.flops_known &= row.flops_known;
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
  for (const api::Profile::Flow& flow : profile.flows) {
    const double total_ns = flow.seconds * 1e9;
    print_line(fmt::format(
        row, shortened(fmt::format("{}  {}", flow.node, flow.op), 40), per_pass(flow.entries),
        flow.loop ? per_pass(flow.iterations) : "-", per_pass(flow.taken), per_pass(flow.not_taken),
        fmt::format("{:.2f}", total_ns / passes * 1e-3), fmt::format("{:.2f}", flow.self_seconds * 1e9 / passes * 1e-3),
        flow.iterations > 0 ? fmt::format("{:.4f}", total_ns / static_cast<double>(flow.iterations) * 1e-3) : "-"));
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

Json json_of_flow(const api::Profile::Flow& row, const Profile& profile) {
  const auto passes = static_cast<double>(profile.passes);
  Json json{{"node", row.node}, {"op", row.op}, {"entries", static_cast<double>(row.entries) / passes}};
  if (row.loop) json["iterations"] = static_cast<double>(row.iterations) / passes;
  json["true"] = static_cast<double>(row.taken) / passes;
  json["false"] = static_cast<double>(row.not_taken) / passes;
  json["total_us"] = row.seconds * 1e9 / passes * 1e-3;
  json["self_us"] = row.self_seconds * 1e9 / passes * 1e-3;
  return json;
}

}  // namespace

Profile summarise(const api::Profiler& profiler, const Overhead& overhead) {
  const api::Profile from = profiler.profile(overhead.ratio);
  Profile profile{.nodes = {},
                  .groups = {},
                  .flows = from.flows,
                  .passes = from.passes,
                  .recorded = from.recorded,
                  .requests = from.runs,
                  .plans = from.plans,
                  .shape_changes = from.shape_changes,
                  .request_ns = from.seconds * 1e9,
                  .own_ns = from.own_seconds * 1e9,
                  .step_ns = from.step_seconds * 1e9,
                  .flow_ns = from.flow_seconds * 1e9,
                  .overhead = overhead,
                  .counters = {},
                  .counters_missing = {}};
  std::map<std::array<std::string, 2>, ProfileRow> groups;
  for (const api::Profile::Row& row : from.rows) {
    profile.nodes.push_back(against_limits(row));
    add(groups[{row.op, row.kernel}], profile.nodes.back());
  }
  for (const auto& [key, group] : groups) profile.groups.push_back(group);
  std::ranges::stable_sort(profile.groups, std::ranges::greater{}, &ProfileRow::ns);
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
  for (const api::Profile::Flow& row : profile.flows) json["control_flow"].push_back(json_of_flow(row, profile));
  return json;
}

}  // namespace frazil::tool
