//===- Batches.h - Which rows make which batch ----------------------------===//
//
// A run's batches, numbered from 0 over all epochs: the rows of the data in
// order, or in one that follows from a seed and the epoch. What a batch holds
// follows from its number alone, so a run goes on with any of them.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_TOOLS_TENON_BATCHES_H
#define TENON_TOOLS_TENON_BATCHES_H

#include "tools/tenon/DataParts.h"

namespace tenon::tool {

class Batches {
public:
  /// Null with a message in `error` as for DataParts::open, or if samples
  /// remain and must not.
  static std::unique_ptr<Batches> open(const BatchOptions &options,
                                       const runtime::Executor &executor,
                                       std::string &error);

  /// Reads the bytes from `from` on of what batch `number` gives the argument
  /// given()[field], whole elements. By any thread. False with a message in
  /// `error` if a file has changed or cannot be read.
  bool read(size_t field, int64_t number, uint64_t from,
            std::span<std::byte> into, std::string &error) const;
  /// Copies batch `number` into the executor; as read().
  bool load(runtime::Executor &executor, int64_t number,
            std::string &error) const;

  /// What every batch gives, of the program's tensors.
  const std::vector<size_t> &given() const { return tensors; }
  int64_t perEpoch() const { return batchesPerEpoch; }
  int64_t rowsPerBatch() const { return parts->rowsPerBatch(); }
  /// What throughput counts: samples or tokens, and how many a batch has; 0 for
  /// whole batches, which do not say.
  int64_t itemsPerBatch() const { return parts->itemsPerBatch(); }
  const char *itemWord() const { return parts->itemWord(); }
  /// What a row is, see DataParts.
  const char *rowWord() const { return parts->rowWord(); }
  /// Rows that each epoch leaves out.
  int64_t leftOut() const { return parts->rows() % parts->rowsPerBatch(); }
  int64_t rows() const { return parts->rows(); }
  /// What the position in the data counts in, for the checkpoint.
  std::map<std::string, std::string> description() const;

private:
  std::unique_ptr<DataParts> parts;
  std::optional<uint64_t> seed;
  std::vector<size_t> tensors;
  int64_t batchesPerEpoch = 0;
};

} // namespace tenon::tool

#endif // TENON_TOOLS_TENON_BATCHES_H
