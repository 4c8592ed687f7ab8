#include <algorithm>

#include "base/poll_throttle.h"
#include "code/batches.h"
#include "code/entries.h"
#include "kernel/plain_gemm.h"

// MatMul of element types that the tuned product does not serve.
namespace frazil {
namespace {

struct State {
  kernel::PlainGemm gemm;
  Elem elem = Elem::f64;
  Batches batches;
};

Status prepare(Prepare& cx, const params::PlainMatMul&, State& s) {
  const auto &a = cx.in[0], &b = cx.in[1];
  s.elem = a.elem;
  read_matrices(s.gemm, a, b);
  FRAZIL_CHECK(s.batches.prepare(a, b));
  cx.scratch_bytes = kernel::kPlainGemmScratch;
  cx.units = s.batches.count;
  cx.nanoseconds = static_cast<double>(s.batches.count) * static_cast<double>(s.gemm.m) *
                   static_cast<double>(s.gemm.n) * static_cast<double>(s.gemm.k) * 0.1;
  return {};
}

void run(const Call& call, const Worker& worker, const State& s, std::int64_t begin, std::int64_t end) {
  const auto width = static_cast<std::int64_t>(byte_size(s.elem));
  kernel::PlainGemm g = s.gemm;
  for (std::int64_t batch = begin; batch < end && !stop_requested(); ++batch) {
    const auto [a, b] = s.batches.at(batch);
    g.a = call.in[0] + a * width;
    g.b = call.in[1] + b * width;
    g.c = call.out[0] + batch * g.m * g.n * width;
    kernel::plain_gemm(s.elem, g, worker.scratch);
  }
}

}  // namespace

KernelEntry plain_matmul_entry() { return make_entry<params::PlainMatMul, State, prepare, run>({}); }

}  // namespace frazil
