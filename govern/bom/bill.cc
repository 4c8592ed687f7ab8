#include "govern/bom/bill.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <map>
#include <optional>
#include <set>

#include <frazil/policy.h>
#include <frazil/registry.h>
#include <frazil/text.h>

#include "govern/base/encoding.h"
#include "govern/base/error.h"
#include "govern/bom/covered.h"
#include "govern/sign/folder.h"

namespace frazil::govern {
namespace {

constexpr std::uint64_t kMaxModelBytes = std::uint64_t{1} << 31;  // as protobuf
constexpr const char* kEvidence = "frazil:evidence";
constexpr const char* kEvidenceDeclared = "declared";
constexpr const char* kEvidenceInferred = "inferred";
constexpr const char* kEvidenceVerified = "verified";

/// A version of a model.
struct BillVersion {
  std::string model, file;
  std::uint64_t number = 1;
};

void add_bill_property(Json& component, const std::string& name, const std::string& value) {
  component["properties"].push_back({{"name", name}, {"value", api::printable(value)}});
}

/// Returns the name with all but unreserved characters as %XX, for package URLs.
std::string percent_encoded(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
                       c == '.' || c == '_' || c == '~';
    out += plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return out;
}

std::string purl_of(std::string_view name, std::string_view version) {
  return "pkg:generic/" + percent_encoded(name) + '@' + percent_encoded(version);
}

std::vector<std::string_view> path_parts(std::string_view name) {
  std::vector<std::string_view> parts;
  for (std::size_t at = 0; at <= name.size();) {
    const std::size_t end = std::min(name.find('/', at), name.size());
    parts.push_back(name.substr(at, end - at));
    at = end + 1;
  }
  return parts;
}

std::optional<std::uint64_t> version_number(std::string_view text) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool whole = error == std::errc() && end == text.data() + text.size() && number > 0 && text[0] != '0';
  return whole ? std::optional(number) : std::nullopt;
}

bool is_package(std::string_view file) { return file.ends_with(".frzc"); }

/// Returns the version that a file of the folder is, if it is one.
std::optional<BillVersion> version_in(const std::string& file) {
  const auto parts = path_parts(file);
  const bool model = file.ends_with(".onnx") || is_package(file);
  if (!model) return std::nullopt;
  const std::string stem = std::filesystem::path(file).stem().string();
  if (parts.size() == 1) return BillVersion{.model = stem, .file = file};
  const auto number = parts.size() == 3 ? version_number(parts[1]) : std::nullopt;
  if (!number || stem != "model") return std::nullopt;
  return BillVersion{.model = std::string(parts[0]), .file = file, .number = *number};
}

std::string folder_part(const std::string& file) {
  const std::size_t slash = file.rfind('/');
  return slash == std::string::npos ? "" : file.substr(0, slash + 1);
}

/// Adds what the metadata of the file says: somebody's claims.
void add_claims(Json& component, const api::Metadata& data) {
  const auto add = [&](const char* name, const std::string& value) {
    if (!value.empty()) add_bill_property(component, name, value);
  };
  add("onnx:producer", data.producer);
  add("onnx:producer_version", data.producer_version);
  add("onnx:domain", data.domain);
  add("onnx:graph", data.graph_name);
  if (data.model_version != 0) add("onnx:model_version", std::to_string(data.model_version));
  if (!data.description.empty()) {
    component["description"] = api::printable(data.description);
    add_bill_property(component, "frazil:evidence:description", kEvidenceDeclared);
  }
  for (const auto& [key, value] : data.properties)
    add_bill_property(component, "onnx:metadata:" + api::printable(key), value);
  for (const char* key : {"license", "licence", "License", "Licence"}) {
    const auto at = data.properties.find(key);
    if (at == data.properties.end()) continue;
    component["licenses"] = Json::array({{{"license", {{"name", api::printable(at->second)}}}}});
    add_bill_property(component, "frazil:evidence:licenses", kEvidenceDeclared);
    break;
  }
  add_bill_property(component, "frazil:evidence:onnx", kEvidenceDeclared);
}

Json model_card(const api::Model& model) {
  const auto list = [](const std::vector<api::Port>& ports) {
    Json formats = Json::array();
    for (const api::Port& port : ports) formats.push_back({{"format", api::printable(port.name + ": " + port.type)}});
    return formats;
  };
  return {{"modelParameters", {{"inputs", list(model.inputs())}, {"outputs", list(model.outputs())}}}};
}

/// Makes a bill.
class Bill {
 public:
  explicit Bill(const BillOptions& options)
      : options_(options),
        folder_(options.folder),
        entries_(folder_.list()),
        covered_(options.folder, entries_, options.trusted) {
    options_.load.check_calls = false;
    options_.load.registry = registry_;
  }

