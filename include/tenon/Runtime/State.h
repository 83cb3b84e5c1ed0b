//===- State.h - State and batches from and to safetensors files ---------===//
//
// Fills an Executor's tensors from files and saves them. Tensors are found in a
// file under any of their names; files are written with canonical names. Bytes
// go straight between the file and the tensor's memory, or through memory of
// their own where they are held in another form. Hidden state is saved under
// its reserved names; a file that lacks it, since its program was compiled with
// another set of stored tensors, gives it its initial value.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_RUNTIME_STATE_H
#define TENON_RUNTIME_STATE_H

#include "tenon/Format/Safetensors.h"
#include "tenon/Runtime/Executor.h"

#include <string>

namespace tenon::runtime {

/// The entry of `file` for a tensor: by canonical name, else by another name,
/// else by `arg<i>` or `result<i>`; null if there is none.
const format::StoredTensor *findStored(const format::TensorFile &file,
                                       const format::Tensor &tensor);

/// Empty if `stored` has the tensor's type and shape, otherwise what differs.
std::string whyNotMatching(const format::Tensor &tensor,
                           const format::StoredTensor &stored);

/// Reads a tensor's value from one of a file's, which matches it, or has more
/// bytes and the value's `from` on. Until that is done the tensor has none.
/// With `hash`, what is read must have it.
bool readTensor(Executor &executor, size_t tensor,
                const format::TensorFile &file,
                const format::StoredTensor &stored, uint64_t from,
                std::string &error, const format::Hash *hash = nullptr);

/// The hashes of a file's tensors, by their names.
using Hashes = std::map<std::string, format::Hash>;

/// A tensor's value for a file, while the Executor lives. Of several processes
/// the first has it, when all others gather() the tensor.
format::TensorBytes bytesOf(const Executor &executor, size_t tensor,
                            std::string name);

/// Reads every state tensor from the file. Nothing is changed and `error` lists
/// all of them if any is missing or has another type or shape. What the file
/// holds beyond the state is ignored. With `hashes`, each tensor must be among
/// them and have its hash.
bool loadState(Executor &executor, const std::string &path, Error &error,
               const Hashes *hashes = nullptr);

/// Reads every batch tensor from the file, in the same way.
bool loadBatch(Executor &executor, const std::string &path, Error &error);

/// Reads those arguments, state or batch, that the file holds; error as for
/// loadState.
bool loadArguments(Executor &executor, const std::string &path, Error &error);

/// Reads every input of an entry point beside the step from the file, by its
/// name with or without that of the entry point; error as for loadState.
bool loadInputs(Executor &executor, const std::string &path,
                const std::string &entryPoint, Error &error);

/// Saves tensors, by number, under names of a file's own, atomically. Of
/// several processes, which all call it, the first joins and writes them, or,
/// if the path is that of an index (Shards.h), each one file of them. `hashes`,
/// if given, gets those of the tensors of one file, in the process that writes.
bool saveTensors(const Executor &executor, const std::string &path,
                 const std::vector<std::pair<std::string, size_t>> &named,
                 Error &error, Hashes *hashes = nullptr);

/// Saves all state as saveTensors() does. An error if any of it has no value.
bool saveState(const Executor &executor, const std::string &path, Error &error,
               Hashes *hashes = nullptr);

/// Saves the results that are no state, keyed `result<index>`, atomically.
bool saveResults(const Executor &executor, const std::string &path,
                 Error &error);

/// Saves what an entry point beside the step gives, by canonical names,
/// atomically.
bool saveResultsOf(const Executor &executor, const std::string &path,
                   const std::string &entryPoint, Error &error);

} // namespace tenon::runtime

#endif // TENON_RUNTIME_STATE_H
