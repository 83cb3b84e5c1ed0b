//===- Heartbeat.cpp - Which rank has died, stopped or given up -----------===//
//
// See Heartbeat.h. A star of TCP connections with rank 0 in its middle: rank 0
// passes on what it hears of one rank to all others, and each of the others
// watches rank 0. What is sent are messages of one size, so few of them that
// they never wait for room.
//
//===----------------------------------------------------------------------===//

#include "Heartbeat.h"

#include "Sockets.h"

#include "tenon/Support/Refuse.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <random>
#include <sstream>
#include <sys/socket.h>
#include <system_error>
#include <unistd.h>

using namespace tenon;
using namespace tenon::runtime;
using namespace std::chrono_literals;

static constexpr auto tickLength = 100ms;
/// How long the ranks of a run, which have all been started, take to connect.
static constexpr auto mostForConnecting = 60s;

Heartbeat::Heartbeat(int64_t rank, double seconds)
    : rank(rank), silence(std::chrono::duration_cast<Clock::duration>(
                      std::chrono::duration<double>(seconds))) {}

Heartbeat::~Heartbeat() {
  if (helper.joinable()) {
    (void)!write(wake[1], "", 1);
    helper.join();
  }
  for (const Link &link : links)
    if (link.socket >= 0)
      close(link.socket);
  for (int file : {listener, wake[0], wake[1]})
    if (file >= 0)
      close(file);
}

std::unique_ptr<Heartbeat> Heartbeat::invite(int64_t ranks, double seconds,
                                             Invitation &invitation,
                                             std::string &error) {
  std::unique_ptr<Heartbeat> beat(new Heartbeat(0, seconds));
  beat->links.resize(size_t(ranks - 1));
  if (!beat->listen(invitation, error))
    return nullptr;
  return beat;
}

std::unique_ptr<Heartbeat> Heartbeat::accept(const Invitation &invitation,
                                             int64_t rank, double seconds,
                                             std::string &error) {
  std::unique_ptr<Heartbeat> beat(new Heartbeat(rank, seconds));
  beat->links.resize(1);
  if (!beat->connect(invitation, error))
    return nullptr;
  return beat;
}

bool Heartbeat::listen(Invitation &invitation, std::string &error) {
  auto fail = [&](const char *what) {
    return refuse(error, std::string("the heartbeat of the ranks cannot ") +
                             what + ": " + std::strerror(errno));
  };
  std::random_device random;
  token = uint64_t(random()) << 32 | random();
  listener = listenAt(0);
  if (listener < 0)
    return fail("open a socket");
  const uint16_t port = portOf(listener);
  std::string text = std::to_string(token) + " " + std::to_string(port);
  for (const std::string &own : ownAddresses())
    if (text.size() + own.size() + 2 < invitation.size())
      text += " " + own;
  invitation.fill(0);
  std::memcpy(invitation.data(), text.data(), text.size());
  return true;
}

bool Heartbeat::connect(const Invitation &invitation, std::string &error) {
  std::istringstream text(std::string(
      invitation.data(), strnlen(invitation.data(), invitation.size())));
  uint16_t port = 0;
  std::string address, tried;
  text >> token >> port;
  auto until = Clock::now() + mostForConnecting;
  while (text >> address) {
    // An address of another network may never answer; another process may.
    const int one = connectTo(address, port, Clock::now() + 5s);
    Message answer;
    bool isThere = one >= 0;
    if (isThere) {
      links[0] = {one, 0, Clock::now(), false, {}};
      send(links[0], Kind::hello, rank);
      isThere = receive(one, answer, until) && answer.kind == Kind::hello;
    }
    if (isThere)
      return true;
    tried += (tried.empty() ? "" : ", ") + address;
    links[0].socket = -1;
    if (one >= 0)
      close(one);
  }
  return refuse(error,
                "rank " + std::to_string(rank) +
                    " does not reach rank 0 for its heartbeat, at port " +
                    std::to_string(port) + " of " + tried);
}

/// Reads one message, which must be of this run.
bool Heartbeat::receive(int socket, Message &message,
                        Clock::time_point until) const {
  return receiveWhole(socket, std::as_writable_bytes(std::span(&message, 1)),
                      until) &&
         message.token == token;
}

/// Rank 0 waits for all others.
bool Heartbeat::meetAll(std::string &error) {
  auto until = Clock::now() + mostForConnecting;
  for (size_t met = 0; met < links.size();) {
    int one = acceptFrom(listener, until);
    if (one < 0) {
      std::string missing;
      for (size_t i = 0; i < links.size(); ++i)
        if (links[i].socket < 0)
          missing += (missing.empty() ? "" : ", ") + std::to_string(i + 1);
      return refuse(error, "no heartbeat comes from rank " + missing +
                               ", which is started but does not connect");
    }
    Message hello;
    // A stranger is sent away.
    if (!receive(one, hello, Clock::now() + 5s) || hello.kind != Kind::hello ||
        hello.rank < 1 || size_t(hello.rank) > links.size() ||
        links[size_t(hello.rank) - 1].socket >= 0) {
      close(one);
      continue;
    }
    Link &link = links[size_t(hello.rank) - 1];
    link = {one, hello.rank, Clock::now(), false, {}};
    send(link, Kind::hello, 0);
    ++met;
  }
  close(listener);
  listener = -1;
  return true;
}

