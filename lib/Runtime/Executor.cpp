//===- Executor.cpp - Runs a compiled step --------------------------------===//
//
// Loading: the device makes callees ready, allocates segments and captures the
// entry points, constants are read, pointers resolved. Running: the device runs
// what it captured.
//
//===----------------------------------------------------------------------===//

#include "tenon/Runtime/Executor.h"

#include "Communicator.h"
#include "Device.h"
#include "MemoryCheck.h"
#include "ProfilerRanges.h"
#include "Team.h"

#include "tenon/Format/Holding.h"
#include "tenon/Format/Parts.h"
#include "tenon/Format/Reader.h"
#include "tenon/Runtime/Processes.h"
#include "tenon/Support/Bytes.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <functional>
#include <map>
#include <set>
#include <system_error>
#include <thread>
#include <unistd.h>

using namespace tenon;
using namespace tenon::runtime;

namespace {

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

/// Times operations into one entry each.
class Timer final : public OperationObserver {
public:
  explicit Timer(std::vector<InstructionTime> &times) : times(times) {}

  void begin(size_t) override { start = Clock::now(); }
  void end(size_t operation) override {
    took(operation,
         std::chrono::duration<double>(Clock::now() - start).count());
  }
  void took(size_t operation, double seconds) override {
    InstructionTime &time = times[operation];
    time.shortest = time.runs == 0 ? seconds : std::min(time.shortest, seconds);
    time.seconds += seconds;
    ++time.runs;
  }

private:
  using Clock = std::chrono::steady_clock;
  std::vector<InstructionTime> &times;
  Clock::time_point start;
};

} // namespace

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

  bool load(const format::Reader &reader, Error &error);
  bool agreeOnFile(const format::Reader &reader, Error &error);
  bool checkRanks(Error &error);
  bool loadRank(const format::Reader &reader, Error &error);
  bool readConstants(const format::Reader &reader,
                     const format::Section &section, Rank &rank,
                     DeviceMemory &memory, Error &error);
  bool loadSegments(const format::Reader &reader, Rank &rank, Error &error);
  void collectNames();
  void collectUses();
  void nameRanges();
  std::string whyNotAsItIs(const format::Tensor &tensor) const;
  /// What callers may do with a tensor where it is.
  TensorStatus statusOf(const format::Tensor &tensor) const;
  /// `fault` is what was found so far.
  bool bind(size_t tensor, std::byte *address, std::string fault, Error &error);
  /// Whether a tensor can be copied to or from the caller's memory of a GPU.
  bool checkOnDevice(size_t tensor, const void *memory, Error &error) const;
  bool point(uint32_t storage, std::byte *address, Error &error);
  const Rank &first() const { return ranks.front(); }
  bool isCut() const { return exchange || options.processes; }
  /// Among all ranks of the step, of one of this process.
  int64_t numberOf(size_t rank) const {
    return options.processes ? options.processes->rank() : int64_t(rank);
  }
  std::byte *ownAddress(const format::Slice &slice) const {
    return first().address(slice);
  }
  /// Where a rank has a stored tensor now.
  std::byte *addressOf(uint32_t storage, size_t rank) const {
    return rank == 0 ? uses[storage].address
                     : ranks[rank].address(index.storages[storage].place);
  }
  /// The first stored tensor of one that is used in place, its only one.
  uint32_t storageOf(size_t tensor) const {
    return index.tensors[tensor].held.storages[0];
  }
  bool isState(const format::Tensor &described) const {
    return described.isHidden() ||
           (described.argument >= 0 &&
            index.segmentOf(described).kind == format::SegmentKind::state);
  }
  bool isState(size_t tensor) const { return isState(index.tensors[tensor]); }
  /// The steps of a rank that are under way; null if there are none.
  StepPipeline *underWay(size_t rank) const {
    StepPipeline *pipeline = ranks[rank].pipeline.get();
    return pipeline && pipeline->underWay() > 0 ? pipeline : nullptr;
  }
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
  std::optional<size_t> findEntryPoint(std::string_view name,
                                       Error &error) const;
  /// How one rank runs an entry point.
  using RankRun = std::function<RunOutcome(CapturedStep &step, size_t rank)>;
  bool run(size_t entryPoint, int64_t count, unsigned threads,
           OperationObserver *observer, Error &error);
  bool run(size_t entryPoint, int64_t count, const RankRun &runOne,
           Error &error);
  /// Whether all that an entry point takes has a value.
  bool checkTaken(size_t entryPoint, Error &error) const;
  /// Says what has failed in an entry point's run.
  bool refuseRun(size_t entryPoint, const RunOutcome &outcome, Error &error);
  StepPipeline *pipeline(Error &error);
  bool start(Error &error);
  bool finish(Error &error);
  RunOutcome runRanks(size_t entryPoint, int64_t count, const RankRun &runOne);
  bool trace(size_t entryPoint, StepTrace &trace, Error &error);
  /// Where an operation comes from in the user's program, as the plan has it.
  std::string sourceOf(size_t entryPoint, size_t operation) const;
  bool initializeHidden(bool onlyMissing, Error &error);
  bool checkMemory(size_t entryPoint, int64_t count, Error &error);
};

bool Executor::Implementation::load(const format::Reader &reader,
                                    Error &error) {
  index = reader.index();
  if (!agreeOnFile(reader, error) || !checkRanks(error))
    return false;
  const int64_t ranksHere = options.processes ? 1 : index.ranks();
  for (int64_t rank = 0; rank < ranksHere; ++rank)
    if (!loadRank(reader, error))
      return false;
  // What was captured is flat; the nested form is not needed again.
  for (format::EntryPoint &entry : index.entryPoints)
    entry.program = {};
  collectNames();
  collectUses();
  if (ProfilerRanges::get().areWanted())
    nameRanges();
  return initializeHidden(/*onlyMissing=*/true, error);
}

/// What a user sees of the step, as one text.
static std::string signatureText(const format::Index &index) {
  std::string text;
  for (size_t i = 0; i < index.visibleTensors(); ++i) {
    const format::Tensor &tensor = index.tensors[i];
    text +=
        (i ? ", " : "") + tensor.name + " " + std::string(name(tensor.type));
    for (int64_t extent : tensor.shape)
      text += "x" + std::to_string(extent);
  }
  return text;
}

