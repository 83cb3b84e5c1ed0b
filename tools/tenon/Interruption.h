//===- Interruption.h - Signals that ask a run to end ---------------------===//
//
// SIGTERM and SIGINT are noted, so that the run can end where it is whole. The
// second one ends the process as if nobody had caught it, unless a launcher
// sends them, which may do so twice.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_TOOLS_TENON_INTERRUPTION_H
#define TENON_TOOLS_TENON_INTERRUPTION_H

namespace tenon::tool {

class Interruption {
public:
  /// From now on both signals are noted; all of them, if a launcher may send
  /// more than one.
  static void catchSignals(bool areAll = false);
  /// The signal that came, 0 for none.
  static int signal();
};

} // namespace tenon::tool

#endif // TENON_TOOLS_TENON_INTERRUPTION_H
