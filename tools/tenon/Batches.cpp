//===- Batches.cpp - Which rows make which batch --------------------------===//
//
// See Batches.h.
//
//===----------------------------------------------------------------------===//

#include "tools/tenon/Batches.h"

#include "tools/tenon/Shuffle.h"

using namespace tenon;
using namespace tenon::tool;

std::unique_ptr<Batches> Batches::open(const BatchOptions &options,
                                       const runtime::Executor &executor,
                                       std::string &error) {
  auto batches = std::make_unique<Batches>();
  batches->parts = DataParts::open(options, executor, error);
  if (!batches->parts)
    return nullptr;
  batches->seed = options.shuffle;
  for (const DataParts::Field &field : batches->parts->fields())
    batches->tensors.push_back(field.tensor);
  batches->batchesPerEpoch = batches->rows() / batches->rowsPerBatch();
  if (options.refusesRemainder.value_or(false) && batches->leftOut() > 0)
    return refuse(error, std::to_string(batches->rows()) + " " +
                             batches->rowWord() +
                             " are no whole number of batches of " +
                             std::to_string(batches->rowsPerBatch()) + ", " +
                             std::to_string(batches->leftOut()) +
                             " remain; --remainder=drop leaves them out");
  return batches;
}

bool Batches::read(size_t field, int64_t number, std::span<std::byte> into,
                   std::string &error) const {
  int64_t count = rowsPerBatch(), first = number % batchesPerEpoch * count;
  if (!seed)
    return parts->read(field, first, count, into, error);
  Shuffle order(uint64_t(rows()), *seed, uint64_t(number / batchesPerEpoch));
  uint64_t rowBytes = parts->fields()[field].rowBytes;
  for (int64_t i = 0; i < count; ++i)
    if (!parts->read(field, int64_t(order[uint64_t(first + i)]), 1,
                     into.subspan(uint64_t(i) * rowBytes, rowBytes), error))
      return false;
  return true;
}

bool Batches::load(runtime::Executor &executor, int64_t number,
                   std::string &error) const {
  for (size_t i = 0; i < tensors.size(); ++i) {
    std::vector<std::byte> bytes(
        format::bytesOf(executor.index().tensors[tensors[i]]));
    runtime::Error why;
    if (!read(i, number, bytes, error))
      return false;
    if (!executor.write(tensors[i], bytes, why))
      return refuse(error, why.message);
  }
  return true;
}

std::map<std::string, std::string> Batches::description() const {
  return {{"rows", std::to_string(rows()) + " " + rowWord()},
          {"rows per batch", std::to_string(rowsPerBatch())},
          {"order", seed ? "shuffled by seed " + std::to_string(*seed)
                         : "as in the files"},
          {"layout", parts->layout()}};
}
