//===- DataParts.h - The files that batches are read from -----------------===//
//
// A data set is a list of parts, each one file, or several of numpy's that
// belong together, with rows: whole batches, samples, or windows of a list of
// tokens. What does not fit the program is found when they are opened, before
// the first step: tensors that would drift apart train on wrong pairs without
// any sign of it.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_TOOLS_TENON_DATAPARTS_H
#define TENON_TOOLS_TENON_DATAPARTS_H

#include "tools/tenon/BatchOptions.h"

#include "tenon/Format/TensorFile.h"
#include "tenon/Runtime/Executor.h"

#include <deque>
#include <memory>
#include <mutex>

namespace tenon::tool {

class DataParts {
public:
  /// What rows give one argument of the program.
  struct Field {
    size_t tensor = 0;     // of the program
    uint64_t rowBytes = 0; // as the program takes them
    // Of a window of tokens: where it begins, and how many there are.
    int64_t shift = 0, tokens = 0;
  };

  /// Opens every file and holds its header against the program. Null with a
  /// message in `error` if there is nothing readable, a tensor has another type
  /// or shape than the step takes, the files do not all give the same tensors,
  /// the tensors of one part do not all have the same number of rows, or state
  /// is among them.
  static std::unique_ptr<DataParts> open(const BatchOptions &options,
                                         const runtime::Executor &executor,
                                         std::string &error);

  const std::vector<Field> &fields() const { return given; }
  int64_t rows() const { return rowCount; }
  /// How many rows a batch takes: 1 where a row is a whole batch.
  int64_t rowsPerBatch() const { return batchRows; }
  /// What a row is: `steps`, `samples` or `windows`.
  const char *rowWord() const;
  /// How many samples, or tokens, a batch has; 0 if that is not known.
  int64_t itemsPerBatch() const {
    return windowLength > 0    ? batchRows * windowLength
           : options.isSamples ? batchRows
                               : 0;
  }
  const char *itemWord() const {
    return windowLength > 0 ? "tokens" : "samples";
  }
  /// The hash of the files' names and rows, as text.
  std::string layout() const;

  /// Reads the bytes from `from` on of the rows that begin with `row`, whole
  /// elements. By any thread. False with a message in `error` if a file has
  /// changed since it was opened or cannot be read.
  bool read(size_t field, int64_t row, uint64_t from, std::span<std::byte> into,
            std::string &error) const;

private:
  struct Part {
    std::vector<std::string> files;
    std::vector<std::string> arrayNames; // of each file, empty for its own
    int64_t first = 0, rows = 0;
  };
  struct OpenPart;
  struct Found {
    const format::TensorFile *file = nullptr;
    const format::StoredTensor *stored = nullptr;
  };

  DataParts(const BatchOptions &options, const runtime::Executor &executor)
      : options(options), executor(executor) {}
  bool resolveNames(std::string &error);
  bool listParts(std::string &error);
  std::unique_ptr<OpenPart> openFiles(const Part &part,
                                      std::string &error) const;
  Found find(const OpenPart &part, size_t tensor) const;
  bool checkParts(std::string &error);
  std::optional<std::vector<size_t>> batchTensorsOf(const OpenPart &part,
                                                    const std::string &name,
                                                    std::string &error) const;
  std::string whyNotRows(size_t tensor, const format::StoredTensor &stored,
                         int64_t &rows) const;
  bool checkRowsPerBatch(std::string &error);
  bool findTokenFields(std::string &error);
  bool checkTokens(std::string &error);
  std::shared_ptr<const OpenPart> opened(size_t part, std::string &error) const;
  bool readFrom(const OpenPart &part, size_t field, int64_t row, uint64_t from,
                std::span<std::byte> into, std::string &error) const;
  bool readTokens(const OpenPart &part, size_t field, int64_t row,
                  uint64_t from, std::span<std::byte> into,
                  std::string &error) const;
  /// The tensor that a name means, first among the entry point's own.
  std::optional<size_t> findTensor(std::string_view name) const;
  std::string wantedNames() const;

  BatchOptions options;
  const runtime::Executor &executor;
  bool isFolder = false;
  std::map<size_t, std::string> nameOf; // in the files, of mapped tensors
  std::vector<Part> parts;
  std::vector<Field> given;
  int64_t rowCount = 0, batchRows = 1, windowLength = 0;
  // Parts that are open, the oldest first.
  mutable std::mutex access;
  mutable std::map<size_t, std::shared_ptr<const OpenPart>> kept;
  mutable std::deque<size_t> age;
};

} // namespace tenon::tool

#endif // TENON_TOOLS_TENON_DATAPARTS_H
