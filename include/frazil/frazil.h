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
#include <frazil/environment.h>
#include <frazil/error.h>
#include <frazil/graph.h>
#include <frazil/half.h>
#include <frazil/host_operator.h>
#include <frazil/lazy.h>
#include <frazil/lazy_operators.h>
#include <frazil/live.h>
#include <frazil/log.h>
#include <frazil/model.h>
#include <frazil/native.h>
#include <frazil/observer.h>
#include <frazil/operators.h>
#include <frazil/profile.h>
#include <frazil/registry.h>
#include <frazil/session.h>
#include <frazil/session_pool.h>
#include <frazil/text.h>

namespace frazil {

using api::Annotations;
using api::annotations;
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
using api::Closeness;
using api::Code;
using api::code_generator;
using api::CodeGenerator;
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
using api::environment;
using api::EnvironmentVariable;
using api::Error;
using api::evaluate;
using api::Extent;
using api::Function;
using api::function;
using api::GraphBuilder;
using api::GraphView;
using api::Half;
using api::HostOperator;
using api::HostReply;
using api::HostStart;
using api::is_compiling;
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
using api::PackageBuilder;
using api::parameter;
using api::passes;
using api::PassInfo;
using api::Patch;
using api::Policy;
using api::PoolOptions;
using api::Port;
using api::printable;
using api::Profile;
using api::Profiler;
using api::ProfilerOptions;
using api::program_counts;
using api::ProgramCounts;
using api::record;
using api::Recording;
using api::reduce;
using api::Reduced;
using api::register_operator;
using api::Registry;
using api::Resources;
using api::resources;
using api::Results;
using api::rewrite_rules;
using api::rounded;
using api::RuleInfo;
using api::Session;
using api::SessionPool;
using api::set_log;
using api::set_log_level;
using api::Severity;
using api::Sizes;
using api::stack;
using api::TensorType;
using api::Term;
using api::ValueEvent;
using api::Version;
using api::VersionNote;
using api::wait_for_compilation;
using api::warn_without_code_generator;
using api::where;
using api::with_environment;
using api::write_pb;

}  // namespace frazil
