#include "govern/bom/bill.h"

#include <functional>
#include <set>

#include <frazil/array.h>
#include <frazil/model.h>
#include <gmock/gmock.h>

#include "../sign/sign_testing.h"
#include "govern/base/digest.h"
#include "govern/base/encoding.h"
#include "govern/sign/bundle.h"

namespace frazil::govern::sign_test::of_bill {
namespace {

/// A model y = x + w, whose weight is 4 KiB.
api::Model small_model() {
  const std::vector<float> weight(1024, 0.5F);
  return api::Model::from_text(
      "weight @w: f32[1024]\ngraph small(%x: f32[1024]) {\n  %y = Add(%x, @w)\n  return y = %y\n}\n",
      {{"w", api::Array::of(api::Sizes{1024}, std::span<const float>(weight))}});
}

Json component(const Json& bill, const std::string& ref) {
  for (const Json& one : bill["components"]) {
    if (one["bom-ref"] == ref) return one;
  }
  ADD_FAILURE() << "there is no component " << ref;
  return Json::object();
}

/// Returns the values of the properties of a name, sorted.
std::vector<std::string> values_of(const Json& one, const std::string& name) {
  std::vector<std::string> values;
  for (const Json& property : one.value("properties", Json::array())) {
    if (property["name"] == name) values.push_back(property["value"]);
  }
  std::ranges::sort(values);
  return values;
}

/// A folder with both layouts, an external file, a configuration and a pipeline.
struct Served {
  TemporaryFolder folder;
  const api::Model model = small_model();

