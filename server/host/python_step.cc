// Steps that run Python functions of the user in separate processes.
#include <algorithm>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <exception>
#include <expected>
#include <filesystem>
#include <future>
#include <map>
#include <mutex>
#include <system_error>
#include <thread>

#include "server/core/digest.h"
#include "server/core/raw_bytes.h"
#include "server/host/host_node.h"
#include "server/host/python_process.h"
#include "server/host/sandbox_yaml.h"
#include "server/request/tensor_bytes.h"

namespace frazil::server {
namespace {

using api::Array;
using api::Dtype;
using api::Port;

constexpr std::pair<Dtype, const char*> kNumpyTypes[] = {
    {Dtype::boolean, "|b1"}, {Dtype::i8, "|i1"},  {Dtype::i16, "<i2"}, {Dtype::i32, "<i4"},   {Dtype::i64, "<i8"},
    {Dtype::u8, "|u1"},      {Dtype::u16, "<u2"}, {Dtype::u32, "<u4"}, {Dtype::u64, "<u8"},   {Dtype::f16, "<f2"},
    {Dtype::f32, "<f4"},     {Dtype::f64, "<f8"}, {Dtype::c64, "<c8"}, {Dtype::c128, "<c16"}, {Dtype::string, "O"}};

const char* numpy_type_of(Dtype dtype) {
  const auto* const at = std::ranges::find(kNumpyTypes, dtype, &std::pair<Dtype, const char*>::first);
  return at == std::end(kNumpyTypes) ? nullptr : at->second;
}

/// A pool of processes that run one function, each with a thread that waits for it. Thread-safe.
class PythonPool {
 public:
  using Answer = std::expected<std::string, std::exception_ptr>;  ///< the exception is a Refusal or Outside
  struct Job {
    std::string request;
    std::optional<Clock::time_point> deadline;
    std::shared_ptr<Caller> caller;
    std::function<void(Answer)> done;  ///< called once; must not own the pool
  };

  /// Throws Refusal or Outside if the function cannot be loaded.
  /// `check`: called before each start of a process; throws Refusal (forbidden) if the policy rejects it.
  PythonPool(PythonCommand command, std::size_t processes, Clock::duration time_out, std::function<void()> check)
      : command_(std::move(command)), time_out_(time_out), check_(std::move(check)) {
    std::vector<std::future<std::exception_ptr>> started;
    for (std::size_t i = 0; i < processes; ++i) {
      std::promise<std::exception_ptr> promise;
      started.push_back(promise.get_future());
      threads_.emplace_back([this, promise = std::move(promise)]() mutable { serve(std::move(promise)); });
    }
    std::exception_ptr why;
    for (auto& one : started) {
      if (auto failed = one.get()) why = std::move(failed);
    }
    if (!why) return;
    finish();
    std::rethrow_exception(why);
  }
  ~PythonPool() { finish(); }
  PythonPool(const PythonPool&) = delete;
  PythonPool& operator=(const PythonPool&) = delete;

  void post(Job job) {
    {
      const std::scoped_lock lock(mutex_);
      waiting_.push_back(std::move(job));
    }
    come_.notify_one();
  }

 private:
  using Process = std::optional<PythonProcess>;

  void finish() {
    {
      const std::scoped_lock lock(mutex_);
      ending_ = true;
    }
    come_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }

  static void answer(Job& job, Answer result) {
    if (job.done != nullptr) std::exchange(job.done, nullptr)(std::move(result));
  }
  static void refuse(Job& job, Http status, const char* why) {
    answer(job, std::unexpected(std::make_exception_ptr(Refusal(status, why))));
  }

  /// Answers a job whose caller has left or whose time-out has passed. Returns true if the job is answered.
  static bool abort(Job& job) {
    if (job.caller->disconnected()) {
      refuse(job, Http::cancelled, "the caller has disconnected");
    } else if (job.deadline && Clock::now() >= *job.deadline) {
      refuse(job, Http::timeout, "the time-out has passed before the Python function ended");
    }
    return job.done == nullptr;
  }

  /// Checks the running job and the waiting jobs.
  void tick(Job* running) {
    if (running != nullptr) abort(*running);
    const std::scoped_lock lock(mutex_);
    if (ending_) throw Refusal(Http::unavailable, "the server ends");
    std::erase_if(waiting_, [](Job& job) { return abort(job); });
  }

