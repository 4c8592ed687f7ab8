#include "jit/compiler.h"

#include <functional>
#include <mutex>
#include <vector>

#include <llvm/Analysis/TargetLibraryInfo.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Verifier.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/CommandLine.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>

#include "jit/plan_emitter.h"
#include "jit/tile_emitter.h"

namespace frazil::jit {
namespace {

/// Bodies are straight-line code that passes values through memory. The passes undo that, move loop invariants out of
/// loops and combine instructions.
constexpr const char* kPasses =
    "always-inline,function(sroa,early-cse,instcombine<no-verify-fixpoint>,simplifycfg,loop-mssa(licm),early-cse),"
    "globaldce";

/// Disables a pass that moves integers into mask registers, which bodies do not use. It takes two thirds of the compile
/// time of long plans.
void leave_out_domain_reassignment() {
  const auto& options = llvm::cl::getRegisteredOptions();
  const auto found = options.find("disable-x86-domain-reassignment");
  if (found != options.end()) static_cast<llvm::cl::opt<bool>*>(found->second)->setValue(true);
}

void start_llvm() {
  static std::once_flag once;
  std::call_once(once, [] {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
    leave_out_domain_reassignment();
  });
}

/// Returns the library functions that passes may evaluate or replace. They leave out those that the C library rounds in
/// its own way: LLVM evaluates acosf of a constant as a rounded acos, which differs from the kernels' acosf.
llvm::TargetLibraryInfoImpl replaceable_functions(const llvm::Triple& triple) {
  llvm::TargetLibraryInfoImpl functions(triple);
#define FRAZIL_KEEP(name) llvm::LibFunc_##name, llvm::LibFunc_##name##f
  for (const llvm::LibFunc function :
       {FRAZIL_KEEP(exp), FRAZIL_KEEP(expm1), FRAZIL_KEEP(log), FRAZIL_KEEP(log1p), FRAZIL_KEEP(sin), FRAZIL_KEEP(cos),
        FRAZIL_KEEP(tan), FRAZIL_KEEP(asin), FRAZIL_KEEP(acos), FRAZIL_KEEP(atan), FRAZIL_KEEP(sinh), FRAZIL_KEEP(cosh),
        FRAZIL_KEEP(tanh), FRAZIL_KEEP(asinh), FRAZIL_KEEP(acosh), FRAZIL_KEEP(atanh), FRAZIL_KEEP(erf),
        FRAZIL_KEEP(pow)}) {
    functions.setUnavailable(function);
  }
#undef FRAZIL_KEEP
  return functions;
}

/// The compilation of one function in a module of its own.
class Compilation {
 public:
  /// A function that writes the body.
  using Body = std::function<void(Lanes&, llvm::IRBuilder<>&, llvm::Function&)>;

  Compilation(std::string_view name, bool text) : name_(name), text_(text), module_("frazil", context_) {}

  Result<std::string> run(std::string_view isa, llvm::FunctionType* (*type)(llvm::IRBuilder<>&), const Body& body) {
    FRAZIL_TRY(lanes_, Lanes::make(module_, isa));
    llvm::IRBuilder<> b(context_);
    auto* const f = llvm::Function::Create(type(b), llvm::Function::ExternalLinkage, name_, module_);
    lanes_->adopt(*f);
    body(*lanes_, b, *f);
    FRAZIL_CHECK(lanes_->link());
    FRAZIL_CHECK(make_machine());
    optimise();
    std::string fault;
    llvm::raw_string_ostream out(fault);
    if (llvm::verifyModule(module_, &out)) return fail(Code::internal, "generated code is malformed: {}", fault);
    return text_ ? text() : object();
  }

 private:
  Status make_machine();
  void optimise();
  std::string text() const;
  Result<std::string> object();

