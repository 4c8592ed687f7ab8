#include <cstdlib>
#include <cstring>
#include <limits>

#include "api/c/handles.h"

namespace frazil::api::c {
namespace {

frazil_error no_memory{FRAZIL_OUT_OF_MEMORY, "out of memory"};

Sizes sizes_of(const int64_t* dims, std::size_t rank) {
  const auto given = need(dims, rank, "the extents");
  return {given.begin(), given.end()};
}

/// The owner of borrowed memory. It calls the caller's function when the last user releases the memory, if the array
/// was made.
struct Lender {
  frazil_release release;
  void* context;
  bool lent = false;
  Lender(frazil_release f, void* c) : release(f), context(c) {}
  Lender(const Lender&) = delete;
  Lender& operator=(const Lender&) = delete;
  ~Lender() {
    if (lent && release != nullptr) release(context);
  }
};

std::span<const std::byte> bytes_of(const void* data, std::size_t bytes) {
  return need(static_cast<const std::byte*>(data), bytes, "the data");
}

const Array& plain_tensor(const Array& array) {
  if (array.dtype() == Dtype::string) refuse("a tensor of strings has no bytes: use frazil_array_string");
  return array;
}

std::size_t length_of(const Array& array) {
  switch (array.kind()) {
    case Array::Kind::none: return 0;
    case Array::Kind::tensor: return static_cast<std::size_t>(array.count());
    case Array::Kind::sequence: return array.items().size();
    case Array::Kind::map: return array.entries().size();
  }
  return 0;
}

void check_index(std::size_t index, std::size_t count) {
  if (index >= count) refuse("index " + std::to_string(index) + " of " + std::to_string(count));
}

}  // namespace

frazil_code report(frazil_error** error, frazil_code code, const char* message) noexcept {
  if (error == nullptr) return code;
  try {
    *error = new frazil_error{code, message};
  } catch (...) {
    *error = &no_memory;
  }
  return code;
}

Code code_from(frazil_code code) {
  const bool known = code >= FRAZIL_BAD_MODEL && code <= FRAZIL_INTERNAL;
  return known ? static_cast<Code>(code - 1) : Code::bad_input;
}

char* copy_text(const std::string& text) {
  auto* copy = static_cast<char*>(std::malloc(text.size() + 1));
  if (copy == nullptr) throw std::bad_alloc();
  std::memcpy(copy, text.c_str(), text.size() + 1);
  return copy;
}

Dtype dtype_of(frazil_dtype dtype) {
  static_assert(FRAZIL_U2 == static_cast<int>(Dtype::u2) && FRAZIL_STRING == static_cast<int>(Dtype::string) &&
                FRAZIL_F32 == static_cast<int>(Dtype::f32) && FRAZIL_F8E4M3FN == static_cast<int>(Dtype::f8e4m3fn));
  if (dtype < FRAZIL_BOOL || dtype > FRAZIL_U2) refuse("there is no element type " + std::to_string(dtype));
  return static_cast<Dtype>(dtype);
}

}  // namespace frazil::api::c

using namespace frazil::api;     // NOLINT(google-build-using-namespace)
using namespace frazil::api::c;  // NOLINT(google-build-using-namespace)

uint32_t frazil_abi_version(void) { return FRAZIL_ABI_VERSION; }

frazil_code frazil_error_code(const frazil_error* error) { return error == nullptr ? FRAZIL_OK : error->code; }
const char* frazil_error_message(const frazil_error* error) { return error == nullptr ? "" : error->message.c_str(); }
void frazil_error_free(frazil_error* error) {
  if (error != &no_memory) delete error;
}
void frazil_text_free(char* text) { std::free(text); }

frazil_code frazil_array_zeros(frazil_dtype dtype, const int64_t* dims, size_t rank, frazil_array** array,
                               frazil_error** error) {
  return guarded(error, [&] {
    frazil_array*& to = result(array);
    to = new_array(Array(c::dtype_of(dtype), sizes_of(dims, rank)));
  });
}

frazil_code frazil_array_copy(frazil_dtype dtype, const int64_t* dims, size_t rank, const void* data, size_t bytes,
                              frazil_array** array, frazil_error** error) {
  return guarded(error, [&] {
    frazil_array*& to = result(array);
    if (dtype == FRAZIL_STRING) refuse("strings are given to frazil_array_strings");
    const auto from = bytes_of(data, bytes);
    Array made(c::dtype_of(dtype), sizes_of(dims, rank));
    if (made.bytes() != bytes) {
      refuse(std::to_string(bytes) + " bytes for a tensor of " + std::to_string(made.bytes()));
    }
    if (bytes != 0) std::memcpy(made.mutable_data(), from.data(), bytes);
    to = new_array(std::move(made));
  });
}

