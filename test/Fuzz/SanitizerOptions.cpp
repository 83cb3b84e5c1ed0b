//===- SanitizerOptions.cpp - With libraries that are not instrumented ---===//
//
// MLIR's libraries come as packages. Memory that our code takes from one of
// their arenas is known to them alone, and what they keep for good is no leak.
//
//===----------------------------------------------------------------------===//

extern "C" const char *__asan_default_options() {
  return "allow_user_poisoning=0:detect_leaks=0:detect_container_overflow=0:"
         "detect_odr_violation=0";
}