/// Processes that ran different steps would wait for each other in vain, or
/// train on each other's noise.
bool Executor::Implementation::agreeOnFile(const format::Reader &reader,
                                           Error &error) {
  return !options.processes ||
         options.processes->agree(
             {{"mesh", format::meshText(index)},
              {"signature", signatureText(index)},
              {"file", "of hash " + format::hashText(reader.indexHash())}},
             error);
}

/// Whether the caller has as many ranks as the step is cut for.
bool Executor::Implementation::checkRanks(Error &error) {
  const int64_t needed = index.ranks(), given = options.processes
                                                    ? options.processes->ranks()
                                                    : options.ranks;
  if (index.mesh.empty() && given > 1)
    return refuse(error, Failure::argument,
                  "the file is compiled for one rank, not for " +
                      std::to_string(given) +
                      "; compile the step with --mesh for several");
  if (!index.mesh.empty() && given != needed) {
    std::string number = std::to_string(needed);
    return refuse(error, Failure::argument,
                  "the file is compiled for " + number +
                      " ranks (--mesh=" + format::meshText(index) +
                      "), not for " + std::to_string(given) + "; run it with " +
                      (options.processes || !index.gpuModules.empty()
                           ? "mpirun -n "
                           : "--ranks=") +
                      number);
  }
  if (index.mesh.empty() || options.processes)
    return true;
  exchange = std::make_unique<ThreadRanks>(needed);
  options.threads = std::max<unsigned>(1, options.threads / unsigned(needed));
  return true;
}

/// Makes one more rank ready to run.
bool Executor::Implementation::loadRank(const format::Reader &reader,
                                        Error &error) {
  Rank &rank = ranks.emplace_back();
  Communicator *others = exchange ? &exchange->of(int64_t(ranks.size()) - 1)
                         : options.processes
                             ? &options.processes->communicator()
                             : nullptr;
  rank.device = newDevice(index, options, others, error);
  if (!rank.device || !rank.device->loadCallees(reader, error) ||
      !loadSegments(reader, rank, error))
    return false;
  for (const format::EntryPoint &entry : index.entryPoints) {
    auto &step =
        rank.steps.emplace_back(captureStep(entry, *rank.device, error));
    if (!step)
      return false;
    for (size_t slot = 0; slot < step->slices().size(); ++slot)
      step->setPointer(slot, rank.address(step->slices()[slot]));
    if (!step->update(error))
      return false;
  }
  return true;
}

/// "158.90 MiB (166618112 bytes)".
static std::string bytesText(uint64_t bytes) {
  return printBytes(int64_t(std::min<uint64_t>(bytes, INT64_MAX))) + " (" +
         std::to_string(bytes) + " bytes)";
}

bool Executor::Implementation::readConstants(const format::Reader &reader,
                                             const format::Section &section,
                                             Rank &rank, DeviceMemory &memory,
                                             Error &error) {
  std::span<std::byte> into = memory.bytes();
  std::vector<std::byte> staged(into.empty() ? section.bytes : 0);
  if (into.empty())
    into = staged;
  if (!reader.readSection(section, into, error.message))
    return refuse(error, Failure::file, error.message);
  return staged.empty() || rank.device->copyIn(memory.data(), staged.data(),
                                               staged.size(), error);
}

bool Executor::Implementation::loadSegments(const format::Reader &reader,
                                            Rank &rank, Error &error) {
  uint64_t planned = 0;
  for (const format::Segment &segment : index.segments)
    if (__builtin_add_overflow(planned, segment.bytes, &planned))
      planned = UINT64_MAX;
  // All ranks of this machine lie in its memory, unless each has a GPU; those
  // before in this process have theirs.
  const int64_t ranksHere = rank.device->isOfOneRank() ? 1
                            : options.processes ? options.processes->ranksHere()
                                                : index.ranks();
  if (__builtin_mul_overflow(planned, uint64_t(ranksHere) - (ranks.size() - 1),
                             &planned))
    planned = UINT64_MAX;
  AvailableMemory available = rank.device->availableMemory();
  std::string shortage =
      "the program needs " + bytesText(planned) + " of memory, " +
      (available.limit.empty()
           ? "which the system does not give"
           : bytesText(available.bytes) + " are available " + available.limit) +
      "; compile the step again with a --memory-budget, or with a smaller "
      "batch";
  if (planned > available.bytes)
    return refuse(error, Failure::memory, shortage);
  for (const format::Segment &segment : index.segments) {
    std::string message;
    auto &memory = rank.segments.emplace_back(rank.device->allocate(
        index.memorySpaces[segment.space], segment, options.prefault, message));
    if (!memory)
      return refuse(error, Failure::memory,
                    shortage + " (" + std::string(name(segment.kind)) + ": " +
                        message + ")");
    if (segment.kind != format::SegmentKind::constants || segment.bytes == 0)
      continue;
    const format::Section *section =
        reader.findSection(format::SectionKind::constants);
    if (!section)
      return refuse(error, Failure::file,
                    "the file has constants but no bytes for them");
    if (!readConstants(reader, *section, rank, *memory, error))
      return false;
    memory->makeReadOnly();
  }
  return true;
}

void Executor::Implementation::collectNames() {
  // The first to claim a name keeps it: arguments before results, canonical
  // names before others. Users do not see hidden state.
  auto claim = [&](const std::string &name, size_t tensor) {
    if (!name.empty())
      byName.try_emplace(name, tensor);
  };
  std::span tensors(index.tensors.data(), index.visibleTensors());
  for (bool arguments : {true, false}) {
    for (size_t i = 0; i < tensors.size(); ++i)
      if ((tensors[i].argument >= 0) == arguments)
        claim(tensors[i].name, i);
    // What other entry points call their tensors is theirs alone.
    for (size_t i = 0; i < tensors.size(); ++i)
      if ((tensors[i].argument >= 0) == arguments && tensors[i].isOfStep())
        for (const std::string &alias : tensors[i].aliases)
          claim(alias, i);
  }
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (tensors[i].argument >= 0)
      claim("arg" + std::to_string(tensors[i].argument), i);
    if (tensors[i].result >= 0)
      claim("result" + std::to_string(tensors[i].result), i);
  }
}

