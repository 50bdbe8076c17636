import ArgumentParser
import Driftless
import Foundation
import SyncDaemon

/// The option that names the store.
struct StoreArguments: ParsableArguments {
  @Option(name: .long, help: "The store's file.", completion: .file())
  var store: String

  /// The file, with symbolic links resolved: side files lie beside the file itself.
  var url: URL { Self.url(of: store) }

  static func url(of path: String) -> URL {
    URL(fileURLWithPath: path).standardizedFileURL.resolvingSymlinksInPath()
  }

  func open(reading: Bool = false) throws -> PersistentStore {
    try StoreAccess.open(url, reading: reading)
  }

  /// The store for reading, and why it could not be written, if it could not.
  func look() throws -> (store: PersistentStore, obstacle: StoreError?) {
    try StoreAccess.look(at: url)
  }
}
