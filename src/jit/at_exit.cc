/// Replaces the function that objects with a destructor call when they are constructed, so that their destructors never
/// run. A program that ends does not wait for the thread that generates code, which may need LLVM's objects until the
/// process ends.
// NOLINTNEXTLINE(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp)
extern "C" [[gnu::visibility("hidden")]] int __cxa_atexit(void (*)(void*), void*, void*) { return 0; }
