//===- SubnormalsOption.h - The option --subnormals -----------------------===//
//
// Of every verb that compiles or interprets a module.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_TOOLS_TENON_SUBNORMALSOPTION_H
#define TENON_TOOLS_TENON_SUBNORMALSOPTION_H

#include "tools/tenon/ArgumentParser.h"

#include "tenon/Support/Subnormals.h"

#include <optional>
#include <string>

namespace tenon::tool {

inline void takeSubnormals(ArgumentParser &parser,
                           std::optional<Subnormals> &subnormals,
                           const std::string &scope) {
  parser.custom("subnormals", "flush|keep",
                scope + "take subnormal numbers as zero (default), or compute "
                        "with them",
                [&subnormals](std::string_view given) -> std::string {
                  subnormals = fromName<Subnormals>(given);
                  return subnormals ? "" : "expected flush or keep";
                },
                {"flush", "keep"});
}

} // namespace tenon::tool

#endif // TENON_TOOLS_TENON_SUBNORMALSOPTION_H
