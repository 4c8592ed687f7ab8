#pragma once

#include <algorithm>
#include <cstring>
#include <exception>
#include <future>
#include <map>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include <frazil/build.h>
#include <frazil/c.h>
#include <frazil/model.h>
#include <frazil/profile.h>
#include <frazil/session.h>

// The objects of the handles of <frazil/c.h>. Only the public C++ API is used here.

struct frazil_error {
  frazil_code code;
  std::string message;
};

struct frazil_array {
  frazil::api::Array array;
};

struct frazil_model {
  /// The metadata with its texts as C strings.
  struct Info {
    explicit Info(const frazil::api::Model& of);
    Info(const Info&) = delete;
    Info& operator=(const Info&) = delete;
    frazil::api::Metadata data;
    std::vector<const char*> domains, keys, values;
    std::vector<int64_t> versions;
  };
  /// A port with its extents as C strings.
  struct Port {
    explicit Port(const frazil::api::Port& of);
    const frazil::api::Port& port;
    std::vector<const char*> dims;
  };
  explicit frazil_model(frazil::api::Model of);
  frazil::api::Model model;
  std::vector<Port> inputs, outputs;
  const Info info;
};

struct frazil_session {
  frazil::api::Model model;
  frazil::api::Session session;
  std::future<frazil::api::Results> started{};
  std::optional<frazil::api::Profiler> profiler{};
};

struct frazil_profile {
  frazil::api::Profiler profiler;
  frazil::api::Profile profile;
};

namespace frazil::api::c {

/// Stores an error in `*error`, unless `error` is null, and returns `code`. If memory is exhausted, the error is a
/// static one.
frazil_code report(frazil_error** error, frazil_code code, const char* message) noexcept;

/// Converts a code of C++ to one of C, which is larger by one.
constexpr frazil_code code_of(Code code) { return static_cast<frazil_code>(code) + 1; }
static_assert(code_of(Code::bad_model) == FRAZIL_BAD_MODEL && code_of(Code::internal) == FRAZIL_INTERNAL);
/// Converts the return value of a callback to the code of an error. A value that is not a code is bad input.
Code code_from(frazil_code code);

/// Runs `body` and converts its exceptions to a code and an error. All calls from C to C++ go through it.
template <class F>
frazil_code guarded(frazil_error** error, F&& body) noexcept {
  if (error != nullptr) *error = nullptr;
  try {
    body();
    return FRAZIL_OK;
  } catch (const Error& fault) {
    return report(error, code_of(fault.code()), fault.what());
  } catch (const std::bad_alloc&) {
    return report(error, FRAZIL_OUT_OF_MEMORY, "out of memory");
  } catch (const std::exception& fault) {
    return report(error, FRAZIL_INTERNAL, fault.what());
  } catch (...) {
    return report(error, FRAZIL_INTERNAL, "an exception of an unknown type");
  }
}

[[noreturn]] inline void refuse(const std::string& message) { throw Error(Code::bad_input, message); }

/// Returns the object of a pointer that must not be null.
template <class T>
T& need(T* pointer, const char* what) {
  if (pointer == nullptr) refuse(std::string(what) + " is null");
  return *pointer;
}
/// Returns the elements of a C array, which may be null if there are none.
template <class T>
std::span<T> need(T* pointer, std::size_t count, const char* what) {
  if (count != 0) (void)need(pointer, what);
  return {pointer, count};
}
/// Sets the caller's result variable to null or 0, and returns a reference to it. Throws if `pointer` is null.
template <class T>
T& result(T* pointer) {
  T& to = need(pointer, "the place of a result");
  to = T{};
  return to;
}
inline std::string text_of(const char* text, const char* what) { return std::string(&need(text, what)); }
inline std::string text_or_none(const char* text) { return text == nullptr ? std::string() : std::string(text); }

/// Returns a copy for the caller to free.
char* copy_text(const std::string& text);
Dtype dtype_of(frazil_dtype dtype);
inline const Array& array_of(const frazil_array* handle, const char* what = "the array") {
  return need(handle, what).array;
}
/// Returns the value of an attribute.
Attribute value_of(const frazil_attribute& attribute);
Attributes attributes_of(const frazil_attribute* attributes, std::size_t count);
inline frazil_array* new_array(Array array) { return new frazil_array{std::move(array)}; }

/// Checks the size of a structure that may grow. `first` is its size in the first version.
template <class T>
void check_size(const T& given, std::size_t first, const char* what) {
  if (given.size < first) refuse(std::string(what) + ": `size` is not set to its size");
  if (given.size > sizeof(T)) {
    throw Error(Code::unsupported, std::string(what) + " is of a newer version than the library");
  }
}

/// Copies as much of `from` as the caller's structure holds, and stores its size there. `first` as for check_size().
template <class T>
void fill(T& to, const T& from, std::size_t first, const char* what) {
  if (to.size < first) refuse(std::string(what) + ": `size` is not set to its size");
  const std::size_t size = std::min(to.size, sizeof(T));
  std::memcpy(&to, &from, size);
  to.size = size;
}

/// Returns the log of a callback. `release` is called when nothing uses it any more, or immediately without a callback.
Log log_of(frazil_log log, frazil_severity least, frazil_release release, void* context);

}  // namespace frazil::api::c