std::string
Executor::Implementation::whyNotAsItIs(const format::Tensor &tensor) const {
  if (isCut())
    return "it lies in the memory of " + std::to_string(index.ranks()) +
           " ranks";
  if (tensor.held.rule != format::HoldingRule::asItIs)
    return "it is held " + format::describe(index, tensor.held);
  if (!tensor.copies.empty())
    return "a copy of it, " + format::describe(index, tensor.copies[0]) +
           ", would not follow";
  return "";
}

TensorStatus
Executor::Implementation::statusOf(const format::Tensor &tensor) const {
  std::string why = whyNotAsItIs(tensor);
  if (!why.empty())
    return {why, why};
  uint32_t segment = index.storages[tensor.held.storages[0]].place.segment;
  if (first().segments[segment]->bytes().empty() && format::bytesOf(tensor) > 0)
    return {"it lies in memory of the device", ""};
  return {"", "it lies in memory of the process"};
}

void Executor::Implementation::collectUses() {
  for (const format::Tensor &tensor : index.tensors)
    tensors.push_back(statusOf(tensor));
  std::vector<const format::Tensor *> holders(index.storages.size());
  for (const format::Tensor &tensor : index.tensors) {
    for (uint32_t number : tensor.held.storages)
      holders[number] = &tensor;
    for (const format::Holding &copy : tensor.copies)
      for (uint32_t number : copy.storages)
        holders[number] = &tensor;
  }
  for (const format::EntryPoint &entry : index.entryPoints) {
    std::set<size_t> taken;
    for (uint32_t number : entry.arguments)
      if (holders[number])
        taken.insert(size_t(holders[number] - index.tensors.data()));
    takes.emplace_back(taken.begin(), taken.end());
  }
  const auto &storages = index.storages;
  uses.resize(storages.size());
  std::vector<uint32_t> order;
  for (uint32_t i = 0; i < storages.size(); ++i) {
    uses[i].address = ownAddress(storages[i].place);
    if (storages[i].place.bytes > 0)
      order.push_back(i);
  }
  auto place = [&](uint32_t storage) {
    const format::Slice &slice = storages[storage].place;
    return std::pair(slice.segment, slice.offset);
  };
  std::sort(order.begin(), order.end(),
            [&](uint32_t a, uint32_t b) { return place(a) < place(b); });
  for (size_t i = 1; i < order.size(); ++i)
    if (overlap(storages[order[i - 1]].place, storages[order[i]].place))
      for (size_t j : {i - 1, i})
        if (const auto *other = holders[order[j == i ? i - 1 : i]])
          uses[order[j]].whyNotBindable =
              "its memory is shared with tensor '" + other->name + "'";
  for (uint32_t number = 0; number < first().steps.size(); ++number) {
    const std::vector<format::Slice> &slices = first().steps[number]->slices();
    for (uint32_t slot = 0; slot < slices.size(); ++slot) {
      const format::Slice &slice = slices[slot];
      // The last that starts before the slice ends, and those before it.
      auto after =
          std::upper_bound(order.begin(), order.end(),
                           std::pair(slice.segment, slice.offset + slice.bytes),
                           [&](const auto &end, uint32_t storage) {
                             return end <= place(storage);
                           });
      while (after != order.begin()) {
        uint32_t storage = *--after;
        if (!overlap(storages[storage].place, slice))
          break;
        if (contains(storages[storage].place, slice))
          uses[storage].slots.push_back({number, slot});
        else
          uses[storage].whyNotBindable =
              "an instruction works on it and its neighbours at once";
      }
    }
  }
}

bool Executor::Implementation::point(uint32_t storage, std::byte *address,
                                     Error &error) {
  uses[storage].address = address;
  uint64_t start = index.storages[storage].place.offset;
  for (StorageUses::Slot use : uses[storage].slots) {
    CapturedStep &step = *first().steps[use.entryPoint];
    step.setPointer(use.slot,
                    address + (step.slices()[use.slot].offset - start));
  }
  return std::ranges::all_of(
      first().steps, [&](const auto &step) { return step->update(error); });
}

bool Executor::Implementation::fetch(size_t rank, const std::byte *from,
                                     std::span<std::byte> into,
                                     Error &error) const {
  if (const StepPipeline *steps = underWay(rank))
    if (const std::byte *found = steps->found(from)) {
      std::memcpy(into.data(), found, into.size());
      return true;
    }
  return ranks[rank].device->copyOut(into.data(), from, into.size(), error);
}

bool Executor::Implementation::store(const format::Tensor &tensor, size_t rank,
                                     std::byte *to,
                                     std::span<const std::byte> from,
                                     Error &error) const {
  if (StepPipeline *steps = underWay(rank); steps && !isState(tensor))
    return steps->give(to, from, error);
  return ranks[rank].device->copyIn(to, from.data(), from.size(), error);
}

template <typename Body>
bool Executor::Implementation::withStored(const format::Tensor &tensor,
                                          const format::Holding &holding,
                                          size_t rank, bool write, Body body,
                                          Error &error) const {
  std::vector<std::vector<std::byte>> staged;
  std::vector<std::span<std::byte>> stored;
  for (uint32_t number : holding.storages) {
    const format::Slice &place = index.storages[number].place;
    std::byte *address = addressOf(number, rank);
    std::span<std::byte> bytes(address, place.bytes);
    if (first().segments[place.segment]->bytes().empty() && place.bytes > 0) {
      bytes = staged.emplace_back(place.bytes);
      if (!write && !fetch(rank, address, bytes, error))
        return false;
    }
    stored.push_back(bytes);
  }
  body(stored);
  if (write)
    for (size_t i = 0; i < stored.size(); ++i)
      if (std::byte *address = addressOf(holding.storages[i], rank);
          stored[i].data() != address &&
          !store(tensor, rank, address, stored[i], error))
        return false;
  return true;
}

