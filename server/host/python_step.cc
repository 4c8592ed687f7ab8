// Steps that run Python functions of the user in separate processes.
#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <csignal>
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

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "server/core/digest.h"
#include "server/core/embed.h"
#include "server/core/file_descriptor.h"
#include "server/core/raw_bytes.h"
#include "server/host/host_node.h"
#include "server/request/tensor_bytes.h"

// The program that runs a function. FRAZIL_HOST_FILES is defined by the build.
FRAZIL_EMBED(frazil_python_runner, FRAZIL_HOST_FILES "/python_runner.py");

namespace frazil::server {
namespace {

using api::Array;
using api::Dtype;
using api::Port;
using std::chrono::milliseconds;

constexpr std::pair<Dtype, const char*> kNumpyTypes[] = {
    {Dtype::boolean, "|b1"}, {Dtype::i8, "|i1"},  {Dtype::i16, "<i2"}, {Dtype::i32, "<i4"},   {Dtype::i64, "<i8"},
    {Dtype::u8, "|u1"},      {Dtype::u16, "<u2"}, {Dtype::u32, "<u4"}, {Dtype::u64, "<u8"},   {Dtype::f16, "<f2"},
    {Dtype::f32, "<f4"},     {Dtype::f64, "<f8"}, {Dtype::c64, "<c8"}, {Dtype::c128, "<c16"}, {Dtype::string, "O"}};

const char* numpy_type_of(Dtype dtype) {
  const auto* const at = std::ranges::find(kNumpyTypes, dtype, &std::pair<Dtype, const char*>::first);
  return at == std::end(kNumpyTypes) ? nullptr : at->second;
}

constexpr const char* kPythonFailed = "the Python function failed; the server's log has the reason";

[[noreturn]] void python_failed(const std::string& what) {
  throw ExternalFailure(Http::internal, kPythonFailed, "the Python process " + what);
}

struct PythonCommand {
  std::string interpreter = "python3", file, function;
  std::vector<std::string> outputs;      ///< NAME=TYPE, as NumPy writes the type
  std::vector<std::string> environment;  ///< NAME=VALUE, the complete environment
};

/// One process. It belongs to the thread that started it and ends with that thread.
class PythonProcess {
 public:
  /// Called every 10 ms while waiting; may throw.
  using Tick = std::function<void()>;

  /// Throws Outside if the process cannot be started or cannot load the function.
  PythonProcess(const PythonCommand& command, const Tick& tick) {
    spawn(command);
    constexpr std::chrono::seconds kToStart{60};
    try {
      const std::string answer = receive(Clock::now() + kToStart, tick);
      if (answer[0] == 0) throw ExternalFailure(Http::internal, kPythonFailed, answer.substr(1));
    } catch (...) {
      end();
      throw;
    }
  }
  ~PythonProcess() { end(); }
  PythonProcess(const PythonProcess&) = delete;
  PythonProcess& operator=(const PythonProcess&) = delete;

  bool ended() { return ended_ || reap(WNOHANG); }

  /// Sends a message and returns the answer. After an exception the process is unusable.
  std::string exchange(std::string_view message, Clock::time_point until, const Tick& tick) {
    std::uint64_t size = message.size();
    send({reinterpret_cast<const char*>(&size), sizeof size}, until, tick);
    send(message, until, tick);
    return receive(until, tick);
  }

 private:
  void spawn(const PythonCommand& command) {
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) != 0)
      python_failed(text_of_errno(errno));
    link_ = ends[0];
    ::fcntl(ends[1], F_SETFL, 0);  // NOLINT: the process waits
    std::vector<std::string> texts{command.interpreter,  "-u",         "-c",
                                   frazil_python_runner, command.file, command.function};
    texts.insert(texts.end(), command.outputs.begin(), command.outputs.end());
    std::vector<std::string> variables = command.environment;
    const std::vector<char*> arguments = pointers_to(texts), environment = pointers_to(variables);
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&files, 2, 1);
    posix_spawn_file_actions_adddup2(&files, ends[1], 3);
    posix_spawn_file_actions_addclosefrom_np(&files, 4);
    posix_spawnattr_t how;
    posix_spawnattr_init(&how);
    sigset_t none, usual;
    sigemptyset(&none);
    sigfillset(&usual);
    posix_spawnattr_setsigmask(&how, &none);
    posix_spawnattr_setsigdefault(&how, &usual);
    posix_spawnattr_setflags(&how, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    const int error = ::posix_spawnp(&process_, texts[0].c_str(), &files, &how, arguments.data(), environment.data());
    posix_spawnattr_destroy(&how);
    posix_spawn_file_actions_destroy(&files);
    ::close(ends[1]);
    if (error == 0) return;
    ended_ = true;
    ::close(link_);
    python_failed("'" + command.interpreter + "' cannot be started: " + text_of_errno(error));
  }

