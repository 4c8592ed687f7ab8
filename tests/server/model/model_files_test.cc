// Files of models that are written to while they are served.
#include <gmock/gmock.h>

#include "server/asked.h"

namespace frazil::test {
namespace {

using api::Array;
using testing::HasSubstr;

constexpr std::int64_t kRows = 64, kColumns = 256;  // several pages of a file

/// y = x + weight, with all weights the same.
api::Model model_of(float weight) {
  Array weights(api::Dtype::f32, {kRows, kColumns});
  std::ranges::fill(weights.mutable_values<float>(), weight);
  return api::Model::from_text("weight @w: f32[64,256] graph g(%x: f32[64,256]) { %y = Add(%x, @w) return y = %y }",
                               {{"w", weights}});
}

/// Has other bytes in the same file, which stays as long as it is where `bytes` are fewer.
void overwrite(const std::string& file, const std::string& bytes) {
  std::fstream(file, std::ios::in | std::ios::out | std::ios::binary) << bytes;
}

class ModelFiles : public testing::Test {
 protected:
  void serve() { service_.emplace(options_of(folder_)); }
  /// What every element of the answer is.
  float answer() {
    Array x(api::Dtype::f32, {kRows, kColumns});
    std::ranges::fill(x.mutable_values<float>(), 0.5F);
    const std::vector<float> values = floats_of(ask(*service_, {.model = "m", .inputs = {{"x", x}}}).get());
    EXPECT_THAT(values, testing::Each(values.at(0)));
    return values.at(0);
  }
  std::string load() {
    try {
      service_->models().load("m");
    } catch (const server::Refusal& refusal) {
      return refusal.what();
    }
    return "";
  }

  Folder folder_, made_;
  std::optional<server::Service> service_;
};

TEST_F(ModelFiles, AnswersChangeWithALoadAndNotBefore) {
  const struct {
    const char* of;
    api::SaveOptions how;
    const char* weights;  ///< the file that has them
  } cases[] = {{"in the model", {}, "m.onnx"}, {"external", {.external_bytes = 1}, "m.onnx.data"}};
  for (const auto& c : cases) {
    SCOPED_TRACE(c.of);
    model_of(1).save(folder_.path() + "m.onnx", c.how);
    model_of(2).save(made_.path() + "m.onnx", c.how);
    serve();
    EXPECT_EQ(answer(), 1.5F);
    overwrite(folder_.path() + c.weights, content_of(made_.path() + c.weights));
    EXPECT_EQ(answer(), 1.5F) << "nobody has asked for a load";
    std::filesystem::resize_file(folder_.path() + c.weights, 100);
    EXPECT_EQ(answer(), 1.5F) << "and the server is there";
    EXPECT_NE(load(), "");
    EXPECT_EQ(answer(), 1.5F) << "what was served is served on";
    overwrite(folder_.path() + c.weights, content_of(made_.path() + c.weights));
    EXPECT_EQ(load(), "");
    EXPECT_EQ(answer(), 2.5F);
    service_.reset();
  }
}

TEST_F(ModelFiles, CopiesHaveNoNames) {
  model_of(1).save(folder_.path() + "m.onnx");
  server::ServiceOptions options = options_of(folder_);
  options.copies = made_.path();
  service_.emplace(options);
  EXPECT_TRUE(std::filesystem::is_empty(made_.path()));
  EXPECT_EQ(answer(), 1.5F);
}

TEST_F(ModelFiles, AFolderThatTakesNoCopiesIsNamed) {
  model_of(1).save(folder_.path() + "m.onnx");
  server::ServiceOptions options = options_of(folder_);
  options.copies = "/no/such/folder";
  try {
    server::Service{options};
    FAIL() << "no error";
  } catch (const api::Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("cannot copy a file to '/no/such/folder': No such file or directory"));
  }
}

}  // namespace
}  // namespace frazil::test
