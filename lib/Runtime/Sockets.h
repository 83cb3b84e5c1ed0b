//===- Sockets.h - How processes of one run reach each other by TCP -------===//
//
// Private to this folder. What the heartbeat of ranks and the messages of ranks
// that no MPI carries both need of the system. Sockets are file descriptors, -1
// for none; nothing here waits longer than it is told.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_RUNTIME_SOCKETS_H
#define TENON_LIB_RUNTIME_SOCKETS_H

#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace tenon::runtime {

using SocketClock = std::chrono::steady_clock;

/// For poll(): until `time`, at most a minute.
int millisecondsUntil(SocketClock::time_point time);

/// The addresses under which other machines may reach this one, its own last.
std::vector<std::string> ownAddresses();

/// A socket that listens at a port of all addresses of this machine, at a free
/// one for 0. -1 with errno if the port is taken.
int listenAt(uint16_t port);
uint16_t portOf(int listener);

/// A connection to a machine, by its name or its number. -1 if it does not
/// answer until then.
int connectTo(const std::string &host, uint16_t port,
              SocketClock::time_point until);

/// The next one that connects; -1 if nobody does.
int acceptFrom(int listener, SocketClock::time_point until);

/// All bytes, or false.
bool sendWhole(int socket, std::span<const std::byte> bytes,
               SocketClock::time_point until);
bool receiveWhole(int socket, std::span<std::byte> bytes,
                  SocketClock::time_point until);

} // namespace tenon::runtime

#endif // TENON_LIB_RUNTIME_SOCKETS_H
