/// What objects with a destructor call when they are made: theirs are never run. A program that ends does not wait for
/// the thread that generates code, which may need LLVM's until the process is gone.
// NOLINTNEXTLINE(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp)
extern "C" [[gnu::visibility("hidden")]] int __cxa_atexit(void (*)(void*), void*, void*) { return 0; }
