#include "exec/native/native_code.h"

#include <cmath>
#include <cstring>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <elf.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/thread/poll_throttle.h"
#include "exec/native/code_symbols.h"

namespace frazil::exec {
namespace {

struct Function {
  std::string_view name;
  void* address;
};

template <class F>
void* address_of(F* function) {
  return reinterpret_cast<void*>(function);
}

/// Returns the function that generated code may call by this name; null if there is none.
const Function* find_function(std::string_view name) {
#define FRAZIL_MATH(name)                                               \
  Function{#name, address_of(static_cast<double (*)(double)>(&std::name))}, \
      Function{#name "f", address_of(static_cast<float (*)(float)>(&std::name))}
  static const Function kAll[] = {
      FRAZIL_MATH(exp),
      FRAZIL_MATH(expm1),
      FRAZIL_MATH(log),
      FRAZIL_MATH(log1p),
      FRAZIL_MATH(sin),
      FRAZIL_MATH(cos),
      FRAZIL_MATH(tan),
      FRAZIL_MATH(asin),
      FRAZIL_MATH(acos),
      FRAZIL_MATH(atan),
      FRAZIL_MATH(sinh),
      FRAZIL_MATH(cosh),
      FRAZIL_MATH(tanh),
      FRAZIL_MATH(asinh),
      FRAZIL_MATH(acosh),
      FRAZIL_MATH(atanh),
      FRAZIL_MATH(erf),
      FRAZIL_MATH(floor),
      FRAZIL_MATH(ceil),
      FRAZIL_MATH(trunc),
      FRAZIL_MATH(rint),
      FRAZIL_MATH(nearbyint),
      {"pow", address_of(static_cast<double (*)(double, double)>(&std::pow))},
      {"powf", address_of(static_cast<float (*)(float, float)>(&std::pow))},
      {"fmod", address_of(static_cast<double (*)(double, double)>(&std::fmod))},
      {"fmodf", address_of(static_cast<float (*)(float, float)>(&std::fmod))},
      {"fma", address_of(static_cast<double (*)(double, double, double)>(&std::fma))},
      {"fmaf", address_of(static_cast<float (*)(float, float, float)>(&std::fma))},
      {"memcpy", address_of(&std::memcpy)},
      {"memset", address_of(&std::memset)},
      {"memmove", address_of(&std::memmove)},
      {"_ZN6frazil14stop_requestedEv", address_of(&stop_requested)},
  };
#undef FRAZIL_MATH
  for (const Function& f : kAll) {
    if (f.name == name) return &f;
  }
  return nullptr;
}

std::unexpected<Fault> damaged(std::string_view what) {
  return fail(Code::bad_input, "an object of generated code is damaged: {}", what);
}

#if defined(__x86_64__)
constexpr std::uint16_t kMachine = EM_X86_64;
constexpr std::size_t kStubBytes = 16;
/// Writes `jmp *2(%rip)`, padding and the target's address.
void write_stub(std::byte* at, const void* target) {
  constexpr unsigned char kJump[8] = {0xff, 0x25, 0x02, 0x00, 0x00, 0x00, 0x66, 0x90};
  std::memcpy(at, kJump, sizeof kJump);
  const auto address = reinterpret_cast<std::uintptr_t>(target);
  std::memcpy(at + sizeof kJump, &address, sizeof address);
}
#else
constexpr std::uint16_t kMachine = EM_NONE;  // there are no objects for other machines
constexpr std::size_t kStubBytes = 16;
void write_stub(std::byte*, const void*) {}
#endif

/// A loader that lays an ELF object out in memory. Never reads outside the object, even if it is damaged.
class ObjectLoader {
 public:
  explicit ObjectLoader(std::span<const std::byte> object) : object_(object) {}

  Status read();
  /// Returns the bytes of memory that the object needs.
  std::size_t bytes() const { return bytes_; }
  Status place(std::byte* memory);
  Result<void*> find(std::string_view name, std::byte* memory) const;
  /// Returns the object with its sections' addresses set to those in memory.
  std::vector<std::byte> at_its_place(const std::byte* memory) const;

 private:
  template <class T>
  std::optional<T> at(std::uint64_t offset) const {
    if (offset > object_.size() || object_.size() - offset < sizeof(T)) return std::nullopt;
    T value;
    std::memcpy(&value, object_.data() + offset, sizeof value);
    return value;
  }
  bool holds(const Elf64_Shdr& s) const {
    return s.sh_offset <= object_.size() && s.sh_size <= object_.size() - s.sh_offset;
  }
  std::optional<Elf64_Sym> symbol(std::uint64_t index) const;
  std::optional<std::string_view> name_of(const Elf64_Sym& symbol) const;
  Status lay_out();
  Status relocate(std::byte* memory, const Elf64_Shdr& table);
  Result<std::byte*> target(std::byte* memory, const Elf64_Sym& symbol);
  Result<std::byte*> stub(std::byte* memory, std::string_view name);

  static constexpr std::size_t kMaxBytes = std::size_t{1} << 28;
  std::span<const std::byte> object_;
  std::vector<Elf64_Shdr> sections_;
  std::vector<std::size_t> offset_;  // per section; SIZE_MAX if it is not loaded
  Elf64_Shdr symbols_{}, strings_{};
  std::vector<std::pair<std::string_view, std::size_t>> stubs_;  // name and offset
  std::size_t first_stub_ = 0, max_stubs_ = 0, bytes_ = 0;
};

Status ObjectLoader::read() {
  const auto header = at<Elf64_Ehdr>(0);
  if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0) return damaged("it is not an ELF file");
  if (header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_type != ET_REL || header->e_machine != kMachine) {
    return fail(Code::bad_input, "an object of generated code is for another machine");
  }
  for (std::uint64_t i = 0; i < header->e_shnum; ++i) {
    const auto section = at<Elf64_Shdr>(header->e_shoff + i * sizeof(Elf64_Shdr));
    if (!section) return damaged("its sections are cut off");
    sections_.push_back(*section);
  }
  for (const Elf64_Shdr& s : sections_) {
    if (s.sh_type != SHT_NOBITS && !holds(s)) return damaged("a section is cut off");
    if (s.sh_type != SHT_SYMTAB) continue;
    if (s.sh_link >= sections_.size() || !holds(sections_[s.sh_link])) return damaged("it has no names");
    symbols_ = s;
    strings_ = sections_[s.sh_link];
  }
  return lay_out();
}

/// Places the sections one after another, then stubs for functions that are too far away for a direct call.
Status ObjectLoader::lay_out() {
  offset_.assign(sections_.size(), SIZE_MAX);
  std::size_t end = 0, calls = 0;
  for (std::size_t i = 0; i < sections_.size(); ++i) {
    const Elf64_Shdr& s = sections_[i];
    if (s.sh_type == SHT_RELA) calls += s.sh_size / sizeof(Elf64_Rela);
    if ((s.sh_flags & SHF_ALLOC) == 0 || s.sh_size == 0) continue;
    if ((s.sh_flags & SHF_WRITE) != 0 && s.sh_type != SHT_PROGBITS) return damaged("it has variables");
    const std::size_t alignment = std::max<std::size_t>(s.sh_addralign, 1);
    if (alignment > 4096 || (alignment & (alignment - 1)) != 0 || s.sh_size > kMaxBytes) return damaged("a section");
    end = (end + alignment - 1) & ~(alignment - 1);
    offset_[i] = end;
    end += s.sh_size;
    if (end > kMaxBytes) return damaged("its size");
  }
  first_stub_ = (end + kStubBytes - 1) / kStubBytes * kStubBytes;
  max_stubs_ = std::min<std::size_t>(calls, 64);
  bytes_ = first_stub_ + max_stubs_ * kStubBytes;
  return {};
}

Status ObjectLoader::place(std::byte* memory) {
  for (std::size_t i = 0; i < sections_.size(); ++i) {
    if (offset_[i] == SIZE_MAX || sections_[i].sh_type == SHT_NOBITS) continue;
    std::memcpy(memory + offset_[i], object_.data() + sections_[i].sh_offset, sections_[i].sh_size);
  }
  for (const Elf64_Shdr& s : sections_) {
    if (s.sh_type == SHT_RELA && s.sh_info < sections_.size() && offset_[s.sh_info] != SIZE_MAX) {
      FRAZIL_CHECK(relocate(memory, s));
    }
    if (s.sh_type == SHT_REL) return damaged("relocations of another kind");
  }
  return {};
}

std::optional<Elf64_Sym> ObjectLoader::symbol(std::uint64_t index) const {
  if (index >= symbols_.sh_size / sizeof(Elf64_Sym)) return std::nullopt;
  return at<Elf64_Sym>(symbols_.sh_offset + index * sizeof(Elf64_Sym));
}

std::optional<std::string_view> ObjectLoader::name_of(const Elf64_Sym& symbol) const {
  if (symbol.st_name >= strings_.sh_size) return std::nullopt;
  const auto* text = reinterpret_cast<const char*>(object_.data() + strings_.sh_offset + symbol.st_name);
  return std::string_view(text, strnlen(text, strings_.sh_size - symbol.st_name));
}

Result<std::byte*> ObjectLoader::target(std::byte* memory, const Elf64_Sym& symbol) {
  if (symbol.st_shndx == SHN_UNDEF) {
    const auto name = name_of(symbol);
    if (!name) return damaged("a name");
    return stub(memory, *name);
  }
  if (symbol.st_shndx >= sections_.size() || offset_[symbol.st_shndx] == SIZE_MAX ||
      symbol.st_value > sections_[symbol.st_shndx].sh_size) {
    return damaged("a symbol");
  }
  return memory + offset_[symbol.st_shndx] + symbol.st_value;
}

Result<std::byte*> ObjectLoader::stub(std::byte* memory, std::string_view name) {
  for (const auto& [known, offset] : stubs_) {
    if (known == name) return memory + offset;
  }
  const Function* const function = find_function(name);
  if (function == nullptr) return fail(Code::bad_input, "generated code calls '{}', which is not there", name);
  if (stubs_.size() == max_stubs_) return damaged("its calls");
  stubs_.emplace_back(name, first_stub_ + stubs_.size() * kStubBytes);
  write_stub(memory + stubs_.back().second, function->address);
  return memory + stubs_.back().second;
}

Status ObjectLoader::relocate(std::byte* memory, const Elf64_Shdr& table) {
  const Elf64_Shdr& section = sections_[table.sh_info];
  for (std::uint64_t i = 0; i < table.sh_size / sizeof(Elf64_Rela); ++i) {
    const auto r = at<Elf64_Rela>(table.sh_offset + i * sizeof(Elf64_Rela));
    const auto s = r ? symbol(ELF64_R_SYM(r->r_info)) : std::nullopt;
    if (!s) return damaged("a relocation");
    const auto kind = ELF64_R_TYPE(r->r_info);
    const std::size_t width = kind == R_X86_64_64 ? 8 : 4;
    if (r->r_offset > section.sh_size || section.sh_size - r->r_offset < width) return damaged("a relocation");
    FRAZIL_TRY(std::byte* const to, target(memory, *s));
    std::byte* const at = memory + offset_[table.sh_info] + r->r_offset;
    const auto address = reinterpret_cast<std::uintptr_t>(to) + static_cast<std::uint64_t>(r->r_addend);
    switch (kind) {
      case R_X86_64_64: std::memcpy(at, &address, 8); break;
      case R_X86_64_PC32:
      case R_X86_64_PLT32: {
        const auto away = static_cast<std::int64_t>(address - reinterpret_cast<std::uintptr_t>(at));
        const auto near = static_cast<std::int32_t>(away);
        if (near != away) return damaged("a distance");
        std::memcpy(at, &near, 4);
        break;
      }
      default: return fail(Code::bad_input, "an object of generated code has a relocation of kind {}", kind);
    }
  }
  return {};
}

Result<void*> ObjectLoader::find(std::string_view name, std::byte* memory) const {
  for (std::uint64_t i = 0; i < symbols_.sh_size / sizeof(Elf64_Sym); ++i) {
    const auto s = symbol(i);
    if (!s || name_of(*s) != name || s->st_shndx >= sections_.size() || offset_[s->st_shndx] == SIZE_MAX) continue;
    const Elf64_Shdr& section = sections_[s->st_shndx];
    if (s->st_value >= section.sh_size || (section.sh_flags & SHF_EXECINSTR) == 0) break;
    return memory + offset_[s->st_shndx] + s->st_value;
  }
  return damaged("its function is missing");
}

std::vector<std::byte> ObjectLoader::at_its_place(const std::byte* memory) const {
  std::vector<std::byte> object(object_.begin(), object_.end());
  const auto header = at<Elf64_Ehdr>(0);
  for (std::size_t i = 0; i < sections_.size(); ++i) {
    if (offset_[i] == SIZE_MAX) continue;
    Elf64_Shdr section = sections_[i];
    section.sh_addr = reinterpret_cast<std::uintptr_t>(memory) + offset_[i];
    std::memcpy(object.data() + header->e_shoff + i * sizeof section, &section, sizeof section);
  }
  return object;
}

}  // namespace

Result<std::shared_ptr<const NativeCode>> NativeCode::load(std::span<const std::byte> object, std::string_view name) {
  ObjectLoader loader(object);
  FRAZIL_CHECK(loader.read());
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  const std::size_t bytes = std::max(page, (loader.bytes() + page - 1) / page * page);
  void* const memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return fail(Code::out_of_memory, "no memory for {} bytes of generated code", bytes);
  std::shared_ptr<NativeCode> code(new NativeCode(memory, bytes, nullptr));
  auto* const first = static_cast<std::byte*>(memory);
  FRAZIL_CHECK(loader.place(first));
  FRAZIL_TRY(code->entry_, loader.find(name, first));
  if (::mprotect(memory, bytes, PROT_READ | PROT_EXEC) != 0) {
    return fail(Code::unsupported, "this system does not let a process run code that it made");
  }
  if (symbols_are_enabled()) code->symbols_ = register_symbols(name, memory, bytes, loader.at_its_place(first));
  return code;
}

NativeCode::~NativeCode() { ::munmap(memory_, bytes_); }

}  // namespace frazil::exec
