#include "lazy/batch/batching_cost.h"

#include <algorithm>

#include "ir/op/op.h"
#include "kernel/tuning/tuning.h"

namespace frazil::lazy {
namespace {

// Nanoseconds, fitted to measurements of bench/lazy/model_bench.
constexpr double kRequest = 800;  ///< additional cost of a request, for any graph
constexpr double kPiece = 600;    ///< cost of a call of the nodes between regions, or of a region
constexpr double kRound = 100;    ///< cost of one loop iteration
constexpr double kRounds = 8;     ///< assumed number of loop iterations

class Estimate {
 public:
  explicit Estimate(const Graph& graph) : graph_(graph) {
    double all = 0;
    for (const NodeId n : graph.nodes()) all += weights(graph.node(n));
    if (all > 0) per_byte_ = reading(all) / all;
  }

  /// Returns the nanoseconds that a request saves in a block, minus its additional cost.
  double of(BlockId block) const {
    double saved = 0;
    bool in_piece = false;
    for (const NodeId id : graph_.block(block).nodes) {
      const frazil::Node& node = graph_.node(id);
      const bool region = !node.blocks.empty();
      if (region || !in_piece) saved -= kPiece;
      in_piece = !region;
      saved += region ? of_region(node) : of_node(node);
    }
    return saved;
  }

 private:
  /// Estimates a region. A single block is the body of a loop; several are branches, of which a request runs one.
  double of_region(const frazil::Node& node) const {
    double sum = 0;
    for (const BlockId block : node.blocks) sum += of(block);
    const auto count = static_cast<double>(node.blocks.size());
    return count == 1 ? kRounds * (sum - kRound) : sum / count;
  }

  double of_node(const frazil::Node& node) const { return weights(node) * per_byte_; }

  /// Returns by how many nanoseconds a product of one row is slower than one row of a large product.
  static double reading(double bytes) {
    const kernel::Tuning& t = kernel::tuning();
    const auto elements = static_cast<std::int64_t>(bytes / sizeof(float));
    const auto rows = [&](std::int64_t m) {
      return kernel::product_nanoseconds(t, &kernel::Tuning::product, m, 1, elements, sizeof(float));
    };
    return rows(1) - rows(kTogether) / static_cast<double>(kTogether);
  }

  /// Returns the bytes of weights of a product with so few rows that reading the weights bounds it; 0 for other nodes.
  double weights(const frazil::Node& node) const {
    constexpr double kFewRows = 8;
    if (!std::holds_alternative<Contraction>(node.op->form) || rows(node.out[0]) >= kFewRows) return 0;
    double bytes = 0;
    for (const Value v : node.in) {
      const frazil::Constant* const weight = v ? graph_.constant(v) : nullptr;
      if (weight != nullptr && weight->tensor.sizes().size() > 1) bytes += static_cast<double>(weight->tensor.bytes());
    }
    return bytes;
  }

  /// Returns the rows of a result. An unknown extent is taken as 1.
  double rows(Value v) const {
    const Type& type = graph_.type(v);
    if (!type.ranked || type.shape.empty()) return 1;
    double count = 1;
    for (const Dim d : std::span(type.shape).first(type.shape.size() - 1))
      count *= d.is_const() ? static_cast<double>(d.value()) : 1;
    return count;
  }

  static constexpr std::int64_t kTogether = 64;
  const Graph& graph_;
  double per_byte_ = 0;
};

}  // namespace

bool is_batching_profitable(const Graph& graph) { return Estimate(graph).of(BlockId{0}) > kRequest; }

}  // namespace frazil::lazy
