#include "jit/compiler.h"

#include <mutex>
#include <vector>

#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Verifier.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>

#include "jit/tile_emitter.h"

namespace frazil::jit {
namespace {

/// Bodies come as straight code through memory; what is left to do is to undo that, to move what loops repeat out of
/// them and to choose instructions.
constexpr const char* kPasses =
    "always-inline,function(sroa,early-cse,instcombine<no-verify-fixpoint>,simplifycfg,loop-mssa(licm),early-cse),"
    "globaldce";

void start_llvm() {
  static std::once_flag once;
  std::call_once(once, [] {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
  });
}

/// One function of one module.
class Compilation {
 public:
  explicit Compilation(const NativeRequest& request) : request_(request), module_("frazil", context_) {}

  Result<std::string> run() {
    FRAZIL_TRY(lanes_, Lanes::make(module_, request_.isa));
    FRAZIL_CHECK(loop());
    FRAZIL_CHECK(lanes_->link());
    FRAZIL_CHECK(make_machine());
    optimise();
    std::string fault;
    llvm::raw_string_ostream out(fault);
    if (llvm::verifyModule(module_, &out)) return fail(Code::internal, "generated code is malformed: {}", fault);
    return request_.text ? text() : object();
  }

 private:
  Status loop();
  Status make_machine();
  void optimise();
  std::string text() const;
  Result<std::string> object();

  const NativeRequest& request_;
  llvm::LLVMContext context_;
  llvm::Module module_;
  std::unique_ptr<Lanes> lanes_;
  std::unique_ptr<llvm::TargetMachine> machine_;
};

/// A NativeLoop: rows, one after the other.
Status Compilation::loop() {
  const TileCode& code = *request_.loop;
  llvm::IRBuilder<> b(context_);
  llvm::Type *const pointer = b.getPtrTy(), *const number = b.getInt64Ty();
  auto* const type =
      llvm::FunctionType::get(b.getVoidTy(), {pointer, pointer, number, number, pointer, pointer, number}, false);
  auto* const f = llvm::Function::Create(type, llvm::Function::ExternalLinkage, request_.name, module_);
  lanes_->adopt(*f);
  llvm::BasicBlock *const entry = llvm::BasicBlock::Create(context_, "entry", f),
                          *const start = llvm::BasicBlock::Create(context_, "start", f),
                          *const row = llvm::BasicBlock::Create(context_, "row", f),
                          *const done = llvm::BasicBlock::Create(context_, "done", f);
  llvm::Value *const at = f->getArg(0), *const row_steps = f->getArg(1), *const rows = f->getArg(2);
  b.SetInsertPoint(entry);
  b.CreateBr(start);
  b.SetInsertPoint(start);
  const auto count = static_cast<unsigned>(code.operands.size() + code.stores.size());
  const auto element = [&](llvm::Value* array, llvm::Type* of, unsigned k) -> llvm::Value* {
    return b.CreateLoad(of, b.CreateConstGEP1_32(of, array, k));
  };
  RowPlace place{.n = f->getArg(3), .scratch = f->getArg(5), .stride = f->getArg(6)};
  std::vector<llvm::Value*> first, apart;
  for (unsigned k = 0; k < count; ++k) {
    first.push_back(element(at, pointer, k));
    apart.push_back(element(row_steps, number, k));
    const bool strided = request_.form.steps[k] == InnerStep::strided;
    place.steps.push_back(strided ? element(f->getArg(4), number, k) : nullptr);
  }
  b.CreateCondBr(b.CreateICmpSGT(rows, b.getInt64(0)), row, done);
  b.SetInsertPoint(row);
  llvm::PHINode* const r = b.CreatePHI(number, 2);
  r->addIncoming(b.getInt64(0), start);
  for (unsigned k = 0; k < count; ++k) {
    place.at.push_back(b.CreateGEP(b.getInt8Ty(), first[k], b.CreateMul(apart[k], r)));
  }
  TileEmitter(*lanes_, b, code, request_.form).row(place);
  llvm::Value* const next = b.CreateAdd(r, b.getInt64(1));
  r->addIncoming(next, b.GetInsertBlock());
  b.CreateCondBr(b.CreateICmpSLT(next, rows), row, done);
  b.SetInsertPoint(done);
  b.CreateRetVoid();
  return {};
}

Status Compilation::make_machine() {
  start_llvm();
  std::string error;
  const llvm::Target* const target = llvm::TargetRegistry::lookupTarget(module_.getTargetTriple(), error);
  if (target == nullptr) return fail(Code::unsupported, "the code generator has no target for this machine: {}", error);
  const llvm::Function* const f = module_.getFunction(request_.name);
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

Result<std::string> compile(const NativeRequest& request) { return Compilation(request).run(); }

}  // namespace frazil::jit
