#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <frazil/frazil.h>

namespace digits {

/// Counts over many runs: the nodes that ran, the outcomes of conditions, the iterations of loops.
class Trace : public frazil::Observer {
 public:
  struct Node {
    std::string name, op;
    bool repeated;  ///< part of a loop's body
  };
  struct Sides {
    std::int64_t yes = 0, no = 0;
  };

  /// Returns the nodes whose names begin with "STAGE/", in execution order.
  std::vector<Node> nodes_of(const std::string& stage) const;
  Sides sides(const std::string& if_node) const;
  std::int64_t iterations(const std::string& loop_node) const;

  // ---- of the last run ----
  /// Returns the stage that produced the answer. Each exit that is not taken leads to the next stage.
  std::int64_t stage() const { return 1 + refusals_; }
  std::int64_t steps() const { return steps_; }

  void run_begin() override;
  void node_begin(const frazil::NodeEvent& node) override;
  void branch(const frazil::NodeEvent& node, bool taken) override;
  void iteration(const frazil::NodeEvent& node) override;

 private:
  std::vector<Node> nodes_;
  std::map<std::string, Sides> sides_;
  std::map<std::string, std::int64_t> iterations_;
  std::int64_t refusals_ = 0, steps_ = 0;
  bool in_loop_ = false;
};

}  // namespace digits
