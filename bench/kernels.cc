// Products of f32, bf16 and bytes, and convolutions of f32 and bf16, on one thread, ours against oneDNN's, in turns:
//
//   kernels [--rounds N] [--json FILE] [NAME...]
//
// A product is the kernel's call with a packed B; a convolution is a run of a graph of one node between
// transpositions that cancel. Both sides have all operands in the layouts that suit them, at multiples of a cache line,
// and converting them is not part of their time. Weights of rows that stand for a layer of a model are out of the
// caches, as there: runs take turns on copies of them that are together larger than the caches. (Weights of
// convolutions below 1 MiB are not: a copy of these has a result beside it that is larger.) "of peak" is the share of
// fma_peak(), measured before each row. Rows "nbits" are products with weights of 4 bits in memory: there, rates are
// GB/s of these and their scales, and those of a loop that reads them and does no more. Exits with 1 when results
// differ. Pin the process to a core.

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <dnnl.hpp>
#include <unistd.h>

#include "base/value/float.h"
#include "bench/agree.h"
#include "bench/arguments.h"
#include "bench/child.h"
#include "bench/convolution.h"
#include "bench/fma_peak.h"
#include "bench/frazil_runner.h"
#include "bench/nbits.h"
#include "bench/random.h"
#include "kernel/contract/gemm_kernel.h"

extern "C" void omp_set_num_threads(int);  // of the runtime that oneDNN uses

