#include "server/replay/kept_definition.h"

#include <algorithm>
#include <bit>
#include <set>

#include <frazil/error.h>
#include <yaml-cpp/yaml.h>

#include "govern/base/error.h"
#include "server/model/served_model.h"
#include "server/pipeline/pipeline.h"
#include "server/state/state_bytes.h"

namespace frazil::server {
namespace {

using govern::Json;

constexpr int kManifestForm = 1;
constexpr std::size_t kOwnBlob = std::size_t{1} << 20U;  ///< bytes from which a tensor has a blob of its own

// ---- configuration ----

Json json_of_ports(const std::vector<DeclaredPort>& ports) {
  Json list = Json::array();
  for (const DeclaredPort& port : ports) {
    list.push_back(
        {{"name", port.name}, {"datatype", port.datatype}, {"shape", port.shape}, {"has_shape", port.has_shape}});
  }
  return list;
}

std::vector<DeclaredPort> ports_of_json(const Json& list) {
  std::vector<DeclaredPort> ports;
  for (const Json& port : list) {
    ports.push_back({.name = port.at("name"),
                     .datatype = port.at("datatype"),
                     .shape = port.at("shape").get<std::vector<std::int64_t>>(),
                     .has_shape = port.at("has_shape")});
  }
  return ports;
}

Json json_of_batching(const Batching& batching) {
  Json json = {{"most", batching.most},
               {"lengths", batching.lengths},
               {"regroup", static_cast<int>(batching.regroup)},
               {"paddings", Json::array()}};
  if (batching.batch_axis) json["axis"] = {batching.batch_axis->first, batching.batch_axis->second};
  for (const Padding& padding : batching.paddings) {
    json["paddings"].push_back({{"input", padding.input},
                                {"axis", padding.axis},
                                {"value", std::to_string(std::bit_cast<std::uint64_t>(padding.value))}});
  }
  return json;
}

Batching batching_of(const Json& json) {
  Batching batching{.most = json.at("most"),
                    .lengths = json.at("lengths"),
                    .regroup = static_cast<Regroup>(json.at("regroup").get<int>())};
  if (json.contains("axis")) batching.batch_axis.emplace(json.at("axis").at(0), json.at("axis").at(1));
  for (const Json& padding : json.at("paddings")) {
    batching.paddings.push_back(
        {.input = padding.at("input"),
         .axis = padding.at("axis"),
         .value = std::bit_cast<double>(std::uint64_t{std::stoull(padding.at("value").get<std::string>())})});
  }
  return batching;
}

Json json_of_states(const Sequences& sequences) {
  Json list = Json::array();
  for (const StateLink& link : sequences.states) {
    list.push_back({{"input", link.input}, {"output", link.output}});
    if (link.axis) list.back()["axis"] = *link.axis;
  }
  return list;
}

Sequences sequences_of(const Json& list) {
  Sequences sequences;
  for (const Json& link : list) {
    sequences.states.push_back({.input = link.at("input"), .output = link.at("output")});
    if (link.contains("axis")) sequences.states.back().axis = link.at("axis").get<std::size_t>();
  }
  return sequences;
}

Json json_of_config(const ModelConfig& config) {
  return {{"inputs", json_of_ports(config.inputs)},
          {"outputs", json_of_ports(config.outputs)},
          {"max_in_request", config.max_in_request},
          {"batching", json_of_batching(config.batching)},
          {"states", json_of_states(config.sequences)}};
}

ModelConfig config_of_json(const Json& json) {
  return {.inputs = ports_of_json(json.at("inputs")),
          .outputs = ports_of_json(json.at("outputs")),
          .max_in_request = json.at("max_in_request"),
          .batching = batching_of(json.at("batching")),
          .sequences = sequences_of(json.at("states"))};
}

// ---- models ----

/// Stores large tensors one by one and the others as one list, so that versions share what an edit leaves.
/// Returns the digests.
std::vector<std::string> put_weights(const std::map<std::string, api::Array>& weights, const PutBlob& put) {
  std::vector<std::string> blobs;
  std::vector<NamedArray> small;
  for (const auto& [name, value] : weights) {
    if (value.bytes() < kOwnBlob) {
      small.emplace_back(name, value);
    } else {
      blobs.push_back(put(bytes_of_state({{name, value}}, 0)));
    }
  }
  if (!small.empty()) blobs.push_back(put(bytes_of_state(small, 0)));
  return blobs;
}

Json keep_model(const ServedModel& served, const PutBlob& put, std::vector<std::string>& blobs) {
  const ServedModel::Parts& parts = served.parts();
  if (!parts.model.calls().empty()) {
    throw KeptFault("model '" + served.name() + "' calls other models by name, whose versions are not recorded");
  }
  Json manifest = {{"config", json_of_config(parts.config)},
                   {"run",
                    {{"reference", parts.options.tier == "ref"},
                     {"strict_numerics", parts.options.strict_numerics},
                     {"seed", std::to_string(parts.options.seed)}}}};
  if (!parts.labels.empty()) manifest["labels"] = parts.labels;
  blobs = put_weights(parts.model.weights(), put);
  manifest["weights"] = blobs;
  blobs.push_back(put(parts.model.text()));
  manifest["text"] = blobs.back();
  return manifest;
}

// ---- pipelines ----

/// Hides secrets in a pipeline's file. Returns whether there were any.
bool redact_secrets(YAML::Node node) {
  bool found = false;
  if (node.IsSequence()) {
    for (YAML::Node item : node) found |= redact_secrets(item);
  }
  if (!node.IsMap()) return found;
  for (auto entry : node) {
    const auto key = entry.first.as<std::string>("");
    YAML::Node value = entry.second;
    const bool is_text = value.IsScalar();
    const std::string text = is_text ? value.Scalar() : "";
    const std::size_t user = text.find("://"), at = text.find('@');
    if (is_text && key == "redis_password") {
      node[key] = "redacted";
    } else if (is_text && user != std::string::npos && at != std::string::npos) {
      node[key] = text.substr(0, user + 3) + text.substr(at + 1);
    } else if (key == "environment" && value.IsSequence()) {
      node.remove(key);
    } else {
      found |= redact_secrets(value);
      continue;
    }
    (void)redact_secrets(node);  // again, because iterators of a map that has changed are not valid
    return true;
  }
  return found;
}

std::string without_secrets(const std::string& text) {
  YAML::Node root = YAML::Load(text);
  return redact_secrets(root) ? YAML::Dump(root) : text;
}

Json json_of_ports(const PipelineSource::Ports& ports) {
  Json list = Json::array();
  for (const auto& [name, type] : ports) list.push_back({name, type});
  return list;
}

PipelineSource::Ports function_ports(const Json& list) {
  PipelineSource::Ports ports;
  for (const Json& port : list) ports.emplace_back(port.at(0), port.at(1));
  return ports;
}

Json keep_pipeline(const Pipeline& pipeline, const PutBlob& put, std::vector<std::string>& blobs) {
  const PipelineSource& source = pipeline.source();
  Json files = Json::object(), functions = Json::object(), uses = Json::array();
  for (const auto& [path, content] : source.files) {
    blobs.push_back(put(content));
    files[path] = blobs.back();
  }
  for (const auto& [name, function] : source.functions) {
    functions[name] = {{"inputs", json_of_ports(function.inputs)}, {"outputs", json_of_ports(function.outputs)}};
  }
  std::set<std::string> listed;
  for (const Pipeline::Use& use : pipeline.uses()) {
    const std::string& manifest = use.target->governance().manifest;
    if (manifest.empty()) throw KeptFault("its model '" + use.model + "' is not kept");
    if (listed.insert(use.model + "/" + use.version).second) {
      uses.push_back({{"model", use.model}, {"version", use.target->version()}, {"manifest", manifest}});
    }
  }
  blobs.push_back(put(without_secrets(source.text)));
  return {{"source", {{"text", blobs.back()}, {"digest", source.digest}, {"files", files}, {"functions", functions}}},
          {"uses", uses}};
}

api::Options options_of_json(const Json& run) {
  return {.tier = run.at("reference").get<bool>() ? "ref" : "0",
          .threads = 1,
          .seed = std::stoull(run.at("seed").get<std::string>()),
          .strict_numerics = run.at("strict_numerics")};
}

}  // namespace

KeptDefinition keep_definition(const Served& served, const PutBlob& put) {
  KeptDefinition kept;
  Json manifest;
  if (const auto* const model = dynamic_cast<const ServedModel*>(&served)) {
    manifest = keep_model(*model, put, kept.blobs);
  } else if (const auto* const pipeline = dynamic_cast<const Pipeline*>(&served)) {
    manifest = keep_pipeline(*pipeline, put, kept.blobs);
  } else {
    throw KeptFault("'" + served.name() + "' is neither a model nor a pipeline");
  }
  manifest["form"] = kManifestForm;
  manifest["name"] = served.name();
  manifest["version"] = served.version();
  manifest["definition"] = served.digest();
  kept.manifest = put(govern::canonical(manifest));
  return kept;
}

std::shared_ptr<const Served> KeptDefinitions::make(const std::string& manifest, const Replacements& replaced) {
  try {
    return made(manifest, replaced);
  } catch (const KeptFault&) {
    throw;
  } catch (const std::exception& error) {
    throw KeptFault(std::string("the kept definition cannot be made again: ") + error.what());
  }
}

std::shared_ptr<const Served> KeptDefinitions::made(const std::string& manifest, const Replacements& replaced) {
  if (replaced.empty()) {
    if (const auto known = made_.find(manifest); known != made_.end()) return known->second;
  }
  const Json json = govern::parse_json(get_(manifest), "manifest");
  if (json.at("form") != kManifestForm) throw KeptFault("the kept definition has an unknown form");
  auto served = json.contains("uses") ? pipeline_of(json, replaced) : model_of(json);
  if (replaced.empty() && served->digest() != json.at("definition").get<std::string>()) {
    throw KeptFault("the kept definition has another digest than the one that ran");
  }
  if (replaced.empty()) made_.emplace(manifest, served);
  return served;
}

std::shared_ptr<const Served> KeptDefinitions::model_of(const Json& manifest) {
  std::map<std::string, api::Array> weights;
  for (const Json& blob : manifest.at("weights")) {
    const auto bytes = std::make_shared<const std::string>(get_(blob));
    check_state(*bytes);
    for (auto& [name, value] : content_of_state(bytes).values) weights.insert_or_assign(name, std::move(value));
  }
  ModelParts parts{.model = api::Model::from_text(get_(manifest.at("text")), weights),
                   .config = config_of_json(manifest.at("config")),
                   .options = options_of_json(manifest.at("run")),
                   .workers = &workers_,
                   .states = &states_};
  if (manifest.contains("labels")) {
    for (const auto& [output, names] : manifest.at("labels").items()) {
      parts.labels[output] = names.get<std::vector<std::string>>();
    }
  }
  return std::make_shared<ServedModel>(manifest.at("name"), manifest.at("version"), std::move(parts));
}

std::shared_ptr<const Served> KeptDefinitions::pipeline_of(const Json& manifest, const Replacements& replaced) {
  auto models = std::make_shared<const Repository>();
  for (const Json& use : manifest.at("uses")) {
    const std::string name = use.at("model"), version = use.at("version");
    const auto instead = replaced.find(name);
    Repository::Versions versions;
    for (const auto& served : models->versions(name)) versions[*version_from(served->version())] = served;
    versions[*version_from(version)] =
        instead == replaced.end() ? made(use.at("manifest"), replaced) : made(instead->second, {});
    models = models->with(name, std::move(versions));
  }
  const Json& kept = manifest.at("source");
  PipelineSource source{.text = get_(kept.at("text")), .digest = kept.at("digest")};
  for (const auto& [path, blob] : kept.at("files").items()) source.files[path] = get_(blob);
  for (const auto& [name, function] : kept.at("functions").items()) {
    source.functions[name] = {function_ports(function.at("inputs")), function_ports(function.at("outputs"))};
  }
  return kept_pipeline(source, manifest.at("name"), *models, workers_);
}

}  // namespace frazil::server
