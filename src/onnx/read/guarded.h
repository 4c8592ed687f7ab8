#pragma once

#include <exception>
#include <new>
#include <string_view>
#include <type_traits>

#include <protozero/exception.hpp>

#include "base/limits/no_memory.h"
#include "base/value/error.h"

namespace frazil::onnx {

/// Calls `work`, which returns a Result, and converts exceptions on malformed bytes or failed allocation to faults.
/// `doing` is for the message of other exceptions: "importing the model".
template <class Work>
std::invoke_result_t<Work> guarded(std::string_view doing, const Work& work) try {
  return work();
} catch (const protozero::exception&) {
  return fail(Code::bad_model, "the model is damaged or cut short");
} catch (const std::bad_alloc&) {
  return no_memory_left();
} catch (const std::exception& e) {
  return fail(Code::internal, "while {}: {}", doing, e.what());
}

}  // namespace frazil::onnx
