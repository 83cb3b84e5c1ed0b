//===- Launch.cpp - A run that an MPI launcher has started ----------------===//
//
// See Launch.h.
//
//===----------------------------------------------------------------------===//

#include "tools/tenon/Launch.h"

#include "tools/tenon/Interruption.h"

#include "tenon/Runtime/Processes.h"
#include "tenon/Support/ExitCode.h"
#include "tenon/Support/ParseNumber.h"

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <unistd.h>

using namespace tenon;
using namespace tenon::tool;

static int fail(const std::string &message, int code = exitUserError) {
  std::fprintf(stderr, "error: %s\n", message.c_str());
  return code;
}

/// How many processes were started together, by what OpenMPI's mpirun and
/// SLURM's srun tell each; 1 for this one alone.
static int64_t launchedProcesses() {
  for (const char *name : {"OMPI_COMM_WORLD_SIZE", "SLURM_STEP_NUM_TASKS"})
    if (const char *text = std::getenv(name))
      return parseNumber(text).value_or(1);
  return 1;
}

static void note(const std::string &message) {
  std::fprintf(stderr, "note: %s\n", message.c_str());
}

/// Ends the process where its main thread cannot.
static void endAtOnce(const std::string &message) {
  fail(message);
  if (int number = Interruption::signal()) {
    std::signal(number, SIG_DFL);
    kill(getpid(), number);
  }
  _exit(exitUserError);
}

void tool::takeHeartbeat(ArgumentParser &parser, double &seconds) {
  parser.custom("heartbeat", "SECONDS",
                "under mpirun: a rank that is silent for so long has stopped, "
                "and all end (10)",
                [&seconds](std::string_view given) -> std::string {
                  auto number = parseNumber<double>(given);
                  seconds = number.value_or(0);
                  return seconds >= 0.1 && seconds <= 86400
                             ? ""
                             : "expected seconds from 0.1 to 86400";
                });
}

int tool::joinLaunch(runtime::ExecutorOptions &options, double heartbeat,
                     bool endsTogether) {
  const int64_t launched = launchedProcesses();
  if (launched <= 1)
    return exitOk;
  if (options.ranks > 1)
    return fail("--ranks is for ranks that are threads of one process, and " +
                    std::to_string(launched) +
                    " processes were started; leave it out",
                exitBadUsage);
  Interruption::catchSignals(/*areAll=*/true);
  runtime::Error error;
  options.processes = runtime::Processes::join({.heartbeat = heartbeat,
                                                .mpiLibrary = "",
                                                .signal = Interruption::signal,
                                                .endsTogether = endsTogether,
                                                .note = note,
                                                .end = endAtOnce},
                                               error);
  if (!options.processes)
    return fail(error.message);
  if (int64_t met = options.processes->ranks(); met != launched)
    return fail(std::to_string(launched) +
                " processes were started, but MPI knows " +
                std::to_string(met) +
                " of them; start them with the mpirun of the MPI that "
                "libtenon-mpi.so is built for, or with srun --mpi=pmix");
  if (!options.processes->isFirst() && !std::freopen("/dev/null", "w", stdout))
    return fail("cannot open /dev/null");
  return exitOk;
}

int tool::leaveLaunch(const runtime::ExecutorOptions &options, int code) {
  if (!options.processes)
    return code;
  std::fflush(stdout);
  const bool givesUp =
      code != exitOk && code != exitInterrupted && code != exitStopped;
  runtime::Error error;
  return options.processes->leave(givesUp, error) ? code : fail(error.message);
}
