#include "code/entries.h"
#include "code/product/contraction_space.h"

// Contractions of any space.
namespace frazil::code {
namespace {

struct ContractionCode {
  params::Contraction params;
  LoopsCode loops;
};

/// The state of a contraction. The tile state of the loops' body follows it in memory.
struct alignas(16) ContractionState {
  ConcreteSpace space;
  SpaceProduct product;
  SpaceLoops loops;
  Elem result = Elem::f32;
};

TileState& tiles_of(const ContractionState& s) {
  return *reinterpret_cast<TileState*>(const_cast<ContractionState*>(&s + 1));
}

/// A reader of the numbers of a domain, one after the other.
class Numbers {
 public:
  explicit Numbers(std::span<const std::int64_t> domain) : domain_(domain) {}
  std::int64_t next() { return domain_[at_++]; }
  SpaceLine line(const params::Contraction::Index& axes) {
    SpaceLine line{.base = next()};
    for (const std::int32_t a : axes) line.factor[a] += next();
    return line;
  }

 private:
  std::span<const std::int64_t> domain_;
  std::size_t at_ = 0;
};

void add(SpaceLine& to, const SpaceLine& line, std::int64_t times) {
  to.base += line.base * times;
  for (std::size_t a = 0; a < kMaxSpaceAxes; ++a) to.factor[a] += line.factor[a] * times;
}

Status read_results(const Prepare& cx, const params::Contraction& p, ConcreteSpace& space) {
  const OperandShape* first = nullptr;
  for (const OperandShape& y : cx.out) {
    if (!y.given) continue;
    if (first != nullptr && !std::ranges::equal(first->strides, y.strides))
      return fail(Code::internal, "results of one space have unlike strides");
    first = &y;
  }
  if (first == nullptr) return fail(Code::internal, "a space without a result");
  for (std::size_t d = 0; d < p.write.size(); ++d) {
    if (p.write[d] >= 0) space.result.factor[p.write[d]] += first->strides[d];
  }
  return {};
}

Status prepare_contraction(Prepare& cx, const void* memory, void* state) {
  const auto& code = *static_cast<const ContractionCode*>(memory);
  const params::Contraction& p = code.params;
  auto& s = *new (state) ContractionState{};
  FRAZIL_CHECK(read_space(cx, p, s.space));
  for (const OperandShape& y : cx.out) {
    if (y.given) s.result = y.elem;
  }
  prepare_space_product(cx, p, s.space, s.product);
  return s.product.is_supported ? Status{} : prepare_space_loops(cx, p, code.loops, s.space, s.loops, tiles_of(s));
}

void run_contraction(const Call& call, const Worker& worker, std::int64_t begin, std::int64_t end) {
  const auto& s = *static_cast<const ContractionState*>(call.state);
  if (s.product.is_supported) return run_space_product(call, worker, s.space, s.product, s.result, begin, end);
  const LoopsCode& code = static_cast<const ContractionCode*>(call.code)->loops;
  run_space_loops(call, worker, s.space, code, s.loops, tiles_of(s), begin, end);
}

}  // namespace

Status read_space(const Prepare& cx, const params::Contraction& p, ConcreteSpace& space) {
  Numbers numbers(cx.domain);
  space.axes = static_cast<int>(p.reduced.size());
  space.operands = static_cast<int>(p.reads.size());
  for (std::size_t a = 0; a < p.reduced.size(); ++a) {
    space.extent[a] = numbers.next();
    space.reduced[a] = p.reduced[a];
  }
  for (std::size_t k = 0; k < p.reads.size(); ++k) {
    SpaceRead& read = space.reads[k];
    const OperandShape& x = cx.in[k];
    read.given = x.given && p.reads[k].size() == x.dims.size();
    read.elem = x.elem;
    read.rank = static_cast<int>(p.reads[k].size());
    for (std::size_t d = 0; d < p.reads[k].size(); ++d) {
      read.axis[d] = numbers.line(p.reads[k][d]);
      if (!read.given) continue;
      read.extent[d] = x.dims[d];
      add(read.place, read.axis[d], x.strides[d]);
    }
  }
  space.report = numbers.line(p.report);
  return read_results(cx, p, space);
}

void SpaceRun::clip(std::int64_t at, std::int64_t step, std::int64_t extent) {
  if (step == 0) {
    if (at < 0 || at >= extent) high = low;
    return;
  }
  const std::int64_t first = at + step * low, last = at + step * (high - 1);
  if (std::min(first, last) >= 0 && std::max(first, last) < extent) return;
  if (step > 0) {
    low = std::max(low, ceil_div(-at, step));
    high = std::min(high, ceil_div(extent - at, step));
  } else {
    low = std::max(low, ceil_div(at - extent + 1, -step));
    high = std::min(high, at < 0 ? low : at / -step + 1);
  }
  high = std::max(high, low);
}

void SpaceRun::clip(const SpaceRead& read, int axes, const std::int64_t* index, int along) {
  for (int d = 0; d < read.rank && !empty(); ++d) {
    clip(value_at(read.axis[d], axes, index), along < 0 ? 0 : read.axis[d].factor[along], read.extent[d]);
  }
}

KernelEntry entry_of(const params::Contraction& p, const std::shared_ptr<NativeSource>& native) {
  auto code = std::make_shared<ContractionCode>(p, compile_loops(p, native));
  const std::size_t bytes = sizeof(ContractionState) + tile_state_bytes(code->loops.body);
  return {.step = {bytes, &prepare_contraction, std::move(code)}, .run = &run_contraction};
}

}  // namespace frazil::code
