#include <algorithm>
#include <sstream>

#include <frazil/profile.h>

#include "api/access.h"
#include "api/profiler.h"
#include "base/value/text.h"
#include "profile/summary.h"
#include "profile/trace.h"

namespace frazil::api {
namespace {

constexpr std::size_t kMaxEvents = 50'000'000;

Profile::Row row_of(const profile::Row& row) {
  return {row.node,      row.op,    row.kernel, row.members, row.calls,
          row.ns * 1e-9, row.flops, row.read,   row.written, row.flops_known};
}

Profile::Flow flow_of(const profile::Flow& flow) {
  const profile::FlowTotals& t = flow.totals;
  return {flow.node,          flow.op, flow.loop, t.entries, t.iterations, t.yes, t.no, flow.total_ns * 1e-9,
          flow.self_ns * 1e-9};
}

/// Returns the end of a long name, because the ends of ONNX names are more specific.
std::string fitted(const std::string& text, std::size_t most) {
  const std::string line = printable(text);
  return line.size() <= most ? line : "~" + line.substr(line.size() - most + 1);
}

}  // namespace

std::string Profile::table(std::size_t most) const {
  constexpr const char* kLine = "{:<40}  {:<28}  {:>9} {:>11} {:>10} {:>6}";
  const double parts = static_cast<double>(std::max<std::uint64_t>(passes, 1));
  std::string text = fmt::format(kLine, "node", "operator [kernel]", "calls", "us", "us/call", "share");
  for (std::size_t i = 0; i < std::min(most, rows.size()); ++i) {
    const Row& row = rows[i];
    const std::string more = row.members.size() > 1 ? fmt::format(" +{}", row.members.size() - 1) : "";
    text += '\n' + fmt::format(kLine, fitted(row.node, 40 - more.size()) + more,
                               fitted(fmt::format("{} [{}]", row.op, row.kernel), 28),
                               fmt::format("{:.6g}", static_cast<double>(row.calls) / parts),
                               fmt::format("{:.2f}", row.seconds / parts * 1e6),
                               fmt::format("{:.3f}", row.seconds / static_cast<double>(row.calls) * 1e6),
                               fmt::format("{:.1f}%", seconds > 0 ? 100 * row.seconds / seconds : 0));
  }
  if (rows.size() > most) text += fmt::format("\n{} more", rows.size() - most);
  return text;
}

Profiler::Profiler(const ProfilerOptions& options) {
  if (options.trace_events > kMaxEvents) {
    refuse(frazil::Code::bad_input, "ProfilerOptions::trace_events: expected at most {}, got {}", kMaxEvents,
           options.trace_events);
  }
  impl_ = std::make_shared<ProfilerImpl>(options.trace_events);
}

void Profiler::end_pass() { impl_->recorder.end_pass(); }
void Profiler::reset() { impl_->recorder.reset(); }

Profile Profiler::profile(double overhead) const {
  if (!(overhead > 0)) refuse(frazil::Code::bad_input, "Profiler::profile: expected an overhead larger than 0");
  const profile::Summary summary = profile::summarise(impl_->recorder, overhead);
  Profile made{.passes = summary.passes,
               .runs = summary.requests,
               .plans = summary.plans,
               .shape_changes = summary.shape_changes,
               .seconds = summary.request_ns * 1e-9,
               .own_seconds = summary.own_ns * 1e-9,
               .recorded = summary.recorded,
               .step_seconds = summary.step_ns * 1e-9,
               .flow_seconds = summary.flow_ns * 1e-9};
  std::ranges::transform(summary.rows, std::back_inserter(made.rows), row_of);
  std::ranges::transform(summary.flows, std::back_inserter(made.flows), flow_of);
  return made;
}

std::string Profiler::trace(std::string_view title) const {
  std::ostringstream out;
  write_trace(out, title);
  return std::move(out).str();
}

void Profiler::write_trace(std::ostream& out, std::string_view title) const {
  profile::write_trace(out, impl_->recorder, std::string(title));
}

Profiler::Events Profiler::events() const {
  const profile::TraceLog& log = impl_->recorder.log();
  return {log.events().size(), log.dropped()};
}

}  // namespace frazil::api
