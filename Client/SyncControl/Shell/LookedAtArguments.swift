import ArgumentParser
import Foundation
import SyncDaemon

/// The options that name what is looked at: one store, or all stores of a daemon.
struct LookedAtArguments: ParsableArguments {
  @Option(
    name: .long, help: "The store's file; without it, all stores of a daemon.",
    completion: .file())
  var store: String?
  @Option(
    name: .long,
    help: "The socket of the daemon, where it does not listen at a usual place.",
    completion: .file())
  var socket: String?

  func validate() throws {
    guard store == nil || socket == nil else {
      throw ValidationError("--socket is for all stores of a daemon: give it, or --store.")
    }
    guard store != "" else { throw ValidationError("--store is the path of a file.") }
    guard socket != "" else { throw ValidationError("--socket is the path of a socket.") }
  }

  /// Where the daemon may listen.
  var places: [DaemonPlace] { socket.map { [DaemonPlace($0)] } ?? DaemonPlace.usual() }
}
