#pragma once

/// Defines `symbol`, the content of a file as a text that ends with '\0', and `symbol`_end, its end without the '\0'.
/// The assembler reads the file when the source is compiled: `file` is its path, as a string literal. The build names
/// the file in OBJECT_DEPENDS. Use it in namespace scope; symbols are global.
#define FRAZIL_EMBED(symbol, file)      \
  asm(".section .rodata\n"              \
      ".global " #symbol "\n"           \
      #symbol ":\n"                     \
      ".incbin \"" file "\"\n"          \
      ".global " #symbol "_end\n"       \
      #symbol "_end:\n"                 \
      ".byte 0\n"                       \
      ".previous\n");                   \
  extern "C" const char symbol[], symbol##_end[]
