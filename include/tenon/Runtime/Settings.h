//===- Settings.h - The scalars that a run is told ------------------------===//
//
// Arguments of rank 0 that are hyper-parameters, such as a learning rate: a run
// gives them values, and schedules of values, without compiling again.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_RUNTIME_SETTINGS_H
#define TENON_RUNTIME_SETTINGS_H

#include "tenon/Runtime/Checkpoint.h"
#include "tenon/Runtime/Schedule.h"

namespace tenon::runtime {

/// Whether a tensor of a signature is a setting.
bool isSetting(const format::Tensor &tensor);

/// What a user says of settings, by name.
struct SettingValues {
  std::map<std::string, std::string> values; // as text
  std::map<std::string, Schedule> schedules;

  bool empty() const { return values.empty() && schedules.empty(); }
};

class Settings {
public:
  /// Gives settings their values: those of `recorded`, a checkpoint's, except
  /// where `told` says something else. False with a message if a name is that
  /// of no setting, a value does not fit its type, or a schedule has no value
  /// to start from. `perStep` is what batches give. May be called again: what
  /// is not named stays as it is.
  bool give(Executor &executor, const SettingValues &told,
            const std::map<std::string, Setting> &recorded,
            const std::vector<size_t> &perStep, std::string &error);

  /// Writes the values of step `step`, counted from 0, that schedules give.
  /// False with `error` filled in if the device has failed.
  bool apply(Executor &executor, int64_t step, Error &error) const;

  /// Fills `result` with all settings and their present values; as apply().
  bool current(const Executor &executor, std::map<std::string, Setting> &result,
               Error &error) const;

private:
  bool set(Executor &executor, size_t tensor, const std::string &text,
           std::string &error);

  std::map<size_t, Schedule> schedules; // by tensor
};

} // namespace tenon::runtime

#endif // TENON_RUNTIME_SETTINGS_H
