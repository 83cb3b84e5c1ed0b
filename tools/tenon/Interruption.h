//===- Interruption.h - Signals that ask a run to end ---------------------===//
//
// SIGTERM and SIGINT are noted, so that the run can end where it is whole. The
// second one ends the process as if nobody had caught it.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_TOOLS_TENON_INTERRUPTION_H
#define TENON_TOOLS_TENON_INTERRUPTION_H

namespace tenon::tool {

class Interruption {
public:
  /// From now on both signals are noted.
  static void catchSignals();
  /// The signal that came, 0 for none.
  static int signal();
};

} // namespace tenon::tool

#endif // TENON_TOOLS_TENON_INTERRUPTION_H