  Served() {
    folder.write("deep/1/x", "");
    folder.write("deep/2/x", "");
    folder.write("deep/config.pbtxt", "name: \"deep\"");
    model.save(folder.path("flat.onnx"));
    model.save(folder.path("deep/1/model.onnx"));
    model.save(folder.path("deep/2/model.onnx"), {.external_bytes = 1024});
    folder.write("packed.frzc", "not read");
    folder.write("route.yaml", "steps: []");
    folder.write("clean.py", "pass");
  }
  BillOptions options() const {
    return {.folder = folder.path(),
            .pipelines = {{.name = "route",
                           .file = "route.yaml",
                           .models = {{"flat", ""}, {"deep", ""}, {"deep", "1"}, {"gone", "3"}},
                           .endpoints = {{"http", "https://a.example/v2/models/m/infer"}, {"redis", "localhost:6379"}},
                           .code = {"clean.py"}}},
            .version = "1.2.3",
            .libraries = {{"zlib", "1.3"}, {"fmt", "9.1.0"}}};
  }
  Json bill() const { return bill_of_materials(options()); }
};

TEST(Bills, ListWhatIsServed) {
  const Served served;
  const Json bill = served.bill();
  std::vector<std::string> refs;
  for (const Json& one : bill["components"]) refs.push_back(one["bom-ref"]);
  EXPECT_EQ(refs, (std::vector<std::string>{"model:deep@1", "model:deep@2", "model:flat@1", "model:packed@1",
                                            "pipeline:route", "pkg:generic/fmt@9.1.0", "pkg:generic/frazil@1.2.3",
                                            "pkg:generic/zlib@1.3"}));
  const Json flat = component(bill, "model:flat@1");
  EXPECT_EQ(flat["type"], "machine-learning-model");
  EXPECT_EQ(flat["hashes"][0]["content"], hex(sha256(served.folder.read("flat.onnx"))));
  EXPECT_EQ(values_of(flat, "frazil:definition-digest"),
            std::vector<std::string>{api::Model::load(served.folder.path("flat.onnx")).digest()});
  EXPECT_EQ(values_of(flat, "frazil:evidence"), std::vector<std::string>{"inferred"});
  EXPECT_EQ(values_of(flat, "frazil:evidence:onnx"), std::vector<std::string>{"declared"});
  ASSERT_EQ(values_of(flat, "frazil:operator").size(), 1);
  EXPECT_TRUE(values_of(flat, "frazil:operator")[0].starts_with("ai.onnx.Add opset "));
  EXPECT_EQ(flat["modelCard"]["modelParameters"]["inputs"][0]["format"], "x: f32[1024]");

  const Json deep = component(bill, "model:deep@2");
  ASSERT_EQ(deep["components"].size(), 2);
  EXPECT_EQ(deep["components"][0]["name"], "deep/2/model.onnx.data");
  EXPECT_EQ(deep["components"][0]["hashes"][0]["content"], hex(sha256(served.folder.read("deep/2/model.onnx.data"))));
  EXPECT_EQ(deep["components"][1]["name"], "deep/config.pbtxt");
  EXPECT_EQ(values_of(deep, "frazil:definition-digest"), values_of(flat, "frazil:definition-digest"));
  EXPECT_TRUE(values_of(component(bill, "model:packed@1"), "frazil:definition-digest").empty());
}

TEST(Bills, ListWhatPipelinesNeed) {
  const Json bill = Served().bill();
  const Json route = component(bill, "pipeline:route");
  EXPECT_EQ(values_of(route, "frazil:missing-model"), std::vector<std::string>{"gone/3"});
  EXPECT_EQ(route["components"][0]["name"], "clean.py");
  EXPECT_EQ(bill["compositions"], (Json{{{"aggregate", "incomplete"}, {"dependencies", {"pipeline:route"}}}}));
  const auto is_route = [](const Json& one) { return one["ref"] == "pipeline:route"; };
  const auto needs = std::find_if(bill["dependencies"].begin(), bill["dependencies"].end(), is_route);
  ASSERT_NE(needs, bill["dependencies"].end());
  EXPECT_EQ((*needs)["dependsOn"],
            (Json{"model:deep@1", "model:deep@2", "model:flat@1", "service:http:https://a.example/v2/models/m/infer",
                  "service:redis:localhost:6379"}));
  ASSERT_EQ(bill["services"].size(), 2);
  EXPECT_EQ(bill["services"][0]["endpoints"], Json{"https://a.example/v2/models/m/infer"});
  for (const Json& service : bill["services"]) {
    EXPECT_EQ(values_of(service, "frazil:evidence"), std::vector<std::string>{"declared"});
  }
}

TEST(Bills, AreEqualForEqualFolders) {
  const Served one, other;
  const std::string text = canonical(one.bill());
  EXPECT_EQ(canonical(one.bill()), text);
  EXPECT_EQ(canonical(other.bill()), text);
  EXPECT_EQ(text.find(one.folder.path()), std::string::npos);
  EXPECT_FALSE(one.bill()["metadata"].contains("timestamp"));
  BillOptions options = one.options();
  options.timestamp = "2026-11-28T14:05:09Z";
  const Json timed = bill_of_materials(options);
  EXPECT_EQ(timed["metadata"]["timestamp"], "2026-11-28T14:05:09Z");
  EXPECT_EQ(timed["serialNumber"], one.bill()["serialNumber"]);
  other.folder.write("clean.py", "pass # changed");
  EXPECT_NE(other.bill()["serialNumber"], one.bill()["serialNumber"]);
}

TEST(Bills, HaveTheMembersThatCycloneDxRequires) {
  const Json bill = Served().bill();
  EXPECT_EQ(bill["bomFormat"], "CycloneDX");
  EXPECT_EQ(bill["specVersion"], "1.7");
  EXPECT_EQ(bill["version"], 1);
  EXPECT_THAT(bill["serialNumber"].get<std::string>(),
              testing::MatchesRegex("urn:uuid:[0-9a-f]+-[0-9a-f]+-8[0-9a-f]+-[89ab][0-9a-f]+-[0-9a-f]+"));
  std::set<std::string> refs = {bill["metadata"]["component"]["bom-ref"]};
  const std::function<void(const Json&)> check = [&](const Json& one) {
    EXPECT_TRUE(refs.insert(one["bom-ref"]).second) << one["bom-ref"];
    EXPECT_TRUE(one.contains("name"));
    EXPECT_EQ(values_of(one, "frazil:evidence").size(), 1) << one["bom-ref"];
    for (const Json& inner : one.value("components", Json::array())) check(inner);
  };
  for (const Json& one : bill["components"]) check(one);
  for (const Json& one : bill["services"]) check(one);
  for (const Json& one : bill["dependencies"]) {
    EXPECT_TRUE(refs.contains(one["ref"])) << one["ref"];
    for (const Json& ref : one["dependsOn"]) EXPECT_TRUE(refs.contains(ref)) << ref;
  }
}

/// Writes a signature of a folder or a file below the served one.
void sign_below(const TemporaryFolder& folder, const std::string& name) {
  const std::string path = folder.path(name), to = default_bundle_path(path);
  std::ofstream(to) << sign_folder(path, key_named("signer"), to);
}

TEST(Bills, SayWhatASignatureCovers) {
  const Served served;
  sign_below(served.folder, "deep/2");
  sign_below(served.folder, "flat.onnx");
  BillOptions options = served.options();
  options.trusted = {key_named("signer").public_key()};
  const auto evidence = [](const Json& bill, const std::string& ref) {
    return values_of(component(bill, ref), "frazil:evidence").at(0);
  };
  Json bill = bill_of_materials(options);
  EXPECT_EQ(evidence(bill, "model:flat@1"), "verified");
  EXPECT_EQ(evidence(bill, "model:deep@2"), "verified");
  EXPECT_EQ(values_of(component(bill, "model:deep@2")["components"][0], "frazil:evidence").at(0), "verified");
  EXPECT_EQ(values_of(component(bill, "model:deep@2")["components"][1], "frazil:evidence").at(0), "inferred");
  EXPECT_EQ(evidence(bill, "model:deep@1"), "inferred");
  EXPECT_TRUE(values_of(bill["metadata"]["component"], "frazil:violation").empty());
  EXPECT_EQ(evidence(served.bill(), "model:flat@1"), "inferred");

  served.folder.write("deep/2/extra", "");
  bill = bill_of_materials(options);
  EXPECT_EQ(evidence(bill, "model:deep@2"), "inferred");
  EXPECT_EQ(values_of(bill["metadata"]["component"], "frazil:violation"),
            std::vector<std::string>{"signature 'deep/2/model.sig': file 'extra': it is not signed [unsigned file]"});
  EXPECT_NE(text_of_bill(bill).find("violation signature 'deep/2/model.sig'"), std::string::npos);
  options.trusted = {key_named("stranger").public_key()};
  EXPECT_EQ(evidence(bill_of_materials(options), "model:flat@1"), "inferred");
}

TEST(Bills, AModelThatCannotBeLoadedHasTheReason) {
  const Served served;
  served.folder.write("broken.onnx", "not a model");
  const Json broken = component(served.bill(), "model:broken@1");
  EXPECT_EQ(values_of(broken, "frazil:not-loaded"), std::vector<std::string>{"the model is damaged or cut short"});
  EXPECT_TRUE(values_of(broken, "frazil:definition-digest").empty());
  EXPECT_EQ(broken["hashes"][0]["content"], hex(sha256("not a model")));
}

}  // namespace
}  // namespace frazil::govern::sign_test::of_bill
