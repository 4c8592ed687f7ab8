#pragma once

#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "exec/run/interpreter.h"
#include "exec/run/request.h"
#include "exec/run/runner.h"
#include "plan/resume/resume.h"

namespace frazil::exec {

/// A runner that executes the bytecode of a plan. Serves every tier but the reference executor.
class PlanRunner : public Runner {
 public:
  PlanRunner(std::shared_ptr<Executable> executable, RunContext& context);

  const Executable& executable() const override { return *executable_; }
  Result<Pause> run(std::span<const Datum> inputs, std::vector<Datum>& outputs) override;
  Result<Pause> go_on(std::vector<Datum>& outputs) override;
  void abandon() override { finish(true); }
  Result<std::optional<Resumed>> resume(Runner& before, const GuardMiss& miss, std::span<const Datum> inputs,
                                        std::vector<Datum>& outputs) override;
  void drop_memory() override;
  void release() override { request_.drop(); }

 private:
  class RequestScope;
  using Outcome = Result<Pause>;
  /// Runs the steps of `run`, counts their time and finishes the request unless it waits.
  template <class Run>
  Outcome timed(Run run);
  Outcome run_plan(std::span<const Datum> inputs, std::vector<Datum>& outputs);
  /// Binds inputs and makes outputs, before the first step.
  Status begin(std::span<const Datum> inputs, std::vector<Datum>& outputs);
  /// Runs the steps from `from` on and takes the results if it reaches the end.
  Outcome run_from(StepIndex from, std::vector<Datum>& outputs);

  /// Ends the request. The results that it carries stay as they were if it has failed.
  void finish(bool failed);

  /// Marks steps that wait for machine code as unprepared if code was made since the last run.
  void find_code();

  std::shared_ptr<Executable> executable_;
  std::uint64_t generation_ = 0;  // generation of the compiler when steps were prepared
  RunContext& context_;
  Values values_;
  Memory memory_;
  Launcher launcher_;
  RegisterGroups groups_;
  Interpreter interpreter_;
  InnerValues inner_values_;
  Request request_;
  StepIndex waits_at_ = 0;  // the step that waits
  std::map<std::pair<const Executable*, StepIndex>, std::expected<Resume, std::string>>
      resumes_;  // by the earlier plan and its guard
};

}  // namespace frazil::exec
