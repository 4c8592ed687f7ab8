#include "exec/run/runner.h"

#include "exec/observe/inner_values.h"
#include "exec/run/plan_runner.h"
#include "ref/ref.h"

namespace frazil::exec {
namespace {

/// The reference executor, which takes no plan and has no guards.
class ReferenceRunner : public Runner {
 public:
  ReferenceRunner(std::shared_ptr<Executable> executable, RunContext& context)
      : executable_(std::move(executable)), context_(context) {}
  const Executable& executable() const override { return *executable_; }
  void drop_memory() override {}

  Result<Pause> run(std::span<const Datum> inputs, std::vector<Datum>& outputs) override {
    std::vector<Datum> dense(inputs.begin(), inputs.end());
    for (Datum& input : dense) {
      if (!input.is_tensor()) continue;
      FRAZIL_TRY(input, input.tensor().packed());
    }
    std::optional<ReferenceValues> watched;
    if (context_.observer != nullptr) watched.emplace(*context_.observer);
    FRAZIL_TRY(outputs, run_reference(executable_->graph(), dense, watched ? &*watched : nullptr));
    return std::nullopt;
  }
  Result<Pause> go_on(std::vector<Datum>& /*outputs*/) override {
    return fail(Code::internal, "the run does not wait");
  }
  void abandon() override {}
  Result<std::optional<Resumed>> resume(Runner& /*before*/, const GuardMiss& /*miss*/,
                                        std::span<const Datum> /*inputs*/, std::vector<Datum>& /*outputs*/) override {
    return std::nullopt;
  }

 private:
  std::shared_ptr<Executable> executable_;
  RunContext& context_;
};

}  // namespace

std::unique_ptr<Runner> make_runner(std::shared_ptr<Executable> executable, RunContext& context) {
  if (executable->options().reference) return std::make_unique<ReferenceRunner>(std::move(executable), context);
  return std::make_unique<PlanRunner>(std::move(executable), context);
}

}  // namespace frazil::exec