  Json make() {
    for (const Folder::Entry& entry : entries_) {
      if (const auto version = version_in(entry.name)) add_version(*version);
    }
    for (const BillPipeline& pipeline : options_.pipelines) add_pipeline(pipeline);
    add_build();
    return whole();
  }

 private:
  static std::string ref_of(const BillVersion& version) {
    return fmt::format("model:{}@{}", version.model, version.number);
  }

  /// Adds the digest of a file and how it is known.
  HashedFile add_hash(Json& component, const std::string& name) {
    HashedFile file = folder_.hash(name);
    component["hashes"] = Json::array({{{"alg", "SHA-256"}, {"content", hex(file.digest)}}});
    add_bill_property(component, kEvidence, covered_.has(name, file.digest) ? kEvidenceVerified : kEvidenceInferred);
    add_bill_property(component, "frazil:file", name);
    return file;
  }
  Json file_component(const std::string& ref, const std::string& name) {
    Json component = {{"type", "file"}, {"bom-ref", ref + '/' + name}, {"name", name}};
    (void)add_hash(component, name);
    return component;
  }

  void add_version(const BillVersion& version) {
    const std::string number = std::to_string(version.number), ref = ref_of(version);
    Json component = {{"type", "machine-learning-model"},
                      {"bom-ref", ref},
                      {"name", version.model},
                      {"version", number},
                      {"purl", purl_of(version.model, number)}};
    const HashedFile file = add_hash(component, version.file);
    Json files = Json::array();
    if (!is_package(version.file)) {
      const std::string bytes = read_all(file.file, version.file, kMaxModelBytes);
      if (!file.is_unchanged()) fail(Code::bad_input, "file '{}': it was written while it was read", version.file);
      for (const std::string& name : add_contents(component, version, bytes)) {
        files.push_back(file_component(ref, name));
      }
    }
    const std::string config = version.model + "/config.pbtxt";
    if (has(config)) files.push_back(file_component(ref, config));
    if (!files.empty()) component["components"] = std::move(files);
    newest_[version.model] = std::max(newest_[version.model], version.number);
    refs_.push_back(ref);
    components_.push_back(std::move(component));
  }

  bool has(const std::string& name) const {
    return std::ranges::binary_search(entries_, name, {}, &Folder::Entry::name);
  }

  /// Adds the facts of an ONNX file, and returns the names of its external files.
  std::vector<std::string> add_contents(Json& component, const BillVersion& version, const std::string& bytes) {
    std::vector<std::string> files;
    try {
      const api::FileFacts facts{.content = std::as_bytes(std::span(bytes))};
      for (const api::UsedOperator& used : facts.operators()) {
        add_bill_property(component, "frazil:operator",
                          fmt::format("{}.{} opset {} nodes {}", used.domain.empty() ? "ai.onnx" : used.domain,
                                      used.name, used.opset, used.nodes));
      }
      add_bill_property(component, "frazil:evidence:operators", kEvidenceInferred);
      for (const std::string& location : facts.external_locations()) {
        const std::string name =
            std::filesystem::path(folder_part(version.file) + location).lexically_normal().generic_string();
        if (name_fault(name).empty() && has(name))
          files.push_back(name);
        else
          add_bill_property(component, "frazil:missing-external-file", location);
      }
      api::LoadOptions how = options_.load;
      how.folder = (std::filesystem::path(options_.folder) / folder_part(version.file)).string();
      add_model(component, api::Model::from_bytes(facts.content, how));
    } catch (const Error& error) {
      add_bill_property(component, "frazil:not-loaded", error.what());
    }
    return files;
  }
  static void add_model(Json& component, const api::Model& model) {
    add_bill_property(component, "frazil:definition-digest", model.digest());
    add_bill_property(component, "frazil:evidence:definition-digest", kEvidenceInferred);
    component["modelCard"] = model_card(model);
    add_bill_property(component, "frazil:evidence:modelCard", kEvidenceInferred);
    add_claims(component, model.metadata());
  }

