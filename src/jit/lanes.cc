#include "jit/lanes.h"

#include <array>

#include <llvm/Bitcode/BitcodeReader.h>
#include <llvm/Linker/Linker.h>
#include <llvm/Support/MemoryBuffer.h>

#include "base/value/cpu_features.h"
#include "jit/functions/library.h"

namespace frazil::jit {
namespace {

/// The attributes that decide which instructions a function may use.
constexpr const char* kTargetAttributes[] = {"target-cpu", "target-features", "tune-cpu", "min-legal-vector-width",
                                             "prefer-vector-width"};

}  // namespace

Result<std::unique_ptr<Lanes>> Lanes::make(llvm::Module& module, std::string_view isa) {
  std::unique_ptr<Lanes> lanes(new Lanes(module, isa));
  lanes->width_ = static_cast<unsigned>(lanes_of(isa_from_name(isa).value_or(Isa::base)));
  for (const Bitcode& part : function_library(isa)) {
    const llvm::StringRef bytes(part.begin, static_cast<std::size_t>(part.end - part.begin));
    auto loaded = llvm::getLazyBitcodeModule(llvm::MemoryBufferRef(bytes, "functions"), module.getContext());
    if (!loaded) {
      return fail(Code::internal, "the library of vector functions: {}", llvm::toString(loaded.takeError()));
    }
    lanes->library_.push_back(std::move(*loaded));
  }
  if (lanes->library_.empty()) {
    return fail(Code::unsupported, "this build's code generator has no functions for the instruction set {}", isa);
  }
  module.setTargetTriple(lanes->library_.front()->getTargetTriple());
  module.setDataLayout(lanes->library_.front()->getDataLayout());
  return lanes;
}

llvm::Type* Lanes::scalar(Elem elem) const {
  llvm::LLVMContext& context = module_.getContext();
  if (elem == Elem::f32) return llvm::Type::getFloatTy(context);
  if (elem == Elem::f64) return llvm::Type::getDoubleTy(context);
  return llvm::Type::getIntNTy(context, static_cast<unsigned>(8 * byte_size(elem)));
}

void Lanes::adopt(llvm::Function& function) const {
  const llvm::Function* like = library_.front()->getFunction("frazil_quotient_f32");
  for (const char* name : kTargetAttributes) {
    if (like->hasFnAttribute(name)) function.addFnAttr(like->getFnAttribute(name));
  }
  function.addFnAttr(llvm::Attribute::NoUnwind);
}

/// Allocates at the function's entry, so that loops do not take more of the stack in each iteration.
llvm::AllocaInst* Lanes::space(llvm::IRBuilder<>& b, llvm::Type* type) const {
  llvm::BasicBlock& entry = b.GetInsertBlock()->getParent()->getEntryBlock();
  llvm::IRBuilder<> at(&entry, entry.begin());
  return at.CreateAlloca(type);
}

llvm::Value* Lanes::call(llvm::IRBuilder<>& b, const std::string& name, llvm::Type* result,
                         std::initializer_list<llvm::Value*> args) {
  llvm::Type* const pointer = b.getPtrTy();
  const llvm::Function* like = nullptr;
  for (const auto& part : library_) like = like != nullptr ? like : part->getFunction(name);
  const std::size_t count = like == nullptr ? args.size() + 1 : like->arg_size();
  llvm::SmallVector<llvm::Value*, 5> pointers{space(b, result)};
  for (llvm::Value* arg : args) {
    llvm::AllocaInst* const at = space(b, arg->getType());
    b.CreateStore(arg, at);
    pointers.push_back(at);
  }
  while (pointers.size() < count) pointers.push_back(llvm::ConstantPointerNull::get(b.getPtrTy()));
  llvm::SmallVector<llvm::Type*, 5> types(count, pointer);
  const auto callee = module_.getOrInsertFunction(name, llvm::FunctionType::get(b.getVoidTy(), types, false));
  b.CreateCall(callee, pointers);
  return b.CreateLoad(result, pointers[0]);
}

namespace {
std::string suffix(const llvm::Value* like) { return like->getType()->isVectorTy() ? "" : "_1"; }
}  // namespace

llvm::Value* Lanes::apply(llvm::IRBuilder<>& b, ScalarOp op, Elem elem, Elem result,
                          std::initializer_list<llvm::Value*> args) {
  const bool vectors = (*args.begin())->getType()->isVectorTy();
  return call(b, fmt::format("frazil_{}_{}{}", frazil::name_of(op), frazil::name_of(elem), suffix(*args.begin())),
              vectors ? vector(result) : scalar(result), args);
}

llvm::Value* Lanes::cast(llvm::IRBuilder<>& b, Elem from, Elem to, llvm::Value* x) {
  const bool halves = is_small_float(from) || is_small_float(to);
  const std::string_view half = frazil::name_of(is_small_float(from) ? from : to);
  const std::string name =
      halves ? fmt::format("frazil_{}_{}{}", is_small_float(from) ? "widen" : "narrow", half, suffix(x))
             : fmt::format("frazil_cast_{}_{}{}", frazil::name_of(from), frazil::name_of(to), suffix(x));
  return call(b, name, x->getType()->isVectorTy() ? vector(to) : scalar(to), {x});
}

llvm::Value* Lanes::quotient(llvm::IRBuilder<>& b, llvm::Value* x, llvm::Value* divisor) {
  return call(b, "frazil_quotient_f32", vector(Elem::f32), {x, divisor});
}

llvm::Value* Lanes::quantised(llvm::IRBuilder<>& b, Elem to, bool bytes, llvm::ArrayRef<llvm::Value*> x,
                              llvm::Value* scale, llvm::Value* zero) {
  const auto count = static_cast<unsigned>(x.size());
  llvm::Type* const lanes = llvm::ArrayType::get(vector(Elem::f32), count);
  llvm::Value* all = llvm::PoisonValue::get(lanes);
  for (unsigned u = 0; u < count; ++u) all = b.CreateInsertValue(all, x[u], u);
  const std::string name = fmt::format("frazil_{}_{}_x{}", bytes ? "bytes" : "quantise", frazil::name_of(to), count);
  llvm::Type* const result = bytes ? llvm::FixedVectorType::get(scalar(to), width_ * count) : lanes;
  return call(b, name, result, {all, scale, zero});
}

llvm::Value* Lanes::multiply_add(llvm::IRBuilder<>& b, llvm::Value* x, llvm::Value* y, llvm::Value* sum) const {
  if (isa_ == "base") return b.CreateFAdd(b.CreateFMul(x, y), sum);
  return b.CreateIntrinsic(llvm::Intrinsic::fma, {sum->getType()}, {x, y, sum});
}

llvm::Value* Lanes::fold(llvm::IRBuilder<>& b, std::string_view name, Elem elem, llvm::Value* from, llvm::Value* n) {
  llvm::AllocaInst* const result = space(b, scalar(elem));
  const auto callee = module_.getOrInsertFunction(
      fmt::format("frazil_{}_{}_row", name, frazil::name_of(elem)),
      llvm::FunctionType::get(b.getVoidTy(), {b.getPtrTy(), b.getPtrTy(), b.getInt64Ty()}, false));
  b.CreateCall(callee, {result, from, n});
  return b.CreateLoad(scalar(elem), result);
}

Status Lanes::link() {
  llvm::SmallVector<std::string> own;
  for (llvm::Function& f : module_) {
    if (!f.isDeclaration()) own.push_back(f.getName().str());
  }
  for (auto& part : library_) {
    if (llvm::Linker::linkModules(module_, std::move(part), llvm::Linker::LinkOnlyNeeded)) {
      return fail(Code::internal, "the library of vector functions cannot be linked");
    }
  }
  for (llvm::Function& f : module_) {
    if (f.isDeclaration() || llvm::is_contained(own, f.getName().str())) continue;
    f.setLinkage(llvm::GlobalValue::InternalLinkage);
    f.removeFnAttr(llvm::Attribute::NoInline);
    if (f.getInstructionCount() < 400) f.addFnAttr(llvm::Attribute::AlwaysInline);
  }
  for (llvm::GlobalVariable& v : module_.globals()) {
    if (!v.isDeclaration()) v.setLinkage(llvm::GlobalValue::PrivateLinkage);
  }
  return {};
}

}  // namespace frazil::jit
