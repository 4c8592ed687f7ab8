#include "server/service/path_watch.h"

#include "server/request/path_record.h"

namespace frazil::server {
namespace {

std::vector<std::string> lines_outside(const govern::PathCheck& allowed, const PathRecord& path) {
  std::vector<std::string> lines;
  path.read([&](const std::vector<PathRecord::Step>& steps) {
    std::vector<govern::ObservedStep> observed;
    observed.reserve(steps.size());
    for (const PathRecord::Step& step : steps) {
      observed.push_back({step.node, step.kind, step.model, step.version, step.taken});
    }
    lines = allowed.outside(observed);
  });
  return lines;
}

std::string joined_lines(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) (text += text.empty() ? "" : "; ") += line;
  return text;
}

void raise_alarm(const Served& target, const std::string& text, const NoticeSink& notify, govern::AuditLog* audit) {
  target.statistics().outside.fetch_add(1, std::memory_order_relaxed);
  warn(notify, model_subject(target.name()), "a request's path is not within the report of this version: " + text);
  if (audit == nullptr) return;
  try {
    audit->append_durable({{"kind", "alarm"},
                           {"check", "path"},
                           {"model", target.name()},
                           {"version", target.version()},
                           {"definition", target.digest()},
                           {"text", text}});
  } catch (const std::exception& error) {
    warn(notify, "audit", std::string("the alarm could not be recorded: ") + error.what());
  }
}

}  // namespace

void watch_path(Call& call, const Served& target, std::shared_ptr<const govern::PathCheck> allowed,
                const NoticeSink& notify, std::shared_ptr<govern::AuditLog> audit) {
  call.done = [&target, hold = call.target, path = call.path, allowed = std::move(allowed), notify,
               audit = std::move(audit), done = std::move(call.done)](Outcome outcome) {
    const std::vector<std::string> lines = lines_outside(*allowed, *path);
    if (!lines.empty()) raise_alarm(target, joined_lines(lines), notify, audit.get());
    done(std::move(outcome));
  };
}

}  // namespace frazil::server