namespace bench {
namespace {

/// Wanted of our rate divided by oneDNN's.
constexpr double kMinimum = 0.97;

using dnnl::memory;
using Layout = memory::format_tag;

struct Product {
  const char* name;
  std::int64_t m, n, k;
  bool bytes = false;  ///< u8 * i8, summed in 32 bits; else f32
  bool half = false;   ///< bf16
  double operations() const { return 2.0 * static_cast<double>(m * n * k); }
  /// Returns false for cubes, which are not layers of models.
  bool of_model() const { return n != k || m != n; }
};
constexpr Product kProducts[] = {
    {"1024x1024x1024", 1024, 1024, 1024},
    {"128x768x768", 128, 768, 768},
    {"128x3072x768", 128, 3072, 768},
    {"128x768x3072", 128, 768, 3072},
    {"1x768x768", 1, 768, 768},
    {"16x768x768", 16, 768, 768},
    {"37x768x768", 37, 768, 768},
    {"64x64x64", 64, 64, 64},
    {"i8_1024x1024x1024", 1024, 1024, 1024, true},
    {"i8_128x768x768", 128, 768, 768, true},
    {"i8_128x3072x768", 128, 3072, 768, true},
    {"i8_128x768x3072", 128, 768, 3072, true},
    {"i8_1x768x768", 1, 768, 768, true},
    {"i8_16x768x768", 16, 768, 768, true},
    {"i8_37x768x768", 37, 768, 768, true},
    {"i8_64x64x64", 64, 64, 64, true},
    {"bf16_1024x1024x1024", 1024, 1024, 1024, false, true},
    {"bf16_128x768x768", 128, 768, 768, false, true},
    {"bf16_128x3072x768", 128, 3072, 768, false, true},
    {"bf16_128x768x3072", 128, 768, 3072, false, true},
    {"bf16_1x768x768", 1, 768, 768, false, true},
    {"bf16_16x768x768", 16, 768, 768, false, true},
    {"bf16_37x768x768", 37, 768, 768, false, true},
    {"bf16_64x64x64", 64, 64, 64, false, true},
};

/// Those of resnet50.
constexpr Convolution kConvolutions[] = {
    {"conv7x7_3_64_224s2", 3, 64, 224, 7, 2},         {"conv1x1_64_64_56", 64, 64, 56, 1, 1},
    {"conv3x3_64_64_56", 64, 64, 56, 3, 1},           {"conv1x1_64_256_56", 64, 256, 56, 1, 1},
    {"conv1x1_256_64_56", 256, 64, 56, 1, 1},         {"conv1x1_256_128_56", 256, 128, 56, 1, 1},
    {"conv1x1_256_512_56s2", 256, 512, 56, 1, 2},     {"conv3x3_128_128_56s2", 128, 128, 56, 3, 2},
    {"conv1x1_128_512_28", 128, 512, 28, 1, 1},       {"conv1x1_512_128_28", 512, 128, 28, 1, 1},
    {"conv3x3_128_128_28", 128, 128, 28, 3, 1},       {"conv1x1_512_256_28", 512, 256, 28, 1, 1},
    {"conv1x1_512_1024_28s2", 512, 1024, 28, 1, 2},   {"conv3x3_256_256_28s2", 256, 256, 28, 3, 2},
    {"conv1x1_256_1024_14", 256, 1024, 14, 1, 1},     {"conv1x1_1024_256_14", 1024, 256, 14, 1, 1},
    {"conv3x3_256_256_14", 256, 256, 14, 3, 1},       {"conv1x1_1024_512_14", 1024, 512, 14, 1, 1},
    {"conv1x1_1024_2048_14s2", 1024, 2048, 14, 1, 2}, {"conv3x3_512_512_14s2", 512, 512, 14, 3, 2},
    {"conv1x1_512_2048_7", 512, 2048, 7, 1, 1},       {"conv1x1_2048_512_7", 2048, 512, 7, 1, 1},
    {"conv3x3_512_512_7", 512, 512, 7, 3, 1},
};

/// The same of bf16.
constexpr Convolution kHalfConvolutions[] = {
    {"bf16_conv7x7_3_64_224s2", 3, 64, 224, 7, 2},         {"bf16_conv1x1_64_64_56", 64, 64, 56, 1, 1},
    {"bf16_conv3x3_64_64_56", 64, 64, 56, 3, 1},           {"bf16_conv1x1_64_256_56", 64, 256, 56, 1, 1},
    {"bf16_conv1x1_256_64_56", 256, 64, 56, 1, 1},         {"bf16_conv1x1_256_128_56", 256, 128, 56, 1, 1},
    {"bf16_conv1x1_256_512_56s2", 256, 512, 56, 1, 2},     {"bf16_conv3x3_128_128_56s2", 128, 128, 56, 3, 2},
    {"bf16_conv1x1_128_512_28", 128, 512, 28, 1, 1},       {"bf16_conv1x1_512_128_28", 512, 128, 28, 1, 1},
    {"bf16_conv3x3_128_128_28", 128, 128, 28, 3, 1},       {"bf16_conv1x1_512_256_28", 512, 256, 28, 1, 1},
    {"bf16_conv1x1_512_1024_28s2", 512, 1024, 28, 1, 2},   {"bf16_conv3x3_256_256_28s2", 256, 256, 28, 3, 2},
    {"bf16_conv1x1_256_1024_14", 256, 1024, 14, 1, 1},     {"bf16_conv1x1_1024_256_14", 1024, 256, 14, 1, 1},
    {"bf16_conv3x3_256_256_14", 256, 256, 14, 3, 1},       {"bf16_conv1x1_1024_512_14", 1024, 512, 14, 1, 1},
    {"bf16_conv1x1_1024_2048_14s2", 1024, 2048, 14, 1, 2}, {"bf16_conv3x3_512_512_14s2", 512, 512, 14, 3, 2},
    {"bf16_conv1x1_512_2048_7", 512, 2048, 7, 1, 1},       {"bf16_conv1x1_2048_512_7", 2048, 512, 7, 1, 1},
    {"bf16_conv3x3_512_512_7", 512, 512, 7, 3, 1},
};

constexpr NBitsRow kNBitsRows[] = {
    {"nbits_1x4096x4096", 1, 4096, 4096},
    {"nbits_16x4096x4096", 16, 4096, 4096},
};

HostTensor numbers(Dims dims, const char* name) {
  HostTensor tensor(Elem::f32, std::move(dims));
  Random random(3, name);
  for (std::size_t i = 0; i < tensor.size(); ++i) tensor.as<float>()[i] = static_cast<float>(2 * random.uniform() - 1);
  return tensor;
}

/// Numbers in [0, 256), or signed ones of 7 bits: of larger ones oneDNN without VNNI saturates sums of two products.
HostTensor bytes(Elem elem, Dims dims, const char* name) {
  HostTensor tensor(elem, std::move(dims));
  Random random(3, name);
  for (std::byte& b : tensor.data)
    b = elem == Elem::u8 ? static_cast<std::byte>(256 * random.uniform())
                         : static_cast<std::byte>(static_cast<int>(128 * random.uniform()) - 64);
  return tensor;
}

/// The same numbers, rounded.
HostTensor half_numbers(Dims dims, const char* name) {
  const HostTensor wide = numbers(dims, name);
  HostTensor tensor(Elem::bf16, std::move(dims));
  frazil::from_f32(frazil::Elem::bf16, wide.as<float>(), tensor.data.data(), wide.size());
  return tensor;
}

Elem result_elem(const Product& p) { return p.bytes ? Elem::i32 : p.half ? Elem::bf16 : Elem::f32; }

/// So many copies of weights are together larger than the caches.
std::size_t copies_of(std::size_t bytes) {
  constexpr std::size_t kMinBytes = std::size_t{64} << 20U, kMaxBytes = std::size_t{512} << 20U;
  const auto cache = static_cast<std::size_t>(std::max(0L, ::sysconf(_SC_LEVEL3_CACHE_SIZE)));
  return std::clamp(2 * cache, kMinBytes, kMaxBytes) / bytes + 1;
}

struct AlignedFree {
  void operator()(void* p) const { std::free(p); }
};
using Aligned = std::unique_ptr<void, AlignedFree>;

Aligned aligned(std::size_t bytes) { return Aligned(std::aligned_alloc(64, (bytes + 64) / 64 * 64)); }

class OurProduct : public Runner {
 public:
  OurProduct(const Product& p, const HostTensor& a, const HostTensor& b)
      : kernel_(kernel_for(p)), c_(result_elem(p), {p.m, p.n}) {
    call_ = {.m = p.m, .n = p.n, .k = p.k, .a = a.data.data(), .a_row = p.k, .b = b.data.data(), .b_row = p.n};
    packed_.resize(p.of_model() ? copies_of(b.data.size()) : 1);
    for (Aligned& packed : packed_) {
      packed = aligned(kernel_->packed_b_bytes(p.k, p.n));
      kernel_->pack_b(call_, packed.get());
    }
    call_.c = c_.data.data();
    call_.c_row = p.n;
    scratch_ = aligned(kernel_->scratch_bytes(p.m, p.n, p.k));
  }
  void run() override {
    call_.packed_b = packed_[next_++ % packed_.size()].get();
    kernel_->rows(call_, 0, call_.m, scratch_.get());
  }
  const HostTensor& result() const { return c_; }

