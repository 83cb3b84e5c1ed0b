//===- Sockets.cpp - How processes of one run reach each other by TCP -----===//
//
// See Sockets.h.
//
//===----------------------------------------------------------------------===//

#include "Sockets.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <ifaddrs.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

using namespace tenon::runtime;

int tenon::runtime::millisecondsUntil(SocketClock::time_point time) {
  auto left = std::chrono::ceil<std::chrono::milliseconds>(time -
                                                           SocketClock::now());
  return int(std::clamp<int64_t>(left.count(), 0, 60'000));
}

static void prepareSocket(int socket) {
  int yes = 1;
  setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
  fcntl(socket, F_SETFD, FD_CLOEXEC);
}

std::vector<std::string> tenon::runtime::ownAddresses() {
  std::vector<std::string> found, loopback;
  ifaddrs *list = nullptr;
  if (getifaddrs(&list) != 0)
    return {"127.0.0.1"};
  for (const ifaddrs *entry = list; entry; entry = entry->ifa_next) {
    if (!entry->ifa_addr || (entry->ifa_addr->sa_family != AF_INET &&
                             entry->ifa_addr->sa_family != AF_INET6))
      continue;
    bool isV4 = entry->ifa_addr->sa_family == AF_INET;
    char text[NI_MAXHOST] = "";
    if (getnameinfo(entry->ifa_addr,
                    isV4 ? sizeof(sockaddr_in) : sizeof(sockaddr_in6), text,
                    sizeof(text), nullptr, 0, NI_NUMERICHOST) != 0 ||
        std::strchr(text, '%')) // of one cable alone
      continue;
    std::string address = text;
    bool isOwn = address == "::1" || address.starts_with("127.");
    (isOwn ? loopback : found).push_back(address);
  }
  freeifaddrs(list);
  found.insert(found.end(), loopback.begin(), loopback.end());
  return found;
}

int tenon::runtime::listenAt(uint16_t port) {
  // One socket for both kinds of addresses, where the system has both.
  int listener = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_storage address = {};
  socklen_t length = sizeof(sockaddr_in6);
  address.ss_family = AF_INET6;
  if (listener >= 0) {
    int no = 0;
    setsockopt(listener, IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof(no));
  } else {
    listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    length = sizeof(sockaddr_in);
    address.ss_family = AF_INET;
  }
  // The last run's connections may not be forgotten yet.
  int yes = 1;
  setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
  // The port is in the same place for both.
  reinterpret_cast<sockaddr_in *>(&address)->sin_port = htons(port);
  if (listener >= 0 &&
      bind(listener, reinterpret_cast<sockaddr *>(&address), length) == 0 &&
      listen(listener, SOMAXCONN) == 0)
    return listener;
  const int why = errno;
  if (listener >= 0)
    close(listener);
  errno = why;
  return -1;
}

uint16_t tenon::runtime::portOf(int listener) {
  sockaddr_storage address = {};
  socklen_t length = sizeof(address);
  if (getsockname(listener, reinterpret_cast<sockaddr *>(&address), &length) !=
      0)
    return 0;
  return ntohs(reinterpret_cast<const sockaddr_in *>(&address)->sin_port);
}

int tenon::runtime::connectTo(const std::string &host, uint16_t port,
                              SocketClock::time_point until) {
  addrinfo hints = {}, *found = nullptr;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV;
  if (getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found) !=
      0)
    return -1;
  int connected = -1;
  for (const addrinfo *each = found; each && connected < 0;
       each = each->ai_next) {
    int one =
        socket(each->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    bool isThere =
        one >= 0 && (connect(one, each->ai_addr, each->ai_addrlen) == 0 ||
                     errno == EINPROGRESS);
    pollfd wanted = {one, POLLOUT, 0};
    int code = 0;
    socklen_t length = sizeof(code);
    isThere = isThere && poll(&wanted, 1, millisecondsUntil(until)) == 1 &&
              getsockopt(one, SOL_SOCKET, SO_ERROR, &code, &length) == 0 &&
              code == 0;
    if (isThere)
      connected = one;
    else if (one >= 0)
      close(one);
  }
  freeaddrinfo(found);
  if (connected >= 0)
    prepareSocket(connected);
  return connected;
}

int tenon::runtime::acceptFrom(int listener, SocketClock::time_point until) {
  while (true) {
    pollfd wanted = {listener, POLLIN, 0};
    if (poll(&wanted, 1, millisecondsUntil(until)) != 1)
      return -1;
    int one = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (one < 0)
      continue;
    prepareSocket(one);
    return one;
  }
}

/// Whether a call that moved `got` bytes may be tried again.
static bool goesOn(ssize_t got) {
  return got > 0 || (got < 0 && (errno == EINTR || errno == EAGAIN));
}

bool tenon::runtime::sendWhole(int socket, std::span<const std::byte> bytes,
                               SocketClock::time_point until) {
  while (!bytes.empty()) {
    pollfd wanted = {socket, POLLOUT, 0};
    if (poll(&wanted, 1, millisecondsUntil(until)) != 1)
      return false;
    ssize_t sent =
        send(socket, bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (!goesOn(sent))
      return false;
    bytes = bytes.subspan(size_t(std::max<ssize_t>(sent, 0)));
  }
  return true;
}

bool tenon::runtime::receiveWhole(int socket, std::span<std::byte> bytes,
                                  SocketClock::time_point until) {
  while (!bytes.empty()) {
    pollfd wanted = {socket, POLLIN, 0};
    if (poll(&wanted, 1, millisecondsUntil(until)) != 1)
      return false;
    ssize_t got = recv(socket, bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (!goesOn(got))
      return false;
    bytes = bytes.subspan(size_t(std::max<ssize_t>(got, 0)));
  }
  return true;
}