  /// Starts the process if there is none. Returns the error, or null.
  std::exception_ptr start(Process& process, Job* running) try {
    if (process && process->ended()) process.reset();
    if (process) return nullptr;
    check_();
    process.emplace(command_, [this, running] { tick(running); });
    return nullptr;
  } catch (const std::exception&) {
    return std::current_exception();
  }

  void run(Process& process, Job job) {
    if (abort(job)) return;
    if (auto why = start(process, &job)) return answer(job, std::unexpected(std::move(why)));
    try {
      answer(job, process->exchange(job.request, Clock::now() + time_out_, [&] { tick(&job); }));
    } catch (const std::exception&) {
      process.reset();
      answer(job, std::unexpected(std::current_exception()));
    }
  }

  void serve(std::promise<std::exception_ptr> started) {
    Process process;
    started.set_value(start(process, nullptr));
    for (;;) {
      std::unique_lock lock(mutex_);
      come_.wait(lock, [&] { return ending_ || !waiting_.empty(); });
      if (ending_) return;
      Job job = std::move(waiting_.front());
      waiting_.pop_front();
      lock.unlock();
      run(process, std::move(job));
      start(process, nullptr);
    }
  }

  const PythonCommand command_;
  const Clock::duration time_out_;
  const std::function<void()> check_;
  std::mutex mutex_;
  std::condition_variable come_;
  std::deque<Job> waiting_;
  bool ending_ = false;
  std::vector<std::thread> threads_;
};

void append_text(std::string& to, std::string_view text) {
  append_raw(to, static_cast<std::uint32_t>(text.size()));
  to += text;
}

constexpr std::size_t kArrayAlignment = 16;

void append_argument(std::string& to, const std::string& name, const Array& value) {
  append_text(to, name);
  append_text(to, numpy_type_of(value.dtype()));
  append_raw(to, static_cast<std::uint32_t>(value.sizes().size()));
  for (const std::int64_t extent : value.sizes()) append_raw(to, extent);
  append_raw(to, binary_size(value));
  to.append(-to.size() % kArrayAlignment, '\0');
  append_bytes(to, value);
}

struct PythonParts {
  PythonCommand command;
  std::size_t processes = 1;
  Clock::duration time_out = std::chrono::seconds(1);
  std::vector<Argument> inputs;
  Results outputs;
  std::shared_ptr<PythonPool> pool;
};

/// Returns the modification times of the other Python files in a file's folder, as the file may import them.
std::string written_beside(const std::filesystem::path& file) {
  std::map<std::string, std::string> found;
  std::error_code error;
  for (std::filesystem::directory_iterator at(file.parent_path(), error), end; !error && at != end;
       at.increment(error)) {
    if (at->path().extension() != ".py" || at->path() == file) continue;
    std::error_code none;
    const auto written = at->last_write_time(none).time_since_epoch().count();
    found[at->path().filename()] = std::to_string(written);
  }
  std::string text;
  for (const auto& [name, written] : found) ((text += name) += written) += '\n';
  return text;
}

/// Returns the digest of a program: that of the output of `sha256sum *.py` in its folder, with the C locale's order.
std::string digest_of_program(const std::filesystem::path& file) {
  std::map<std::string, std::string> sums{{file.filename(), sha256(read_config_file(file))}};
  for (const auto& entry : std::filesystem::directory_iterator(file.parent_path())) {
    if (entry.path().extension() != ".py" || !entry.is_regular_file()) continue;
    if (entry.path().filename().string().starts_with('.')) continue;
    sums[entry.path().filename()] = sha256(read_config_file(entry.path()));
  }
  std::string text;
  for (const auto& [name, sum] : sums) text += sum + "  " + name + "\n";
  return "sha256:" + sha256(text);
}

/// Returns a check that asks hook `external` for a start of a step's program.
std::function<void()> start_check(const PythonCommand& command, const HostScope& scope) {
  if (scope.governor == nullptr) return [] {};
  const ExternalGate gate(scope.governor, {.kind = "code", .path = command.file, .model = scope.pipeline});
  return [gate, file = command.file, level = name_of(command.level)] {
    const auto why = gate.rejection_of_program(digest_of_program(file), std::string(level));
    if (why) throw refused_by_policy("to start the Python function", *why);
  };
}

/// Returns a text with everything that a step's processes depend on.
std::string declaration_of_pool(const std::string& step, const PythonParts& parts, const std::string& content) {
  std::string text =
      step + '\n' + parts.command.interpreter + '\n' + parts.command.file + '\n' + parts.command.function;
  for (const std::string& output : parts.command.outputs) (text += '\n') += output;
  for (const std::string& variable : parts.command.environment) (text += '\n') += sha256(variable);
  if (parts.command.silent) text += "\nsilent";
  text += '\n' + std::to_string(parts.processes) + ' ' + std::to_string(parts.time_out.count()) + '\n';
  text += declaration_of_sandbox(parts.command) + '\n';
  return text + sha256(content) + sha256(written_beside(parts.command.file));
}

class PythonNode : public HostNode {
 public:
  PythonNode(std::string name, PythonParts parts, const HostScope& scope)
      : HostNode(std::move(name), "code", scope, parts.inputs, parts.outputs),
        parts_(std::move(parts)),
        workers_guard_(std::make_shared<WorkersGuard>(scope.workers)) {}