 private:
  static const frazil::kernel::GemmKernel* kernel_for(const Product& p) {
    using frazil::Elem;
    if (p.half) return frazil::kernel::find_gemm(Elem::bf16, Elem::bf16, Elem::bf16);
    return p.bytes ? frazil::kernel::find_gemm(Elem::u8, Elem::i8, Elem::i32)
                   : frazil::kernel::find_gemm(Elem::f32, Elem::f32, Elem::f32);
  }

  const frazil::kernel::GemmKernel* kernel_;
  Aligned scratch_;
  std::vector<Aligned> packed_;  ///< copies
  std::size_t next_ = 0;
  HostTensor c_;
  frazil::kernel::GemmCall call_;
};

/// A primitive whose operands are in the layouts that it prefers.
class TheirRunner : public Runner {
 public:
  using Descriptor = std::function<memory::desc(int argument)>;

  TheirRunner(dnnl::engine engine, dnnl::primitive primitive, Descriptor wanted)
      : engine_(std::move(engine)), stream_(engine_), primitive_(std::move(primitive)), wanted_(std::move(wanted)) {}

  void give(int argument, const HostTensor& tensor, Layout layout) {
    operands_.insert_or_assign(argument, operand(argument, tensor, layout));
  }
  /// Copies, of which each run takes the next one.
  void give_weights(const HostTensor& tensor, Layout layout, std::size_t copies) {
    weights_.clear();
    for (std::size_t i = 0; i < copies; ++i) weights_.push_back(operand(DNNL_ARG_WEIGHTS, tensor, layout));
  }
  void make_result() { operands_.insert_or_assign(DNNL_ARG_DST, memory(wanted_(DNNL_ARG_DST), engine_)); }
  void run() override {
    if (!weights_.empty()) operands_[DNNL_ARG_WEIGHTS] = weights_[next_++ % weights_.size()];
    primitive_.execute(stream_, operands_);
    stream_.wait();
  }
  HostTensor result(const Dims& dims, Layout layout, Elem elem = Elem::f32) {
    HostTensor tensor(elem, dims);
    memory plain(desc(dims, layout, type_of(elem)), engine_, tensor.data.data());
    dnnl::reorder(operands_.at(DNNL_ARG_DST), plain).execute(stream_, operands_.at(DNNL_ARG_DST), plain);
    stream_.wait();
    return tensor;
  }
  static memory::data_type type_of(Elem elem) {
    using Type = memory::data_type;
    switch (elem) {
      case Elem::u8: return Type::u8;
      case Elem::i8: return Type::s8;
      case Elem::i32: return Type::s32;
      case Elem::bf16: return Type::bf16;
      default: return Type::f32;
    }
  }
  static memory::desc desc(const Dims& dims, Layout layout, memory::data_type type = memory::data_type::f32) {
    return {dims, type, layout};
  }

