#include "python/src/docs.h"
#include "python/src/session.h"

namespace frazil::python {
namespace {

struct OptionRow {
  const char* name;
  void (*set)(Options& options, py::handle value);
  py::object (*get)(const Options& options);
};

template <auto Member>
constexpr OptionRow row(const char* name) {
  return {name,
          [](Options& options, py::handle value) {
            using T = std::remove_reference_t<decltype(options.*Member)>;
            options.*Member = value.cast<T>();
          },
          [](const Options& options) -> py::object { return py::cast(options.*Member); }};
}

constexpr OptionRow kOptionRows[] = {
    {"tier", [](Options& options, py::handle value) { options.tier = py::str(value).cast<std::string>(); },
     [](const Options& options) -> py::object { return py::str(options.tier); }},
    row<&Options::threads>("threads"),
    row<&Options::memory_limit>("memory_limit"),
    row<&Options::arena_limit>("arena_limit"),
    row<&Options::max_elements>("max_elements"),
    row<&Options::max_steps>("max_steps"),
    row<&Options::deadline_ms>("deadline_ms"),
    row<&Options::seed>("seed"),
    row<&Options::strict_numerics>("strict_numerics"),
};

[[noreturn]] void unknown(const std::string& name) {
  std::string known;
  for (const OptionRow& row : kOptionRows) known += (known.empty() ? "" : ", ") + std::string(row.name);
  throw py::type_error("unknown option '" + name + "'; options are " + known);
}

std::string repr(const Options& options) {
  std::string text;
  const Options defaults;
  for (const OptionRow& row : kOptionRows) {
    const py::object value = row.get(options);
    if (value.equal(row.get(defaults))) continue;
    text += (text.empty() ? "" : ", ") + std::string(row.name) + "=" + py::repr(value).cast<std::string>();
  }
  return "Options(" + text + ")";
}

}  // namespace

void set_options(Options& options, const py::kwargs& keywords) {
  for (const auto [key, value] : keywords) {
    const auto name = key.cast<std::string>();
    const OptionRow* found = nullptr;
    for (const OptionRow& row : kOptionRows) {
      if (name == row.name) found = &row;
    }
    if (found == nullptr) unknown(name);
    try {
      found->set(options, value);
    } catch (const py::cast_error&) {
      throw py::type_error("option '" + name + "': a " +
                           py::str(py::type::handle_of(value).attr("__name__")).cast<std::string>() +
                           " does not fit: " + py::repr(value).cast<std::string>());
    }
  }
}

void bind_options(py::module_& m) {
  auto options = py::class_<Options>(m, "Options", docs::kOptions);
  options.def(py::init([](const py::kwargs& keywords) {
    Options made;
    set_options(made, keywords);
    return made;
  }));
  for (const OptionRow& row : kOptionRows) {
    options.def_property_readonly(
        row.name, py::cpp_function([&row](const Options& o) { return row.get(o); }, py::is_method(options)),
        "The option of this name, see Options.");
  }
  options.def("__repr__", &repr);
}

}  // namespace frazil::python
