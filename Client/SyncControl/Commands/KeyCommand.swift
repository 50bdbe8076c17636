import ArgumentParser
import Driftless
import DriftlessProtocol
import DriftlessSync
import Foundation
import SyncDaemon

struct KeyCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "key",
    abstract: "Make and keep the keys that encrypted properties are sealed with.",
    discussion: """
      A key file is the secret: whoever has it reads what the server cannot. Every replica that \
      shall read has a copy. Without one there is no way back to the values.
      """,
    subcommands: [
      KeyCreateCommand.self, KeyRotateCommand.self, KeyListCommand.self, KeyUseCommand.self,
      KeyResealCommand.self,
    ])
}

/// What a key file has that anybody may know.
private struct KeyFileReport: Encodable {
  var file: String
  var keys: [String]
  var newest: String

  init(_ ring: KeyRing, _ url: URL) {
    file = url.path
    keys = ring.keyIDs.map(\.description)
    newest = ring.newest.description
  }
}

struct KeyCreateCommand: ControlCommand {
  static let configuration = CommandConfiguration(
    commandName: "create", abstract: "Make a key file with a new key.",
    discussion: "Example: syncctl key create shop.keys")

  @Argument(help: "The file to make. One that is there is refused.", completion: .file())
  var file: String
  @OptionGroup var output: OutputOptions

  func perform() throws {
    let url = URL(fileURLWithPath: file)
    guard !FileManager.default.fileExists(atPath: url.path) else {
      throw Failure(
        .badData, code: "key-exists", "\(url.path) is there already.",
        suggestion: "name a new file; for one more key in it: syncctl key rotate \(file.shellWord)")
    }
    let ring = KeyRing()
    try KeyFile.write(ring, to: url)
    try output.put(
      KeyFileReport(ring, url),
      line: "key \(ring.newest) in \(file): keep a copy where it cannot be lost")
  }
}

struct KeyRotateCommand: ControlCommand {
  static let configuration = CommandConfiguration(
    commandName: "rotate",
    abstract: "Put one more key in a key file, for all that is sent from now on.",
    discussion: """
      What was sealed with the older keys stays readable: they stay in the file. Give the file to \
      all replicas before one of them writes with it: who does not have the new key sets aside what \
      it cannot open, until it has. `syncctl key reseal` sends everything again under the new key.

      Example: syncctl key rotate shop.keys
      """)

  @Argument(help: "The key file.", completion: .file())
  var file: String
  @OptionGroup var output: OutputOptions

  func perform() throws {
    let url = URL(fileURLWithPath: file).resolvingSymlinksInPath()
    let ring = try KeyFile.read(url).rotated()
    try KeyFile.write(ring, to: url)
    try output.put(
      KeyFileReport(ring, url),
      line:
        "key \(ring.newest) in \(file), with \(ring.keyIDs.count - 1) older: give the file to all "
        + "replicas, then: syncctl key reseal --store STORE")
  }
}

struct KeyListCommand: ControlCommand {
  static let configuration = CommandConfiguration(
    commandName: "list", abstract: "List the names of the keys in a file, the newest last.",
    discussion: "Example: syncctl key list shop.keys")

  @Argument(help: "The key file.", completion: .file())
  var file: String
  @OptionGroup var output: OutputOptions

  func perform() throws {
    let url = URL(fileURLWithPath: file)
    let ring = try KeyFile.read(url)
    try output.put(
      KeyFileReport(ring, url),
      lines: ring.keyIDs.map {
        "\($0)\($0 == ring.newest ? "  new values are sealed with it" : "")"
      })
  }
}

struct KeyUseCommand: ControlCommand {
  static let configuration = CommandConfiguration(
    commandName: "use", abstract: "Keep a copy of a key file beside a store.",
    discussion: """
      The daemon and the commands take it from there. What waited for it is taken in with the next sync.

      Example: syncctl key use --store shop.sqlite shop.keys
      """
  )

  @OptionGroup var target: StoreArguments
  @Argument(help: "The key file.", completion: .file())
  var file: String?
  @Flag(name: .long, help: "Remove the copy beside the store.")
  var none = false
  @OptionGroup var output: OutputOptions

  func validate() throws {
    guard (file == nil) == none else { throw ValidationError("Either a key file or --none.") }
  }

  func perform() async throws {
    try StoreAccess.requireFile(at: target.url)
    guard let file else {
      try KeyFile.remove(forStore: target.url)
      await DaemonClient.wake(store: target.url)
      return try output.put(["keys": [String]()], line: "no keys are kept beside the store")
    }
    let ring = try KeyFile.read(URL(fileURLWithPath: file))
    let url = KeyFile.url(forStore: target.url)
    try checkKept(ring, url)
    try KeyFile.write(ring, to: url)
    await DaemonClient.wake(store: target.url)
    try output.put(
      KeyFileReport(ring, url), line: "the keys are kept in \(url.path)")
  }
}

extension KeyUseCommand {
  /// What lies beside the store may be the only copy of its keys.
  private func checkKept(_ ring: KeyRing, _ url: URL) throws {
    guard KeyFile.kept(forStore: target.url) != nil else { return }
    let kept: KeyRing
    do throws(Failure) {
      kept = try KeyFile.read(url)
    } catch {
      throw Failure(
        .failed, code: "key-exists",
        "The keys that are kept beside the store cannot be compared, and would be written over: \(error.message)",
        suggestion:
          "keep a copy of \(url.path.shellWord) in a safe place, then: syncctl key use --none --store \(target.url.path.shellWord), "
          + "and this command again")
    }
    let missing = kept.keyIDs.filter { !ring.keyIDs.contains($0) }
    guard !missing.isEmpty else { return }
    throw Failure(
      .failed, code: "key-exists",
      "\(file ?? "") lacks what is kept beside the store, \(missing.count == 1 ? "key" : "keys") "
        + "\(missing.map(\.description).joined(separator: ", ")): it would be written over, and may be the only copy.",
      suggestion:
        "keep a copy of \(url.path.shellWord) in a safe place, then: syncctl key use --none --store \(target.url.path.shellWord)"
        + ", and this command again")
  }
}

struct KeyResealCommand: ControlCommand {
  static let configuration = CommandConfiguration(
    commandName: "reseal",
    abstract: "Send the values of all encrypted properties again, sealed with the newest key.",
    discussion: """
      The next sync does it. Edits that others made since stand. What was sent before stays in the \
      zone's log, in backups and with who has the old key: an old key takes nothing back.

      Example: syncctl key reseal --store shop.sqlite
      """)

  @OptionGroup var target: StoreArguments
  @OptionGroup var output: OutputOptions

  func perform() async throws {
    try SyncEngine.sealAnew(try target.open())
    await DaemonClient.wake(store: target.url)
    try output.put(
      ["reseals": true],
      line: "the next sync sends all encrypted values that are here under the newest key")
  }
}