frazil_code frazil_array_borrow(frazil_dtype dtype, const int64_t* dims, size_t rank, const void* data, size_t bytes,
                                frazil_release release, void* context, frazil_array** array, frazil_error** error) {
  return guarded(error, [&] {
    frazil_array*& to = result(array);
    auto lender = std::make_shared<Lender>(release, context);
    to = new_array(Array::borrow(c::dtype_of(dtype), sizes_of(dims, rank), bytes_of(data, bytes), lender));
    lender->lent = true;
  });
}

frazil_code frazil_array_strings(const int64_t* dims, size_t rank, const char* const* texts, const size_t* lengths,
                                 size_t count, frazil_array** array, frazil_error** error) {
  return guarded(error, [&] {
    frazil_array*& to = result(array);
    std::vector<std::string> strings;
    for (const char* const text : need(texts, count, "the texts")) {
      const char* const first = &need(text, "a text");
      strings.emplace_back(first, lengths == nullptr ? std::strlen(first) : lengths[strings.size()]);
    }
    to = new_array(Array::of<std::string>(sizes_of(dims, rank), std::span<const std::string>(strings)));
  });
}

frazil_code frazil_array_sequence(const frazil_array* const* items, size_t count, frazil_array** array,
                                  frazil_error** error) {
  return guarded(error, [&] {
    frazil_array*& to = result(array);
    std::vector<Array> arrays;
    for (const frazil_array* item : need(items, count, "the items")) arrays.push_back(array_of(item, "an item"));
    to = new_array(Array::sequence(arrays));
  });
}

frazil_code frazil_array_share(const frazil_array* from, frazil_array** array, frazil_error** error) {
  return guarded(error, [&] { result(array) = new_array(array_of(from)); });
}

void frazil_array_free(frazil_array* array) { delete array; }

frazil_code frazil_array_kind(const frazil_array* array, frazil_kind* kind, frazil_error** error) {
  static_assert(FRAZIL_NONE == static_cast<int>(Array::Kind::none) && FRAZIL_MAP == static_cast<int>(Array::Kind::map));
  return guarded(error, [&] { result(kind) = static_cast<frazil_kind>(array_of(array).kind()); });
}

frazil_code frazil_array_type(const frazil_array* array, frazil_dtype* dtype, const int64_t** dims, size_t* rank,
                              frazil_error** error) {
  return guarded(error, [&] {
    frazil_dtype& type = result(dtype);
    const int64_t*& extents = result(dims);
    size_t& axes = result(rank);
    const Array& of = array_of(array);
    type = static_cast<frazil_dtype>(of.dtype());
    extents = of.sizes().data();
    axes = of.sizes().size();
  });
}

frazil_code frazil_array_data(const frazil_array* array, const void** data, size_t* bytes, frazil_error** error) {
  return guarded(error, [&] {
    const void*& to = result(data);
    size_t& count = result(bytes);
    const Array& of = plain_tensor(array_of(array));
    to = of.data();
    count = of.bytes();
  });
}

frazil_code frazil_array_mutable_data(frazil_array* array, void** data, size_t* bytes, frazil_error** error) {
  return guarded(error, [&] {
    void*& to = result(data);
    size_t& count = result(bytes);
    Array& of = need(array, "the array").array;
    (void)plain_tensor(of);
    to = of.mutable_data();
    count = of.bytes();
  });
}

frazil_code frazil_array_string(const frazil_array* array, size_t index, const char** text, size_t* length,
                                frazil_error** error) {
  return guarded(error, [&] {
    const char*& to = result(text);
    size_t& bytes = result(length);
    const auto strings = array_of(array).values<std::string>();
    check_index(index, strings.size());
    to = strings[index].c_str();
    bytes = strings[index].size();
  });
}

frazil_code frazil_array_length(const frazil_array* array, size_t* length, frazil_error** error) {
  return guarded(error, [&] { result(length) = length_of(array_of(array)); });
}

frazil_code frazil_array_item(const frazil_array* array, size_t index, frazil_array** item, frazil_error** error) {
  return guarded(error, [&] {
    frazil_array*& to = result(item);
    const std::vector<Array> items = array_of(array).items();
    check_index(index, items.size());
    to = new_array(items[index]);
  });
}

frazil_code frazil_array_entry(const frazil_array* array, size_t index, frazil_array** key, frazil_array** value,
                               frazil_error** error) {
  return guarded(error, [&] {
    frazil_array *&key_to = result(key), *&value_to = result(value);
    const auto entries = array_of(array).entries();
    check_index(index, entries.size());
    std::unique_ptr<frazil_array> made(new_array(entries[index].first));
    value_to = new_array(entries[index].second);
    key_to = made.release();
  });
}

frazil_code frazil_array_text(const frazil_array* array, char** text, frazil_error** error) {
  return guarded(error, [&] { result(text) = copy_text(array_of(array).str()); });
}
