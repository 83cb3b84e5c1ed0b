//===- TensorPlaces.cpp - Where tensors lie, and whose memory that is -----===//
//
// Where tensors lie, in which memory callers may use them where they are, and
// how they are moved to the caller's.
//
//===----------------------------------------------------------------------===//

#include "ExecutorImplementation.h"

#include <algorithm>
#include <set>

using namespace tenon;
using namespace tenon::runtime;

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

std::span<std::byte> Executor::segmentMemory(size_t segment) const {
  return implementation->first().segments[segment]->bytes();
}
