//===- Batches.cpp - Where a run's batches come from ----------------------===//
//
// See Batches.h.
//
//===----------------------------------------------------------------------===//

#include "tools/tenon/Batches.h"

#include "tools/tenon/NaturalOrder.h"

#include "tenon/Runtime/State.h"

#include <algorithm>
#include <filesystem>

using namespace tenon;
using namespace tenon::tool;

namespace {

std::string quoted(const std::string &text) { return "'" + text + "'"; }

/// The batch tensors that a file holds; nothing with a message in `error` if it
/// holds none, or state.
std::optional<std::vector<size_t>>
batchTensorsOf(const format::SafetensorsReader &file, const std::string &path,
               const runtime::Executor &executor, std::string &error) {
  std::vector<size_t> found;
  std::string wanted;
  const std::vector<format::Tensor> &tensors = executor.index().tensors;
  for (size_t i = 0; i < tensors.size(); ++i) {
    bool isThere = runtime::findStored(file, tensors[i]) != nullptr;
    if (executor.isState(i) && isThere) {
      error = quoted(path) + " holds the state tensor " +
              quoted(tensors[i].name) +
              ", which every batch would set back; give state with --state or "
              "--inputs";
      return std::nullopt;
    }
    if (!executor.isBatch(i))
      continue;
    wanted += (wanted.empty() ? "" : ", ") + quoted(tensors[i].name);
    if (isThere)
      found.push_back(i);
  }
  if (!found.empty())
    return found;
  error = quoted(path) + " holds no batch tensor; the step " +
          (wanted.empty() ? "takes none" : "takes " + wanted);
  return std::nullopt;
}

/// A tensor that only one of two lists of increasing numbers has, and whether
/// that is the first.
std::optional<std::pair<size_t, bool>>
firstDifference(const std::vector<size_t> &a, const std::vector<size_t> &b) {
  for (size_t tensor : a)
    if (!std::ranges::binary_search(b, tensor))
      return std::pair(tensor, true);
  for (size_t tensor : b)
    if (!std::ranges::binary_search(a, tensor))
      return std::pair(tensor, false);
  return std::nullopt;
}

/// The .safetensors files of a folder in natural order.
bool listFiles(const std::string &path, std::vector<std::string> &files,
               std::string &error) {
  std::error_code code;
  std::vector<std::filesystem::path> found;
  for (std::filesystem::directory_iterator entry(path, code), end;
       !code && entry != end; entry.increment(code))
    if (entry->path().extension() == ".safetensors")
      found.push_back(entry->path());
  if (code) {
    error = "cannot read the folder " + quoted(path) + ": " + code.message();
    return false;
  }
  std::ranges::sort(found, [](const auto &a, const auto &b) {
    return comesBefore(a.filename().native(), b.filename().native());
  });
  for (const std::filesystem::path &file : found)
    files.push_back(file.string());
  if (files.empty())
    error = "no .safetensors file in " + quoted(path);
  return !files.empty();
}

} // namespace

std::unique_ptr<Batches> Batches::open(const std::string &path,
                                       const runtime::Executor &executor,
                                       std::string &error) {
  auto batches = std::make_unique<Batches>();
  std::error_code code;
  bool isFolder = std::filesystem::is_directory(path, code);
  if (!(isFolder ? batches->openFolder(path, executor, error)
                 : batches->openFile(path, executor, error)))
    return nullptr;
  return batches;
}

bool Batches::openFolder(const std::string &path,
                         const runtime::Executor &executor,
                         std::string &error) {
  if (!listFiles(path, files, error))
    return false;
  const std::vector<format::Tensor> &described = executor.index().tensors;
  for (const std::string &name : files) {
    auto file = format::SafetensorsReader::open(name, error);
    auto given =
        file ? batchTensorsOf(*file, name, executor, error) : std::nullopt;
    if (!given)
      return false;
    for (size_t tensor : *given) {
      error = runtime::whyNotMatching(
          described[tensor], *runtime::findStored(*file, described[tensor]));
      if (!error.empty()) {
        error = quoted(name) + " does not fit the program: " + error;
        return false;
      }
    }
    if (tensors.empty())
      tensors = *given;
    if (auto other = firstDifference(tensors, *given)) {
      const std::string &first = files.front();
      error = quoted(other->second ? name : first) + " lacks " +
              quoted(described[other->first].name) + ", which " +
              quoted(other->second ? first : name) +
              " has; every file must give the same tensors";
      return false;
    }
  }
  return true;
}

bool Batches::openFile(const std::string &path,
                       const runtime::Executor &executor, std::string &error) {
  oneFile = format::SafetensorsReader::open(path, error);
  auto given =
      oneFile ? batchTensorsOf(*oneFile, path, executor, error) : std::nullopt;
  if (!given)
    return false;
  tensors = *given;
  const format::StoredTensor *first = nullptr;
  for (size_t i : tensors) {
    const format::Tensor &described = executor.index().tensors[i];
    const format::StoredTensor *stored =
        runtime::findStored(*oneFile, described);
    if (stored->shape.empty() || stored->shape.front() <= 0) {
      error = "batch tensor " + quoted(stored->name) +
              " needs a leading dimension that counts steps";
      return false;
    }
    // The stored tensor is the batch's with the steps in front.
    format::StoredTensor one = *stored;
    one.shape.erase(one.shape.begin());
    std::string wrong = runtime::whyNotMatching(described, one);
    if (!wrong.empty()) {
      error = "batch tensor " + quoted(stored->name) +
              " without its leading step dimension: " + wrong;
      return false;
    }
    if (!first)
      first = stored;
    if (stored->shape.front() != first->shape.front()) {
      error = quoted(path) + " holds " + std::to_string(first->shape.front()) +
              " steps of " + quoted(first->name) + " and " +
              std::to_string(stored->shape.front()) + " of " +
              quoted(stored->name) +
              "; every tensor needs the same number of steps";
      return false;
    }
  }
  steps = first->shape.front();
  return true;
}

bool Batches::load(runtime::Executor &executor, int64_t step,
                   std::string &error) {
  std::unique_ptr<format::SafetensorsReader> file;
  const std::string *name = nullptr;
  if (!oneFile) {
    name = &files[size_t(step) % files.size()];
    file = format::SafetensorsReader::open(*name, error);
    if (!file)
      return false;
  }
  for (size_t i : tensors) {
    const format::Tensor &described = executor.index().tensors[i];
    const format::StoredTensor *stored =
        runtime::findStored(oneFile ? *oneFile : *file, described);
    if (file &&
        (!stored || !runtime::whyNotMatching(described, *stored).empty())) {
      error = quoted(*name) +
              " has changed since the run began: " + quoted(described.name) +
              " no longer fits";
      return false;
    }
    uint64_t from =
        oneFile ? uint64_t(step % steps) * format::bytesOf(described) : 0;
    if (!runtime::readTensor(executor, i, oneFile ? *oneFile : *file, *stored,
                             from, error))
      return false;
  }
  return true;
}
