// Machine code of fused bodies: which forms there are, what has none, and damaged objects.
#include "code/native/native.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <ranges>
#include <span>
#include <string>

#include <elf.h>
#include <unistd.h>

#include "base/os/knobs.h"
#include "exec/native/backend.h"
#include "exec/native/native_code.h"
#include "kernel/simd/isa.h"
#include "suite/tiers.h"

namespace frazil::test {
namespace {

using exec::Tier;
using testing::HasSubstr;

class Native : public testing::Test {
 protected:
  void SetUp() override {
    if (const auto module = exec::native_module(); !module) GTEST_SKIP() << module.error().text();
  }
  /// What tier 1 says of a graph after one run.
  static std::string explained(std::string_view text, std::string_view inputs) {
    const Graph graph = graph_of(text);
    const auto executable = Executable::make(std::make_shared<const Graph>(graph), {.tier = Tier::compiled}).value();
    EXPECT_TRUE(executable->open()->run(in_order(graph, inputs)));
    return executable->machine_code().explain();
  }
};

constexpr std::string_view kSum = R"(graph g(%x: f32[N,4], %y: f32[4]) {
  %s = Add(%x, %y)
  %t = Mul(%s, %x)
  return t = %t
})";

TEST_F(Native, NamesTheFormsThatItCompiled) {
  EXPECT_THAT(explained(kSum, "%x = f32[2,4] [1, 2, 3, 4, 5, 6, 7, 8], %y = f32[4] [1, 2, 3, 4]"),
              HasSubstr("tier 1: 4096 bytes"));
}

/// An object of one loop that adds two operands.
std::string object(bool text = false) {
  FusedKernel kernel = parse_fused(R"(fused (d0) {
  in 0: f32 [d0]
  in 1: f32 [d0]
  %0: f32 load 0
  %1: f32 load 1
  %2: f32 add %0 %1
  out 0: f32 [d0] = %2
})")
                           .value();
  const code::TileCode code = code::compile_tiles(kernel, code::body_operands(kernel));
  const code::LoopForm form{{code::InnerStep::dense, code::InnerStep::dense, code::InnerStep::dense}};
  return exec::native_module()
      .value()
      ->compile({.isa = std::string(name_of(kernel::supported_features().isa)),
                 .name = "add",
                 .loop = &code,
                 .form = form,
                 .text = text})
      .value();
}

std::size_t open_files() {
  return static_cast<std::size_t>(std::ranges::distance(std::filesystem::directory_iterator("/proc/self/fd")));
}

/// Runs in a process of its own, because the knob is read once.
TEST_F(Native, TellsPerfAndGdbWhereCodeLies) {
  if (knobs()->code_symbols == "off") {
    ::setenv("FRAZIL_CODE_SYMBOLS", "perf,gdb", 1);
    const std::string self = std::filesystem::read_symlink("/proc/self/exe");
    const int status = std::system((self + " --gtest_brief=1 --gtest_filter=Native.TellsPerf*").c_str());
    ::unsetenv("FRAZIL_CODE_SYMBOLS");
    EXPECT_EQ(status, 0);
    return;
  }
  const std::filesystem::path map = fmt::format("/tmp/perf-{}.map", ::getpid());
  const std::size_t files = open_files();
  const std::string bytes = object();
  for (int n = 1; n <= 3; ++n) {
    const auto code = exec::NativeCode::load(std::as_bytes(std::span(bytes)), "add").value();
    std::ifstream in(map);
    std::string line, last;
    int lines = 0;
    while (std::getline(in, line)) ++lines, last = line;
    EXPECT_EQ(lines, n);
    EXPECT_EQ(last, fmt::format("{:x} {:x} add", reinterpret_cast<std::uintptr_t>(code->begin()), code->bytes()));
  }
  EXPECT_EQ(open_files(), files);
  std::filesystem::remove(map);
}

TEST_F(Native, RunsAnObject) {
  const std::string bytes = object();
  const auto code = exec::NativeCode::load(std::as_bytes(std::span(bytes)), "add").value();
  float a[100], b[100], c[101];
  for (int i = 0; i < 100; ++i) a[i] = static_cast<float>(i), b[i] = 0.5F;
  for (const std::int64_t n : {0, 1, 15, 16, 17, 64, 100}) {
    std::fill(std::begin(c), std::end(c), -1.0F);
    std::byte* const at[] = {reinterpret_cast<std::byte*>(a), reinterpret_cast<std::byte*>(b),
                             reinterpret_cast<std::byte*>(c)};
    const std::int64_t none[3] = {};
    code->entry<code::NativeLoop>()(at, none, 1, n, none, nullptr, 0, nullptr);
    for (int i = 0; i < 101; ++i) EXPECT_EQ(c[i], i < n ? a[i] + b[i] : -1.0F) << "element " << i << " of " << n;
  }
}

TEST_F(Native, GivesTextToReaders) { EXPECT_THAT(object(true), HasSubstr("define void @add(")); }

TEST_F(Native, RefusesAnotherName) {
  const std::string bytes = object();
  EXPECT_FALSE(exec::NativeCode::load(std::as_bytes(std::span(bytes)), "subtract"));
}

