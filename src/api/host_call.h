#pragma once

#include "api/access.h"
#include "ir/op/opaque.h"

// Helpers of the operators that call the program.
namespace frazil::api {

/// Returns input i of a call, empty if it is absent. A view is valid only during the call.
Array operand_of(const OpaqueCall& call, std::size_t i, bool views);
/// Copies the program's result `made` to output k. Fails with Code::bad_input if its type is not the planned one.
Status put_result(OpaqueCall& call, std::size_t k, const Array& made);

/// Calls a function of the program and converts its exceptions to faults.
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

/// Makes the operators of one model. Throws Code::bad_input for an operator that is incomplete or given twice, and for
/// one of ai.onnx that is built in or that a policy rejects. Null gives null.
std::shared_ptr<const OpSet> own_operators(const std::vector<HostOperator>* operators, const Policies& policies);
/// Registers the operator frazil.Call. Call it once.
void register_call();
/// Checks that the registered models keep the contracts of the graph's calls. Throws Code::bad_model.
void check_calls(const Graph& graph, const CalledModels& registry);
/// Returns the calls of a graph in its order.
std::vector<ModelCall> calls_of(const Graph& graph);

}  // namespace frazil::api
