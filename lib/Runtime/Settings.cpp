//===- Settings.cpp - The scalars that a run is told ----------------------===//
//
// See Settings.h.
//
//===----------------------------------------------------------------------===//

#include "tenon/Runtime/Settings.h"

#include "tenon/Runtime/Scalars.h"
#include "tenon/Support/ParseNumber.h"
#include "tenon/Support/Refuse.h"

#include <algorithm>

using namespace tenon;
using namespace tenon::runtime;

bool runtime::isSetting(const format::Tensor &tensor) {
  return tensor.role == format::Role::hyperParameter && tensor.shape.empty() &&
         tensor.argument >= 0;
}

/// The setting of a name; nothing with a message that lists those there are.
static std::optional<size_t> findSetting(const Executor &executor,
                                         const std::string &name,
                                         std::string &error) {
  const std::vector<format::Tensor> &tensors = executor.index().tensors;
  auto found = executor.findTensor(name);
  if (found && isSetting(tensors[*found]))
    return found;
  std::string known;
  for (const format::Tensor &tensor : tensors)
    if (isSetting(tensor))
      known += (known.empty() ? "'" : ", '") + tensor.name + "'";
  error = "'" + name + "' is no setting of this step; " +
          (known.empty() ? "it has none" : "it has " + known) +
          ". A setting is a scalar argument with the role hyper_parameter: "
          "export the step with it as an argument, such as step(state, batch, "
          "lr), instead of a constant in the step";
  return std::nullopt;
}

bool Settings::set(Executor &executor, size_t tensor, const std::string &text,
                   std::string &error) {
  const format::Tensor &described = executor.index().tensors[tensor];
  std::vector<std::byte> bytes(format::bytesOf(described));
  if (!parseScalar(described.type, text, bytes))
    return refuse(error, "'" + text + "' is no value for '" + described.name +
                             "', which is " +
                             std::string(name(described.type)));
  Error why;
  return executor.write(tensor, bytes, why) || refuse(error, why.message);
}

bool Settings::give(Executor &executor, const SettingValues &told,
                    const std::map<std::string, Setting> &recorded,
                    const std::vector<size_t> &perStep, std::string &error) {
  auto isPerStep = [&](size_t tensor) {
    return std::ranges::find(perStep, tensor) != perStep.end();
  };
  for (const auto &[name, setting] : recorded) {
    auto tensor = findSetting(executor, name, error);
    if (!tensor)
      return false;
    if (isPerStep(*tensor))
      continue;
    if (!set(executor, *tensor, setting.value, error))
      return false;
    if (setting.schedule.empty())
      continue;
    auto schedule = Schedule::parse(setting.schedule, error);
    if (!schedule || schedule->needsValue())
      return refuse(error, "the checkpoint holds the schedule '" +
                               setting.schedule + "', which is none: " + error);
    schedules.emplace(*tensor, *schedule);
  }
  auto findGiven = [&](const std::string &name) {
    auto tensor = findSetting(executor, name, error);
    if (tensor && isPerStep(*tensor)) {
      error = "'" + name +
              "' has a value in every batch; leave it out there, "
              "or do not set it";
      tensor.reset();
    }
    return tensor;
  };
  for (const auto &[name, value] : told.values) {
    auto tensor = findGiven(name);
    if (!tensor || !set(executor, *tensor, value, error))
      return false;
    schedules.erase(*tensor);
  }
  const std::vector<size_t> missing = executor.withoutValue();
  for (auto [name, schedule] : told.schedules) {
    auto tensor = findGiven(name);
    if (!tensor)
      return false;
    const format::Tensor &described = executor.index().tensors[*tensor];
    if (!takesFraction(described.type))
      return refuse(error, "'" + name + "' is " +
                               std::string(tenon::name(described.type)) +
                               "; a schedule is for floating settings");
    if (schedule.needsValue()) {
      if (std::ranges::find(missing, *tensor) != missing.end())
        return refuse(error, "the schedule of '" + name +
                                 "' has no value to start from; give one with "
                                 "--set=" +
                                 name +
                                 "=VALUE or value=VALUE in the schedule");
      Error why;
      auto text = valueText(executor, *tensor, why);
      if (!text)
        return refuse(error, why.message);
      schedule.setValue(parseNumber<double>(*text).value_or(0));
    }
    schedules.insert_or_assign(*tensor, schedule);
  }
  return true;
}

bool Settings::apply(Executor &executor, int64_t step, Error &error) const {
  for (const auto &[tensor, schedule] : schedules) {
    ElementType type = executor.index().tensors[tensor].type;
    std::vector<std::byte> bytes(
        format::bytesOf(executor.index().tensors[tensor]));
    writeScalar(type, schedule.at(step), bytes);
    if (!executor.write(tensor, bytes, error))
      return false;
  }
  return true;
}

bool Settings::current(const Executor &executor,
                       std::map<std::string, Setting> &result,
                       Error &error) const {
  result.clear();
  const std::vector<format::Tensor> &tensors = executor.index().tensors;
  const std::vector<size_t> missing = executor.withoutValue();
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (!isSetting(tensors[i]) ||
        std::ranges::find(missing, i) != missing.end())
      continue;
    auto text = valueText(executor, i, error);
    if (!text)
      return false;
    auto schedule = schedules.find(i);
    result[tensors[i].name] = {
        *text, schedule == schedules.end() ? "" : schedule->second.text()};
  }
  return true;
}