  void add_pipeline(const BillPipeline& pipeline) {
    const std::string ref = "pipeline:" + pipeline.name;
    Json component = {{"type", "application"},
                      {"bom-ref", ref},
                      {"name", pipeline.name},
                      {"version", "1"},
                      {"purl", purl_of(pipeline.name, "1")}};
    (void)add_hash(component, pipeline.file);
    add_bill_property(component, "frazil:evidence:dependencies", kEvidenceDeclared);
    Json files = Json::array();
    for (const std::string& name : pipeline.code) files.push_back(file_component(ref, name));
    if (!files.empty()) component["components"] = std::move(files);
    std::set<std::string> needs;
    bool complete = pipeline.endpoints.empty();
    for (const BillPipeline::Model& use : pipeline.models) {
      if (const auto target = ref_of_use(use)) {
        needs.insert(*target);
        continue;
      }
      complete = false;
      add_bill_property(component, "frazil:missing-model", use.name + (use.version.empty() ? "" : "/" + use.version));
    }
    for (const BillPipeline::Endpoint& endpoint : pipeline.endpoints) needs.insert(add_service(endpoint));
    compositions_.push_back(
        {{"aggregate", complete ? "complete" : "incomplete"}, {"dependencies", Json::array({ref})}});
    dependencies_.push_back({{"ref", ref}, {"dependsOn", needs}});
    refs_.push_back(ref);
    components_.push_back(std::move(component));
  }

  std::optional<std::string> ref_of_use(const BillPipeline::Model& use) const {
    const auto is_pipeline = [&](const BillPipeline& other) { return other.name == use.name; };
    if (std::ranges::any_of(options_.pipelines, is_pipeline)) return "pipeline:" + use.name;
    const auto newest = newest_.find(use.name);
    if (newest == newest_.end()) return std::nullopt;
    const std::string ref =
        "model:" + use.name + '@' + (use.version.empty() ? std::to_string(newest->second) : use.version);
    return std::ranges::find(refs_, ref) == refs_.end() ? std::nullopt : std::optional(ref);
  }

  /// Returns the reference of the service at an endpoint.
  std::string add_service(const BillPipeline::Endpoint& endpoint) {
    const std::string ref = "service:" + endpoint.kind + ':' + endpoint.url;
    if (std::ranges::any_of(services_, [&](const Json& other) { return other["bom-ref"] == ref; })) return ref;
    Json service = {{"bom-ref", ref}, {"name", endpoint.url}, {"x-trust-boundary", true}};
    if (endpoint.kind == "http") service["endpoints"] = Json::array({endpoint.url});
    add_bill_property(service, kEvidence, kEvidenceDeclared);
    add_bill_property(service, "frazil:kind", endpoint.kind);
    services_.push_back(std::move(service));
    return ref;
  }

  void add_build() {
    std::set<std::string> needs;
    for (const BillLibrary& library : options_.libraries) {
      const std::string ref = purl_of(library.name, library.version);
      Json component = {
          {"type", "library"}, {"bom-ref", ref}, {"name", library.name}, {"version", library.version}, {"purl", ref}};
      add_bill_property(component, kEvidence, kEvidenceInferred);
      if (needs.insert(ref).second) components_.push_back(std::move(component));
    }
    const std::string ref = purl_of("frazil", options_.version);
    Json frazil = {
        {"type", "application"}, {"bom-ref", ref}, {"name", "frazil"}, {"version", options_.version}, {"purl", ref}};
    add_bill_property(frazil, kEvidence, kEvidenceInferred);
    components_.push_back(std::move(frazil));
    dependencies_.push_back({{"ref", ref}, {"dependsOn", needs}});
    refs_.push_back(ref);
  }

