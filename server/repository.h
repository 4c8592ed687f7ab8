#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <frazil/model.h>

#include "server/statistics.h"

namespace frazil::server {

/// One version of a model that is served: its sessions, of which each request takes one. Thread-safe.
class ServedModel {
 public:
  ServedModel(std::string name, std::string version, api::Model model, api::Options options)
      : name_(std::move(name)), version_(std::move(version)), model_(std::move(model)), options_(std::move(options)) {}

  const std::string& name() const { return name_; }
  const std::string& version() const { return version_; }
  const api::Model& model() const { return model_; }
  /// Of a run for a request without a time-out.
  std::optional<double> deadline_ms() const { return options_.deadline_ms; }
  Statistics& statistics() const { return statistics_; }

  /// A session that nobody else uses until it is destroyed.
  class Borrowed {
   public:
    explicit Borrowed(const ServedModel& from);
    ~Borrowed();
    Borrowed(const Borrowed&) = delete;
    Borrowed& operator=(const Borrowed&) = delete;
    api::Session& operator*() { return *session_; }
    api::Session* operator->() { return session_.get(); }

   private:
    const ServedModel& from_;
    std::unique_ptr<api::Session> session_;
  };

 private:
  std::string name_, version_;
  api::Model model_;
  api::Options options_;
  mutable Statistics statistics_;
  mutable std::mutex mutex_;
  mutable std::vector<std::unique_ptr<api::Session>> idle_;
};

/// The models of a folder: NAME.onnx and NAME.frzc as version 1, and NAME/VERSION/model.onnx or model.frzc as Triton
/// lays them out. Immutable once it is loaded.
class Repository {
 public:
  /// Loads and plans all of them. Throws api::Error for a folder that cannot be read or has no model, and for a model
  /// that cannot be loaded.
  static Repository load(const std::string& folder, const api::Options& options);

  /// The version, or with an empty one the newest; null where there is none.
  const ServedModel* find(std::string_view name, std::string_view version) const;
  /// Versions of a model, oldest first; empty for an unknown name.
  std::vector<const ServedModel*> versions(std::string_view name) const;
  /// By name and then by version.
  std::vector<const ServedModel*> all() const;

 private:
  using Versions = std::map<std::uint64_t, std::unique_ptr<ServedModel>>;
  void add(const std::string& name, std::uint64_t version, const std::string& file, const api::Options& options);
  std::map<std::string, Versions, std::less<>> models_;
};

}  // namespace frazil::server
