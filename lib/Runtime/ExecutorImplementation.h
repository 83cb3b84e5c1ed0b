//===- ExecutorImplementation.h - A loaded step ---------------------------===//
//
// A step that was loaded: its ranks, where its tensors lie, and which of them
// have a value. The files that load it, move its tensors and run it share this.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_RUNTIME_EXECUTORIMPLEMENTATION_H
#define TENON_LIB_RUNTIME_EXECUTORIMPLEMENTATION_H

#include "Communicator.h"
#include "Device.h"

#include "tenon/Format/Holding.h"
#include "tenon/Format/Parts.h"
#include "tenon/Runtime/Executor.h"
#include "tenon/Runtime/Processes.h"

#include <functional>
#include <map>

namespace tenon::runtime {

/// Where one stored tensor is used, so that binding it touches nothing else.
struct StorageUses {
  struct Slot {
    uint32_t entryPoint, slot;
  };
  std::vector<Slot> slots;
  std::string whyNotBindable;   // empty if it is
  std::byte *address = nullptr; // where it is now
};

/// What is known of a tensor of the signature.
struct TensorStatus {
  std::string whyNotInPlace;  // empty if it is
  std::string whyNotOnDevice; // empty if it is, and there
  bool hasValue = false;      // of an argument or hidden state
};

/// One rank of the step, or the only one.
struct Rank {
  std::unique_ptr<Device> device;
  std::vector<std::unique_ptr<DeviceMemory>> segments;
  std::vector<std::unique_ptr<CapturedStep>> steps; // per entry point
  std::unique_ptr<StepPipeline> pipeline; // null until a step is started in it

  std::byte *address(const format::Slice &slice) const {
    return segments[slice.segment]->data() + slice.offset;
  }
};

struct Executor::Implementation {
  format::Index index;
  ExecutorOptions options;
  std::unique_ptr<ThreadRanks> exchange; // null for one rank in this process
  std::vector<Rank> ranks;               // of this process
  std::vector<StorageUses> uses;         // per stored tensor
  std::vector<TensorStatus> tensors;
  std::vector<std::vector<size_t>> takes; // per entry point, tensors it reads
  std::map<std::string, size_t, std::less<>> byName;
  int64_t stepsRun = 0;       // since the program was loaded
  uint64_t receivedBytes = 0; // of other processes, in runs
  std::string
      brokenStep; // the step that left its state partly written, and why

  const Rank &first() const { return ranks.front(); }
  bool isCut() const { return exchange || options.processes; }
  /// Among all ranks of the step, of one of this process.
  int64_t numberOf(size_t rank) const {
    return options.processes ? options.processes->rank() : int64_t(rank);
  }
  bool isState(const format::Tensor &described) const {
    return described.isHidden() ||
           (described.argument >= 0 &&
            index.segmentOf(described).kind == format::SegmentKind::state);
  }
  bool isState(size_t tensor) const { return isState(index.tensors[tensor]); }

  // LoadExecutor.cpp

  bool load(const format::Reader &reader, Error &error);
  bool agreeOnFile(const format::Reader &reader, Error &error);
  bool checkRanks(Error &error);
  bool loadRank(const format::Reader &reader, Error &error);
  bool loadSegments(const format::Reader &reader, Rank &rank, Error &error);
  bool readConstants(const format::Reader &reader,
                     const format::Section &section, Rank &rank,
                     DeviceMemory &memory, Error &error);
  void collectNames();

  // TensorPlaces.cpp

  void collectUses();
  /// What callers may do with a tensor where it is.
  TensorStatus statusOf(const format::Tensor &tensor) const;
  std::string whyNotAsItIs(const format::Tensor &tensor) const;
  /// The first stored tensor of one that is used in place, its only one.
  uint32_t storageOf(size_t tensor) const {
    return index.tensors[tensor].held.storages[0];
  }
  std::byte *ownAddress(const format::Slice &slice) const {
    return first().address(slice);
  }
  /// Where a rank has a stored tensor now.
  std::byte *addressOf(uint32_t storage, size_t rank) const {
    return rank == 0 ? uses[storage].address
                     : ranks[rank].address(index.storages[storage].place);
  }
  bool point(uint32_t storage, std::byte *address, Error &error);
  /// `fault` is what was found so far.
  bool bind(size_t tensor, std::byte *address, std::string fault, Error &error);
  /// Whether a tensor can be copied to or from the caller's memory of a GPU.
  bool checkOnDevice(size_t tensor, const void *memory, Error &error) const;

