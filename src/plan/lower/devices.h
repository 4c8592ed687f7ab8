#pragma once

#include <functional>
#include <vector>

#include "plan/lower/lower_flow.h"
#include "plan/model/plan.h"

namespace frazil {

/// A function that returns the device to run a kernel step; kHost if no device can run it.
using DevicePlacement = std::function<DeviceId(const Plan&, const Step&)>;

/// Moves kernel steps of a lowered plan to the devices that `placement` returns. Call it before memory is planned.
/// A step's operands get a storage on the device. Weights are there from the beginning. Other storages are copied by a
/// Transfer step before the first reader; later readers share the copy until the original is written.
/// A result is copied back if the host reads it as a graph result, condition or extent.
/// A step stays on the host if it writes part of a storage, or a storage that other steps write too. It also stays if
/// it touches objects, growing buffers or storages that loops swap.
void place_on_devices(Plan& plan, std::vector<LoopSpan>& loops, const DevicePlacement& placement);

}  // namespace frazil
