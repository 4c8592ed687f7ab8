#pragma once

/// Frazil's public API: load or build a graph, open a session per thread, run it.
///
///   auto model = frazil::Model::load("m.onnx");
///   auto session = model.open();
///   auto out = session.run({{"x", frazil::Array::of<float>({1, 3}, {1, 2, 3})}});
///   for (float y : out["y"].values<float>()) std::printf("%f\n", y);
///
/// Functions throw frazil::Error. No internal header or third-party type appears here.
#include <frazil/array.h>
#include <frazil/build.h>
#include <frazil/debug.h>
#include <frazil/error.h>
#include <frazil/half.h>
#include <frazil/host_operator.h>
#include <frazil/lazy.h>
#include <frazil/lazy_operators.h>
#include <frazil/live.h>
#include <frazil/log.h>
#include <frazil/model.h>
#include <frazil/observer.h>
#include <frazil/operators.h>
#include <frazil/profile.h>
#include <frazil/registry.h>
#include <frazil/session.h>
#include <frazil/session_pool.h>

namespace frazil {

using api::Array;
using api::Arrays;
using api::Attribute;
using api::Attributes;
using api::batch;
using api::BatchedModel;
using api::BatchOptions;
using api::BatchReport;
using api::BFloat16;
using api::Body;
using api::byte_size;
using api::Code;
using api::compare;
using api::CompareOptions;
using api::concatenate;
using api::cond;
using api::Counters;
using api::Debugger;
using api::diff;
using api::diff_dot;
using api::difference;
using api::Divergence;
using api::Dtype;
using api::dtype_of;
using api::Error;
using api::evaluate;
using api::Extent;
using api::function;
using api::Function;
using api::GraphBuilder;
using api::Half;
using api::HostOperator;
using api::HostReply;
using api::HostStart;
using api::LazyArray;
using api::Line;
using api::LiveModel;
using api::LiveSession;
using api::LoadOptions;
using api::Log;
using api::LogFunction;
using api::LogMessage;
using api::loop;
using api::matmul;
using api::Metadata;
using api::Model;
using api::ModelCall;
using api::name_of;
using api::Named;
using api::NodeAttributes;
using api::NodeEvent;
using api::Observer;
using api::onnx_number;
using api::Operand;
using api::Operator;
using api::OperatorInfo;
using api::operators;
using api::Options;
using api::parameter;
using api::Patch;
using api::Policy;
using api::PoolOptions;
using api::Port;
using api::Profile;
using api::Profiler;
using api::ProfilerOptions;
using api::program_counts;
using api::ProgramCounts;
using api::register_operator;
using api::Registry;
using api::Results;
using api::Session;
using api::SessionPool;
using api::set_log;
using api::Severity;
using api::Sizes;
using api::stack;
using api::TensorType;
using api::Term;
using api::ValueEvent;
using api::Version;
using api::VersionNote;
using api::where;

}  // namespace frazil