bool Executor::Implementation::readPart(const format::Tensor &part, size_t rank,
                                        std::span<std::byte> into,
                                        Error &error) const {
  const format::Holding &held = part.held;
  if (held.rule == format::HoldingRule::asItIs)
    return fetch(rank, addressOf(held.storages[0], rank), into, error);
  return withStored(
      part, held, rank, /*write=*/false,
      [&](format::StoredBytes stored) {
        format::readHeld(index, part, held, stored, into);
      },
      error);
}

bool Executor::Implementation::writePart(const format::Tensor &part,
                                         size_t rank,
                                         std::span<const std::byte> from,
                                         Error &error) const {
  auto writeInto = [&](const format::Holding &holding) {
    if (holding.rule == format::HoldingRule::asItIs)
      return store(part, rank, addressOf(holding.storages[0], rank), from,
                   error);
    return withStored(
        part, holding, rank, /*write=*/true,
        [&](format::StoredBytes stored) {
          format::writeHeld(index, part, holding, from, stored);
        },
        error);
  };
  return writeInto(part.held) && std::ranges::all_of(part.copies, writeInto);
}

static std::string differentValues(const format::Tensor &tensor, int64_t one,
                                   int64_t other) {
  return "ranks " + std::to_string(one) + " and " + std::to_string(other) +
         " have different values of '" + tensor.name +
         "', of which both have the same part";
}

/// Ranks that have the same part must have the same bytes: a step in which they
/// drift apart trains several models.
bool Executor::Implementation::readJoined(const format::Tensor &tensor,
                                          std::span<std::byte> into,
                                          Error &error) const {
  if (options.processes)
    return format::firstHolder(tensor, index.ranks() - 1) == 0
               ? readPart(tensor, 0, into, error) // all ranks have all of it
               : gather(tensor, 0, into, error) &&
                     options.processes->share(into, "'" + tensor.name + "'",
                                              error);
  const format::Tensor part = format::partOf(tensor);
  std::vector<std::byte> bytes(format::bytesOf(part));
  for (size_t rank = 0; rank < ranks.size(); ++rank) {
    if (!readPart(part, rank, bytes, error))
      return false;
    int64_t holder = format::firstHolder(tensor, int64_t(rank));
    if (holder == int64_t(rank))
      format::joinPart(tensor, holder, bytes, into);
    else if (!format::hasPart(tensor, holder, bytes, into))
      return refuse(error, Failure::run,
                    differentValues(tensor, holder, int64_t(rank)));
  }
  return true;
}

/// The first of the ranks that have a part sends it, one after the other, so
/// that one of them is in memory beside the tensor; the others send the hash.
bool Executor::Implementation::gather(const format::Tensor &tensor, int64_t to,
                                      std::span<std::byte> into,
                                      Error &error) const {
  Processes &all = *options.processes;
  Communicator &others = all.communicator();
  const int64_t own = all.rank();
  const format::Tensor part = format::partOf(tensor);
  std::vector<std::byte> bytes(format::bytesOf(part));
  if (!readPart(part, 0, bytes, error))
    return false;
  format::clearTail(tensor, own, bytes);
  std::vector<format::Hash> hashes(size_t(all.ranks()), format::hashOf(bytes));
  others.await("the parts of '" + tensor.name + "'");
  auto exchange = [&](std::span<const OutgoingMessage> outgoing,
                      std::span<const IncomingMessage> incoming) {
    return others.exchange(outgoing, incoming) ||
           refuse(error, Failure::run,
                  "cannot join '" + tensor.name + "': " + others.whyEnded());
  };
  const OutgoingMessage ownHash{
      to, std::as_bytes(std::span(&hashes[size_t(own)], 1))};
  const OutgoingMessage ownPart{to, bytes};
  if (own != to)
    return exchange({&ownHash, 1}, {}) &&
           (format::firstHolder(tensor, own) != own ||
            exchange({&ownPart, 1}, {}));
  std::vector<IncomingMessage> fromAll;
  for (int64_t rank = 0; rank < all.ranks(); ++rank)
    if (rank != own)
      fromAll.push_back(
          {rank, std::as_writable_bytes(std::span(&hashes[size_t(rank)], 1))});
  if (!exchange({}, fromAll))
    return false;
  format::joinPart(tensor, own, bytes, into);
  for (int64_t rank = 0; rank < all.ranks(); ++rank) {
    const int64_t holder = format::firstHolder(tensor, rank);
    if (!(hashes[size_t(rank)] == hashes[size_t(holder)]))
      return refuse(error, Failure::run, differentValues(tensor, holder, rank));
    const IncomingMessage itsPart{rank, bytes};
    if (rank == own || rank != holder)
      continue;
    if (!exchange({}, {&itsPart, 1}))
      return false;
    format::joinPart(tensor, rank, bytes, into);
  }
  return true;
}

bool Executor::Implementation::writeCut(const format::Tensor &tensor,
                                        std::span<const std::byte> from,
                                        Error &error) const {
  const format::Tensor part = format::partOf(tensor);
  std::vector<std::byte> bytes(format::bytesOf(part));
  for (size_t rank = 0; rank < ranks.size(); ++rank) {
    format::cutPart(tensor, numberOf(rank), from, bytes);
    if (!writePart(part, rank, bytes, error))
      return false;
  }
  return true;
}

std::optional<size_t>
Executor::Implementation::findEntryPoint(std::string_view name,
                                         Error &error) const {
  for (size_t i = 0; i < first().steps.size(); ++i)
    if (index.entryPoints[i].name == name)
      return i;
  std::string known;
  for (const format::EntryPoint &entry : index.entryPoints)
    if (entry.name != "init")
      known += (known.empty() ? "'" : ", '") + entry.name + "'";
  error = {Failure::argument, "the file has no entry point '" +
                                  std::string(name) + "'; it has " + known};
  return std::nullopt;
}

