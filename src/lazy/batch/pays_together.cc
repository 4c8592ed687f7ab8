#include "lazy/batch/pays_together.h"

#include <algorithm>

#include "ir/op/op.h"
#include "kernel/tuning/tuning.h"

namespace frazil::lazy {
namespace {

// Nanoseconds, fitted to what bench/lazy/model_bench measured.
constexpr double kRequest = 800;  ///< what a request takes more, whatever the graph
constexpr double kPiece = 600;    ///< a call of what lies between regions, or a region
constexpr double kRound = 100;    ///< another round of a loop
constexpr double kRounds = 8;     ///< that loops are taken to have

class Estimate {
 public:
  explicit Estimate(const Graph& graph) : graph_(graph) {
    double all = 0;
    for (const NodeId n : graph.nodes()) all += weights(graph.node(n));
    if (all > 0) per_byte_ = reading(all) / all;
  }

  /// Nanoseconds that a request saves in a block, less those that it takes more.
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
  /// One block is a loop's, several are those of a choice, of which a request runs one.
  double of_region(const frazil::Node& node) const {
    double sum = 0;
    for (const BlockId block : node.blocks) sum += of(block);
    const auto count = static_cast<double>(node.blocks.size());
    return count == 1 ? kRounds * (sum - kRound) : sum / count;
  }

  double of_node(const frazil::Node& node) const { return weights(node) * per_byte_; }

  /// Nanoseconds that a product of one row takes more than a row of a large one.
  static double reading(double bytes) {
    const kernel::Tuning& t = kernel::tuning();
    const auto elements = static_cast<std::int64_t>(bytes / sizeof(float));
    const auto rows = [&](std::int64_t m) {
      return kernel::product_nanoseconds(t, &kernel::Tuning::product, m, 1, elements, sizeof(float));
    };
    return rows(1) - rows(kTogether) / static_cast<double>(kTogether);
  }

  /// Bytes of weights, of a product of so few rows that it is bound by reading them.
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

  /// Rows of a result; an unknown extent is taken as 1.
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

bool pays_together(const Graph& graph) { return Estimate(graph).of(BlockId{0}) > kRequest; }

}  // namespace frazil::lazy
