//===- Executor.h - Runs a compiled step ----------------------------------===//
//
// Loads a `.tenon` file, owns its memory and runs its programs. Everything that
// takes time or memory happens in load() and bind(): a step walks flat arrays
// of resolved pointers, without allocation, lock or lookup. An Executor is used
// by one thread at a time; several of them are independent.
//
// A file for several ranks is run by all of them, on threads of this process or
// in one process each (Processes.h); tensors are whole for whoever reads and
// writes them, and are cut and joined on the way.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_RUNTIME_EXECUTOR_H
#define TENON_RUNTIME_EXECUTOR_H

#include "tenon/Format/Index.h"
#include "tenon/Support/Refuse.h"

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tenon::format {
class Reader;
} // namespace tenon::format

namespace tenon::runtime {

class Processes;
struct StepTrace;

struct ExecutorOptions {
  /// How many threads share a step; 0 for as many as the process has
  /// processors. Results do not depend on it.
  unsigned threads = 0;
  /// How many ranks run the step, each on threads of this process, which they
  /// share, and in memory of its own. A file is compiled for a number of them.
  int64_t ranks = 1;
  /// The processes of which each is one of the ranks; null for threads.
  std::shared_ptr<Processes> processes;
  /// Has the system give all memory while the file is loaded, instead of page
  /// by page when a step first touches it.
  bool prefault = false;
  /// What the file has to be compiled for, `cpu` or `cuda`; empty for any.
  std::string deviceClass;
  /// Of a file for GPUs: which of the machine's runs it, counted from 0, where
  /// nothing stands for the rank's number among those of this machine; and the
  /// file of NVIDIA's driver, empty for the one that is installed.
  std::optional<unsigned> gpu;
  std::string cudaDriver;
  /// Of a file for GPUs that calls cuBLASLt: the library's file, empty for the
  /// one that is installed.
  std::string cublasLt;
  /// Of a file for several ranks on GPUs: the file of NCCL, empty for the one
  /// that is installed, or beside the emulated driver.
  std::string nccl;
  /// The folder that remembers which of cuBLASLt's algorithms run, so that
  /// later runs have the same: `none` for none, empty for `tenon/cublaslt` in
  /// the user's folder of caches, which an emulated GPU does not write to.
  std::string algorithmCache;
  /// Takes the fastest of cuBLASLt's algorithms instead of the one that it
  /// thinks is, where none is remembered that was found so.
  bool tune = false;
  /// Of a file for GPUs: the CUDA stream of the GPU's primary context that all
  /// work is put into, which outlives the program; null for one of its own.
  void *cudaStream = nullptr;
};

/// Which GPU a program runs on, and the CUDA stream of all its work.
struct CudaPlace {
  unsigned gpu = 0;
  void *stream = nullptr;
};

/// How the algorithms of a file's calls of cuBLASLt were found.
struct AlgorithmChoices {
  int64_t remembered = 0; // from the folder that remembers them
  int64_t timed = 0;      // by their times in this run
  int64_t offered = 0;    // the library's first that multiplies right
};

/// Why a file could not be loaded or a step not run.
enum class Failure : uint8_t {
  file,        // missing, unreadable or damaged
  machine,     // this processor or its libraries cannot run it
  memory,      // not enough of it
  argument,    // the caller asked for something that does not exist
  run,         // a library call failed, or the GPU
  value,       // an argument has no value
  unsupported, // there is no code for this GPU
};

struct Error {
  Failure kind = Failure::file;
  std::string message;
};

using tenon::refuse;
[[nodiscard]] inline Refusal refuse(Error &error, Failure kind,
                                    std::string why) {
  error.kind = kind;
  return tenon::refuse(error.message, std::move(why));
}

/// Time spent in one instruction of a program.
struct InstructionTime {
  std::string name;      // of the kernel or call
  std::string what;      // what it computes
  bool fallback = false; // a kernel without fast code
  bool library = false;  // a library call
  int64_t runs = 0;      // how often it ran, over all steps
  double seconds = 0;    // over all runs
  double shortest = 0;   // seconds of the fastest run
};

/// How often a tensor that the step stores in f16 was too large for it.
struct Overflow {
  std::string_view tensor; // of the index, which lives as long as the program
  int64_t elements = 0;    // infinite ones, over all steps since the first
};

class Executor {
public:
  /// Null with `error` filled in if the file is missing, damaged, or cannot run
  /// on this machine.
  static std::unique_ptr<Executor>
  load(const std::string &path, const ExecutorOptions &options, Error &error);
  static std::unique_ptr<Executor> loadBytes(std::vector<std::byte> bytes,
                                             const ExecutorOptions &options,
                                             Error &error);
  ~Executor();
  Executor(const Executor &) = delete;
  Executor &operator=(const Executor &) = delete;

