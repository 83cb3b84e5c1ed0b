//===- Checkpoint.h - A run that goes on where it was stopped -------------===//
//
// A folder of checkpoints, each a folder of its own that appears whole or not
// at all: safetensors files with the state, and run.json, which says how far
// the run was, what it was told, and the hash of every tensor. docs/Forms.md
// describes run.json. The state goes through the reading and writing of logical
// tensors, so a checkpoint does not depend on how or where a program holds it.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_RUNTIME_CHECKPOINT_H
#define TENON_RUNTIME_CHECKPOINT_H

#include "tenon/Format/AtomicFile.h"
#include "tenon/Runtime/State.h"

namespace tenon::runtime {

/// A setting of a run: a scalar argument, its value as text that gives it back,
/// and the schedule that the value follows, empty for none.
struct Setting {
  std::string value, schedule;
  bool operator==(const Setting &) const = default;
};

/// The checkpoint that was the best so far, by a rule that the runtime does not
/// know.
struct Best {
  int64_t step = 0;
  std::string rule, value;
  bool operator==(const Best &) const = default;
};

/// What a run needs besides the state to go on.
struct RunRecord {
  int64_t step = 0;          // complete steps
  int64_t batches = 0;       // batches taken, the position in the data
  uint64_t metricsBytes = 0; // of the metrics file, written by these steps
  std::map<std::string, Setting> settings; // by canonical name
  /// What the position in the data counts in, by names that the runtime does
  /// not know.
  std::map<std::string, std::string> data;
  std::optional<Best> best;
  bool operator==(const RunRecord &) const = default;
};

/// A folder of checkpoints that this process alone writes to. Of several
/// processes that run a step together the first writes, all call what saves and
/// loads, and each loads what its rank has.
class CheckpointFolder {
public:
  /// Makes the folder if it is missing (the folder it is in must be there) and
  /// removes what a killed run left unfinished. Null with `error` filled in if
  /// that fails or another run uses it.
  static std::unique_ptr<CheckpointFolder>
  open(const std::string &path, Error &error, Processes *processes = nullptr);
  ~CheckpointFolder();
  CheckpointFolder(const CheckpointFolder &) = delete;
  CheckpointFolder &operator=(const CheckpointFolder &) = delete;

  /// The steps of the checkpoints that are there, newest first.
  std::vector<int64_t> steps() const;
  /// Where the checkpoint of a step is.
  std::string pathOf(int64_t step) const;

  /// Saves all state and the record. When this returns true the checkpoint is
  /// durable; when it returns false the older ones are as they were.
  bool save(const Executor &executor, const RunRecord &record, Error &error);
  /// Writes all of a checkpoint as save() does, and removes it again.
  bool trySaving(const Executor &executor, const RunRecord &record,
                 Error &error);
  /// Removes all checkpoints but the `count` newest ones and that of the step
  /// `also`, if there is one.
  void keepNewest(size_t count, std::optional<int64_t> also = std::nullopt);

  /// Gives all state the value it has in the newest checkpoint that is whole,
  /// and fills `record`. `notes` says what is damaged in newer ones, and why
  /// the bits from here on are not those of the run that saved it, if so. False
  /// with `error` filled in if there is none that is whole, or the newest is of
  /// a step with another signature.
  bool load(Executor &executor, RunRecord &record,
            std::vector<std::string> &notes, Error &error) const;

private:
  CheckpointFolder() = default;
  bool prepare(const std::string &given, Error &error);
  bool isWriter() const;
  std::unique_ptr<format::AtomicFolder>
  write(const Executor &executor, const RunRecord &record, Error &error);
  bool saveWithOthers(const Executor &executor, Error &error) const;
  bool confirm(Error &error) const;
  std::string path;
  Processes *processes = nullptr;
  int lock = -1; // the folder, opened
};

} // namespace tenon::runtime

#endif // TENON_RUNTIME_CHECKPOINT_H
