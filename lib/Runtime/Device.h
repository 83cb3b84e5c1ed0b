//===- Device.h - What runs the instructions of a program ----------------===//
//
// Private to this folder: all that the executor asks of a device. It allocates
// each segment in its memory space and puts the instructions of an entry point
// on the device's queues, once; what was captured so is run again and again.
//
//                 the CPU                        a GPU with CUDA
//   space         `host`, pages of the process   `device`; `pinned` of the host
//   launch        an operation in a flat array   a node of a CUDA graph
//   queue 1       a thread for collectives       nodes beside those of queue 0
//   2 and 3       none                           copies to `pinned` and back
//   event, wait   a barrier of all threads, or   edges between nodes
//                 until collectives are done
//   loop, branch  jumps                          the host, between graphs
//   run           a team walks the array         the host launches the graphs
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_RUNTIME_DEVICE_H
#define TENON_LIB_RUNTIME_DEVICE_H

#include "AvailableMemory.h"

#include "tenon/Runtime/Executor.h"
#include "tenon/Runtime/Trace.h"

#include <functional>
#include <memory>
#include <span>
#include <vector>

namespace tenon::runtime {

/// The memory of one segment, zeroed; temporaries may hold anything.
class DeviceMemory {
public:
  virtual ~DeviceMemory();

  /// Where instructions of the device find it.
  virtual std::byte *data() const = 0;
  /// The same bytes as the process sees them; none where it cannot.
  virtual std::span<std::byte> bytes() const = 0;
  /// With what lies behind them up to where an access faults.
  virtual std::span<std::byte> pages() const = 0;
  /// Instructions only read it from now on.
  virtual void makeReadOnly() = 0;
};

/// Sees a run between operations, from the thread that started it.
class OperationObserver {
public:
  virtual ~OperationObserver();
  virtual void begin(size_t operation) = 0;
  virtual void end(size_t operation) = 0;
  /// In place of the two above, from a device that works through operations by
  /// itself and looks at its own clock: what it took for one, in seconds. They
  /// come in the order in which they ran.
  virtual void took(size_t, double) {}
};

/// How far a run came.
struct RunOutcome {
  int64_t wholeSteps = 0;
  /// Of the library call that ended it; nothing if the device did.
  std::optional<size_t> failedOperation;
  std::string whatFailed; // in the library's or the device's words
};

class Device;

/// The operations of an entry point, ready to run.
class CapturedStep {
public:
  virtual ~CapturedStep();

  /// The place in a segment of every pointer that operations were given.
  const std::vector<format::Slice> &slices() const { return places; }
  /// Whether an operation may write through the pointer.
  bool isWritten(size_t slot) const { return written[slot]; }
  /// Which pointers an operation has: the first, and how many.
  using Pointers = std::pair<size_t, size_t>;
  virtual Pointers slotsOf(size_t operation) const = 0;
  /// Whether two operations with these pointers touch the same bytes, which one
  /// of them writes.
  bool touchTheSame(Pointers a, Pointers b) const;
  virtual size_t operationCount() const = 0;
  /// Of an operation; without a name if it does nothing by itself.
  virtual InstructionTime describe(size_t operation) const = 0;

  /// What a profiler shall call the step, and each operation where they run one
  /// by one.
  virtual void nameRanges(const std::string &, std::vector<std::string>) {}

  /// What operations are given from the next update() on.
  virtual void setPointer(size_t slot, void *address) = 0;
  /// False with `error` filled in if the device cannot take them.
  virtual bool update(Error &error) = 0;

  /// Runs it `steps` times in a row, on at most `threads` threads of the
  /// process. With an observer, which may be null, each operation waits for the
  /// one before.
  virtual RunOutcome run(int64_t steps, unsigned threads,
                         OperationObserver *observer) = 0;
  /// Runs it once and adds to `trace` what each thread did, and when. A device
  /// that has no other way runs operations one by one.
  virtual RunOutcome trace(unsigned threads, StepTrace &trace);
  /// The instructions that an operation carries out, by their numbers in the
  /// entry point, in which each comes before those of its blocks.
  std::vector<uint32_t> instructionsOf(size_t operation) const;

protected:
  std::vector<format::Slice> places;
  std::vector<bool> written; // per pointer

private:
  friend std::unique_ptr<CapturedStep>
  captureStep(const format::EntryPoint &entry, Device &device, Error &error);
  std::vector<uint32_t> instructions; // per pointer
};

/// Steps that a device works on by itself, one behind the other, while the
/// process prepares the next and reads what the one before left. After a
/// failure none is under way.
class StepPipeline {
public:
  static constexpr int64_t mostUnderWay = 2;