 private:
  memory operand(int argument, const HostTensor& tensor, Layout layout) {
    memory plain(desc(tensor.dims, layout, type_of(tensor.elem)), engine_);
    std::ranges::copy(tensor.data, static_cast<std::byte*>(plain.get_data_handle()));
    memory own(wanted_(argument), engine_);
    dnnl::reorder(plain, own).execute(stream_, plain, own);
    stream_.wait();
    return own;
  }

  dnnl::engine engine_;
  dnnl::stream stream_;
  dnnl::primitive primitive_;
  Descriptor wanted_;
  std::unordered_map<int, memory> operands_;
  std::vector<memory> weights_;
  std::size_t next_ = 0;
};

template <class PrimitiveDescriptor>
TheirRunner::Descriptor layouts_of(const PrimitiveDescriptor& primitive) {
  return [primitive](int argument) { return primitive.query_md(dnnl::query::exec_arg_md, argument); };
}

TheirRunner their_product(const dnnl::engine& engine, const Product& p, const HostTensor& a, const HostTensor& b,
                          Layout layout) {
  const auto desc = [](const Dims& dims, Layout to, Elem elem) {
    return TheirRunner::desc(dims, to, TheirRunner::type_of(elem));
  };
  const auto weights = desc(b.dims, layout, b.elem);
  const auto result = desc({p.m, p.n}, Layout::ab, result_elem(p));
  const dnnl::matmul::primitive_desc primitive({desc(a.dims, Layout::ab, a.elem), weights, result}, engine);
  TheirRunner runner(engine, dnnl::matmul(primitive), layouts_of(primitive));
  runner.give(DNNL_ARG_SRC, a, Layout::ab);
  runner.give_weights(b, Layout::ab, p.of_model() ? copies_of(b.data.size()) : 1);
  runner.make_result();
  return runner;
}

/// The layout that oneDNN chooses for B, or B transposed where that is faster: it chooses rows as they lie even where
/// their distance, a multiple of the first-level cache's sets, halves its rate.
TheirRunner their_best_product(const dnnl::engine& engine, const Product& p, const HostTensor& a, const HostTensor& b) {
  TheirRunner chosen = their_product(engine, p, a, b, Layout::any),
              transposed = their_product(engine, p, a, b, Layout::ba);
  const bool as_chosen = interleave("", &chosen, &transposed, {.batch_ms = 2}).pair_ratio >= 1;
  return as_chosen ? chosen : transposed;
}

/// x has the extents of an image with the channels first, its values lie with the channels last.
TheirRunner their_convolution(const dnnl::engine& engine, const Convolution& c, const HostTensor& x,
                              const HostTensor& w) {
  const auto any = [&](const Dims& dims) { return TheirRunner::desc(dims, Layout::any, TheirRunner::type_of(x.elem)); };
  const dnnl::convolution_forward::primitive_desc primitive({dnnl::prop_kind::forward_inference,
                                                             dnnl::algorithm::convolution_auto,
                                                             any(x.dims),
                                                             any(w.dims),
                                                             any({1, c.to, c.out(), c.out()}),
                                                             {c.stride, c.stride},
                                                             {c.pad(), c.pad()},
                                                             {c.pad(), c.pad()}},
                                                            engine);
  TheirRunner runner(engine, dnnl::convolution_forward(primitive), layouts_of(primitive));
  runner.give(DNNL_ARG_SRC, x, Layout::nhwc);
  runner.give(DNNL_ARG_WEIGHTS, w, Layout::oihw);
  runner.make_result();
  return runner;
}

/// Runners that take turns.
class Rotating : public Runner {
 public:
  void add(std::unique_ptr<Runner> runner) { runners_.push_back(std::move(runner)); }
  void run() override { runners_[next_++ % runners_.size()]->run(); }

