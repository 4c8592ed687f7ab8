#pragma once

#include "api/access.h"
#include "ir/op/opaque.h"

// What operators that call the program have in common.
namespace frazil::api {

/// Input i of a call, empty where it is absent; a view is valid during the call only.
Array operand_of(const OpaqueCall& call, std::size_t i, bool views);
/// Copies what the program gives as output k. Code::bad_input where its type is not the planned one.
Status put_result(OpaqueCall& call, std::size_t k, const Array& made);

/// What a function of the program throws, as a fault.
template <class F>
auto called(F&& function) -> Result<decltype(function())> {
  try {
    return function();
  } catch (const Error& error) {
    return fail(static_cast<frazil::Code>(error.code()), "{}", error.what());
  } catch (const std::bad_alloc&) {
    return fail(frazil::Code::out_of_memory, "out of memory");
  } catch (const std::exception& error) {
    return fail(frazil::Code::bad_input, "{}", error.what());
  } catch (...) {
    return fail(frazil::Code::bad_input, "an exception of an unknown type");
  }
}

/// Registers the operator frazil.Call. Called once.
void register_call();
/// The contracts of the graph's calls hold for the models that are registered now. Throws Code::bad_model.
void check_calls(const Graph& graph);

}  // namespace frazil::api