 protected:
  std::string endpoint() const override { return parts_.command.file + ":" + parts_.command.function; }
  void ask(StepCall step) const override {
    const Flow& flow = *step.flow;
    expect_time(flow);
    std::string request;
    append_raw(request, static_cast<std::uint32_t>(parts_.inputs.size()));
    for (std::size_t i = 0; i < step.inputs.size(); ++i)
      append_argument(request, parts_.inputs[i].name, step.inputs[i]);
    PythonPool::Job job{.request = std::move(request), .deadline = flow.deadline, .caller = flow.caller, .done = {}};
    job.done = [this, hold = workers_guard_, step = std::move(step), began = Clock::now()](auto result) mutable {
      hold->post_result(
          [this, step = std::move(step), began, result = std::move(result)] { end(step, began, result); });
    };
    workers_guard_->leave();
    parts_.pool->post(std::move(job));
  }

 private:
  void end(const StepCall& step, Clock::time_point began, const PythonPool::Answer& result) const {
    const BusyScope scope(step.flow->cost);
    StepResult outcome;
    try {
      if (!result) std::rethrow_exception(result.error());
      if (result->front() == 0) throw ExternalFailure(Http::internal, kPythonFailed, result->substr(1));
      outcome = values_of(std::make_shared<const std::string>(*result));
      check_results(parts_.outputs, parts_.inputs, step.inputs, *outcome);
    } catch (...) {
      outcome = std::unexpected(refusal_for_caller());
    }
    note(*step.flow, {.why = outcome ? "" : outcome.error().what()}, began);
    step.done(std::move(outcome));
  }

  /// Returns the results in an answer as views of it.
  std::vector<Array> values_of(const std::shared_ptr<const std::string>& answer) const {
    std::size_t at = 1;
    const auto take = [&](std::size_t size) {
      if (size > answer->size() - at) python_failed("sent a malformed answer");
      return answer->data() + std::exchange(at, at + size);
    };
    const auto number = [&]<class T>(T value) {
      std::memcpy(&value, take(sizeof value), sizeof value);
      return value;
    };
    std::vector<Array> values;
    for (const auto& [name, output] : parts_.outputs) {
      api::Sizes sizes(number(std::uint32_t{}));
      for (std::int64_t& extent : sizes) extent = number(std::int64_t{});
      const auto size = number(std::uint64_t{});
      take(-at % kArrayAlignment);
      const std::string what = "output '" + name + "'";
      const std::uint64_t count = elements_of(sizes, answer->size(), what);
      values.push_back(tensor_from(output.type.dtype, std::move(sizes), count, {take(size), size}, what, answer));
    }
    return values;
  }

