//===- Batches.h - Where a run's batches come from ------------------------===//
//
// A folder with one safetensors file per step, in the natural order of their
// names, or one file whose tensors have a leading step dimension. Both start
// over at their end. What does not fit is found when they are opened, before
// the first step: tensors that would drift apart train on wrong pairs without
// any sign of it.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_TOOLS_TENON_BATCHES_H
#define TENON_TOOLS_TENON_BATCHES_H

#include "tenon/Format/Safetensors.h"
#include "tenon/Runtime/Executor.h"

#include <memory>
#include <string>
#include <vector>

namespace tenon::tool {

class Batches {
public:
  /// Opens every file and holds its header against the program. Null with a
  /// message in `error` if there is nothing readable at `path`, a tensor has
  /// another type or shape than the step takes, the files do not all give the
  /// same tensors, the tensors of one file do not all have the same number of
  /// steps, or state is among them.
  static std::unique_ptr<Batches> open(const std::string &path,
                                       const runtime::Executor &executor,
                                       std::string &error);

  /// Copies the batch of step `step` into the executor. False with a message in
  /// `error` if a file has changed since it was opened or cannot be read.
  bool load(runtime::Executor &executor, int64_t step, std::string &error);

  /// What every batch gives, of the program's tensors.
  const std::vector<size_t> &given() const { return tensors; }

private:
  bool openFolder(const std::string &path, const runtime::Executor &executor,
                  std::string &error);
  bool openFile(const std::string &path, const runtime::Executor &executor,
                std::string &error);

  std::vector<size_t> tensors;    // of the program: what every batch gives
  std::vector<std::string> files; // a folder's
  std::unique_ptr<format::SafetensorsReader> oneFile; // with `steps` inside
  int64_t steps = 0;
};

} // namespace tenon::tool

#endif // TENON_TOOLS_TENON_BATCHES_H
