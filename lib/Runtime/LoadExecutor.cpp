//===- LoadExecutor.cpp - Makes a file ready to run -----------------------===//
//
// Makes a file ready to run: ranks agree on it, the device makes callees ready,
// allocates segments and captures the entry points, constants are read,
// pointers resolved, and names are looked up.
//
//===----------------------------------------------------------------------===//

#include "ExecutorImplementation.h"
#include "ProfilerRanges.h"
#include "Team.h"

#include "tenon/Format/Mesh.h"
#include "tenon/Format/Reader.h"
#include "tenon/Support/Bytes.h"

#include <unistd.h>

using namespace tenon;
using namespace tenon::runtime;

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
             {{"mesh", format::meshText(index.mesh)},
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
                      " ranks (--mesh=" + format::meshText(index.mesh) +
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
    if (rank.device->isItsOwn(index.memorySpaces[segment.space]) &&
        __builtin_add_overflow(planned, segment.bytes, &planned))
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
