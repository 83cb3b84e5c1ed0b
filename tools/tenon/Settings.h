//===- Settings.h - The scalars that a run is told ------------------------===//
//
// Arguments of rank 0 that are hyper-parameters, such as a learning rate: a run
// gives them values with --set and --schedule, without compiling again.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_TOOLS_TENON_SETTINGS_H
#define TENON_TOOLS_TENON_SETTINGS_H

#include "tools/tenon/ArgumentParser.h"
#include "tools/tenon/Schedule.h"

#include "tenon/Runtime/Checkpoint.h"

namespace tenon::tool {

/// Whether a tensor of a signature is a setting.
bool isSetting(const format::Tensor &tensor);

/// What the command line says of settings, by name.
struct SettingOptions {
  std::map<std::string, std::string> values;
  std::map<std::string, Schedule> schedules;

  void take(ArgumentParser &parser);
  bool empty() const { return values.empty() && schedules.empty(); }
};

class Settings {
public:
  /// Gives settings their values: those of `recorded`, a checkpoint's, except
  /// where the command line says something else. False with a message if a name
  /// is that of no setting, a value does not fit its type, or a schedule has no
  /// value to start from. `perStep` is what batches give.
  bool open(runtime::Executor &executor, const SettingOptions &options,
            const std::map<std::string, runtime::Setting> &recorded,
            const std::vector<size_t> &perStep, std::string &error);

  /// Writes the values of step `step`, counted from 0, that schedules give.
  /// False with `error` filled in if the device has failed.
  bool apply(runtime::Executor &executor, int64_t step,
             runtime::Error &error) const;

  /// Fills `result` with all settings and their present values; as apply().
  bool current(const runtime::Executor &executor,
               std::map<std::string, runtime::Setting> &result,
               runtime::Error &error) const;

private:
  bool set(runtime::Executor &executor, size_t tensor, const std::string &text,
           std::string &error);

  std::map<size_t, Schedule> schedules; // by tensor
};

} // namespace tenon::tool

#endif // TENON_TOOLS_TENON_SETTINGS_H
