//===- Interruption.cpp - Signals that ask a run to end -------------------===//
//
// See Interruption.h.
//
//===----------------------------------------------------------------------===//

#include "tools/tenon/Interruption.h"

#include <csignal>

using namespace tenon::tool;

static volatile std::sig_atomic_t caught = 0;

static void noteAll(int number) { caught = number; }

static void note(int number) {
  noteAll(number);
  std::signal(SIGTERM, SIG_DFL);
  std::signal(SIGINT, SIG_DFL);
}

void Interruption::catchSignals(bool areAll) {
  struct sigaction action = {};
  action.sa_handler = areAll ? noteAll : note;
  // Calls that wait for a disk go on.
  action.sa_flags = SA_RESTART;
  sigaction(SIGTERM, &action, nullptr);
  sigaction(SIGINT, &action, nullptr);
}

int Interruption::signal() { return caught; }
