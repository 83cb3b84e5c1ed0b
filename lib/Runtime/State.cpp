//===- State.cpp - State and batches from and to safetensors files -------===//
//
// Matching tensors of a program with tensors of a file.
//
//===----------------------------------------------------------------------===//

#include "tenon/Runtime/State.h"

#include "tenon/Format/Parts.h"
#include "tenon/Format/Shards.h"
#include "tenon/Runtime/Processes.h"

#include <algorithm>
#include <numeric>
#include <random>

using namespace tenon;
using namespace tenon::runtime;

static std::string shapeText(ElementType type,
                             const std::vector<int64_t> &shape) {
  std::string text(name(type));
  text += '[';
  for (size_t i = 0; i < shape.size(); ++i)
    text += (i ? ", " : "") + std::to_string(shape[i]);
  return text + ']';
}

const format::StoredTensor *
tenon::runtime::findStored(const format::TensorFile &file,
                           const format::Tensor &tensor) {
  if (const auto *stored = file.find(tensor.name))
    return stored;
  for (const std::string &alias : tensor.aliases)
    if (const auto *stored = file.find(alias))
      return stored;
  if (tensor.argument >= 0)
    if (const auto *stored = file.find("arg" + std::to_string(tensor.argument)))
      return stored;
  if (tensor.result >= 0)
    return file.find("result" + std::to_string(tensor.result));
  return nullptr;
}

std::string tenon::runtime::whyNotMatching(const format::Tensor &tensor,
                                           const format::StoredTensor &stored) {
  if (stored.type == tensor.type && stored.shape == tensor.shape)
    return "";
  std::string found =
      stored.type ? shapeText(*stored.type, stored.shape) : stored.typeName;
  return "'" + tensor.name + "' is " + found + " in the file, expected " +
         shapeText(tensor.type, tensor.shape);
}

/// Reads what this process's rank has of a tensor, and no more.
static bool readOwnPart(Executor &executor, size_t tensor,
                        const format::TensorFile &file,
                        const format::StoredTensor &stored, uint64_t from,
                        std::string &error) {
  const format::Tensor &described = executor.index().tensors[tensor];
  std::vector<std::byte> part(format::bytesOf(format::partOf(described)));
  auto read = [&](uint64_t offset, std::span<std::byte> into) {
    return file.read(stored, from + offset, into, error);
  };
  Error why;
  return format::readPart(described, executor.processes()->rank(), read,
                          part) &&
         (executor.writePart(tensor, part, why) || refuse(error, why.message));
}

bool tenon::runtime::readTensor(Executor &executor, size_t tensor,
                                const format::TensorFile &file,
                                const format::StoredTensor &stored,
                                uint64_t from, std::string &error,
                                const format::Hash *hash) {
  executor.markWritten(tensor, /*isWhole=*/false);
  // All of it has to be read to have its hash.
  if (executor.processes() && !hash)
    return readOwnPart(executor, tensor, file, stored, from, error);
  bool isInPlace = executor.whyNotInPlace(tensor).empty();
  std::vector<std::byte> staged;
  if (!isInPlace)
    staged.resize(format::bytesOf(executor.index().tensors[tensor]));
  std::span<std::byte> into = isInPlace ? executor.memory(tensor) : staged;
  if (!file.read(stored, from, into, error))
    return false;
  if (hash && format::hashOf(into) != *hash)
    return refuse(error, "tensor '" + stored.name +
                             "' is damaged: its bytes do not have the hash "
                             "that was recorded of them");
  if (isInPlace) {
    executor.markWritten(tensor);
    return true;
  }
  Error why;
  return executor.write(tensor, staged, why) || refuse(error, why.message);
}

format::TensorBytes tenon::runtime::bytesOf(const Executor &executor,
                                            size_t tensor, std::string name) {
  const format::Tensor &described = executor.index().tensors[tensor];
  format::TensorBytes bytes{std::move(name), described.type, described.shape,
                            executor.memory(tensor), nullptr};
  if (!executor.whyNotInPlace(tensor).empty())
    bytes.make = [&executor, tensor](std::span<std::byte> into,
                                     std::string &error) {
      Error why;
      return (executor.processes() ? executor.gather(tensor, 0, into, why)
                                   : executor.read(tensor, into, why)) ||
             refuse(error, why.message);
    };
  return bytes;
}

