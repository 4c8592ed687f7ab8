#include "tool/profile_trace.h"

#include <chrono>
#include <ostream>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>

#include "exec/native/code_maker.h"
#include "ir/op/op.h"
#include "server/core/json_text.h"
#include "tool/profile_report.h"

namespace frazil::tool {
namespace {

using server::JsonText;

/// Texts common to all events of one step or span, as JSON.
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
    name_lane("process_name", lane_, "frazil " + model);
    name_lane("thread_name", lane_, "session");
    for (const TraceEvent& event : recorder_.log().events()) {
      if (event.kind != TraceEvent::Kind::dropped && event.end >= event.begin) write(event);
    }
    write_compiling();
    JsonText other;
    other.begin_object();
    other.key("model");
    other.json(json_text(model));
    other.member("dropped", recorder_.log().dropped());
    other.end_object();
    out_ << "],\n\"otherData\":" << other.take() << "}\n";
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

  /// Writes an event; `fill` adds its members.
  template <class F>
  void event(const char* phase, F fill) {
    if (std::exchange(any_, true)) out_ << ",\n";
    JsonText json;
    json.begin_object();
    json.member("ph", phase);
    fill(json);
    json.end_object();
    out_ << json.take();
  }
  static void add_text(JsonText& json, const char* name, const std::string& as_json) {
    json.key(name);
    json.json(as_json);
  }
  static void add_time(JsonText& json, const char* name, double us) {
    json.key(name);
    json.json(fmt::format("{:.4f}", us));
  }
  static void add_place(JsonText& json, long lane) {
    json.member("pid", getpid());
    json.member("tid", lane);
  }
  template <class F>
  static void add_arguments(JsonText& json, F fill) {
    json.key("args");
    json.begin_object();
    fill(json);
    json.end_object();
  }

  void name_lane(const char* what, long lane, const std::string& name) {
    event("M", [&](JsonText& json) {
      json.member("name", what);
      add_place(json, lane);
      add_arguments(json, [&](JsonText& a) { add_text(a, "name", json_text(name)); });
    });
  }

  void write(const TraceEvent& e) {
    using Kind = TraceEvent::Kind;
    const auto number = [&](JsonText& json) { json.member("number", e.number); };
    switch (e.kind) {
      case Kind::run: return span(e, R"("request")", R"("request")", number);
      case Kind::step: {
        const Texts& texts = steps_[e.plan][e.where];
        return span(e, texts.name, texts.op, [&](JsonText& json) {
          add_text(json, "op", texts.op);
          add_text(json, "kernel", texts.kernel);
        });
      }
      case Kind::loop: return flow(e, [&](JsonText& json) { json.member("iterations", e.number); });
      case Kind::branch: return flow(e, [&](JsonText& json) { json.member("predicate", e.side); });
      case Kind::iteration: return span(e, R"("iteration")", R"("iteration")", number);
      default: return condition(e);
    }
  }

  void condition(const TraceEvent& e) {
    event("i", [&](JsonText& json) {
      json.member("s", "t");
      json.member("name", "condition");
      add_text(json, "cat", spans_[e.plan][e.where].op);
      add_place(json, lane_);
      add_time(json, "ts", us(e.begin));
      add_arguments(json, [&](JsonText& a) {
        add_text(a, "node", spans_[e.plan][e.where].name);
        a.member("predicate", e.side);
      });
    });
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
      if (!std::exchange(named, true)) name_lane("thread_name", lane, "compiling");
      event("X", [&](JsonText& json) {
        json.member("name", e.cached ? "load code" : "compile");
        json.member("cat", "code");
        add_place(json, lane);
        add_time(json, "ts", at(e.begin));
        add_time(json, "dur", at(e.end) - at(e.begin));
        add_arguments(json, [&](JsonText& a) {
          a.member("bytes", e.bytes);
          add_text(a, "what", json_text(e.what));
        });
      });
    }
  }

  template <class F>
  void flow(const TraceEvent& e, F fill) {
    const Texts& texts = spans_[e.plan][e.where];
    span(e, texts.name, texts.op, [&](JsonText& json) {
      add_text(json, "op", texts.op);
      fill(json);
    });
  }

  template <class F>
  void span(const TraceEvent& e, const std::string& name, const std::string& category, F fill) {
    event("X", [&](JsonText& json) {
      add_text(json, "name", name);
      add_text(json, "cat", category);
      add_place(json, lane_);
      add_time(json, "ts", us(e.begin));
      add_time(json, "dur", static_cast<double>(e.end - e.begin) * us_per_tick_);
      add_arguments(json, fill);
    });
  }

  double us(std::uint64_t at) const { return static_cast<double>(at - recorder_.clock().start()) * us_per_tick_; }

  std::ostream& out_;
  const Recorder& recorder_;
  double us_per_tick_;
  long lane_;
  bool any_ = false;                               ///< an event has been written
  std::vector<std::vector<Texts>> steps_, spans_;  ///< per plan
};

}  // namespace

void write_trace(std::ostream& out, const Recorder& recorder, const std::string& model) {
  TraceWriter(out, recorder).write(model);
}

}  // namespace frazil::tool
