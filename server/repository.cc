#include "server/repository.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <optional>

#include <frazil/error.h>

namespace frazil::server {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kEndings[] = {".onnx", ".frzc"};

bool is_model_file(const fs::directory_entry& entry) {
  return entry.is_regular_file() &&
         std::ranges::find(kEndings, entry.path().extension().string()) != std::end(kEndings);
}

std::optional<std::uint64_t> version_from(std::string_view text) {
  std::uint64_t version = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), version);
  const bool whole = parsed.ec == std::errc() && parsed.ptr == text.data() + text.size();
  return whole && version > 0 ? std::optional(version) : std::nullopt;
}

std::vector<fs::directory_entry> entries_of(const fs::path& folder) {
  std::error_code error;
  std::vector<fs::directory_entry> entries;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) entries.push_back(*at);
  if (error) throw api::Error(api::Code::bad_input, folder.string() + ": " + error.message());
  std::ranges::sort(entries, {}, &fs::directory_entry::path);
  return entries;
}

}  // namespace

ServedModel::Borrowed::Borrowed(const ServedModel& from) : from_(from) {
  {
    const std::scoped_lock lock(from.mutex_);
    if (!from.idle_.empty()) {
      session_ = std::move(from.idle_.back());
      from.idle_.pop_back();
    }
  }
  if (session_ == nullptr) session_ = std::make_unique<api::Session>(from.model_.open(from.options_));
}

ServedModel::Borrowed::~Borrowed() {
  const std::scoped_lock lock(from_.mutex_);
  from_.idle_.push_back(std::move(session_));
}

Repository Repository::load(const std::string& folder, const api::Options& options) {
  Repository repository;
  for (const fs::directory_entry& entry : entries_of(folder)) {
    if (is_model_file(entry)) {
      repository.add(entry.path().stem().string(), 1, entry.path().string(), options);
      continue;
    }
    if (!entry.is_directory()) continue;
    for (const fs::directory_entry& inner : entries_of(entry.path())) {
      const auto version = version_from(inner.path().filename().string());
      if (!inner.is_directory() || !version) continue;
      for (const std::string_view ending : kEndings) {
        const fs::path file = inner.path() / ("model" + std::string(ending));
        if (fs::exists(file)) repository.add(entry.path().filename().string(), *version, file.string(), options);
      }
    }
  }
  if (repository.models_.empty()) {
    throw api::Error(api::Code::bad_input, folder +
                                               ": there is no model: expected NAME.onnx, NAME.frzc or "
                                               "NAME/VERSION/model.onnx");
  }
  return repository;
}

void Repository::add(const std::string& name, std::uint64_t version, const std::string& file,
                     const api::Options& options) {
  const auto [at, fresh] = models_[name].try_emplace(version);
  if (!fresh) {
    throw api::Error(api::Code::bad_input,
                     file + ": model '" + name + "' has version " + std::to_string(version) + " twice");
  }
  at->second = std::make_unique<ServedModel>(name, std::to_string(version), api::Model::load(file), options);
  const ServedModel::Borrowed planned(*at->second);
}

const ServedModel* Repository::find(std::string_view name, std::string_view version) const {
  const auto model = models_.find(name);
  if (model == models_.end()) return nullptr;
  if (version.empty()) return model->second.rbegin()->second.get();
  const auto number = version_from(version);
  const auto at = number ? model->second.find(*number) : model->second.end();
  return at == model->second.end() ? nullptr : at->second.get();
}

std::vector<const ServedModel*> Repository::versions(std::string_view name) const {
  std::vector<const ServedModel*> list;
  const auto model = models_.find(name);
  if (model == models_.end()) return list;
  for (const auto& [number, version] : model->second) list.push_back(version.get());
  return list;
}

std::vector<const ServedModel*> Repository::all() const {
  std::vector<const ServedModel*> list;
  for (const auto& [name, versions] : models_) {
    for (const auto& [number, version] : versions) list.push_back(version.get());
  }
  return list;
}

}  // namespace frazil::server