  const PythonParts parts_;
  std::shared_ptr<WorkersGuard> workers_guard_;
};

void check_types(const YamlNode& node, const PythonParts& parts) {
  const auto check = [&](const char* list, const std::string& name, const Port& type) {
    if (type.kind == Array::Kind::tensor && numpy_type_of(type.dtype) != nullptr) return;
    node.at(list).at(name).fail("NumPy has no type for " + type.type);
  };
  for (const Argument& input : parts.inputs) check("inputs", input.name, input.value.type);
  for (const auto& [name, output] : parts.outputs) check("outputs", name, output.type);
}

/// Returns the environment of a process. NAME copies the server's variable, NAME=VALUE sets one.
std::vector<std::string> environment_of(const YamlNode& node) {
  std::vector<std::string> variables;
  for (const YamlNode& item : node.items()) {
    const std::string text = item.name(), name = text.substr(0, text.find('='));
    if (name.empty()) item.expected("NAME or NAME=VALUE");
    const char* const value = ::getenv(name.c_str());  // NOLINT(concurrency-mt-unsafe): nothing here changes it
    if (text.size() > name.size()) {
      variables.push_back(text);
    } else if (value != nullptr) {
      variables.push_back(name + "=" + value);
    }
  }
  return variables;
}

/// Determines the level of the step's sandbox, which is the same for all of its processes.
SandboxReach reach_level(const YamlNode& node, PythonParts& parts) try {
  SandboxReach reach = require_reach(parts.command.sandbox, sandbox_support());
  parts.command.level = reach.level;
  const std::vector<SandboxPath> paths = python_paths(parts.command);
  parts.command.sandbox.paths.insert(parts.command.sandbox.paths.begin(), paths.begin(), paths.end());
  return reach;
} catch (const api::Error& why) {
  node.fail(std::string(why.what()) + "; a step can declare another level in 'sandbox: {level: ...}'");
}

void report_level(const HostScope& scope, const std::string& step, const SandboxReach& reach) {
  std::string text = "node '" + step + "': its sandbox has the level '" + std::string(name_of(reach.level)) + "'";
  if (!reach.lacks.empty()) text += ", no higher one: " + reach.lacks;
  inform(scope.notify, model_subject(scope.pipeline), text);
}

std::shared_ptr<PythonPool> start_pool(const YamlNode& node, const std::string& name, const HostScope& scope,
                                       const PythonParts& parts, const SandboxReach& reach) try {
  report_level(scope, name, reach);
  return std::make_shared<PythonPool>(parts.command, parts.processes, parts.time_out,
                                      start_check(parts.command, scope));
} catch (const std::runtime_error& why) {  // a Refusal or Outside; the file's author may read both
  node.at("python").fail(why.what());
}

}  // namespace

HostStep read_python_step(const YamlNode& node, const std::string& name, const HostScope& scope) {
  PythonParts parts;
  parts.command.file = std::filesystem::absolute(std::filesystem::path(scope.folder) / node.at("python").name());
  parts.command.function = node.at("function").name();
  parts.command.silent = scope.hides_details;
  std::string& kept = scope.source.files[node.at("python").name()];
  if (!scope.kept) kept = read_config_file(parts.command.file);
  HostStep step{.content = kept};
  node.fields({{"python", kReadElsewhere},
               {"function", kReadElsewhere},
               {"interpreter", [&](const YamlNode& n) { parts.command.interpreter = n.name(); }},
               {"environment", [&](const YamlNode& n) { parts.command.environment = environment_of(n); }},
               {"network", [&](const YamlNode& n) { parts.command.sandbox.network = n.boolean(); }},
               {"sandbox", kReadElsewhere},
               {"processes", [&](const YamlNode& n) { parts.processes = n.whole(1, 64); }},
               {"timeout_ms", [&](const YamlNode& n) { parts.time_out = time_of(n, 1); }},
               {"inputs", [&](const YamlNode& n) { parts.inputs = arguments_of(n, scope); }},
               {"outputs", [&](const YamlNode& n) { parts.outputs = outputs_of(n, scope); }}});
  if (!node.find("outputs")) node.at("outputs");
  check_types(node, parts);
  for (const auto& [output, result] : parts.outputs) {
    parts.command.outputs.push_back(output + "=" + numpy_type_of(result.type.dtype));
  }
  step.results = parts.outputs;
  read_sandbox(node, scope, parts.command);
  if (!scope.kept) {
    const SandboxReach reach = reach_level(node, parts);
    parts.pool = scope.holdings.get<PythonPool>(declaration_of_pool(name, parts, step.content),
                                                [&] { return start_pool(node, name, scope, parts, reach); });
  }
  step.node = std::make_unique<PythonNode>(name, std::move(parts), scope);
  return step;
}

}  // namespace frazil::server