/// Every rank on a thread of its own, the first on the caller's.
RunOutcome Executor::Implementation::runRanks(size_t entryPoint, int64_t count,
                                              const RankRun &runOne) {
  if (!exchange)
    return runOne(*first().steps[entryPoint], 0);
  exchange->restart();
  std::vector<RunOutcome> outcomes(ranks.size());
  std::atomic<size_t> ended = 0; // 1 + the first rank that did not go on
  auto runToEnd = [&](size_t rank) {
    outcomes[rank] = runOne(*ranks[rank].steps[entryPoint], rank);
    if (outcomes[rank].wholeSteps == count)
      return;
    size_t none = 0;
    ended.compare_exchange_strong(none, rank + 1);
    exchange->stop();
  };
  std::vector<std::thread> others;
  std::string failure;
  try {
    for (size_t rank = 1; rank < ranks.size(); ++rank)
      others.emplace_back(runToEnd, rank);
  } catch (const std::system_error &thrown) {
    failure = std::string("the system gives no thread for every rank: ") +
              thrown.what();
    exchange->stop();
  }
  if (failure.empty())
    runToEnd(0);
  for (std::thread &other : others)
    other.join();
  if (!failure.empty())
    return {.wholeSteps = 0, .failedOperation = {}, .whatFailed = failure};
  return outcomes[ended ? ended - 1 : 0];
}

/// The observer watches the first rank.
bool Executor::Implementation::run(size_t entryPoint, int64_t count,
                                   unsigned threads,
                                   OperationObserver *observer, Error &error) {
  auto runOne = [&](CapturedStep &step, size_t rank) {
    return step.run(count, threads, rank == 0 ? observer : nullptr);
  };
  // A reference, since a copy of what it captures would be allocated.
  return run(entryPoint, count, std::ref(runOne), error);
}

bool Executor::Implementation::run(size_t entryPoint, int64_t count,
                                   const RankRun &runOne, Error &error) {
  if (count < 0)
    return refuse(error, Failure::argument,
                  "cannot run " + std::to_string(count) +
                      " steps, expected at least 0");
  if (underWay(0))
    return refuse(error, Failure::argument,
                  "steps are under way; finish them before others run");
  if (count > 0 && !checkTaken(entryPoint, error))
    return false;
  Processes *processes = options.processes.get();
  auto receivedSoFar = [&] {
    return processes->receivedBytes() + first().device->receivedBytes();
  };
  const uint64_t before = processes ? receivedSoFar() : 0;
  if (processes)
    processes->setStep(stepsRun + 1);
  RunOutcome outcome = runRanks(entryPoint, count, runOne);
  if (processes) {
    processes->setStep(0);
    receivedBytes += receivedSoFar() - before;
  }
  if (index.entryPoints[entryPoint].name == "step")
    stepsRun += outcome.wholeSteps;
  return outcome.wholeSteps == count || refuseRun(entryPoint, outcome, error);
}

bool Executor::Implementation::checkTaken(size_t entryPoint,
                                          Error &error) const {
  std::vector<size_t> missing;
  for (size_t tensor : takes[entryPoint])
    if (lacksValue(tensor))
      missing.push_back(tensor);
  return checkValues(missing, error);
}

bool Executor::Implementation::refuseRun(size_t entryPoint,
                                         const RunOutcome &outcome,
                                         Error &error) {
  const std::string &name = index.entryPoints[entryPoint].name;
  const bool isStep = name == "step";
  brokenStep = (isStep ? "step " + std::to_string(stepsRun + 1)
                       : "entry point '" + name + "'") +
               " failed";
  if (outcome.failedOperation) {
    InstructionTime call =
        first().steps[entryPoint]->describe(*outcome.failedOperation);
    brokenStep += " in " + call.name + ", " + call.what;
  }
  brokenStep += ": " + outcome.whatFailed;
  if (format::Index::isExtra(name))
    return refuse(error, Failure::run, std::exchange(brokenStep, ""));
  for (size_t i = 0; i < tensors.size(); ++i)
    if (isState(i))
      tensors[i].hasValue = false;
  return refuse(error, Failure::run,
                brokenStep + "; the state is only partly written");
}

/// Of a device that runs ahead; null with `error` filled in otherwise.
StepPipeline *Executor::Implementation::pipeline(Error &error) {
  Rank &rank = ranks.front();
  if (isCut() || !rank.device->runsAhead()) {
    error = {Failure::argument,
             "steps are started without waiting for them only on GPUs"};
    return nullptr;
  }
  if (!rank.pipeline)
    rank.pipeline = rank.device->newPipeline(error);
  return rank.pipeline.get();
}

bool Executor::Implementation::start(Error &error) {
  const auto step = findEntryPoint("step", error);
  StepPipeline *steps = step ? pipeline(error) : nullptr;
  if (!steps || !checkTaken(*step, error))
    return false;
  if (steps->underWay() == StepPipeline::mostUnderWay)
    return refuse(error, Failure::argument,
                  std::to_string(steps->underWay()) +
                      " steps are under way, which is the most; finish one "
                      "before the next is started");
  RunOutcome outcome;
  if (steps->start(*first().steps[*step], outcome))
    return true;
  // What was under way is lost as well.
  while (steps->underWay() > 0) {
    RunOutcome ignored;
    steps->finish(ignored);
  }
  return refuseRun(*step, outcome, error);
}

bool Executor::Implementation::finish(Error &error) {
  const auto step = findEntryPoint("step", error);
  StepPipeline *steps = step ? underWay(0) : nullptr;
  if (!steps)
    return refuse(error, Failure::argument, "no step is under way");
  RunOutcome outcome;
  const bool isDone = steps->finish(outcome);
  stepsRun += outcome.wholeSteps;
  return isDone || refuseRun(*step, outcome, error);
}

std::string Executor::Implementation::sourceOf(size_t entryPoint,
                                               size_t operation) const {
  const std::optional<format::Plan> &plan = index.entryPoints[entryPoint].plan;
  std::string source;
  if (!plan)
    return source;
  for (uint32_t number : first().steps[entryPoint]->instructionsOf(operation)) {
    if (number >= plan->operations.size())
      continue;
    const std::string &text = plan->texts[plan->operations[number].source];
    if (!text.empty() && source.find(text) == std::string::npos)
      source += (source.empty() ? "" : "; ") + text;
  }
  return source;
}

