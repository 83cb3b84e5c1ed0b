//===- SettingOptions.cpp - What the command line says of settings --------===//
//
// See SettingOptions.h.
//
//===----------------------------------------------------------------------===//

#include "tools/tenon/SettingOptions.h"

using namespace tenon;
using namespace tenon::tool;

void tool::takeSettings(ArgumentParser &parser, runtime::SettingValues &told) {
  // A name may hold the sign only as part of a path, which a value has not.
  parser.custom(
      "set", "NAME=VALUE", "give a scalar hyper-parameter a value",
      [&told](std::string_view text) -> std::string {
        size_t equals = text.rfind('=');
        if (equals == std::string_view::npos || equals == 0 ||
            equals + 1 == text.size())
          return "expected a name and a value, such as lr=3e-4";
        if (!told.values
                 .emplace(text.substr(0, equals), text.substr(equals + 1))
                 .second)
          return "the name is given twice";
        return "";
      });
  parser.custom(
      "schedule", "NAME=SCHEDULE", "give it a value per step, see below",
      [&told](std::string_view text) -> std::string {
        size_t equals = text.find('=');
        if (equals == std::string_view::npos || equals == 0)
          return "expected a name and a schedule, such as "
                 "lr=cosine:steps=1000";
        std::string wrong;
        auto schedule =
            runtime::Schedule::parse(text.substr(equals + 1), wrong);
        if (!schedule)
          return wrong;
        if (!told.schedules.emplace(text.substr(0, equals), *schedule).second)
          return "the name is given twice";
        return "";
      });
}
