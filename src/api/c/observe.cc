#include <cstddef>
#include <memory>

#include <frazil/log.h>

#include "api/c/handles.h"

namespace frazil::api::c {
namespace {

/// The context of a callback. Calls the caller's function when the last user is gone.
struct LogContext {
  frazil_release release;
  void* context;
  ~LogContext() {
    if (release != nullptr) release(context);
  }
};

}  // namespace

Log log_of(frazil_log log, frazil_severity least, frazil_release release, void* context) {
  const auto held = std::make_shared<LogContext>(release, context);
  if (log == nullptr) return {};
  if (least < FRAZIL_LOG_DEBUG || least > FRAZIL_LOG_WARNING) refuse("there is no severity " + std::to_string(least));
  return {.function =
              [log, held](const LogMessage& message) {
                log(held->context, static_cast<frazil_severity>(message.severity),
                    std::string(message.category).c_str(), std::string(message.text).c_str());
              },
          .least = static_cast<Severity>(least)};
}

}  // namespace frazil::api::c

using namespace frazil::api;     // NOLINT(google-build-using-namespace)
using namespace frazil::api::c;  // NOLINT(google-build-using-namespace)

frazil_code frazil_set_log(frazil_log log, frazil_severity least, frazil_release release, void* context,
                           frazil_error** error) {
  return guarded(error, [&] { set_log(log_of(log, least, release, context)); });
}

frazil_code frazil_session_start_profile(frazil_session* session, uint64_t trace_events, frazil_error** error) {
  return guarded(error, [&] {
    frazil_session& in = need(session, "the session");
    const Profiler profiler({.trace_events = static_cast<std::size_t>(trace_events)});
    in.session.start_profile(profiler);
    in.profiler = profiler;
  });
}

frazil_code frazil_session_stop_profile(frazil_session* session, frazil_profile** profile, frazil_error** error) {
  return guarded(error, [&] {
    frazil_profile*& to = result(profile);
    frazil_session& in = need(session, "the session");
    if (!in.profiler) refuse("the session is not profiled");
    in.session.stop_profile();
    const Profiler profiler = *in.profiler;
    in.profiler.reset();
    to = new frazil_profile{profiler, profiler.profile()};
  });
}

void frazil_profile_free(frazil_profile* profile) { delete profile; }

frazil_code frazil_profile_totals(const frazil_profile* profile, size_t* rows, uint64_t* runs, double* seconds,
                                  frazil_error** error) {
  return guarded(error, [&] {
    const Profile& of = need(profile, "the profile").profile;
    if (rows != nullptr) *rows = of.rows.size();
    if (runs != nullptr) *runs = of.runs;
    if (seconds != nullptr) *seconds = of.seconds;
  });
}

frazil_code frazil_profile_get_row(const frazil_profile* profile, size_t index, frazil_profile_row* row,
                                   frazil_error** error) {
  return guarded(error, [&] {
    const auto& rows = need(profile, "the profile").profile.rows;
    if (index >= rows.size()) refuse("row " + std::to_string(index) + " of " + std::to_string(rows.size()));
    const Profile::Row& of = rows[index];
    fill(need(row, "the row"),
         {sizeof(frazil_profile_row), of.node.c_str(), of.op.c_str(), of.kernel.c_str(), of.calls, of.seconds, of.flops,
          of.bytes_read, of.bytes_written, of.flops_known ? 1 : 0},
         sizeof(frazil_profile_row), "frazil_profile_row");
  });
}

frazil_code frazil_profile_table(const frazil_profile* profile, size_t most, char** text, frazil_error** error) {
  return guarded(error, [&] {
    char*& to = result(text);
    to = copy_text(need(profile, "the profile").profile.table(most));
  });
}

frazil_code frazil_profile_trace(const frazil_profile* profile, const char* title, char** text, frazil_error** error) {
  return guarded(error, [&] {
    char*& to = result(text);
    to = copy_text(need(profile, "the profile").profiler.trace(text_of(title, "the title")));
  });
}