namespace {

struct Match {
  size_t tensor;
  const format::StoredTensor *stored;
};

/// Reads matched tensors; all faults were found before but those of the disk,
/// after which none of them has a value.
bool readAll(Executor &executor, const format::TensorFile &file,
             const std::vector<Match> &matches, const Hashes *hashes,
             Error &error) {
  auto hashOf = [&](const Match &match) -> const format::Hash * {
    // Several processes share this work: each takes some of the tensors.
    const Processes *processes = executor.processes();
    if (!hashes || (processes && int64_t(match.tensor) % processes->ranks() !=
                                     processes->rank()))
      return nullptr;
    auto found = hashes->find(match.stored->name);
    return found == hashes->end() ? nullptr : &found->second;
  };
  for (const Match &match : matches)
    executor.markWritten(match.tensor, /*isWhole=*/false);
  for (const Match &match : matches)
    if (!readTensor(executor, match.tensor, file, *match.stored, 0,
                    error.message, hashOf(match))) {
      // One of those before may have a value, all of them together have none.
      for (const Match &other : matches)
        executor.markWritten(other.tensor, /*isWhole=*/false);
      error.kind = Failure::file;
      return false;
    }
  return true;
}

/// Which arguments a file is asked for.
struct Wanted {
  bool state, batch;
  bool all;                        // a missing one is a fault
  std::string entryPoint = "step"; // whose batch it is
};

bool matchAndRead(Executor &executor, const std::string &path, Wanted wanted,
                  Error &error, const Hashes *hashes = nullptr) {
  std::string message;
  auto file = format::openTensors(path, message);
  if (!file)
    return refuse(error, Failure::file, message);
  std::vector<Match> matches;
  std::string faults;
  int64_t count = 0;
  const auto &tensors = executor.index().tensors;
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (!(wanted.state && executor.isState(i)) &&
        !(wanted.batch && executor.isBatch(i, wanted.entryPoint)))
      continue;
    const format::StoredTensor *stored = findStored(*file, tensors[i]);
    std::string fault;
    if (stored)
      fault = whyNotMatching(tensors[i], *stored);
    if (stored && fault.empty() && hashes && !hashes->contains(stored->name))
      fault = "no hash was recorded of '" + stored->name + "'";
    if (tensors[i].isHidden()) {
      // Of another set of stored tensors, if it is there at all.
      stored = fault.empty() ? stored : nullptr;
      fault.clear();
    } else if (!stored && wanted.all)
      fault = "'" + tensors[i].name + "' is missing, expected " +
              shapeText(tensors[i].type, tensors[i].shape);
    if (!fault.empty()) {
      faults += "\n  " + fault;
      ++count;
    } else if (stored) {
      matches.push_back({i, stored});
    }
  }
  if (count > 0) {
    error = {
        Failure::argument,
        "'" + path + "' does not fit the program, " + std::to_string(count) +
            (count == 1 ? " tensor differs:" : " tensors differ:") + faults};
    return false;
  }
  return (!wanted.state ||
          executor.initializeHidden(/*onlyMissing=*/!wanted.all, error)) &&
         readAll(executor, *file, matches, hashes, error);
}

/// Which of `count` shards each tensor goes to, so that they are about as long.
std::vector<int64_t> chooseShards(std::span<const format::TensorBytes> tensors,
                                  int64_t count) {
  std::vector<uint64_t> bytes;
  for (const format::TensorBytes &tensor : tensors)
    bytes.push_back(format::bytesOf(tensor.type, tensor.shape));
  std::vector<size_t> order(tensors.size());
  std::iota(order.begin(), order.end(), size_t(0));
  std::ranges::sort(order, {}, [&](size_t i) {
    return std::pair(UINT64_MAX - bytes[i], i); // the longest first
  });
  std::vector<uint64_t> held(size_t(count), 0);
  std::vector<int64_t> shards(tensors.size());
  for (size_t i : order) {
    auto least = std::ranges::min_element(held);
    *least += bytes[i];
    shards[i] = least - held.begin();
  }
  return shards;
}

