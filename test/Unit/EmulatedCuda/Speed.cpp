//===- Speed.cpp - Lane instructions per second, with all checks ----------===//
//
//   TenonEmulatedCudaSpeed FILE.ptx [BLOCKS]
//
// Runs the kernel `k` with two buffers of four floats per thread and 256
// threads a block, and prints lane instructions per second of the process' own
// CPU time.
//
//===----------------------------------------------------------------------===//

#include "tenon/EmulatedCuda/EmulatedCuda.h"
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <sstream>

int main(int argc, char **argv) {
  std::ifstream file(argc > 1 ? argv[1] : "");
  std::stringstream text;
  text << file.rdbuf();
  const unsigned blocks = argc > 2 ? atoi(argv[2]) : 1000;
  CUmodule module;
  CUfunction function;
  if (cuInit(0) || cuModuleLoadData(&module, text.str().c_str()) ||
      cuModuleGetFunction(&function, module, "k"))
    return 1;
  const size_t bytes = size_t(blocks) * 256 * 16;
  CUdeviceptr in, out;
  if (cuMemAlloc_v2(&in, bytes) || cuMemAlloc_v2(&out, bytes) ||
      cuMemsetD32Async(in, 0x3E000000, bytes / 4, nullptr))
    return 1;
  void *parameters[] = {&in, &out};
  const clock_t start = clock();
  if (cuLaunchKernel(function, blocks, 1, 1, 256, 1, 1, 0, nullptr, parameters,
                     nullptr) ||
      cuCtxSynchronize()) {
    fprintf(stderr, "%s\n", tenonEmulatedCudaError());
    return 1;
  }
  const double seconds = double(clock() - start) / CLOCKS_PER_SEC;
  TenonEmulatedCounters counters;
  tenonEmulatedCudaCounters(function, &counters);
  printf("%.1f M lane instructions in %.3f s of CPU time: %.1f M per second\n",
         counters.laneInstructions / 1e6, seconds,
         counters.laneInstructions / 1e6 / seconds);
  return 0;
}
