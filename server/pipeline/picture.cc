#include "server/pipeline/picture.h"

#include "server/pipeline/pipeline.h"

namespace frazil::server {
namespace {

class Picture {
 public:
  explicit Picture(PictureForm form) : form_(form) {}

  void add(const PipelineGraph& graph, const Block& block) {
    text_ += form_ == PictureForm::dot ? graph.model().dot() : graph.model().text();
    if (!text_.ends_with('\n')) text_ += '\n';
    add_inner(block);
  }
  std::string take() { return std::move(text_); }

 private:
  /// Adds the graphs inside of a block whose own graph was added.
  void add_inner(const Block& block) {
    for (const NodePtr& node : block.nodes) {
      for (const NodeView::Branch& branch : node->view().branches) {
        if (branch.graph == nullptr) {
          add_inner(*branch.block);
          continue;
        }
        ((text_ += "\n// ") += node->name() + ": " + branch.block->name) += '\n';
        add(*branch.graph, *branch.block);
      }
    }
  }

  const PictureForm form_;
  std::string text_;
};

}  // namespace

std::string picture_of(const Served& served, PictureForm form) {
  const auto* const pipeline = dynamic_cast<const Pipeline*>(&served);
  if (pipeline == nullptr) {
    throw Refusal(Http::bad_request,
                  "model '" + served.name() + "' is not a pipeline: 'frazil view' shows the graph of a model's file");
  }
  Picture picture(form);
  picture.add(pipeline->graph(), pipeline->block());
  return picture.take();
}

}  // namespace frazil::server
