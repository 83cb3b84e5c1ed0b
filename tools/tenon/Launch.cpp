//===- Launch.cpp - A run of several processes ----------------------------===//
//
// See Launch.h.
//
//===----------------------------------------------------------------------===//

#include "tools/tenon/Launch.h"

#include "tools/tenon/Fail.h"
#include "tools/tenon/Interruption.h"

#include "tenon/Runtime/Processes.h"
#include "tenon/Support/ExitCode.h"
#include "tenon/Support/ParseNumber.h"

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <unistd.h>

using namespace tenon;
using namespace tenon::tool;

namespace {

/// Processes that were started together; one for this one alone.
struct Launch {
  int64_t processes = 1;
  std::optional<runtime::Meeting> meeting; // without it MPI knows all others
  std::string error;
};

} // namespace

static std::string variable(const char *name) {
  const char *text = std::getenv(name);
  return text ? text : "";
}

static std::optional<int64_t> number(const char *name) {
  auto value = parseNumber(variable(name));
  return value && *value >= 0 ? std::optional(*value) : std::nullopt;
}

/// The first machine of SLURM's list, such as "n007" of "n[007-009,12],m1".
static std::string firstMachine(const std::string &list) {
  std::string first = list.substr(0, list.find_first_of(",["));
  if (first.size() == list.size() || list[first.size()] == ',')
    return first;
  const size_t begin = first.size() + 1;
  first += list.substr(begin, list.find_first_of(",-]", begin) - begin);
  const size_t end = list.find(']', begin);
  // What follows the numbers belongs to each name.
  return end == std::string::npos
             ? first
             : first + list.substr(end + 1, list.find(',', end) - end - 1);
}

/// What torchrun tells each process.
static Launch launchOfTorchrun() {
  Launch launch{*number("WORLD_SIZE"), runtime::Meeting(), ""};
  runtime::Meeting &meeting = *launch.meeting;
  meeting.rankHere = number("LOCAL_RANK");
  meeting.address = variable("MASTER_ADDR");
  meeting.run = "torchrun " + variable("TORCHELASTIC_RUN_ID") + " " +
                variable("TORCHELASTIC_RESTART_COUNT");
  auto rank = number("RANK"), port = number("MASTER_PORT");
  if (!port || *port == 0)
    launch.error = "MASTER_PORT is '" + variable("MASTER_PORT") +
                   "', expected the number of a port";
  meeting.rank = *rank;
  // There torchrun keeps a store of its own.
  const bool isTaken = variable("TORCHELASTIC_USE_AGENT_STORE") == "True";
  meeting.port = uint16_t(port.value_or(0) + isTaken);
  return launch;
}

/// What SLURM tells each process of a step.
static Launch launchOfSlurm() {
  Launch launch{*number("SLURM_STEP_NUM_TASKS"), runtime::Meeting(), ""};
  runtime::Meeting &meeting = *launch.meeting;
  meeting.rank = *number("SLURM_PROCID");
  meeting.rankHere = number("SLURM_LOCALID");
  const std::string job = variable("SLURM_JOB_ID"),
                    step = variable("SLURM_STEP_ID");
  meeting.run = "slurm " + job + "." + step;
  meeting.address = variable("MASTER_ADDR");
  if (meeting.address.empty())
    meeting.address = firstMachine(variable("SLURM_STEP_NODELIST"));
  if (meeting.address.empty())
    launch.error = "neither MASTER_ADDR nor SLURM_STEP_NODELIST names the "
                   "machine of rank 0";
  // Steps that share a machine take others.
  constexpr int64_t firstPort = 20000, ports = 10000, perStep = 16;
  const int64_t which =
      number("SLURM_JOB_ID").value_or(0) + number("SLURM_STEP_ID").value_or(0);
  meeting.port = uint16_t(
      number("MASTER_PORT").value_or(firstPort + which * perStep % ports));
  return launch;
}

/// What OpenMPI's mpirun, torchrun and SLURM's srun tell each process.
static Launch findLaunch() {
  if (auto ranks = number("OMPI_COMM_WORLD_SIZE"))
    return {*ranks, std::nullopt, ""};
  Launch launch;
  const bool isMpi = !variable("PMIX_RANK").empty() ||
                     !variable("PMI_RANK").empty(); // srun --mpi=...
  if (auto ranks = number("SLURM_STEP_NUM_TASKS"); ranks && isMpi)
    return {*ranks, std::nullopt, ""};
  if (number("RANK") && number("WORLD_SIZE") &&
      !variable("MASTER_ADDR").empty() && !variable("MASTER_PORT").empty())
    launch = launchOfTorchrun();
  else if (number("SLURM_STEP_NUM_TASKS") && number("SLURM_PROCID"))
    launch = launchOfSlurm();
  if (!launch.meeting || launch.processes <= 1)
    return {1, std::nullopt, ""};
  launch.meeting->ranks = launch.processes;
  if (launch.meeting->rank >= launch.processes)
    launch.error = "this process is rank " +
                   std::to_string(launch.meeting->rank) + " of " +
                   std::to_string(launch.processes) + " ranks from 0 on";
  return launch;
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
                "of processes: a rank that is silent for so long has stopped, "
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
  const Launch launch = findLaunch();
  const int64_t launched = launch.processes;
  if (!launch.error.empty())
    return fail("ranks cannot meet: " + launch.error, exitBadUsage);
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
                                                .meeting = launch.meeting,
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