  virtual ~StepPipeline();
  /// Has the value be at `to`, in the device's memory, for the step that starts
  /// next and those behind it. It need not stay where it is. A place is always
  /// given as many bytes. False with `error` filled in if the device has failed
  /// or there is no memory.
  virtual bool give(void *to, std::span<const std::byte> value,
                    Error &error) = 0;
  /// Keeps what each step that is started from now on leaves at a place of the
  /// device.
  virtual bool watch(const void *place, uint64_t bytes, Error &error) = 0;
  /// Starts the step, behind those under way, of which there are fewer than
  /// most. False with what has failed.
  virtual bool start(CapturedStep &step, RunOutcome &outcome) = 0;
  /// Waits for the one of those under way that was started first.
  virtual bool finish(RunOutcome &outcome) = 0;
  /// What the step that was finished last left at a place, until the next is;
  /// null if the place is not watched.
  virtual const std::byte *found(const void *place) const = 0;
  /// How many have been started and not finished.
  virtual int64_t underWay() const = 0;
};

/// A point in a queue.
struct Event {
  uint32_t queue = 0, pending = 0;
};

/// Takes the operations of an entry point in order, each for its queue. What is
/// in one queue runs in order; nothing runs before the capture has ended. False
/// or null, with `error` filled in, for what the device cannot do.
class Capture {
public:
  using Body = std::function<bool(Error &error)>; // captures some operations

  virtual ~Capture();
  /// Starts a callee with its operands; `invoke` says which.
  virtual bool launch(const format::Instruction &invoke, Error &error) = 0;
  /// Happens when all that is in the queue so far is done, but the last
  /// `pending` of it.
  virtual std::optional<Event> record(uint32_t queue, uint32_t pending,
                                      Error &error) = 0;
  /// Whatever is put into any queue from now on begins after the event.
  virtual void wait(Event event) = 0;
  /// `trips` says how often the body runs, -1 if only the condition does.
  virtual bool loop(const format::Slice &predicate, int64_t trips,
                    const Body &condition, const Body &body, Error &error) = 0;
  virtual bool branch(const format::Slice &selector,
                      std::span<const Body> branches, Error &error) = 0;
  /// How many pointers operations were given so far.
  virtual size_t slotCount() const = 0;
  virtual std::unique_ptr<CapturedStep> finish(Error &error) = 0;
};

class Device {
public:
  virtual ~Device();

  /// Whether the space is what availableMemory() speaks of.
  virtual bool isItsOwn(const format::MemorySpace &) const { return true; }

  /// In one of the file's spaces, which newDevice() has seen to be the
  /// device's. Null, with a message in `error`, if there is no such memory.
  /// `prefault` takes it now, not when it is touched.
  virtual std::unique_ptr<DeviceMemory>
  allocate(const format::MemorySpace &space, const format::Segment &segment,
           bool prefault, std::string &error) = 0;
  /// Copies from memory of the process to the device's or back, and returns
  /// when the bytes are there. False with `error` filled in if the device has
  /// failed.
  virtual bool copyIn(void *to, const void *from, uint64_t bytes,
                      Error &error) = 0;
  virtual bool copyOut(void *to, const void *from, uint64_t bytes,
                       Error &error) = 0;
  /// Of a device whose memory the process does not see: empty if the caller's
  /// memory of as many bytes at `place` is the device's, otherwise why not.
  virtual std::string whyNotMemory(const void *, uint64_t) const { return ""; }
  /// Copies between places of the device, behind all that was started. It has
  /// ended when this returns, unless the caller gave the stream.
  virtual bool copyWithin(void *, const void *, uint64_t, Error &) {
    return false;
  }
  /// The CUDA stream of all work; null for none.
  virtual void *stream() const { return nullptr; }
  /// What its rank has received of others, beside the communicator's messages.
  virtual uint64_t receivedBytes() const { return 0; }
  /// Whether no other rank of this machine lies in its memory.
  virtual bool isOfOneRank() const { return false; }
  /// What segments may still take.
  virtual AvailableMemory availableMemory() const = 0;

  /// Makes the callees of a file ready to be launched.
  virtual bool loadCallees(const format::Reader &reader, Error &error) = 0;
  virtual std::unique_ptr<Capture> beginCapture() = 0;

  /// Once callees are loaded: as Executor says of them.
  virtual std::string whyNotBinary() const { return ""; }
  virtual bool isEmulated() const { return false; }
  virtual AlgorithmChoices algorithmChoices() const { return {}; }
  /// Whether steps can run while the process goes on.
  virtual bool runsAhead() const { return false; }
  /// Where they can. Null with `error` filled in if the device has failed.
  virtual std::unique_ptr<StepPipeline> newPipeline(Error &) { return nullptr; }
};

/// Which of the branches of a conditional runs: the one whose number is at
/// `selector`, a byte or an i32, the last if there is none of that number.
uint32_t branchOf(const void *selector, uint64_t bytes, uint32_t branches);

class Communicator;

/// The device that runs the file; null with `error` filled in if this runtime
/// or machine has none. Of a file for several ranks it is one rank's, which
/// meets the others through `communicator`, null for one that runs alone.
std::unique_ptr<Device> newDevice(const format::Index &index,
                                  const ExecutorOptions &options,
                                  Communicator *communicator, Error &error);

/// Puts an entry point's instructions on the queues of a device.
std::unique_ptr<CapturedStep> captureStep(const format::EntryPoint &entry,
                                          Device &device, Error &error);

} // namespace tenon::runtime

#endif // TENON_LIB_RUNTIME_DEVICE_H