 private:
  std::vector<std::unique_ptr<Runner>> runners_;
  std::size_t next_ = 0;
};

/// Returns the number of copies of a convolution that are timed in turn.
std::size_t copies_of_convolution(const HostTensor& weights) {
  constexpr std::size_t kMinBytes = std::size_t{1} << 20U;
  return weights.data.size() < kMinBytes ? 1 : copies_of(weights.data.size());
}

class Table {
 public:
  explicit Table(const InterleaveOptions& timing) : timing_(timing) {
    std::printf("%-23s %9s %9s %7s %-13s %8s %8s\n", "GFLOP/s", "ours", "oneDNN", "ratio", "pairs", "of peak",
                "theirs");
  }

  void add(const char* name, double operations, Runner& ours, Runner& theirs, const std::string& difference) {
    const double peak = fma_peak();
    const Comparison c = interleave(name, &ours, &theirs, timing_);
    const double rate = operations * 1e-6 / c.a->median, their_rate = operations * 1e-6 / c.b->median;
    ++rows_;
    met_ += c.pair_ratio >= kMinimum;
    good_ &= difference.empty();
    std::printf("%-23s %9.1f %9.1f %7.3f %5.3f..%-6.3f %7.0f%% %7.0f%%  %s\n", name, rate, their_rate, c.pair_ratio,
                c.ratio_low, c.ratio_high, 100 * rate / peak, 100 * their_rate / peak, difference.c_str());
    std::fflush(stdout);
    json_.push_back({{"name", name},
                     {"gflops", rate},
                     {"onednn", their_rate},
                     {"ratio", c.pair_ratio},
                     {"ratio_low", c.ratio_low},
                     {"ratio_high", c.ratio_high},
                     {"peak", peak},
                     {"note", difference}});
  }
  bool finish(const std::string& path) const {
    std::printf("%d of %d rows at %.2f of oneDNN's rate or more\n", met_, rows_, kMinimum);
    write_json(path, {{"least", kMinimum}, {"rows", json_}});
    return good_;
  }

