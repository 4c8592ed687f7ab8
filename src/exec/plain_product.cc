#include <algorithm>

#include "base/stop.h"
#include "exec/batches.h"
#include "exec/codes.h"
#include "kernel/plain_gemm.h"

// MatMul of element types that the tuned product does not serve.
namespace frazil {
namespace {

struct PlainProductState {
  kernel::PlainGemm gemm;
  Elem elem = Elem::f64;
  Batches batches;
};

Status prepare_plain_product(PrepareCx& cx, void* state) {
  auto& s = *new (state) PlainProductState{};
  const auto &a = cx.in[0], &b = cx.in[1];
  kernel::PlainGemm& g = s.gemm;
  s.elem = a.elem;
  read_matrices(g, a, b);
  FRAZIL_CHECK(s.batches.prepare(a, b));
  cx.scratch_bytes = kernel::kPlainGemmScratch;
  return {};
}

void run_plain_product(const RunCx& cx, const void* state) {
  const auto& s = *static_cast<const PlainProductState*>(state);
  const auto width = static_cast<std::int64_t>(byte_size(s.elem));
  kernel::PlainGemm g = s.gemm;
  s.batches.for_each([&](std::int64_t batch, std::int64_t a, std::int64_t b) {
    g.a = cx.in[0] + a * width;
    g.b = cx.in[1] + b * width;
    g.c = cx.out[0] + batch * g.m * g.n * width;
    kernel::plain_gemm(s.elem, g, cx.scratch);
    return !stop_requested();
  });
}

}  // namespace

const KernelCode kPlainProductCode{sizeof(PlainProductState), &prepare_plain_product, &run_plain_product};

}  // namespace frazil