  const format::Index &index() const;
  unsigned threads() const;
  /// The processes that run the step together; null for this one alone.
  Processes *processes() const;
  /// Bytes that this one has received of the others in runs so far.
  uint64_t receivedBytes() const;
  /// Of a file for GPUs that has machine code for this one: why the driver did
  /// not take it and compiled the kernels instead; empty if it did.
  std::string whyNotBinary() const;
  /// Whether the GPU is the emulated one, which never takes machine code.
  bool isEmulated() const;

  /// Of a file for GPUs with calls of cuBLASLt.
  AlgorithmChoices algorithmChoices() const;

  /// Index into index().tensors by canonical name, full path, `arg<i>` or
  /// `result<i>`; an argument wins over a result of the same name.
  std::optional<size_t> findTensor(std::string_view name) const;
  std::optional<size_t> findArgument(int32_t argument) const;
  std::optional<size_t> findResult(int32_t result) const;

  /// Whether the tensor is carried from step to step.
  bool isState(size_t tensor) const;
  /// Whether the tensor is an input of an entry point, given anew each time.
  bool isBatch(size_t tensor, std::string_view entryPoint = "step") const;
  /// What an entry point makes that is no state.
  std::vector<size_t> resultsOf(std::string_view entryPoint) const;

  /// Empty if the tensor can be read and written where it is, otherwise why it
  /// must be copied: it is held in another form, has copies in other forms, is
  /// cut for several ranks, or lies where the process does not reach.
  const std::string &whyNotInPlace(size_t tensor) const;
  /// The tensor's bytes, where the next step reads or the last one wrote them;
  /// none if that cannot be in place. Who writes an argument here says so with
  /// markWritten().
  std::span<std::byte> memory(size_t tensor) const;
  /// Copies the whole tensor, of format::bytesOf() it, in whatever form it is
  /// held. What is written is its value; other forms of it follow. False with
  /// `error` filled in if the device has failed, or if ranks that have the same
  /// part of what is read have different values. Several processes read a
  /// tensor that is cut together, one that is not each for itself; each writes
  /// what its rank has.
  bool read(size_t tensor, std::span<std::byte> into, Error &error) const;
  bool write(size_t tensor, std::span<const std::byte> from, Error &error);
  /// Of several processes, all of which call it: copies the whole tensor to the
  /// rank `to`; for the others `into` is nothing. As read().
  bool gather(size_t tensor, int64_t to, std::span<std::byte> into,
              Error &error) const;
  /// Of several processes: as write() with what this one's rank has of the
  /// tensor (format::partOf).
  bool writePart(size_t tensor, std::span<const std::byte> part, Error &error);

  /// The arguments, and hidden state, that have no value yet. An argument has a
  /// value once somebody has written or bound it, and nothing runs before all
  /// arguments have one: a step would train on whatever is in memory. After a
  /// step that failed no state has a value, since the step may have written a
  /// part of it.
  std::vector<size_t> withoutValue() const;
  /// Says that an argument has a value; `isWhole` is false for a write that was
  /// not completed, after which it has none.
  void markWritten(size_t tensor, bool isWhole = true);
  /// Sets all state that users see to zero, which counts as a value, and hidden
  /// state to its initial value. False with `error` filled in if that fails.
  bool initializeZeros(Error &error);
  /// Gives hidden state its initial value, as loading a program does; with
  /// `onlyMissing` not if it has a value.
  bool initializeHidden(bool onlyMissing, Error &error);
  /// The f16 tensors whose infinite elements the step counts, in the order of
  /// the step. Counts are state: they go on where a checkpoint left them.
  /// Nothing, with `error` filled in, if the device has failed.
  std::optional<std::vector<Overflow>> overflows(Error &error) const;
  /// Whether all state has a value; `error` names what has none.
  bool checkState(Error &error) const;

