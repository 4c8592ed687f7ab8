#include "server/model/sequence_turns.h"

#include <algorithm>

#include <frazil/error.h>

#include "server/core/digest.h"
#include "server/core/port.h"
#include "server/request/path_record.h"
#include "server/state/state_bytes.h"

namespace frazil::server {
namespace {

using api::Array;

// Keys next to a sequence's state: its last request with an id, and its results. No input has such a name.
constexpr const char *kLastId = "\nid", *kLastResult = "\nresult ";
constexpr const char* kModel = "\nmodel";  // digest of the model that wrote the state

/// Returns a text that identifies a repeated request: its id, its inputs and whether it ends the sequence. Returns ""
/// without an id.
std::string fingerprint(const InferRequest& request, const std::vector<api::Port>& ports,
                        const std::vector<Array>& inputs) {
  if (request.id.empty()) return {};
  std::vector<NamedArray> given;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i].empty()) given.emplace_back(ports[i].name, inputs[i]);
  }
  return (request.sequence.end ? "end " : "") + sha256(bytes_of_state(given, 0)) + ' ' + request.id;
}

bool answered_before(const std::string& print, const InferRequest& request, const State& state) {
  if (print.empty() || request.sequence.start) return false;
  const auto last = state.value(kLastId);
  return last && last->item<std::string>() == print;
}

void check_states(const Served& served, const Sequences& sequences) {
  for (const StateLink& link : sequences.states) {
    const auto in = position_of(served.inputs(), link.input), out = position_of(served.outputs(), link.output);
    const auto refuse = [&](const std::string& why) {
      throw api::Error(api::Code::bad_input, "model '" + served.name() + "': state '" + link.input + "': " + why);
    };
    if (!in) refuse("there is no such input");
    if (!out) refuse("there is no output '" + link.output + "'");
    const api::Port& port = served.inputs()[*in];
    if (port.kind != Array::Kind::tensor || port.dtype != served.outputs()[*out].dtype) {
      refuse("output '" + link.output + "' has another type");
    }
    if (link.axis && (*link.axis >= port.dims.size() || fixed_extent(port.dims[*link.axis]))) {
      refuse("it cannot grow along axis " + std::to_string(*link.axis) + ": it is " + port.type);
    }
  }
}

std::shared_ptr<const Growing> growth_of(const Served& served, const Sequences& sequences) {
  check_states(served, sequences);
  return std::make_shared<const Growing>(growing_states(sequences.states, served.inputs(), served.outputs()));
}

}  // namespace

void check_sequence(const SequencePart& sequence) {
  if (sequence.parent.empty()) return;
  const auto refuse = [](const std::string& why) {
    throw Refusal(Http::bad_request, "parameter sequence_parent: " + why);
  };
  if (sequence.id.empty()) refuse("expected the id of the sequence that starts");
  if (!sequence.start && !sequence.start_if_new) refuse("requires sequence_start");
  if (sequence.parent == sequence.id) refuse("sequence '" + sequence.id + "' cannot start from itself");
}

SequenceTurns::SequenceTurns(const Served& served, Sequences sequences, std::string digest, StateStore& states, Run run)
    : served_(served),
      sequences_(std::move(sequences)),
      digest_(std::move(digest)),
      states_(states),
      run_(std::move(run)),
      growing_(growth_of(served, sequences_)) {}

StateKey SequenceTurns::state_key(const Call& call, const std::string& sequence) const {
  return {call.identity.name(), std::to_string(served_.name().size()) + ':' + served_.name() + sequence};
}

void SequenceTurns::begin(Job job) const {
  if (sequences_.states.empty()) {
    throw Refusal(Http::bad_request, "model '" + served_.name() + "' keeps no state: it has no sequences");
  }
  const std::string parent = job.call.request.sequence.parent;
  if (parent.empty()) return begin(std::move(job), nullptr);
  const auto shared = std::make_shared<Job>(std::move(job));
  states_.look(state_key(shared->call, parent), [this, shared](State::Ptr found) {
    const auto done = shared->call.done;
    try {
      begin(std::move(*shared), std::move(found));
    } catch (...) {
      done(std::unexpected(refusal_of_exception()));
    }
  });
}

void SequenceTurns::begin(Job job, State::Ptr parent) const {
  const StateKey key = state_key(job.call, job.call.request.sequence.id);
  const auto shared = std::make_shared<Job>(std::move(job));
  states_.begin(key, [this, shared, parent = std::move(parent)](const State::Ptr& state) {
    const auto done = shared->call.done;
    const StateKey held = state_key(shared->call, shared->call.request.sequence.id);
    try {
      take_turn(std::move(*shared), state, parent);
    } catch (...) {
      states_.abandon(held);
      done(std::unexpected(refusal_of_exception()));
    }
  });
}

