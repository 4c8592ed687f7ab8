#include "lazy/program/program.h"

#include "lazy/memory/spare.h"
#include "lazy/record/interpreter_hooks.h"
#include "pass/batch/batch.h"

namespace frazil::lazy {
namespace {

Mutex options_mutex;
RunOptions options_now;  // guarded by options_mutex

RunOptions run_options() {
  const std::scoped_lock lock(options_mutex);
  return options_now;
}

}  // namespace

void set_run_options(RunOptions options) {
  const std::scoped_lock lock(options_mutex);
  options_now = std::move(options);
}

Status Program::make(const std::vector<bool>& stacked, Form& form) const {
  std::vector<std::size_t> positions;
  for (std::size_t i = 0; i < stacked.size(); ++i) {
    if (stacked[i]) positions.push_back(i);
  }
  std::shared_ptr<const Graph> graph = graph_;
  if (!positions.empty()) {
    FRAZIL_TRY(Graph batched, pass::batch(*graph_, positions));
    graph = std::make_shared<const Graph>(std::move(batched));
  }
  FRAZIL_TRY(form.executable, exec::Executable::make(std::move(graph), run_options().options));
  return {};
}

Result<Program::Form*> Program::form(const std::vector<bool>& stacked) {
  const std::scoped_lock lock(mutex_);
  const auto [at, fresh] = forms_.try_emplace(stacked);
  Form& form = at->second;
  if (fresh) {
    if (Status made = make(stacked, form); !made) form.fault = std::move(made).error();
    // Bytes on the heap, measured on recorded programs of 3 to 400 nodes.
    constexpr std::size_t kForm = 12U << 10U, kNode = 2500;
    bytes_ += kForm + kNode * graph_->node_count();
  }
  if (form.fault) return std::unexpected(*form.fault);
  return &form;
}

Status Program::run_form(const std::vector<bool>& stacked, std::span<const Datum> inputs, std::vector<Datum>& outputs,
                         Running& running) {
  FRAZIL_TRY(Form* const form, this->form(stacked));
  std::unique_ptr<exec::Session> session;
  {
    const std::scoped_lock lock(mutex_);
    if (!form->free.empty()) {
      session = std::move(form->free.back());
      form->free.pop_back();
      session_bytes_ -= session->held_bytes();
    }
  }
  if (session == nullptr) session = run_options().open(*form->executable);
  session->set_stop(&running.stop);
  running.session = session.get();
  Status status = session->run(inputs, outputs);
  running.session = nullptr;
  session->set_stop(nullptr);
  const std::scoped_lock lock(mutex_);
  session_bytes_ += session->held_bytes();
  form->free.push_back(std::move(session));
  return status;
}

void Program::close_sessions() {
  const std::scoped_lock lock(mutex_);
  for (auto& [stacked, form] : forms_) form.free.clear();
  session_bytes_ = 0;
}

Status Program::ready() {
  std::optional<Fault> fault;
  unlocked(
      [&] {
        if (const auto made = form({}); !made) fault = made.error();
      },
      [] {});
  if (fault) return std::unexpected(*std::move(fault));
  return {};
}

Status Program::run(std::span<const Datum> inputs, std::vector<Datum>& outputs) {
  return run_batch({}, inputs, outputs);
}

Status Program::run_batch(const std::vector<bool>& stacked, std::span<const Datum> inputs,
                          std::vector<Datum>& outputs) {
  Status status;
  Running running;
  const auto cancel = [&] {
    running.stop.exchange(true, std::memory_order_acq_rel);
    if (exec::Session* const session = running.session) session->cancel();
  };
  unlocked([&] { status = run_form(stacked, inputs, outputs, running); }, cancel);
  return status;
}

std::vector<Datum> Program::borrowed_results(std::size_t elements) const {
  std::vector<Datum> lent(last_types_.size());
  for (std::size_t k = 0; k < lent.size(); ++k) {
    const KnownType* const type = last_types_[k].load(std::memory_order_acquire);
    if (type == nullptr || type->elem == Elem::string) continue;
    auto memory = spare_tensor(Elem::u8, {static_cast<std::int64_t>(type->bytes * elements)});
    if (memory) lent[k] = std::move(*memory);
  }
  return lent;
}

void Program::remember(std::span<const KnownType* const> types) {
  for (std::size_t k = 0; k < last_types_.size(); ++k) last_types_[k].store(types[k], std::memory_order_release);
}

Result<std::string> Program::explain() {
  Result<std::string> text;
  const auto explain = [&]() -> Result<std::string> {
    FRAZIL_TRY(Form* const itself, form({}));
    return itself->executable->explain();
  };
  unlocked([&] { text = explain(); }, [] {});
  return text;
}

}  // namespace frazil::lazy
