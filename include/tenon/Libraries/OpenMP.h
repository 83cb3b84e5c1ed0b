//===- OpenMP.h - libgomp, where it is ------------------------------------===//
//
// oneDNN plans and starts its threads with GCC's OpenMP library, and so does
// the runtime: one pool of threads in the process. Its functions are declared
// here because clang's -fopenmp would bring a second pool with its own library.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIBRARIES_OPENMP_H
#define TENON_LIBRARIES_OPENMP_H

namespace tenon::libraries {

struct OpenMP {
  /// Runs `work` on that many threads, the caller being the first.
  void (*parallel)(void (*work)(void *), void *data, unsigned threads,
                   unsigned flags);
  /// Of the calling thread in its team, and how many there are.
  int (*threadNumber)();
  int (*threadCount)();
  /// How many threads the calling thread's next region has.
  int (*mostThreads)();
  void (*setThreads)(int);
};

/// Null where the machine has no libgomp.
const OpenMP *openMP();

} // namespace tenon::libraries

#endif // TENON_LIBRARIES_OPENMP_H