/// Answers a repeated request from the stored results. A client or proxy repeats a request if it missed the answer.
void SequenceTurns::repeat(Job job, const State& state) const {
  states_.abandon(state_key(job.call, job.call.request.sequence.id));
  std::vector<Array> results;
  for (std::size_t i = 0; i < served_.outputs().size(); ++i) {
    auto result = state.value(kLastResult + std::to_string(i));
    if (const auto link = growing_link(i); !result && link) result = state.value(*link);
    results.push_back(result.value_or(Array()));
  }
  if (const auto& recording = job.call.recording) {
    Happening happening{.node = job.call.node, .kind = "repeat"};
    for (const Array& result : results) happening.values.emplace_back("", result);
    recording->add(std::move(happening));
  }
  job.finish(std::move(job.call), std::move(results));
}

/// Returns the input fed by a growing output. Such an output is stored as state and not a second time as a result.
std::optional<std::string> SequenceTurns::growing_link(std::size_t output) const {
  for (const Growth& growth : *growing_) {
    const StateLink& link = sequences_.states[growth.value];
    if (link.output == served_.outputs()[output].name) return link.input;
  }
  return std::nullopt;
}

/// Returns the state that a turn continues from; null if it starts without one.
State::Ptr SequenceTurns::origin_of(const SequencePart& sequence, const State::Ptr& state, State::Ptr parent) const {
  const auto unknown = [&](const std::string& id, const std::string& why) {
    return Refusal(Http::bad_request, "sequence '" + id + "' of model '" + served_.name() +
                                          "' is not known: it has not been started, or has expired" + why);
  };
  const bool fresh = sequence.start || (state == nullptr && sequence.start_if_new);
  if (!fresh && state == nullptr) throw unknown(sequence.id, "");
  if (!fresh) return check_own(sequence.id, state);
  if (!sequence.parent.empty() && parent == nullptr) {
    throw unknown(sequence.parent, "; '" + sequence.id + "' cannot start from it");
  }
  return parent == nullptr ? nullptr : check_own(sequence.parent, std::move(parent));
}

/// Refuses a lost state, and a state written by another version of the model.
State::Ptr SequenceTurns::check_own(const std::string& sequence, State::Ptr state) const {
  const std::string of = "sequence '" + sequence + "' of model '" + served_.name() + "' ";
  if (state->is_lost()) {
    throw Refusal(Http::bad_request, of + "is lost, as Redis has lost its states: start a new one");
  }
  const auto model = state->value(kModel);
  if (model && model->item<std::string>() != digest_) {
    throw Refusal(Http::bad_request,
                  of + "was left by another version of the model than this one: start a new one, or name that version");
  }
  return state;
}

/// Returns the initial value of a state. It is empty for an input with a default.
Array SequenceTurns::first_state(std::size_t link) const {
  const api::Port& port = served_.inputs()[*position_of(served_.inputs(), sequences_.states[link].input)];
  const auto grows = std::ranges::find(*growing_, link, &Growth::value);
  if (port.optional) return {};
  return zeros_of(port, grows == growing_->end() ? std::nullopt : std::optional(grows->axis));
}

/// Sets the inputs from the state. Stores the next state after the run and before the answer.
void SequenceTurns::take_turn(Job job, const State::Ptr& state, State::Ptr parent) const {
  const std::string print = fingerprint(job.call.request, served_.inputs(), job.inputs);
  if (state != nullptr && answered_before(print, job.call.request, *state)) return repeat(std::move(job), *state);
  const State::Ptr origin = origin_of(job.call.request.sequence, state, std::move(parent));
  std::vector<NamedArray> found;
  const std::vector<StateLink>& links = sequences_.states;
  for (std::size_t i = 0; i < links.size(); ++i) {
    Array& input = job.inputs[*position_of(served_.inputs(), links[i].input)];
    if (!input.empty()) continue;  // the client overrides the state
    input = origin == nullptr ? first_state(i) : origin->value(links[i].input).value_or(Array());
    if (!input.empty()) found.emplace_back(links[i].input, input);
  }
  if (job.call.path != nullptr) job.call.path->set_state(found);
  // A handle to a growing state makes the run copy it, so that only a recording keeps one.
  if (job.call.recording != nullptr) job.state = std::move(found);
  job.finish = [this, print, finish = std::move(job.finish)](Call call, Values values) {
    try {
      end_turn(call, values, print);
    } catch (...) {
      values = std::unexpected(refusal_of_exception());
    }
    finish(std::move(call), std::move(values));
  };
  run_(std::move(job));
}

void SequenceTurns::end_turn(const Call& call, const Values& values, const std::string& print) const {
  const StateKey key = state_key(call, call.request.sequence.id);
  if (!values) return states_.abandon(key);
  if (call.request.sequence.end) return states_.end(key, std::nullopt, {});
  StateStore::Values next;
  for (const StateLink& link : sequences_.states) {
    next.emplace_back(link.input, (*values)[*position_of(served_.outputs(), link.output)]);
  }
  next.emplace_back(kModel, Array::scalar(digest_));
  if (!print.empty()) {
    next.emplace_back(kLastId, Array::scalar(print));
    for (std::size_t i = 0; i < values->size(); ++i) {
      if (!growing_link(i)) next.emplace_back(kLastResult + std::to_string(i), (*values)[i]);
    }
  }
  states_.end(key, std::move(next), sequences_.idle, growing_);
}

}  // namespace frazil::server
