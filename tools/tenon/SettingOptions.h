//===- SettingOptions.h - What the command line says of settings ----------===//
//
// --set and --schedule, which several settings may have.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_TOOLS_TENON_SETTINGOPTIONS_H
#define TENON_TOOLS_TENON_SETTINGOPTIONS_H

#include "tools/tenon/ArgumentParser.h"

#include "tenon/Runtime/Settings.h"

namespace tenon::tool {

/// Fills `told`, which must outlive the parser.
void takeSettings(ArgumentParser &parser, runtime::SettingValues &told);

} // namespace tenon::tool

#endif // TENON_TOOLS_TENON_SETTINGOPTIONS_H
