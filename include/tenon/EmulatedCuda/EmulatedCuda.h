//===- EmulatedCuda.h - What the emulated driver tells beyond CUDA --------===//
//
// libtenon-emulated-cuda.so exports the functions of CudaDriver.h, those of
// CublasLt.h and those below, which a test or a tool finds by name. The
// environment configures it when cuInit is called, for nothing in CUDA's
// interface could. The variables begin with TENON_EMULATED_CUDA_:
//
//   SM           80, 86, 89, 90 (default), 100 or 120
//   GPUS         how many there are (default 1), of which a process uses one
//   MEMORY       bytes of device memory (default 80e9)
//   COPIES       `late` (default): the bytes of cp.async arrive at the wait for
//                them; `early`: at once
//   APPROXIMATE  a seed other than 0: approximate instructions err within their
//                documented bounds
//   STREAMS      `early` (default): work of a stream is done when it is given;
//                `late`: when the process waits for it
//   ORDER        in which warps and blocks run: `forward` (default), `reverse`,
//                or a number, the seed of an order
//   CUBLASLT_VERSION
//                of the cuBLASLt in it (default 130100)
//   CUBLASLT_REFUSE
//                which optional epilogues that declines: `all`, 0 for none, or
//                the seed of a tenth (default 1)
//   CUBLASLT_TAILS
//                which of its algorithms forget the rest of a sum of no
//                multiple of 32 terms: `dropped` for one that it offers first,
//                `parts` for those that cut a sum into parts, or `all`
//   CUBLASLT_TIMES
//                a seed other than 0: its algorithms take some microseconds
//                each on the clock of events, for which all else takes none
//
//===----------------------------------------------------------------------===//

#ifndef TENON_EMULATEDCUDA_EMULATEDCUDA_H
#define TENON_EMULATEDCUDA_EMULATEDCUDA_H

#include "tenon/Libraries/CudaDriver.h"

extern "C" {

/// What launches of one kernel have done so far.
struct TenonEmulatedCounters {
  uint64_t launches;
  /// Executed instructions times active lanes.
  uint64_t laneInstructions;
  /// Sectors of 32 bytes, per instruction of a warp.
  uint64_t globalSectors;
  /// Bytes that lanes asked for, and of these by accesses of 16 bytes or more.
  uint64_t globalBytes, globalWideBytes;
  /// Passes over shared memory beyond the least number.
  uint64_t sharedBankConflicts;
  /// mma.sync, per warp.
  uint64_t tensorInstructions;
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

/// How many pairs of work of two streams that touch memory may run at once,
/// since neither an event nor a wait of the process orders them.
uint64_t tenonEmulatedCudaOverlaps();

// For libraries beside the driver, as the emulated NCCL is one.

/// The number of the GPU that the process uses.
int tenonEmulatedCudaDevice();

/// Whether the stream captures.
int tenonEmulatedCudaIsCapturing(CUstream stream);

/// Bytes of the device that work reads or writes.
struct TenonEmulatedAccess {
  CUdeviceptr address;
  size_t bytes;
  int isWritten;
};

/// Work of a library for a stream, which may be capturing: `run` is called once
/// each time that the work is done, with `data` and where the bytes of each
/// access are. It returns null, or the text of a fault. `drop` is called when
/// the work is done for the last time. Accesses are checked as a copy's are.
CUresult tenonEmulatedCudaEnqueue(
    CUstream stream, const char *name, const TenonEmulatedAccess *accesses,
    size_t accessCount, const char *(*run)(void *data, void *const *bytes),
    void *data, void (*drop)(void *data));

/// Forgets errors, counters, allocations and modules, and reads the environment
/// again, so that a test that expects an error may be followed by another.
void tenonEmulatedCudaReset();
}

#endif // TENON_EMULATEDCUDA_EMULATEDCUDA_H
