package import Foundation
import Glibc

/// A place where a daemon may listen.
package struct DaemonPlace: Hashable, Sendable {
  /// The path of the socket.
  package var socket: String
  /// Whether every user may make files in its folder: there root takes the word of its own daemon alone.
  package var isInSharedFolder = false

  package init(_ socket: String, isInSharedFolder: Bool = false) {
    self.socket = socket
    self.isInSharedFolder = isInSharedFolder
  }

  /// The name of the socket of a daemon that was told no other.
  private static let name = "driftless-syncd.sock"
  /// The configuration of the packaged service.
  private static let serviceConfiguration = "/etc/driftless/syncd.json"
  /// The folder that the packaged service gets for its socket.
  private static let serviceFolder = "/run/driftless"

  /// Where daemons of this user and of the host usually listen, the user's first.
  ///
  /// - Parameters:
  ///   - environment: of this process: that of the daemon may have been another.
  ///   - user: the number of the user.
  package static func usual(
    environment: [String: String] = ProcessInfo.processInfo.environment, user: uid_t = getuid()
  ) -> [DaemonPlace] {
    let folders =
      ["RUNTIME_DIRECTORY", "XDG_RUNTIME_DIR"].compactMap { environment[$0] }
      + ["/run/user/\(user)"]
    var places = folders.filter { $0.hasPrefix("/") }.map { DaemonPlace("\($0)/\(name)") }
    places.append(DaemonPlace("/tmp/driftless-syncd-\(user).sock", isInSharedFolder: true))
    if let named = serviceSocket { places.append(DaemonPlace(named)) }
    places.append(DaemonPlace("\(serviceFolder)/\(name)"))
    return places.reduce(into: []) { unique, place in
      if !unique.contains(where: { $0.socket == place.socket }) { unique.append(place) }
    }
  }

  /// The socket that the configuration of the packaged service names, where this user may read that.
  private static var serviceSocket: String? {
    let file = URL(fileURLWithPath: serviceConfiguration)
    return (try? DaemonConfiguration(contentsOf: file))?.socket
  }
}

/// A daemon that has said which stores it keeps.
package struct FoundDaemon: Sendable {
  package let place: DaemonPlace
  package let pid: Int32
  /// The files of its stores, sorted by their paths.
  package let stores: [URL]

  /// The first daemon that answers. One that fails or refuses does not keep the next from being asked.
  ///
  /// - Throws: `Failure` that names each place and what is in the way there; of one place alone, its own.
  package static func find(
    at places: [DaemonPlace], answerSeconds: Int = 15
  ) async throws(Failure) -> FoundDaemon {
    var obstacles: [String] = []
    var first: Failure?
    for place in places {
      do throws(Failure) {
        if let found = try await ask(place, answerSeconds) { return found }
        obstacles.append("\(place.socket): \(UnixSocket.obstacle(at: place.socket))")
      } catch {
        if first == nil { first = error }
        let reason = error.message.hasSuffix(".") ? error.message.dropLast() : error.message[...]
        obstacles.append("\(place.socket): \(reason)")
      }
    }
    if let first, places.count == 1 { throw first }
    throw Failure(
      .failed, code: "no-daemon",
      "No daemon answers. Tried: \(obstacles.joined(separator: "; ")).",
      suggestion: first?.suggestion
        ?? "start syncd, name its socket with --socket, or one store with --store")
  }

  private static func ask(
    _ place: DaemonPlace, _ answerSeconds: Int
  ) async throws(Failure) -> FoundDaemon? {
    let client = DaemonClient(at: place, answerSeconds: answerSeconds)
    let reply: DaemonReply?
    do throws(Failure) {
      reply = try await client.ask(DaemonRequest(.stores))
    } catch  where error.code == "bad-request" {
      throw older(place)
    }
    guard let reply else { return nil }
    guard let paths = reply.paths else { throw older(place) }
    return FoundDaemon(
      place: place, pid: reply.pid, stores: paths.map { URL(fileURLWithPath: $0) })
  }

  private static func older(_ place: DaemonPlace) -> Failure {
    Failure(
      .failed, code: "daemon-older",
      "The daemon at \(place.socket) is older than this syncctl and does not say which stores it keeps.",
      suggestion: "start syncd again (systemctl restart syncd), or name one store with --store")
  }
}
