#include "profile/trace.h"

#include <chrono>
#include <ostream>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "exec/native/code_maker.h"
#include "ir/op/op.h"
#include "profile/labels.h"

namespace frazil::profile {
namespace {

std::string json_text(std::string_view text) {
  using Json = nlohmann::json;
  return Json(std::string(text)).dump(-1, ' ', false, Json::error_handler_t::replace);
}

/// Texts common to all events of one step or span.
struct Texts {
  std::string name, op, kernel;
};

class TraceWriter {
 public:
  TraceWriter(std::ostream& out, const Recorder& recorder)
      : out_(out), recorder_(recorder), us_per_tick_(recorder.clock().ns_per_tick() * 1e-3), lane_(recorder.thread()) {
    for (const auto& plan : recorder.plans()) add_texts(*plan);
  }

  void write(const std::string& model) {
    out_ << R"({"displayTimeUnit":"ns","traceEvents":[)";
    meta("process_name", "frazil " + model);
    out_ << ",\n";
    meta("thread_name", "session");
    for (const TraceEvent& event : recorder_.log().events()) {
      if (event.kind != TraceEvent::Kind::dropped && event.end >= event.begin) write(event);
    }
    write_compiling();
    out_ << "],\n\"otherData\":{\"model\":" << json_text(model) << ",\"dropped\":" << recorder_.log().dropped()
         << "}}\n";
  }

 private:
  void add_texts(const PlanProfile& profile) {
    const Plan& plan = profile.plan;
    auto& steps = steps_.emplace_back();
    for (const Step& step : plan.steps) {
      if (step.as<step::Launch>() == nullptr) {
        steps.emplace_back();
        continue;
      }
      const std::string op = op_label(plan, step), own = step_label(plan, step), name = own.empty() ? op : own;
      steps.push_back({json_text(name), json_text(op), json_text(kernel_name(plan, step))});
    }
    auto& spans = spans_.emplace_back();
    for (const FlowSpan& span : profile.spans) {
      spans.push_back({json_text(node_label(plan, span.node)), json_text(plan.graph->node(span.node).op->name), ""});
    }
  }

  void meta(const char* what, const std::string& name) {
    out_ << fmt::format(R"({{"ph":"M","name":"{}","pid":{},"tid":{},"args":{{"name":{}}}}})", what, getpid(), lane_,
                        json_text(name));
  }

  void write(const TraceEvent& event) {
    using Kind = TraceEvent::Kind;
    switch (event.kind) {
      case Kind::run: return span(event, R"("request")", R"("request")", fmt::format(R"("number":{})", event.number));
      case Kind::step: {
        const Texts& texts = steps_[event.plan][event.where];
        return span(event, texts.name, texts.op, fmt::format(R"("op":{},"kernel":{})", texts.op, texts.kernel));
      }
      case Kind::loop: return flow(event, fmt::format(R"("iterations":{})", event.number));
      case Kind::branch: return flow(event, fmt::format(R"("predicate":{})", event.side));
      case Kind::iteration:
        return span(event, R"("iteration")", R"("iteration")", fmt::format(R"("number":{})", event.number));
      default:
        out_ << fmt::format(R"(,{}{{"ph":"i","s":"t","name":"condition","cat":{},"pid":{},"tid":{},"ts":{:.4f},)", '\n',
                            spans_[event.plan][event.where].op, getpid(), lane_, us(event.begin))
             << fmt::format(R"("args":{{"node":{},"predicate":{}}}}})", spans_[event.plan][event.where].name,
                            event.side);
    }
  }

  /// Writes the compilations since recording began, in a separate lane.
  void write_compiling() {
    const auto clock = std::chrono::steady_clock::now();
    const double now_us = us(ticks());
    const auto at = [&](std::chrono::steady_clock::time_point t) {
      return now_us - std::chrono::duration<double, std::micro>(clock - t).count();
    };
    const long lane = lane_ + 1;
    bool named = false;
    for (const exec::CodeEvent& e : exec::code_events()) {
      if (at(e.end) < 0) continue;
      if (!std::exchange(named, true)) {
        out_ << ",\n"
             << fmt::format(R"({{"ph":"M","name":"thread_name","pid":{},"tid":{},"args":{{"name":"compiling"}}}})",
                            getpid(), lane);
      }
      out_ << fmt::format(
          R"(,{}{{"ph":"X","name":"{}","cat":"code","pid":{},"tid":{},"ts":{:.4f},"dur":{:.4f},"args":{{"bytes":{},"what":{}}}}})",
          '\n', e.cached ? "load code" : "compile", getpid(), lane, at(e.begin), at(e.end) - at(e.begin), e.bytes,
          json_text(e.what));
    }
  }

  void flow(const TraceEvent& event, const std::string& args) {
    const Texts& texts = spans_[event.plan][event.where];
    span(event, texts.name, texts.op, fmt::format(R"("op":{},{})", texts.op, args));
  }

  void span(const TraceEvent& event, std::string_view name, std::string_view category, const std::string& args) {
    out_ << fmt::format(
        R"(,{}{{"ph":"X","name":{},"cat":{},"pid":{},"tid":{},"ts":{:.4f},"dur":{:.4f},"args":{{{}}}}})", '\n', name,
        category, getpid(), lane_, us(event.begin), static_cast<double>(event.end - event.begin) * us_per_tick_, args);
  }

  double us(std::uint64_t at) const { return static_cast<double>(at - recorder_.clock().start()) * us_per_tick_; }

  std::ostream& out_;
  const Recorder& recorder_;
  double us_per_tick_;
  long lane_;
  std::vector<std::vector<Texts>> steps_, spans_;  ///< per plan
};

}  // namespace

void write_trace(std::ostream& out, const Recorder& recorder, const std::string& model) {
  TraceWriter(out, recorder).write(model);
}

}  // namespace frazil::profile
