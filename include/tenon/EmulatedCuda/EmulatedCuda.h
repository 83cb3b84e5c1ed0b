//===- EmulatedCuda.h - What the emulated driver tells beyond CUDA --------===//
//
// libtenon-emulated-cuda.so exports the functions of CudaDriver.h and those
// below, which a test or a tool finds by name. The environment configures it
// when cuInit is called, for nothing in CUDA's interface could:
//
//   TENON_EMULATED_CUDA_SM       80, 86, 89, 90 (default), 100 or 120
//   TENON_EMULATED_CUDA_MEMORY   bytes of device memory (default 80e9)
//   TENON_EMULATED_CUDA_COPIES   `late` (default): the bytes of cp.async arrive
//   at the
//                                wait for them; `early`: at once
//   TENON_EMULATED_CUDA_APPROXIMATE  seed other than 0: approximate
//   instructions err
//                                within their documented bounds
//   TENON_EMULATED_CUDA_ORDER    warps and blocks run `forward` (default),
//   `reverse`, or
//                                in an order drawn from this seed (a number)
//
//===----------------------------------------------------------------------===//

#ifndef TENON_EMULATEDCUDA_EMULATEDCUDA_H
#define TENON_EMULATEDCUDA_EMULATEDCUDA_H

#include "tenon/Libraries/CudaDriver.h"

extern "C" {

/// What launches of one kernel have done so far.
struct TenonEmulatedCounters {
  uint64_t launches;
  uint64_t laneInstructions; ///< executed instructions times active lanes
  uint64_t globalSectors;    ///< 32-byte sectors, per instruction of a warp
  uint64_t globalBytes;      ///< bytes that lanes asked for
  uint64_t
      globalWideBytes; ///< of these, by accesses of 16 bytes or more per lane
  uint64_t sharedBankConflicts; ///< passes over shared memory beyond the least
                                ///< number
  uint64_t tensorInstructions;  ///< mma.sync, per warp
};

/// The text of the first fault since the last tenonEmulatedCudaReset, without
/// one that of the last call that was refused, or empty: what happened, in
/// which kernel, block and thread, at which line of the PTX and, where the PTX
/// has `.loc`, of the source.
const char *tenonEmulatedCudaError();

CUresult tenonEmulatedCudaCounters(CUfunction function,
                                   TenonEmulatedCounters *counters);

/// Makes the bytes never-written again, as a runtime that reuses memory does
/// when a tensor's life ends.
CUresult tenonEmulatedCudaPoison(CUdeviceptr address, size_t bytes);

/// Forgets errors, counters, allocations and modules, and reads the environment
/// again, so that a test that expects an error may be followed by another.
void tenonEmulatedCudaReset();
}

#endif // TENON_EMULATEDCUDA_EMULATEDCUDA_H
