#include "debug/debugger.h"

#include <algorithm>

#include "debug/run.h"

namespace frazil::debug {

Debugger::Debugger(std::shared_ptr<const Graph> graph, Backend ways)
    : graph_(std::move(graph)), ways_(std::move(ways)), sites_(graph_), missing_(sites_.size()), made_(sites_.size()) {}

Debugger::~Debugger() { leave_run(); }

void Debugger::leave_run() {
  reachable_ = nullptr;
  while (cancelling_ != 0) std::this_thread::yield();
  run_.reset();
}

Result<std::unique_ptr<Debugger>> Debugger::make(std::shared_ptr<const Graph> graph, Backend ways) {
  std::unique_ptr<Debugger> made(new Debugger(std::move(graph), std::move(ways)));
  FRAZIL_CHECK(made->rebuild());
  return made;
}

Status Debugger::rebuild() {
  running_ = graph_;
  if (!replaced_.empty()) {
    std::vector<std::pair<Value, std::shared_ptr<Replacement>>> values;
    for (const auto& [site, with] : replaced_) values.emplace_back(sites_[site].value, with);
    FRAZIL_TRY(Graph edited, with_replacements(*graph_, values));
    running_ = std::make_shared<const Graph>(std::move(edited));
  }
  FRAZIL_TRY(executable_, ways_.make(running_));
  return {};
}

Stop Debugger::run(std::vector<Datum> inputs, Until until) {
  leave_run();
  inputs_ = std::move(inputs);
  return begin(until);
}

Stop Debugger::begin(Until until, std::optional<std::pair<std::size_t, std::uint64_t>> target) {
  leave_run();
  results_.clear();
  std::ranges::fill(missing_, std::string());
  std::ranges::fill(made_, Made());
  for (const auto& [site, with] : replaced_) with->count = 0;
  run_ = std::make_unique<Run>(*this, target);
  reachable_ = run_.get();
  Stop stop = go(until);
  if (wanted_.empty()) return stop;
  if (Status kept = keep_missing(); !kept) return {.why = Stop::Why::failed, .fault = std::move(kept).error()};
  return begin(until, target);
}

/// Keeps the values that passes removed. Clears wanted_, so that begin() calls itself at most once.
Status Debugger::keep_missing() {
  leave_run();
  for (const std::size_t site : std::exchange(wanted_, {})) replacement(site);
  return rebuild();
}

bool Debugger::is_kept(std::size_t site) const {
  return std::ranges::find(replaced_, site, &decltype(replaced_)::value_type::first) != replaced_.end();
}

Replacement& Debugger::replacement(std::size_t site) {
  const auto at = std::ranges::find(replaced_, site, &decltype(replaced_)::value_type::first);
  if (at != replaced_.end()) return *at->second;
  replaced_.emplace_back(site, std::make_shared<Replacement>());
  replaced_.back().second->name = "frazil.debug/" + sites_[site].name;
  return *replaced_.back().second;
}

Stop Debugger::go(Until until) {
  stop_ = run_->go(until);
  const bool over = stop_.why == Stop::Why::ended || stop_.why == Stop::Why::failed;
  if (over && wanted_.empty()) {  // otherwise begin() still needs the run
    results_ = std::move(run_->results());
    leave_run();
  }
  return stop_;
}

void Debugger::cancel() noexcept {
  ++cancelling_;
  if (Run* const run = reachable_) run->cancel();
  --cancelling_;
}

Result<std::uint32_t> Debugger::add_breakpoint(std::string_view text) {
  FRAZIL_TRY(Breakpoint parsed, parse_breakpoint(text, sites_));
  parsed.number = next_number_++;
  breakpoints_.push_back(std::move(parsed));
  return breakpoints_.back().number;
}

bool Debugger::remove_breakpoint(std::uint32_t number) {
  return std::erase_if(breakpoints_, [&](const Breakpoint& b) { return b.number == number; }) > 0;
}

namespace {

std::optional<std::size_t> input_of(const Graph& graph, Value v) {
  const auto& params = graph.main().params;
  const auto at = std::ranges::find(params, v);
  return at == params.end() ? std::nullopt : std::optional<std::size_t>(at - params.begin());
}

/// An observer that keeps the last value made, up to the iterations `until`.
class LastValue : public exec::Observer {
 public:
  LastValue(const exec::WatchedValue& wanted, const std::vector<std::int64_t>* until)
      : wanted_(wanted), until_(until) {}
  std::span<const exec::WatchedValue> watched() const override { return {&wanted_, 1}; }
  void value(std::size_t, const Datum& value, std::span<const std::int64_t> iterations) override {
    if (until_ != nullptr && std::ranges::lexicographical_compare(*until_, iterations)) return;
    last_ = value;
  }
  const std::optional<Datum>& last() const { return last_; }

