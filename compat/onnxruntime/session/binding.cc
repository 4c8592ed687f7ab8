// Functions of the table that bind inputs and outputs to values.
#include <algorithm>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "compat/onnxruntime/functions.h"
#include "compat/onnxruntime/memory.h"
#include "compat/onnxruntime/session/session.h"
#include "compat/onnxruntime/status.h"
#include "compat/onnxruntime/value/value.h"

namespace frazil::ort {
namespace {

struct Bound {
  std::string name;
  ValueHandle value;
  bool given = false;  ///< an output that is written in place; others get a new value in each run
};

void bind(std::vector<Bound>& list, Bound bound) {
  const auto found = std::ranges::find(list, bound.name, &Bound::name);
  if (found == list.end())
    list.push_back(std::move(bound));
  else
    *found = std::move(bound);
}

void expect_name(const std::vector<Place>& places, const char* name, const char* what) {
  if (std::ranges::find(places, std::string_view(name), &Place::name) == places.end()) {
    fail(ORT_INVALID_ARGUMENT, "Invalid {} name: {}", what, name);
  }
}

}  // namespace
}  // namespace frazil::ort

struct OrtIoBinding {
  OrtSession* session;
  std::vector<frazil::ort::Bound> inputs, outputs;
};

namespace frazil::ort {

OrtStatus* CreateIoBinding(OrtSession* session, OrtIoBinding** out) {
  return guarded([&] {
    require(session, "session");
    *out = new OrtIoBinding{session, {}, {}};
  });
}
void ReleaseIoBinding(OrtIoBinding* input) { delete input; }

OrtStatus* BindInput(OrtIoBinding* binding_ptr, const char* name, const OrtValue* val_ptr) {
  return guarded([&] {
    require(binding_ptr, "binding");
    require(name, "name");
    require(val_ptr, "value");
    bind(binding_ptr->inputs, {name, ValueHandle(val_ptr->share())});
  });
}
OrtStatus* BindOutput(OrtIoBinding* binding_ptr, const char* name, const OrtValue* val_ptr) {
  return guarded([&] {
    require(binding_ptr, "binding");
    require(name, "name");
    require(val_ptr, "value");
    expect_name(binding_ptr->session->outputs, name, "output");
    bind(binding_ptr->outputs, {name, ValueHandle(val_ptr->share()), true});
  });
}
OrtStatus* BindOutputToDevice(OrtIoBinding* binding_ptr, const char* name, const OrtMemoryInfo*) {
  return guarded([&] {
    require(binding_ptr, "binding");
    require(name, "name");
    expect_name(binding_ptr->session->outputs, name, "output");
    bind(binding_ptr->outputs, {name, {}, false});
  });
}

OrtStatus* RunWithBinding(OrtSession* session, const OrtRunOptions* run_options, const OrtIoBinding* binding_ptr) {
  return guarded([&] {
    require(session, "session");
    require(binding_ptr, "binding");
    std::vector<const char*> input_names, output_names;
    std::vector<const OrtValue*> inputs;
    std::vector<OrtValue*> values;
    for (const Bound& input : binding_ptr->inputs) {
      input_names.push_back(input.name.c_str());
      inputs.push_back(input.value.get());
    }
    for (const Bound& output : binding_ptr->outputs) {
      output_names.push_back(output.name.c_str());
      values.push_back(output.given ? output.value.get() : nullptr);
    }
    run(*session, run_options, input_names, inputs, output_names, values);
    auto& outputs = const_cast<OrtIoBinding*>(binding_ptr)->outputs;  // the binding holds the results
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      if (!outputs[i].given) outputs[i].value = ValueHandle(values[i]);
    }
  });
}

OrtStatus* GetBoundOutputNames(const OrtIoBinding* binding_ptr, OrtAllocator* allocator, char** buffer,
                               std::size_t** lengths, std::size_t* count) {
  return guarded([&] {
    require(binding_ptr, "binding");
    require(allocator, "allocator");
    const auto& outputs = binding_ptr->outputs;
    *count = outputs.size();
    *buffer = nullptr;
    *lengths = nullptr;
    if (outputs.empty()) return;
    std::string names;
    for (const Bound& output : outputs) names += output.name;
    auto* const sizes = static_cast<std::size_t*>(allocate(*allocator, outputs.size() * sizeof(std::size_t)));
    std::ranges::transform(outputs, sizes, [](const Bound& output) { return output.name.size(); });
    *buffer = allocate_text(*allocator, names);
    *lengths = sizes;
  });
}
OrtStatus* GetBoundOutputValues(const OrtIoBinding* binding_ptr, OrtAllocator* allocator, OrtValue*** output,
                                std::size_t* output_count) {
  return guarded([&] {
    require(binding_ptr, "binding");
    require(allocator, "allocator");
    const auto& outputs = binding_ptr->outputs;
    *output = nullptr;
    *output_count = outputs.size();
    if (outputs.empty()) return;
    for (const Bound& bound : outputs) {
      if (bound.value.get() == nullptr) fail(ORT_FAIL, "output '{}' has no value before a run", bound.name);
    }
    *output = static_cast<OrtValue**>(allocate(*allocator, outputs.size() * sizeof(OrtValue*)));
    std::ranges::transform(outputs, *output, [](const Bound& bound) { return bound.value.get()->share(); });
  });
}
void ClearBoundInputs(OrtIoBinding* binding_ptr) { binding_ptr->inputs.clear(); }
void ClearBoundOutputs(OrtIoBinding* binding_ptr) { binding_ptr->outputs.clear(); }

}  // namespace frazil::ort