/// A kernel is called as the operation of the user's program that it does.
void Executor::Implementation::nameRanges() {
  for (size_t entry = 0; entry < first().steps.size(); ++entry) {
    CapturedStep &step = *first().steps[entry];
    std::vector<std::string> names;
    for (size_t i = 0; i < step.operationCount(); ++i) {
      const std::string source = sourceOf(entry, i);
      names.push_back(step.describe(i).name +
                      (source.empty() ? "" : ", " + source));
    }
    step.nameRanges(index.entryPoints[entry].name, std::move(names));
  }
}

bool Executor::Implementation::trace(size_t entryPoint, StepTrace &trace,
                                     Error &error) {
  const CapturedStep &step = *first().steps[entryPoint];
  for (size_t i = trace.operations.size(); i < step.operationCount(); ++i) {
    InstructionTime described = step.describe(i);
    trace.operations.push_back({.name = std::move(described.name),
                                .what = std::move(described.what),
                                .source = sourceOf(entryPoint, i),
                                .library = described.library});
  }
  trace.spans.clear();
  trace.leftOut = 0;
  std::vector<StepTrace> ofRanks(ranks.size());
  bool done = run(
      entryPoint, 1,
      [&](CapturedStep &each, size_t rank) {
        return each.trace(options.threads, ofRanks[rank]);
      },
      error);
  for (size_t rank = 0; rank < ofRanks.size(); ++rank) {
    for (TracedSpan span : ofRanks[rank].spans) {
      span.rank = uint32_t(rank);
      trace.spans.push_back(span);
    }
    trace.leftOut += ofRanks[rank].leftOut;
    trace.isOneByOne |= ofRanks[rank].isOneByOne;
  }
  return done;
}

bool Executor::Implementation::initializeHidden(bool onlyMissing,
                                                Error &error) {
  bool isWanted = false;
  for (size_t i = index.visibleTensors(); i < tensors.size(); ++i)
    isWanted |= !onlyMissing || !tensors[i].hasValue;
  if (!isWanted)
    return true;
  auto init = findEntryPoint("init", error);
  if (!init || !run(*init, 1, options.threads, nullptr, error))
    return false;
  for (size_t i = index.visibleTensors(); i < tensors.size(); ++i)
    markWritten(i, /*isWhole=*/true);
  return true;
}

std::vector<size_t>
Executor::Implementation::withoutValue(bool stateOnly) const {
  std::vector<size_t> missing;
  for (size_t i = 0; i < tensors.size(); ++i)
    if ((index.tensors[i].argument >= 0 || index.tensors[i].isHidden()) &&
        lacksValue(i) && (!stateOnly || isState(i)))
      missing.push_back(i);
  return missing;
}

bool Executor::Implementation::checkValues(const std::vector<size_t> &missing,
                                           Error &error) const {
  if (missing.empty())
    return true;
  std::string names;
  constexpr size_t most = 8;
  for (size_t i = 0; i < std::min(missing.size(), most); ++i)
    names += (i ? ", '" : "'") + index.tensors[missing[i]].name + "'";
  std::string message =
      std::to_string(missing.size()) +
      (missing.size() == 1 ? " argument has" : " arguments have") +
      " no value: " + names + (missing.size() > most ? ", ..." : "");
  message += "; load or write them first, or initialise the state with zeros";
  if (!brokenStep.empty())
    message += " (" + brokenStep + ")";
  return refuse(error, Failure::value, std::move(message));
}

void Executor::Implementation::markWritten(size_t tensor, bool isWhole) {
  tensors[tensor].hasValue = isWhole;
  if (!brokenStep.empty() && withoutValue(/*stateOnly=*/true).empty())
    brokenStep.clear();
}

bool Executor::Implementation::checkMemory(size_t entryPoint, int64_t count,
                                           Error &error) {
  const auto &segments = first().segments;
  for (size_t i = 0; i < segments.size(); ++i)
    if (segments[i]->bytes().empty() && index.segments[i].bytes > 0)
      return refuse(error, Failure::argument,
                    "memory is checked only where the process sees it, which "
                    "is on a CPU; the emulated CUDA driver checks every access "
                    "of a file for GPUs as it runs");
  for (size_t i = 0; i < tensors.size() && !isCut(); ++i)
    if (uses[storageOf(i)].address !=
        ownAddress(index.storages[storageOf(i)].place))
      return refuse(error, Failure::argument,
                    "cannot check memory while tensor '" +
                        index.tensors[i].name + "' lives in the caller's");
  // Ranks meet in collectives while each looks at memory of its own.
  std::vector<std::unique_ptr<MemoryCheck>> checks;
  for (const Rank &rank : ranks)
    checks.push_back(std::make_unique<MemoryCheck>(
        *rank.steps[entryPoint], index.segments, rank.segments));
  bool done = true;
  for (int64_t i = 0; done && i < count; ++i) {
    for (auto &check : checks)
      check->beginStep();
    done = run(
        entryPoint, 1,
        [&](CapturedStep &step, size_t rank) {
          return step.run(1, 1, checks[rank].get());
        },
        error);
    for (size_t rank = 0; rank < checks.size(); ++rank)
      if (auto breach = checks[rank]->breach()) {
        const CapturedStep &step = *ranks[rank].steps[entryPoint];
        InstructionTime operation = step.describe(breach->operation);
        error = {Failure::run,
                 "operation " + std::to_string(breach->operation) + ", " +
                     operation.name + " (" + operation.what + "), wrote byte " +
                     std::to_string(breach->byte) + " of the " +
                     std::string(name(index.segments[breach->segment].kind)) +
                     " of " +
                     std::to_string(index.segments[breach->segment].bytes) +
                     ", which it does not name"};
        done = false;
      }
  }
  for (auto &check : checks)
    check->finish();
  return done;
}

Executor::Executor(std::unique_ptr<Implementation> implementation)
    : implementation(std::move(implementation)) {}

Executor::~Executor() = default;

/// The processors that a process may use, of which others on the machine leave
/// it a share unless the launcher has given each its own.
static unsigned threadsOf(const Processes *processes) {
  const unsigned all = availableThreads();
  if (!processes || long(all) < sysconf(_SC_NPROCESSORS_ONLN))
    return all;
  return std::max<unsigned>(1, all / unsigned(processes->ranksHere()));
}

