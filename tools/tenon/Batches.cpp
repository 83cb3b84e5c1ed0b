//===- Batches.cpp - Where a run's batches come from ----------------------===//
//
// See Batches.h.
//
//===----------------------------------------------------------------------===//

#include "tools/tenon/Batches.h"

#include "tenon/Runtime/State.h"

#include <algorithm>
#include <filesystem>

using namespace tenon;
using namespace tenon::tool;

std::unique_ptr<Batches> Batches::open(const std::string &path,
                                       std::string &error) {
  auto batches = std::make_unique<Batches>();
  std::error_code code;
  if (!std::filesystem::is_directory(path, code)) {
    batches->oneFile = format::SafetensorsReader::open(path, error);
    return batches->oneFile ? std::move(batches) : nullptr;
  }
  for (const auto &entry : std::filesystem::directory_iterator(path, code))
    if (entry.path().extension() == ".safetensors")
      batches->files.push_back(entry.path().string());
  std::sort(batches->files.begin(), batches->files.end());
  if (!batches->files.empty())
    return batches;
  error = "no .safetensors file in '" + path + "'";
  return nullptr;
}

bool Batches::load(runtime::Executor &executor, int64_t step,
                   std::vector<size_t> &filled, std::string &error) {
  if (!oneFile) {
    runtime::Error why;
    if (runtime::loadArguments(executor, files[step % files.size()], filled,
                               why))
      return true;
    error = why.message;
    return false;
  }
  const std::vector<format::Tensor> &tensors = executor.index().tensors;
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (!executor.isBatch(i))
      continue;
    const format::StoredTensor *stored =
        runtime::findStored(*oneFile, tensors[i]);
    if (!stored)
      continue;
    // The stored tensor is the batch's with the steps in front.
    format::StoredTensor one = *stored;
    if (one.shape.empty() || one.shape.front() <= 0) {
      error = "batch tensor '" + stored->name +
              "' needs a leading dimension that counts steps";
      return false;
    }
    int64_t steps = one.shape.front();
    one.shape.erase(one.shape.begin());
    one.bytes /= steps;
    std::string wrong = runtime::whyNotMatching(tensors[i], one);
    if (!wrong.empty()) {
      error = "batch tensor '" + stored->name +
              "' without its leading step dimension: " + wrong;
      return false;
    }
    if (!oneFile->read(*stored, (step % steps) * one.bytes, executor.memory(i),
                       error))
      return false;
    filled.push_back(i);
  }
  return true;
}
