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

bool Batches::read(size_t field, int64_t number, uint64_t from,
                   std::span<std::byte> into, std::string &error) const {
  int64_t first = number % batchesPerEpoch * rowsPerBatch();
  if (!seed)
    return parts->read(field, first, from, into, error);
  Shuffle order(uint64_t(rows()), *seed, uint64_t(number / batchesPerEpoch));
  const uint64_t rowBytes = parts->fields()[field].rowBytes;
  while (!into.empty()) {
    auto row = int64_t(order[uint64_t(first) + from / rowBytes]);
    uint64_t inRow = from % rowBytes,
             bytes = std::min<uint64_t>(into.size(), rowBytes - inRow);
    if (!parts->read(field, row, inRow, into.first(bytes), error))
      return false;
    into = into.subspan(bytes);
    from += bytes;
  }
  return true;
}

bool Batches::load(runtime::Executor &executor, int64_t number,
                   std::string &error) const {
  for (size_t i = 0; i < tensors.size(); ++i) {
    std::vector<std::byte> bytes(
        format::bytesOf(executor.index().tensors[tensors[i]]));
    runtime::Error why;
    if (!read(i, number, 0, bytes, error))
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