  static void sort_by(Json& list, const char* member) {
    std::sort(list.begin(), list.end(), [&](const Json& a, const Json& b) {
      return a[member].get_ref<const std::string&>() < b[member].get_ref<const std::string&>();
    });
  }

  Json whole() {
    Json root = {{"type", "application"}, {"bom-ref", "served-folder"}, {"name", "served folder"}};
    add_bill_property(root, kEvidence, kEvidenceInferred);
    for (const std::string& violation : covered_.violations()) add_bill_property(root, "frazil:violation", violation);
    std::ranges::sort(refs_);
    dependencies_.push_back({{"ref", "served-folder"}, {"dependsOn", refs_}});
    sort_by(components_, "bom-ref");
    sort_by(services_, "bom-ref");
    sort_by(dependencies_, "ref");
    Json bill = {{"$schema", "http://cyclonedx.org/schema/bom-1.7.schema.json"},
                 {"bomFormat", "CycloneDX"},
                 {"specVersion", "1.7"},
                 {"version", 1},
                 {"metadata", {{"component", std::move(root)}}},
                 {"components", std::move(components_)},
                 {"dependencies", std::move(dependencies_)}};
    if (!services_.empty()) bill["services"] = std::move(services_);
    if (!compositions_.empty()) bill["compositions"] = std::move(compositions_);
    bill["serialNumber"] = serial_of(bill);
    if (!options_.timestamp.empty()) bill["metadata"]["timestamp"] = options_.timestamp;
    return bill;
  }
  /// Returns a UUID of version 8 (RFC 9562) made from the content.
  static std::string serial_of(const Json& bill) {
    Digest digest = sha256(canonical(bill));
    digest[6] = static_cast<std::uint8_t>(0x80 | (digest[6] & 0x0f));
    digest[8] = static_cast<std::uint8_t>(0x80 | (digest[8] & 0x3f));
    const std::string text = hex(digest);
    return fmt::format("urn:uuid:{}-{}-{}-{}-{}", text.substr(0, 8), text.substr(8, 4), text.substr(12, 4),
                       text.substr(16, 4), text.substr(20, 12));
  }

  BillOptions options_;
  std::shared_ptr<api::Registry> registry_ = std::make_shared<api::Registry>();
  Folder folder_;
  std::vector<Folder::Entry> entries_;
  CoveredFiles covered_;
  std::map<std::string, std::uint64_t> newest_;
  std::vector<std::string> refs_;
  Json components_ = Json::array(), services_ = Json::array(), dependencies_ = Json::array(),
       compositions_ = Json::array();
};

std::string bill_property(const Json& component, std::string_view name) {
  for (const Json& property : component.value("properties", Json::array())) {
    if (property["name"] == name) return property["value"];
  }
  return "";
}

void append_component(std::string& text, const Json& component, std::string_view indent) {
  text +=
      fmt::format("{}{} {} {}: {}", indent, component["type"].get<std::string>(), component["name"].get<std::string>(),
                  component.value("version", ""), bill_property(component, kEvidence));
  if (component.contains("hashes")) text += ", sha256:" + component["hashes"][0]["content"].get<std::string>();
  for (const char* fact : {"frazil:definition-digest", "frazil:not-loaded", "frazil:missing-model"}) {
    if (const std::string value = bill_property(component, fact); !value.empty()) {
      text += fmt::format(", {} {}", std::string_view(fact).substr(std::string_view("frazil:").size()), value);
    }
  }
  text += '\n';
  for (const Json& inner : component.value("components", Json::array())) append_component(text, inner, "  ");
}

}  // namespace

Json bill_of_materials(const BillOptions& options) { return Bill(options).make(); }

std::string text_of_bill(const Json& bill) {
  std::string text;
  for (const Json& component : bill["components"]) append_component(text, component, "");
  for (const Json& service : bill.value("services", Json::array())) {
    text += fmt::format("service {}: {}\n", service["name"].get<std::string>(), bill_property(service, kEvidence));
  }
  for (const Json& property : bill["metadata"]["component"]["properties"]) {
    if (property["name"] == "frazil:violation") text += "violation " + property["value"].get<std::string>() + '\n';
  }
  return text;
}

}  // namespace frazil::govern