 private:
  const exec::WatchedValue& wanted_;
  const std::vector<std::int64_t>* const until_;
  std::optional<Datum> last_;
};

}  // namespace

Result<Datum> Debugger::by_reference(std::size_t site) {
  FRAZIL_TRY(const auto reference, exec::Executable::make(running_, {.reference = true}));
  std::vector<std::uint64_t> counts;
  for (const auto& [at, with] : replaced_) counts.push_back(std::exchange(with->count, 0));
  LastValue last(sites_[site].watched, in_run() ? &stop_.iterations : nullptr);
  const auto session = ways_.open(*reference);
  session->set_observer(&last);
  const auto results = session->run(inputs_);
  for (std::size_t i = 0; i < counts.size(); ++i) replaced_[i].second->count = counts[i];
  if (last.last()) return *last.last();
  if (!results) return std::unexpected(results.error());
  return fail(Code::bad_input, "value '{}' is not made with these inputs", sites_[site].name);
}

Result<Datum> Debugger::value(std::string_view name) {
  FRAZIL_TRY(const Value v, sites_.names().value(name));
  if (const Constant* constant = graph_->constant(v)) return Datum(constant->tensor);
  FRAZIL_TRY(const std::size_t site, sites_.require(name));
  if (made_[site].count > 0) return made_[site].last;
  if (const auto input = input_of(*graph_, sites_[site].value); input && *input < inputs_.size()) {
    const Tensor* given = graph_->input_default(*input);
    return inputs_[*input].empty() && given != nullptr ? Datum(*given) : inputs_[*input];
  }
  if (!missing_[site].empty()) return by_reference(site);
  return fail(Code::bad_input, "value '{}' has not been made {}", sites_[site].name, in_run() ? "yet" : "in a run");
}

namespace {

Status check_fits(const Datum& old, const Datum& value, std::string_view name) {
  if (!old.is_tensor() || !value.is_tensor()) {
    return fail(Code::unsupported, "value '{}' cannot be set: only tensors can", name);
  }
  const Tensor &was = old.tensor(), &is = value.tensor();
  if (was.elem() == is.elem() && was.sizes() == is.sizes()) return {};
  return fail(Code::bad_input, "value '{}' is {}, not {}", name, was.type_str(), is.type_str());
}

}  // namespace

Result<Stop> Debugger::set(std::string_view name, Datum value) {
  FRAZIL_TRY(const std::size_t site, sites_.require(name));
  FRAZIL_TRY(const Datum old, this->value(name));
  FRAZIL_CHECK(check_fits(old, value, sites_[site].name));
  if (const auto input = input_of(*graph_, sites_[site].value)) {
    inputs_[*input] = std::move(value);
    return begin(Until::next_value);
  }
  const std::uint64_t count = made_[site].count;
  if (count == 0) {
    return fail(Code::unsupported, "value '{}' cannot be set: {}; tier ref has it", sites_[site].name, missing_[site]);
  }
  leave_run();
  replacement(site).by_count[count] = std::move(value);
  FRAZIL_CHECK(rebuild());
  return begin(Until::next_value, std::pair(site, count));
}

}  // namespace frazil::debug
