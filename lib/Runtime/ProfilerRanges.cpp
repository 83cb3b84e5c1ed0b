//===- ProfilerRanges.cpp - Names of what runs, for NVIDIA's profilers ----===//
//
// See ProfilerRanges.h. The profiler's library asks for the table of functions
// of version 3 of NVTX's core, and puts its own into those that it has. Names,
// numbers and layouts are those of NVTX's documentation for such libraries.
//
//===----------------------------------------------------------------------===//

#include "ProfilerRanges.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <dlfcn.h>

using namespace tenon::runtime;

namespace {

using Function = void (*)();

enum Table : uint32_t { callbacks = 1, version = 3 };
enum Module : int { core = 1 };
enum CoreFunction : unsigned { rangePush = 9, rangePop = 11, functions = 16 };

std::array<Function, functions> found{};
/// Where the profiler's library finds the places of functions; the first, which
/// is none, and one behind the last are null.
std::array<Function *, functions + 1> places{};

int functionsOf(int module, Function ***table, unsigned *count) {
  if (module != core)
    return 0;
  for (unsigned i = 1; i < functions; ++i)
    places[i] = &found[i];
  if (table)
    *table = places.data();
  if (count)
    *count = functions;
  return 1;
}

struct Callbacks {
  size_t bytes = sizeof(Callbacks);
  int (*functionsOf)(int module, Function ***table,
                     unsigned *count) = ::functionsOf;
};

struct Version {
  size_t bytes = sizeof(Version);
  uint32_t ours = 3, reserved = 0;
  void (*setTheirs)(uint32_t) = [](uint32_t) {};
};

const void *tableOf(uint32_t number) {
  static const Callbacks theCallbacks;
  static const Version theVersion;
  return number == callbacks ? static_cast<const void *>(&theCallbacks)
         : number == version ? &theVersion
                             : nullptr;
}

} // namespace

ProfilerRanges::ProfilerRanges() {
  const char *file = std::getenv("NVTX_INJECTION64_PATH");
  void *library = file && *file ? dlopen(file, RTLD_LAZY) : nullptr;
  if (!library)
    return;
  using Initialize = int (*)(const void *(*)(uint32_t));
  auto initialize =
      reinterpret_cast<Initialize>(dlsym(library, "InitializeInjectionNvtx2"));
  if (!initialize || !initialize(tableOf))
    return;
  push = reinterpret_cast<int (*)(const char *)>(found[rangePush]);
  pop = reinterpret_cast<int (*)()>(found[rangePop]);
}

const ProfilerRanges &ProfilerRanges::get() {
  static const ProfilerRanges ranges;
  return ranges;
}