  /// Lets the tensor live in the caller's memory from now on, without copying:
  /// as many bytes as it has, at a multiple of 64, alive until bound elsewhere;
  /// what is there is its value. Null goes back to the Executor's own memory,
  /// where an argument has no value until it is written. False with `error`
  /// filled in if the memory is misaligned, the tensor is not used in place, or
  /// the plan shares its place with something else.
  bool bind(size_t tensor, void *memory, Error &error);

  /// Of a tensor of a program on a GPU: empty if it can be read and written by
  /// whoever works on the GPU, otherwise why it must be copied, as
  /// whyNotInPlace().
  const std::string &whyNotOnDevice(size_t tensor) const;
  /// Where it is in the GPU's memory; null if it cannot be used there.
  void *deviceMemory(size_t tensor) const;
  /// As bind(), with memory of the GPU.
  bool bindDevice(size_t tensor, void *memory, Error &error);
  /// As read() and write(), from and to the caller's memory of the GPU. The
  /// copy has ended when they return, unless the caller gave the stream: then
  /// it is in its order.
  bool writeFromDevice(size_t tensor, const void *from, Error &error);
  bool readToDevice(size_t tensor, void *to, Error &error) const;
  /// Where a program on a GPU runs; nothing for another one.
  std::optional<CudaPlace> cudaPlace() const;

  /// Runs the entry point `steps` times in a row with the same batch. One that
  /// is not the step, such as `eval`, leaves all state as it is. After a
  /// library call has failed no further step begins, `error` names the call and
  /// the step, counted from 1 since the program was loaded.
  bool run(int64_t steps, Error &error, std::string_view entryPoint = "step");

  /// Whether the device works by itself, so that steps can be started without
  /// waiting for their end.
  bool runsAhead() const;
  /// Has read() of these results give what the step that was finished last
  /// made, while others are under way. For steps that are started from now on.
  bool watch(const std::vector<size_t> &results, Error &error);
  /// Starts a step of a device that runs ahead. Others may be under way, at
  /// most one; until all are finished, write() of what is no state is for the
  /// next step that is started, and everything else waits for them. Errors are
  /// as run()'s, of this step or one before.
  bool start(Error &error);
  /// Waits for the step under way that was started first.
  bool finish(Error &error);
  int64_t stepsUnderWay() const;

  /// As run, timing every instruction; slower, because each waits for all
  /// threads. `times` gets one entry per instruction in program order.
  bool profile(int64_t steps, std::vector<InstructionTime> &times, Error &error,
               std::string_view entryPoint = "step");

  /// As run, once, noting in `trace`, see Trace.h, what each thread did and
  /// when. One of an earlier step of the same entry point is used again.
  bool trace(StepTrace &trace, Error &error,
             std::string_view entryPoint = "step");

  /// As run, but every operation alone, on one thread, in memory that holds
  /// nothing but the bytes it names: everything else is poison, also behind the
  /// end of each segment, and must be so afterwards. What an operation reads
  /// without saying so spoils its result; what it writes without saying so is
  /// an error. Slow, and only with tensors in the Executor's own memory.
  bool checkMemory(int64_t steps, Error &error,
                   std::string_view entryPoint = "step");

  /// A segment's own memory, for tests and tools that look at plans.
  std::span<std::byte> segmentMemory(size_t segment) const;

private:
  struct Implementation;
  static std::unique_ptr<Executor> loadFrom(const format::Reader &reader,
                                            const ExecutorOptions &options,
                                            Error &error);
  explicit Executor(std::unique_ptr<Implementation> implementation);
  std::unique_ptr<Implementation> implementation;
};

} // namespace tenon::runtime

#endif // TENON_RUNTIME_EXECUTOR_H