std::unique_ptr<Executor> Executor::loadFrom(const format::Reader &reader,
                                             const ExecutorOptions &options,
                                             Error &error) {
  auto implementation = std::make_unique<Implementation>();
  implementation->options = options;
  if (options.threads == 0)
    implementation->options.threads = threadsOf(options.processes.get());
  if (!options.gpu)
    implementation->options.gpu =
        options.processes ? unsigned(options.processes->rankHere()) : 0;
  if (!implementation->load(reader, error))
    return nullptr;
  return std::unique_ptr<Executor>(new Executor(std::move(implementation)));
}

std::unique_ptr<Executor> Executor::load(const std::string &path,
                                         const ExecutorOptions &options,
                                         Error &error) {
  std::string message;
  auto reader = format::Reader::open(path, message);
  if (!reader)
    return refuse(error, Failure::file, message);
  auto executor = loadFrom(*reader, options, error);
  if (!executor)
    error.message = "'" + path + "': " + error.message;
  return executor;
}

std::unique_ptr<Executor> Executor::loadBytes(std::vector<std::byte> bytes,
                                              const ExecutorOptions &options,
                                              Error &error) {
  std::string message;
  auto reader = format::Reader::fromBytes(std::move(bytes), message);
  if (!reader)
    return refuse(error, Failure::file, message);
  return loadFrom(*reader, options, error);
}

const format::Index &Executor::index() const { return implementation->index; }

unsigned Executor::threads() const { return implementation->options.threads; }

Processes *Executor::processes() const {
  return implementation->options.processes.get();
}

uint64_t Executor::receivedBytes() const {
  return implementation->receivedBytes;
}

std::string Executor::whyNotBinary() const {
  return implementation->first().device->whyNotBinary();
}

bool Executor::isEmulated() const {
  return implementation->first().device->isEmulated();
}

AlgorithmChoices Executor::algorithmChoices() const {
  return implementation->first().device->algorithmChoices();
}

std::optional<size_t> Executor::findTensor(std::string_view name) const {
  auto found = implementation->byName.find(name);
  return found == implementation->byName.end() ? std::nullopt
                                               : std::optional(found->second);
}

std::optional<size_t> Executor::findArgument(int32_t argument) const {
  const auto &tensors = index().tensors;
  for (size_t i = 0; i < tensors.size(); ++i)
    if (argument >= 0 && tensors[i].argument == argument)
      return i;
  return std::nullopt;
}

std::optional<size_t> Executor::findResult(int32_t result) const {
  const auto &tensors = index().tensors;
  for (size_t i = 0; i < tensors.size(); ++i)
    if (result >= 0 && tensors[i].result == result)
      return i;
  return std::nullopt;
}

bool Executor::isState(size_t tensor) const {
  return implementation->isState(tensor);
}

bool Executor::isBatch(size_t tensor, std::string_view entryPoint) const {
  const format::Tensor &described = index().tensors[tensor];
  if (entryPoint == "step")
    return described.argument >= 0 && !isState(tensor);
  return described.entryPoint == entryPoint &&
         index().segmentOf(described).kind == format::SegmentKind::batch;
}

std::vector<size_t> Executor::resultsOf(std::string_view entryPoint) const {
  std::vector<size_t> results;
  const auto &tensors = index().tensors;
  for (size_t i = 0; i < tensors.size(); ++i)
    if (entryPoint == "step"
            ? tensors[i].result >= 0 && !isState(i)
            : tensors[i].entryPoint == entryPoint && !isBatch(i, entryPoint))
      results.push_back(i);
  return results;
}

const std::string &Executor::whyNotInPlace(size_t tensor) const {
  return implementation->tensors[tensor].whyNotInPlace;
}

std::span<std::byte> Executor::memory(size_t tensor) const {
  if (!whyNotInPlace(tensor).empty())
    return {};
  uint32_t storage = implementation->storageOf(tensor);
  return {implementation->uses[storage].address,
          index().storages[storage].place.bytes};
}

bool Executor::read(size_t tensor, std::span<std::byte> into,
                    Error &error) const {
  const format::Tensor &described = index().tensors[tensor];
  return implementation->isCut()
             ? implementation->readJoined(described, into, error)
             : implementation->readPart(described, 0, into, error);
}

bool Executor::write(size_t tensor, std::span<const std::byte> from,
                     Error &error) {
  const format::Tensor &described = index().tensors[tensor];
  bool done = implementation->isCut()
                  ? implementation->writeCut(described, from, error)
                  : implementation->writePart(described, 0, from, error);
  markWritten(tensor, /*isWhole=*/done);
  return done;
}

bool Executor::gather(size_t tensor, int64_t to, std::span<std::byte> into,
                      Error &error) const {
  return implementation->gather(index().tensors[tensor], to, into, error);
}

bool Executor::writePart(size_t tensor, std::span<const std::byte> part,
                         Error &error) {
  bool done = implementation->writePart(format::partOf(index().tensors[tensor]),
                                        0, part, error);
  markWritten(tensor, /*isWhole=*/done);
  return done;
}

std::vector<size_t> Executor::withoutValue() const {
  return implementation->withoutValue(/*stateOnly=*/false);
}

void Executor::markWritten(size_t tensor, bool isWhole) {
  implementation->markWritten(tensor, isWhole);
}

std::optional<std::vector<Overflow>> Executor::overflows(Error &error) const {
  std::vector<Overflow> found;
  const std::vector<format::Tensor> &tensors = index().tensors;
  for (size_t i = 0; i < tensors.size(); ++i) {
    Overflow overflow{tensors[i].countsOverflowOf()};
    if (overflow.tensor.empty())
      continue;
    if (!read(i, std::as_writable_bytes(std::span(&overflow.elements, 1)),
              error))
      return std::nullopt;
    found.push_back(overflow);
  }
  return found;
}

bool Executor::initializeHidden(bool onlyMissing, Error &error) {
  return implementation->initializeHidden(onlyMissing, error);
}