/// The bytes of an object that decide where its parts lie, and what each is.
std::vector<std::pair<std::string, std::size_t>> bytes_of_structure(const std::string& object) {
  std::vector<std::pair<std::string, std::size_t>> bytes;
  const auto add = [&](const std::string& what, std::size_t first, std::size_t count) {
    for (std::size_t i = first; i < first + count; ++i) bytes.emplace_back(what, i);
  };
  add("magic", 0, SELFMAG);
  add("class", EI_CLASS, 1);
  add("type", offsetof(Elf64_Ehdr, e_type), 2);
  add("machine", offsetof(Elf64_Ehdr, e_machine), 2);
  add("place of the sections", offsetof(Elf64_Ehdr, e_shoff) + 4, 4);
  Elf64_Ehdr header;
  std::memcpy(&header, object.data(), sizeof header);
  for (std::size_t i = 0; i < header.e_shnum; ++i) {
    Elf64_Shdr section;
    const std::size_t at = header.e_shoff + i * sizeof section;
    std::memcpy(&section, object.data() + at, sizeof section);
    if (section.sh_type == SHT_NULL || section.sh_type == SHT_NOBITS) continue;
    add("place of section " + std::to_string(i), at + offsetof(Elf64_Shdr, sh_offset) + 4, 4);
    add("size of section " + std::to_string(i), at + offsetof(Elf64_Shdr, sh_size) + 4, 4);
  }
  return bytes;
}

/// Loading never reads or writes outside of what it was given: the object ends where its buffer does.
TEST_F(Native, SurvivesDamagedObjects) {
  const std::string whole = object();
  for (std::size_t length = 0; length < whole.size(); length += 7) {
    const std::vector<char> cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(length));
    EXPECT_FALSE(exec::NativeCode::load(std::as_bytes(std::span(cut)), "add")) << length;
  }
  const auto loads_damaged = [&](std::size_t at) {
    std::vector<char> damaged(whole.begin(), whole.end());
    damaged[at] = static_cast<char>(damaged[at] ^ 0xff);
    return exec::NativeCode::load(std::as_bytes(std::span(damaged)), "add").has_value();
  };
  for (std::size_t i = 0; i < whole.size(); ++i) (void)loads_damaged(i);
  for (const auto& [what, at] : bytes_of_structure(whole)) EXPECT_FALSE(loads_damaged(at)) << what << ", byte " << at;
}

/// Bytes that a section without bytes of its own would have copied from outside of the object.
TEST_F(Native, RefusesASectionOutsideOfTheObject) {
  const std::string whole = object();
  Elf64_Ehdr header{};
  std::memcpy(&header, whole.data(), sizeof header);
  for (const Elf64_Word type : {SHT_NULL, SHT_PROGBITS, SHT_NOTE}) {
    for (std::size_t i = 0; i < header.e_shnum; ++i) {
      std::vector<char> damaged(whole.begin(), whole.end());
      char* const at = damaged.data() + header.e_shoff + i * sizeof(Elf64_Shdr);
      Elf64_Shdr section{};
      std::memcpy(&section, at, sizeof section);
      section.sh_type = type;
      section.sh_flags = SHF_ALLOC;
      section.sh_offset = whole.size() + (std::size_t{1} << 20);
      section.sh_size = std::size_t{1} << 20;
      std::memcpy(at, &section, sizeof section);
      EXPECT_FALSE(exec::NativeCode::load(std::as_bytes(std::span(damaged)), "add"))
          << "section " << i << " type " << type;
    }
  }
}

/// The key of x `op` number.
std::string key_of(std::string_view op, std::string_view number) {
  const std::string text = fmt::format(
      "fused (d0) {{\n  in 0: f32 [d0]\n  %0: f32 load 0\n  %1: f32 constant {}\n  %2: f32 {} %0 %1\n"
      "  out 0: f32 [d0] = %2\n}}",
      number, op);
  const FusedKernel kernel = parse_fused(text).value();
  return code::key_of(code::compile_tiles(kernel, code::body_operands(kernel)));
}

TEST(NativeForms, KeysTellNumbersByTheirBits) {
  EXPECT_EQ(key_of("max", "0"), key_of("max", "0"));
  EXPECT_NE(key_of("max", "0"), key_of("max", "-0"));
  EXPECT_NE(key_of("max", "0"), key_of("max", "nan"));
  EXPECT_NE(key_of("pow", "2"), key_of("pow", "3"));
}

TEST(NativeForms, BodiesThatDifferInFactorsAndSummandsShareCode) {
  for (const std::string_view op : {"add", "sub", "mul", "div"}) EXPECT_EQ(key_of(op, "0.5"), key_of(op, "-0.25"));
}

TEST(NativeForms, TellWhatHasNoCode) {
  const auto why = [](std::string_view text, std::vector<code::InnerStep> steps) {
    const FusedKernel kernel = parse_fused(text).value();
    return code::why_not_native(code::compile_tiles(kernel, code::body_operands(kernel)), {std::move(steps)});
  };
  EXPECT_THAT(why("fused (d0, d1) {\n  in 0: f32 [d0, d1]\n  %0: f32 load 0\n  %1: f32 row softmax %0\n"
                  "  out 0: f32 [d0, d1] = %1\n}",
                  {code::InnerStep::dense, code::InnerStep::dense}),
              HasSubstr("softmax of rows"));
  EXPECT_THAT(why("fused (d0, d1) {\n  in 0: f32 [d0, d1]\n  %0: f32 load 0\n  %1: f32 row sum %0\n"
                  "  out 0: f32 [d0] = %1\n}",
                  {code::InnerStep::one, code::InnerStep::one}),
              HasSubstr("row of one element"));
}

}  // namespace
}  // namespace frazil::test