  std::string name_;
  bool text_;
  llvm::LLVMContext context_;
  llvm::Module module_;
  std::unique_ptr<Lanes> lanes_;
  std::unique_ptr<llvm::TargetMachine> machine_;
};

llvm::FunctionType* type_of_loop(llvm::IRBuilder<>& b) {
  llvm::Type *const pointer = b.getPtrTy(), *const number = b.getInt64Ty();
  return llvm::FunctionType::get(b.getVoidTy(), {pointer, pointer, number, number, pointer, pointer, number, pointer},
                                 false);
}

llvm::FunctionType* type_of_steps(llvm::IRBuilder<>& b) {
  return llvm::FunctionType::get(b.getInt32Ty(), {b.getPtrTy(), b.getInt32Ty()}, false);
}

/// Writes a NativeLoop: rows, one after the other.
void loop(const code::NativeRequest& request, Lanes& lanes, llvm::IRBuilder<>& b, llvm::Function& f) {
  const code::TileCode& code = *request.loop;
  llvm::Type *const pointer = b.getPtrTy(), *const number = b.getInt64Ty();
  llvm::BasicBlock *const entry = llvm::BasicBlock::Create(b.getContext(), "entry", &f),
                          *const start = llvm::BasicBlock::Create(b.getContext(), "start", &f),
                          *const row = llvm::BasicBlock::Create(b.getContext(), "row", &f),
                          *const done = llvm::BasicBlock::Create(b.getContext(), "done", &f);
  llvm::Value *const at = f.getArg(0), *const row_steps = f.getArg(1), *const rows = f.getArg(2);
  b.SetInsertPoint(entry);
  b.CreateBr(start);
  b.SetInsertPoint(start);
  const auto count = static_cast<unsigned>(code.operands.size() + code.stores.size());
  const auto element = [&](llvm::Value* array, llvm::Type* of, unsigned k) -> llvm::Value* {
    return b.CreateLoad(of, b.CreateConstGEP1_32(of, array, k));
  };
  RowPlace place{.n = f.getArg(3), .scratch = f.getArg(5), .stride = f.getArg(6)};
  std::vector<llvm::Value*> first, apart;
  for (unsigned k = 0; k < count; ++k) {
    first.push_back(element(at, pointer, k));
    apart.push_back(element(row_steps, number, k));
    const bool strided = request.form.steps[k] == code::InnerStep::strided;
    place.steps.push_back(strided ? element(f.getArg(4), number, k) : nullptr);
  }
  const std::vector<bool> read = code::parameters(code);
  unsigned found = 0;
  for (const bool is_read : read) {
    const unsigned offset = found * static_cast<unsigned>(code::kParameterStep);
    llvm::Value* const from = b.CreateConstGEP1_32(b.getInt8Ty(), f.getArg(7), offset);
    place.parameters.push_back(is_read ? b.CreateLoad(b.getFloatTy(), from) : nullptr);
    found += is_read ? 1 : 0;
  }
  b.CreateCondBr(b.CreateICmpSGT(rows, b.getInt64(0)), row, done);
  b.SetInsertPoint(row);
  llvm::PHINode* const r = b.CreatePHI(number, 2);
  r->addIncoming(b.getInt64(0), start);
  for (unsigned k = 0; k < count; ++k) {
    place.at.push_back(b.CreateGEP(b.getInt8Ty(), first[k], b.CreateMul(apart[k], r)));
  }
  TileEmitter(lanes, b, code, request.form, place).write();
  llvm::Value* const next = b.CreateAdd(r, b.getInt64(1));
  r->addIncoming(next, b.GetInsertBlock());
  b.CreateCondBr(b.CreateICmpSLT(next, rows), row, done);
  b.SetInsertPoint(done);
  b.CreateRetVoid();
}

Status Compilation::make_machine() {
  start_llvm();
  std::string error;
  const llvm::Target* const target = llvm::TargetRegistry::lookupTarget(module_.getTargetTriple(), error);
  if (target == nullptr) return fail(Code::unsupported, "the code generator has no target for this machine: {}", error);
  const llvm::Function* const f = module_.getFunction(name_);
  const auto attribute = [&](const char* name) { return f->getFnAttribute(name).getValueAsString().str(); };
  machine_.reset(target->createTargetMachine(module_.getTargetTriple(), attribute("target-cpu"),
                                             attribute("target-features"), llvm::TargetOptions(), llvm::Reloc::PIC_,
                                             llvm::CodeModel::Small, llvm::CodeGenOptLevel::Default));
  if (machine_ == nullptr) return fail(Code::unsupported, "the code generator cannot serve this machine");
  return {};
}

void Compilation::optimise() {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager components;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder builder(machine_.get());
  functions.registerPass(
      [&] { return llvm::TargetLibraryAnalysis(replaceable_functions(llvm::Triple(module_.getTargetTriple()))); });
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(components);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, components, modules);
  llvm::ModulePassManager passes;
  llvm::cantFail(builder.parsePassPipeline(passes, kPasses));
  passes.run(module_, modules);
}

std::string Compilation::text() const {
  std::string text;
  llvm::raw_string_ostream out(text);
  module_.print(out, nullptr);
  return text;
}

Result<std::string> Compilation::object() {
  llvm::SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream out(bytes);
  llvm::legacy::PassManager emit;
  if (machine_->addPassesToEmitFile(emit, out, nullptr, llvm::CodeGenFileType::ObjectFile)) {
    return fail(Code::unsupported, "the code generator cannot write objects for this machine");
  }
  emit.run(module_);
  return std::string(bytes.begin(), bytes.end());
}

}  // namespace

Result<std::string> compile(const code::NativeRequest& request) {
  return Compilation(request.name, request.text)
      .run(request.isa, type_of_loop,
           [&](Lanes& lanes, llvm::IRBuilder<>& b, llvm::Function& f) { loop(request, lanes, b, f); });
}

Result<std::string> compile_plan(const code::NativePlanRequest& request) {
  return Compilation(request.name, request.text)
      .run(request.isa, type_of_steps,
           [&](Lanes& lanes, llvm::IRBuilder<>& b, llvm::Function& f) { emit_plan(lanes, b, *request.plan, f); });
}

}  // namespace frazil::jit