bool Executor::initializeZeros(Error &error) {
  for (size_t i = 0; i < index().visibleTensors(); ++i) {
    if (!isState(i))
      continue;
    std::ranges::fill(memory(i), std::byte{0});
    if (whyNotInPlace(i).empty())
      markWritten(i);
    else if (!write(i,
                    std::vector<std::byte>(format::bytesOf(index().tensors[i])),
                    error)) // it has no memory()
      return false;
  }
  return initializeHidden(/*onlyMissing=*/false, error);
}

bool Executor::checkState(Error &error) const {
  return implementation->checkValues(
      implementation->withoutValue(/*stateOnly=*/true), error);
}

bool Executor::Implementation::bind(size_t tensor, std::byte *memory,
                                    std::string fault, Error &error) {
  uint32_t storage = storageOf(tensor);
  const StorageUses &used = uses[storage];
  std::byte *address =
      memory ? memory : ownAddress(index.storages[storage].place);
  if (fault.empty())
    fault = used.whyNotBindable;
  if (fault.empty() && reinterpret_cast<uintptr_t>(address) % 64 != 0)
    fault = "the memory is not at a multiple of 64";
  if (underWay(0))
    fault = "steps are under way";
  if (!fault.empty())
    return refuse(error, Failure::argument,
                  "cannot bind tensor '" + index.tensors[tensor].name +
                      "': " + fault + "; copy it instead");
  bool isMoved = address != used.address;
  if (isMoved && !point(storage, address, error))
    return false;
  if (isMoved || memory)
    markWritten(tensor, /*isWhole=*/memory != nullptr);
  return true;
}

bool Executor::bind(size_t tensor, void *memory, Error &error) {
  // Whoever goes back says nothing of whose memory it was.
  const bool isReturn = !memory && whyNotOnDevice(tensor).empty();
  return implementation->bind(tensor, static_cast<std::byte *>(memory),
                              isReturn ? "" : whyNotInPlace(tensor), error);
}

const std::string &Executor::whyNotOnDevice(size_t tensor) const {
  return implementation->tensors[tensor].whyNotOnDevice;
}

void *Executor::deviceMemory(size_t tensor) const {
  return whyNotOnDevice(tensor).empty()
             ? implementation->uses[implementation->storageOf(tensor)].address
             : nullptr;
}

bool Executor::bindDevice(size_t tensor, void *memory, Error &error) {
  std::string fault = whyNotOnDevice(tensor);
  if (fault.empty() && memory)
    fault = implementation->first().device->whyNotMemory(
        memory, format::bytesOf(index().tensors[tensor]));
  return implementation->bind(tensor, static_cast<std::byte *>(memory), fault,
                              error);
}

bool Executor::Implementation::checkOnDevice(size_t tensor, const void *memory,
                                             Error &error) const {
  const format::Tensor &described = index.tensors[tensor];
  std::string fault = tensors[tensor].whyNotOnDevice;
  if (fault.empty())
    fault = first().device->whyNotMemory(memory, format::bytesOf(described));
  return fault.empty() ||
         refuse(error, Failure::argument,
                "cannot copy tensor '" + described.name + "' within the GPU: " +
                    fault + "; copy it from or to memory of the process");
}

bool Executor::writeFromDevice(size_t tensor, const void *from, Error &error) {
  if (!implementation->checkOnDevice(tensor, from, error))
    return false;
  bool done = implementation->first().device->copyWithin(
      deviceMemory(tensor), from, format::bytesOf(index().tensors[tensor]),
      error);
  markWritten(tensor, /*isWhole=*/done);
  return done;
}

bool Executor::readToDevice(size_t tensor, void *to, Error &error) const {
  return implementation->checkOnDevice(tensor, to, error) &&
         implementation->first().device->copyWithin(
             to, deviceMemory(tensor), format::bytesOf(index().tensors[tensor]),
             error);
}

std::optional<CudaPlace> Executor::cudaPlace() const {
  void *stream = implementation->first().device->stream();
  return stream ? std::optional(CudaPlace{*implementation->options.gpu, stream})
                : std::nullopt;
}

bool Executor::run(int64_t steps, Error &error, std::string_view entryPoint) {
  auto found = implementation->findEntryPoint(entryPoint, error);
  return found &&
         implementation->run(*found, steps, implementation->options.threads,
                             nullptr, error);
}

bool Executor::runsAhead() const {
  return !implementation->isCut() &&
         implementation->first().device->runsAhead();
}

bool Executor::watch(const std::vector<size_t> &results, Error &error) {
  StepPipeline *steps = implementation->pipeline(error);
  if (!steps)
    return false;
  for (size_t tensor : results)
    for (uint32_t storage : index().tensors[tensor].held.storages)
      if (!steps->watch(implementation->addressOf(storage, 0),
                        index().storages[storage].place.bytes, error))
        return false;
  return true;
}

bool Executor::start(Error &error) { return implementation->start(error); }

bool Executor::finish(Error &error) { return implementation->finish(error); }

int64_t Executor::stepsUnderWay() const {
  const StepPipeline *steps = implementation->underWay(0);
  return steps ? steps->underWay() : 0;
}

bool Executor::profile(int64_t steps, std::vector<InstructionTime> &times,
                       Error &error, std::string_view entryPoint) {
  auto found = implementation->findEntryPoint(entryPoint, error);
  if (!found)
    return false;
  const CapturedStep &step = *implementation->first().steps[*found];
  times.clear();
  for (size_t i = 0; i < step.operationCount(); ++i)
    times.push_back(step.describe(i));
  Timer timer(times);
  bool done = implementation->run(
      *found, steps, implementation->options.threads, &timer, error);
  std::erase_if(times,
                [](const InstructionTime &time) { return time.name.empty(); });
  return done;
}

bool Executor::trace(StepTrace &trace, Error &error,
                     std::string_view entryPoint) {
  auto found = implementation->findEntryPoint(entryPoint, error);
  return found && implementation->trace(*found, trace, error);
}

bool Executor::checkMemory(int64_t steps, Error &error,
                           std::string_view entryPoint) {
  auto found = implementation->findEntryPoint(entryPoint, error);
  return found && implementation->checkMemory(*found, steps, error);
}

std::span<std::byte> Executor::segmentMemory(size_t segment) const {
  return implementation->first().segments[segment]->bytes();
}