/// Each process joins and writes the tensors of one shard. All of them join
/// tensors in one order, which is that of the files, so that one writes while
/// others join.
bool saveShards(const Executor &executor, const std::string &path,
                const std::vector<std::pair<std::string, size_t>> &named,
                Error &error) {
  Processes *processes = executor.processes();
  const int64_t count = processes ? processes->ranks() : 1,
                own = processes ? processes->rank() : 0;
  auto id = int64_t(std::random_device()());
  if (processes && !processes->decide(id, "the names of the shards", error))
    return false;
  const format::ShardNames names(path, uint32_t(id), count);
  std::vector<format::TensorBytes> tensors, ofShard;
  for (const auto &[name, i] : named)
    tensors.push_back(bytesOf(executor, i, name));
  const std::vector<int64_t> shards = chooseShards(tensors, count);
  const std::vector<size_t> order = format::writingOrder(tensors);
  size_t next = 0; // in the order
  // Sends what others join, up to tensor `until`, which is joined here; all
  // that are left if there is none.
  auto joinUntil = [&](size_t until, std::span<std::byte> into, Error &why) {
    for (; next < order.size(); ++next) {
      const size_t i = order[next];
      if (!executor.gather(named[i].second, shards[i],
                           i == until ? into : std::span<std::byte>(), why))
        return false;
      if (i == until) {
        ++next;
        return true;
      }
    }
    return true;
  };
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (shards[i] != own)
      continue;
    if (processes)
      tensors[i].make = [&, i](std::span<std::byte> into,
                               std::string &message) {
        Error why;
        return joinUntil(i, into, why) || refuse(message, why.message);
      };
    ofShard.push_back(tensors[i]);
  }
  error.kind = Failure::file;
  bool areAll = true; // or one has given up
  if (!format::writeSafetensors(names.pathOf(own), ofShard,
                                {{"format", "tenon"}}, error.message) ||
      (processes &&
       (!joinUntil(order.size(), {}, error) ||
        !processes->ask(true, areAll, "the shards of '" + path + "'", error))))
    return false;
  std::map<std::string, int64_t> holders;
  uint64_t bytes = 0;
  for (size_t i = 0; i < tensors.size(); ++i) {
    holders[tensors[i].name] = shards[i];
    bytes += format::bytesOf(tensors[i].type, tensors[i].shape);
  }
  return own != 0 || names.writeIndex(holders, bytes, error.message);
}

} // namespace

bool tenon::runtime::saveTensors(
    const Executor &executor, const std::string &path,
    const std::vector<std::pair<std::string, size_t>> &named, Error &error,
    Hashes *hashes) {
  std::vector<format::TensorBytes> tensors;
  for (const auto &[name, i] : named)
    tensors.push_back(bytesOf(executor, i, name));
  Processes *processes = executor.processes();
  if (format::isShardIndex(path)) {
    if (!saveShards(executor, path, named, error))
      return false;
  } else if (processes && !processes->isFirst()) {
    for (size_t i : format::writingOrder(tensors))
      if (!executor.gather(named[i].second, 0, {}, error))
        return false;
  } else {
    error.kind = Failure::file;
    if (!format::writeSafetensors(path, tensors, {{"format", "tenon"}},
                                  error.message, hashes))
      return false;
  }
  int64_t isSaved = 1; // or the first has given up
  return !processes ||
         processes->decide(isSaved, "the saving of '" + path + "'", error);
}

bool tenon::runtime::loadState(Executor &executor, const std::string &path,
                               Error &error, const Hashes *hashes) {
  return matchAndRead(executor, path,
                      {.state = true, .batch = false, .all = true}, error,
                      hashes);
}

bool tenon::runtime::loadBatch(Executor &executor, const std::string &path,
                               Error &error) {
  return matchAndRead(executor, path,
                      {.state = false, .batch = true, .all = true}, error);
}

bool tenon::runtime::loadArguments(Executor &executor, const std::string &path,
                                   Error &error) {
  return matchAndRead(executor, path,
                      {.state = true, .batch = true, .all = false}, error);
}

bool tenon::runtime::loadInputs(Executor &executor, const std::string &path,
                                const std::string &entryPoint, Error &error) {
  return matchAndRead(
      executor, path,
      {.state = false, .batch = true, .all = true, .entryPoint = entryPoint},
      error);
}

bool tenon::runtime::saveState(const Executor &executor,
                               const std::string &path, Error &error,
                               Hashes *hashes) {
  if (!executor.checkState(error)) {
    error.message = "there is no state to save: " + error.message;
    return false;
  }
  std::vector<std::pair<std::string, size_t>> named;
  for (size_t i = 0; i < executor.index().tensors.size(); ++i)
    if (executor.isState(i))
      named.emplace_back(executor.index().tensors[i].name, i);
  return saveTensors(executor, path, named, error, hashes);
}

bool tenon::runtime::saveResults(const Executor &executor,
                                 const std::string &path, Error &error) {
  std::vector<std::pair<std::string, size_t>> named;
  for (size_t i = 0; i < executor.index().tensors.size(); ++i)
    if (int32_t result = executor.index().tensors[i].result;
        result >= 0 && !executor.isState(i))
      named.emplace_back("result" + std::to_string(result), i);
  return saveTensors(executor, path, named, error);
}

bool tenon::runtime::saveResultsOf(const Executor &executor,
                                   const std::string &path,
                                   const std::string &entryPoint,
                                   Error &error) {
  std::vector<std::pair<std::string, size_t>> named;
  for (size_t tensor : executor.resultsOf(entryPoint))
    named.emplace_back(executor.index().tensors[tensor].name, tensor);
  return saveTensors(executor, path, named, error);
}