  // TensorValues.cpp

  /// Copies what is stored at an address of the device, or was there when the
  /// step that was finished last had ended. False with `error` filled in if the
  /// device has failed.
  bool fetch(size_t rank, const std::byte *from, std::span<std::byte> into,
             Error &error) const;
  /// Stores a part of the tensor, for the next step if there are steps under
  /// way that may read it.
  bool store(const format::Tensor &tensor, size_t rank, std::byte *to,
             std::span<const std::byte> from, Error &error) const;
  /// Calls `body` with the stored tensors' bytes as the process sees them.
  template <typename Body>
  bool withStored(const format::Tensor &tensor, const format::Holding &holding,
                  size_t rank, bool write, Body body, Error &error) const;
  /// Copies what a rank has of a tensor, which `part` describes.
  bool readPart(const format::Tensor &part, size_t rank,
                std::span<std::byte> into, Error &error) const;
  bool writePart(const format::Tensor &part, size_t rank,
                 std::span<const std::byte> from, Error &error) const;
  bool readJoined(const format::Tensor &tensor, std::span<std::byte> into,
                  Error &error) const;
  bool gather(const format::Tensor &tensor, int64_t to,
              std::span<std::byte> into, Error &error) const;
  bool writeCut(const format::Tensor &tensor, std::span<const std::byte> from,
                Error &error) const;
  bool lacksValue(size_t tensor) const {
    return !tensors[tensor].hasValue &&
           format::bytesOf(index.tensors[tensor]) > 0;
  }
  std::vector<size_t> withoutValue(bool stateOnly) const;
  /// Whether none is missing; otherwise `error` names them.
  bool checkValues(const std::vector<size_t> &missing, Error &error) const;
  void markWritten(size_t tensor, bool isWhole);
  bool initializeHidden(bool onlyMissing, Error &error);

  // RunSteps.cpp

  std::optional<size_t> findEntryPoint(std::string_view name,
                                       Error &error) const;
  /// How one rank runs an entry point.
  using RankRun = std::function<RunOutcome(CapturedStep &step, size_t rank)>;
  RunOutcome runRanks(size_t entryPoint, int64_t count, const RankRun &runOne);
  bool run(size_t entryPoint, int64_t count, const RankRun &runOne,
           Error &error);
  bool run(size_t entryPoint, int64_t count, unsigned threads,
           OperationObserver *observer, Error &error);
  /// Whether all that an entry point takes has a value.
  bool checkTaken(size_t entryPoint, Error &error) const;
  /// Says what has failed in an entry point's run.
  bool refuseRun(size_t entryPoint, const RunOutcome &outcome, Error &error);
  /// Of a device that runs ahead; null with `error` filled in otherwise.
  StepPipeline *pipeline(Error &error);
  /// The steps of a rank that are under way; null if there are none.
  StepPipeline *underWay(size_t rank) const {
    StepPipeline *pipeline = ranks[rank].pipeline.get();
    return pipeline && pipeline->underWay() > 0 ? pipeline : nullptr;
  }
  bool start(Error &error);
  bool finish(Error &error);

  // ObserveSteps.cpp

  /// Where an operation comes from in the user's program, as the plan has it.
  std::string sourceOf(size_t entryPoint, size_t operation) const;
  /// Calls a kernel as the operation of the user's program that it does.
  void nameRanges();
  bool trace(size_t entryPoint, StepTrace &trace, Error &error);
  bool checkMemory(size_t entryPoint, int64_t count, Error &error);
};

} // namespace tenon::runtime

#endif // TENON_LIB_RUNTIME_EXECUTORIMPLEMENTATION_H
