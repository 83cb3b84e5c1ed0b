//===- StopCondition.h - Results at which a run ends early ----------------===//
//
// `loss > 10 or loss not finite`: what --stop-if takes. A comparison with a
// value that is no number does not hold.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_TOOLS_TENON_STOPCONDITION_H
#define TENON_TOOLS_TENON_STOPCONDITION_H

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tenon::tool {

struct StopCondition {
  enum class Kind { greater, greaterOrEqual, less, lessOrEqual, notFinite };
  std::string name; // of a result
  Kind kind = Kind::notFinite;
  double limit = 0;
  std::string text; // as it was given

  bool holdsFor(double value) const;
};

/// Reads conditions joined by `or`; nothing with a message in `error` if the
/// text is something else.
std::optional<std::vector<StopCondition>>
parseStopConditions(std::string_view text, std::string &error);

} // namespace tenon::tool

#endif // TENON_TOOLS_TENON_STOPCONDITION_H
