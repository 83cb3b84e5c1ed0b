//===- TensorValues.cpp - Reads and writes values of tensors --------------===//
//
// Reads and writes values of tensors: parts of ranks are joined and cut, what
// is held in another way is put together. Also which tensors have a value yet.
//
//===----------------------------------------------------------------------===//

#include "ExecutorImplementation.h"

#include "tenon/Format/Hash.h"

#include <algorithm>
#include <cstring>

using namespace tenon;
using namespace tenon::runtime;

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