  static std::vector<char*> pointers_to(std::vector<std::string>& texts) {
    std::vector<char*> pointers;
    for (std::string& text : texts) pointers.push_back(text.data());
    pointers.push_back(nullptr);
    return pointers;
  }

  bool reap(int how) {
    if (::waitpid(process_, &status_, how) == process_) ended_ = true;
    return ended_;
  }

  void end() {
    if (link_ >= 0) ::close(std::exchange(link_, -1));
    ::kill(-process_, SIGKILL);  // including its child processes
    if (!ended_) reap(0);
  }

  [[noreturn]] void fail() {
    for (int i = 0; i < 100 && !ended(); ++i) std::this_thread::sleep_for(milliseconds(1));
    if (!ended_) python_failed("has closed its connection");
    if (WIFSIGNALED(status_)) python_failed("was ended by signal " + std::to_string(WTERMSIG(status_)));
    python_failed("ended with status " + std::to_string(WEXITSTATUS(status_)));
  }

  void wait(short events, Clock::time_point until, const Tick& tick) {
    for (;;) {
      pollfd one{.fd = link_, .events = events, .revents = 0};
      if (::poll(&one, 1, 10) > 0) return;
      tick();
      if (Clock::now() >= until) {
        throw Refusal(Http::timeout, "the Python function did not end in time; its process is started again");
      }
    }
  }

  void send(std::string_view bytes, Clock::time_point until, const Tick& tick) {
    while (!bytes.empty()) {
      const ssize_t sent = ::send(link_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent >= 0) bytes.remove_prefix(static_cast<std::size_t>(sent));
      if (sent < 0 && errno != EAGAIN && errno != EINTR) fail();
      if (sent < 0) wait(POLLOUT, until, tick);
    }
  }

  void receive(char* to, std::size_t size, Clock::time_point until, const Tick& tick) {
    while (size > 0) {
      const ssize_t got = ::recv(link_, to, size, 0);
      if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) fail();
      if (got < 0) {
        wait(POLLIN, until, tick);
      } else {
        to += got;
        size -= static_cast<std::size_t>(got);
      }
    }
  }

  std::string receive(Clock::time_point until, const Tick& tick) {
    constexpr std::uint64_t kMax = std::uint64_t{1} << 31U;
    std::uint64_t size = 0;
    receive(reinterpret_cast<char*>(&size), sizeof size, until, tick);
    if (size == 0 || size > kMax) python_failed("sent a malformed answer");
    std::string answer(size, '\0');
    receive(answer.data(), answer.size(), until, tick);
    return answer;
  }

  int link_ = -1, status_ = 0;
  pid_t process_ = -1;
  bool ended_ = false;
};

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
  PythonPool(PythonCommand command, std::size_t processes, Clock::duration time_out)
      : command_(std::move(command)), time_out_(time_out) {
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
    if (!process) process.emplace(command_, [this, running] { tick(running); });
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

/// Returns a text with everything that a step's processes depend on.
std::string declaration_of_pool(const std::string& step, const PythonParts& parts, const std::string& content) {
  std::string text =
      step + '\n' + parts.command.interpreter + '\n' + parts.command.file + '\n' + parts.command.function;
  for (const std::string& output : parts.command.outputs) (text += '\n') += output;
  for (const std::string& variable : parts.command.environment) (text += '\n') += sha256(variable);
  text += '\n' + std::to_string(parts.processes) + ' ' + std::to_string(parts.time_out.count()) + '\n';
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

}  // namespace

HostStep read_python_step(const YamlNode& node, const std::string& name, const HostScope& scope) {
  PythonParts parts;
  parts.command.file = std::filesystem::absolute(std::filesystem::path(scope.folder) / node.at("python").name());
  parts.command.function = node.at("function").name();
  std::string& kept = scope.source.files[node.at("python").name()];
  if (!scope.kept) kept = read_config_file(parts.command.file);
  HostStep step{.content = kept};
  node.fields({{"python", kReadElsewhere},
               {"function", kReadElsewhere},
               {"interpreter", [&](const YamlNode& n) { parts.command.interpreter = n.name(); }},
               {"environment", [&](const YamlNode& n) { parts.command.environment = environment_of(n); }},
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
  if (!scope.kept) try {
      parts.pool = scope.holdings.get<PythonPool>(declaration_of_pool(name, parts, step.content), [&] {
        return std::make_shared<PythonPool>(parts.command, parts.processes, parts.time_out);
      });
    } catch (const std::runtime_error& why) {  // a Refusal or Outside; the file's author may read both
      node.at("python").fail(why.what());
    }
  step.node = std::make_unique<PythonNode>(name, std::move(parts), scope);
  return step;
}

}  // namespace frazil::server
