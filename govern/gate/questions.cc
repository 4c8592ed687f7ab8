#include "govern/gate/questions.h"

namespace frazil::govern {
namespace {

struct RunFields {
  FieldId tenant = field_of(Hook::run, "tenant"), model = field_of(Hook::run, "model"),
          version = field_of(Hook::run, "version"), digest = field_of(Hook::run, "digest"),
          priority = field_of(Hook::run, "priority"), parameters = field_of(Hook::run, "parameters"),
          cost = field_of(Hook::run, "forecast.cost_ns"), memory = field_of(Hook::run, "forecast.memory"),
          budget = field_of(Hook::run, "budget_left");
};

struct DispatchFields {
  FieldId by = field_of(Hook::dispatch, "by"), caller = field_of(Hook::dispatch, "caller"),
          model = field_of(Hook::dispatch, "model"), version = field_of(Hook::dispatch, "version"),
          digest = field_of(Hook::dispatch, "digest"), explicit_version = field_of(Hook::dispatch, "explicit_version"),
          tenant = field_of(Hook::dispatch, "tenant");
};

struct ExternalFields {
  FieldId kind = field_of(Hook::external, "kind"), host = field_of(Hook::external, "host"),
          address = field_of(Hook::external, "address"), port = field_of(Hook::external, "port"),
          path = field_of(Hook::external, "path"), digest = field_of(Hook::external, "digest"),
          sandbox = field_of(Hook::external, "sandbox"), model = field_of(Hook::external, "model"),
          tenant = field_of(Hook::external, "tenant");
};

template <class T>
void set_if(Input& input, FieldId field, const std::optional<T>& value) {
  if (value) input.set(field, *value);
}

}  // namespace

void fill(Input& input, const RunQuestion& question, std::string_view tenant, bool per_request) {
  static const RunFields fields;
  input.set(fields.tenant, tenant);
  input.set(fields.model, question.model);
  input.set(fields.version, question.version);
  input.set(fields.digest, question.digest);
  if (!per_request) return;
  input.set(fields.priority, question.priority);
  const std::vector<std::pair<std::string_view, std::string_view>> parameters(question.parameters.begin(),
                                                                              question.parameters.end());
  input.set(fields.parameters, parameters);
  set_if(input, fields.cost, question.forecast.cost_ns);
  set_if(input, fields.memory, question.forecast.memory);
  set_if(input, fields.budget, question.budget_left);
}

void fill(Input& input, const DispatchQuestion& question, std::string_view tenant) {
  static const DispatchFields fields;
  input.set(fields.by, question.by);
  input.set(fields.caller, question.caller);
  input.set(fields.model, question.model);
  input.set(fields.version, question.version);
  input.set(fields.digest, question.digest);
  input.set(fields.explicit_version, question.explicit_version);
  input.set(fields.tenant, tenant);
}

void fill(Input& input, const ExternalQuestion& question, std::string_view tenant) {
  static const ExternalFields fields;
  input.set(fields.kind, question.kind);
  input.set(fields.host, question.host);
  input.set(fields.address, question.address);
  input.set(fields.port, question.port);
  input.set(fields.path, question.path);
  set_if(input, fields.digest, question.digest);
  input.set(fields.sandbox, question.sandbox);
  input.set(fields.model, question.model);
  input.set(fields.tenant, tenant);
}

void fill(Input& input, const AdminQuestion& question) {
  input.set(field_of(Hook::admin, "action"), question.action);
  input.set(field_of(Hook::admin, "user"), question.user);
  set_if(input, field_of(Hook::admin, "tenant"), question.tenant);
  set_if(input, field_of(Hook::admin, "model"), question.model);
}

}  // namespace frazil::govern