bool Heartbeat::start(std::function<void()> toTick, std::string &error) {
  if (rank == 0 && !meetAll(error))
    return false;
  tick = std::move(toTick);
  if (pipe2(wake, O_CLOEXEC) != 0)
    return refuse(error, std::string("the system gives no pipe: ") +
                             std::strerror(errno));
  for (Link &link : links)
    link.heard = Clock::now();
  try {
    helper = std::thread([this] { watch(); });
  } catch (const std::system_error &failure) {
    return refuse(error, std::string("the system gives no thread for the "
                                     "heartbeat: ") +
                             failure.what());
  }
  return true;
}

void Heartbeat::send(const Link &link, Kind kind, int64_t about) const {
  Message message;
  message.kind = kind;
  message.rank = int32_t(about);
  message.token = token;
  // If there is no room, who does not read has stopped.
  if (link.socket >= 0)
    (void)!::send(link.socket, &message, sizeof(message),
                  MSG_NOSIGNAL | MSG_DONTWAIT);
}

void Heartbeat::sendToAll(Kind kind, int64_t about) const {
  for (const Link &link : links)
    send(link, kind, about);
}

void Heartbeat::watch() {
  const auto pause = std::max<Clock::duration>(silence / 10, tickLength / 2);
  auto nextBeat = Clock::now(), before = nextBeat;
  std::vector<pollfd> wanted;
  while (true) {
    wanted.assign(1, {wake[0], POLLIN, 0});
    for (const Link &link : links)
      wanted.push_back({link.socket, POLLIN, 0}); // those below 0 are skipped
    poll(wanted.data(), wanted.size(),
         millisecondsUntil(std::min(nextBeat, Clock::now() + tickLength)));
    if (wanted[0].revents != 0)
      return;
    auto now = Clock::now();
    // This process itself was stopped, and so did not hear the others.
    if (now - before > silence / 2)
      for (Link &link : links)
        link.heard = now;
    before = now;
    for (size_t i = 0; i < links.size(); ++i)
      if (wanted[i + 1].revents != 0)
        hear(links[i]);
    for (const Link &link : links)
      if (link.socket >= 0 && !link.hasLeft && now - link.heard > silence)
        lose(Kind::stopped, link.rank);
    if (now >= nextBeat) {
      sendToAll(Kind::beat, rank);
      nextBeat = now + pause;
    }
    tick();
  }
}

/// Reads all that has come.
void Heartbeat::hear(Link &link) {
  char bytes[64 * sizeof(Message)];
  ssize_t got = recv(link.socket, bytes, sizeof(bytes), MSG_DONTWAIT);
  if (got < 0 && (errno == EAGAIN || errno == EINTR))
    return;
  if (got <= 0) {
    close(link.socket);
    link.socket = -1;
    if (!link.hasLeft)
      lose(Kind::died, link.rank);
    return;
  }
  link.heard = Clock::now();
  link.begun.insert(link.begun.end(), bytes, bytes + got);
  size_t used = 0;
  for (; link.begun.size() - used >= sizeof(Message); used += sizeof(Message)) {
    Message message;
    std::memcpy(&message, link.begun.data() + used, sizeof(message));
    take(link, message);
  }
  link.begun.erase(link.begun.begin(), link.begun.begin() + ptrdiff_t(used));
}

void Heartbeat::take(Link &link, const Message &message) {
  switch (message.kind) {
  case Kind::hello:
  case Kind::beat:
    break;
  case Kind::died:
  case Kind::stopped:
    lose(message.kind, message.rank);
    break;
  case Kind::gaveUp:
    // It will close its connection, about which nothing more is to be said.
    link.hasLeft = link.hasLeft || message.rank == link.rank;
    lose(message.kind, message.rank);
    break;
  case Kind::left:
    link.hasLeft = true;
    break;
  case Kind::asked:
    isAsked = true;
    break;
  }
}

void Heartbeat::lose(Kind kind, int64_t about) {
  {
    std::lock_guard lock(access);
    if (lost >= 0)
      return;
    how = kind;
    lost = about;
  }
  isLost.store(true, std::memory_order_release);
  if (rank == 0)
    for (const Link &link : links)
      if (link.rank != about)
        send(link, kind, about);
}

std::string Heartbeat::loss() const {
  std::lock_guard lock(access);
  if (lost < 0)
    return "";
  if (lost == rank)
    return "the others took it for lost";
  std::string who = "rank " + std::to_string(lost);
  if (how == Kind::died)
    return who + " has died";
  if (how == Kind::gaveUp)
    return who + " has ended with an error of its own";
  char seconds[32];
  std::snprintf(seconds, sizeof(seconds), "%g",
                std::chrono::duration<double>(silence).count());
  return who + " has stopped: its process said nothing for " + seconds +
         " seconds";
}

void Heartbeat::askToEnd() {
  isAsked = true;
  if (rank != 0)
    send(links[0], Kind::asked, rank);
}

void Heartbeat::leave(bool givesUp) {
  if (helper.joinable()) {
    (void)!write(wake[1], "", 1);
    helper.join();
  }
  // Who ends because another is lost says so, in case that one was rank 0 and
  // comes back to pass it on.
  if (givesUp && hasLoss()) {
    std::lock_guard lock(access);
    sendToAll(how, lost);
  }
  sendToAll(givesUp && !hasLoss() ? Kind::gaveUp : Kind::left, rank);
}
