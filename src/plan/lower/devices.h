#pragma once

#include <functional>
#include <vector>

#include "plan/lower/lower_flow.h"
#include "plan/model/plan.h"

namespace frazil {

/// Says who runs a kernel step; kHost for one that no device can run.
using DevicePlacement = std::function<DeviceId(const Plan&, const Step&)>;

/// Moves kernel steps of a lowered plan, before its memory is planned, to the devices that `placement` says. What they
/// read gets a storage on the device: weights are there from the beginning, other storages are copied by a Transfer
/// step in front of the first reader, and later readers share the copy until the original is written. What they make
/// is copied back where the host reads it: results, conditions, extents. A step stays on the host where it writes a
/// part of a storage, or one that other steps write too, or touches objects, growing buffers, and what loops swap.
void place_on_devices(Plan& plan, std::vector<LoopSpan>& loops, const DevicePlacement& placement);

}  // namespace frazil
