//===- ProfilerRanges.h - Names of what runs, for NVIDIA's profilers ------===//
//
// Private to this folder. A profiler that starts a process names a library in
// NVTX_INJECTION64_PATH, which takes the begin and the end of named ranges of
// time (NVTX, NVIDIA's tools extension). Without one nothing is opened.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_RUNTIME_PROFILERRANGES_H
#define TENON_LIB_RUNTIME_PROFILERRANGES_H

namespace tenon::runtime {

class ProfilerRanges {
public:
  /// Those of this process. The first call opens the profiler's library.
  static const ProfilerRanges &get();

  /// Whether somebody takes them.
  bool areWanted() const { return push && pop; }

  /// A range of the calling thread, as long as it lives. Ranges within others
  /// end first.
  class Range {
  public:
    explicit Range(const char *name) {
      if (get().areWanted())
        get().push(name);
    }
    ~Range() {
      if (get().areWanted())
        get().pop();
    }
    Range(const Range &) = delete;
    Range &operator=(const Range &) = delete;
  };

private:
  ProfilerRanges();

  int (*push)(const char *name) = nullptr;
  int (*pop)() = nullptr;
};

} // namespace tenon::runtime

#endif // TENON_LIB_RUNTIME_PROFILERRANGES_H