 private:
  InterleaveOptions timing_;
  nlohmann::json json_ = nlohmann::json::array();
  int rows_ = 0, met_ = 0;
  bool good_ = true;
};

void add_product(const dnnl::engine& engine, const Product& p, Table& table) {
  const auto make = [&](Elem byte, Dims dims, const char* name) {
    if (p.half) return half_numbers(std::move(dims), name);
    return p.bytes ? bytes(byte, std::move(dims), name) : numbers(std::move(dims), name);
  };
  const HostTensor a = make(Elem::u8, {p.m, p.k}, "a"), b = make(Elem::i8, {p.k, p.n}, "b");
  OurProduct ours(p, a, b);
  TheirRunner theirs = their_best_product(engine, p, a, b);
  ours.run();
  theirs.run();
  table.add(p.name, p.operations(), ours, theirs,
            disagreement({ours.result()}, {theirs.result({p.m, p.n}, Layout::ab, ours.result().elem)}));
}

void add_convolution(const dnnl::engine& engine, const Convolution& c, bool half, const std::string& folder,
                     Table& table) {
  const auto make = half ? half_numbers : numbers;
  const HostTensor x = make({1, c.size, c.size, c.from}, "x"), w = make({c.to, c.from, c.window, c.window}, "w");
  HostTensor image = x;
  image.dims = {1, c.from, c.size, c.size};
  const std::string path = folder + "/" + c.name + ".onnx";
  write_convolution(path, c, w);
  FrazilRunner first(load_frazil(path), NamedTensors{{"x", x}});
  TheirRunner their_first = their_convolution(engine, c, image, w);
  first.settle();
  first.run();
  their_first.run();
  HostTensor result = their_first.result({1, c.to, c.out(), c.out()}, Layout::nhwc, x.elem);
  result.dims = {1, c.out(), c.out(), c.to};
  Rotating ours, theirs;
  for (std::size_t i = copies_of_convolution(w); i > 0; --i) {
    auto copy = std::make_unique<FrazilRunner>(load_frazil(path), NamedTensors{{"x", x}});
    copy->settle();
    ours.add(std::move(copy));
    theirs.add(std::make_unique<TheirRunner>(their_convolution(engine, c, image, w)));
  }
  table.add(c.name, c.operations(), ours, theirs, disagreement(first.outputs(), {std::move(result)}));
  std::remove(path.c_str());
}

void add_nbits(const NBitsRow& row, Table& table) {
  const NBitsRunners runners = nbits_runners(row);
  if (runners.product != nullptr) table.add(row.name, row.bytes(), *runners.product, *runners.reader, "");
}

bool is_row(std::string_view word) {
  return std::ranges::find(kProducts, word, &Product::name) != std::end(kProducts) ||
         std::ranges::find(kConvolutions, word, &Convolution::name) != std::end(kConvolutions) ||
         std::ranges::find(kHalfConvolutions, word, &Convolution::name) != std::end(kHalfConvolutions) ||
         std::ranges::find(kNBitsRows, word, &NBitsRow::name) != std::end(kNBitsRows);
}

bool kernels(const Arguments& arguments) {
  omp_set_num_threads(1);
  const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  Table table(arguments.timing);
  for (const Product& p : kProducts) {
    if (arguments.wants(p.name)) add_product(engine, p, table);
  }
  for (const Convolution& c : kConvolutions) {
    if (arguments.wants(c.name)) add_convolution(engine, c, false, scratch_dir(), table);
  }
  for (const Convolution& c : kHalfConvolutions) {
    if (arguments.wants(c.name)) add_convolution(engine, c, true, scratch_dir(), table);
  }
  for (const NBitsRow& row : kNBitsRows) {
    if (arguments.wants(row.name)) add_nbits(row, table);
  }
  return table.finish(arguments.json);
}

}  // namespace
}  // namespace bench

int main(int argc, char** argv) {
  bench::Arguments arguments;
  CLI::App app("Products and convolutions against oneDNN's", "kernels");
  add_arguments(app, arguments, bench::is_row, false);
  return bench::run_program(app, argc, argv, [&] { return bench::kernels(arguments); });
}
