import ArgumentParser
import Foundation
import SyncDaemon

/// The options that name the keys of encrypted properties.
struct KeyArguments: ParsableArguments {
  @Option(
    name: .long,
    help: "The key file of the encrypted properties, where it is not beside the store.",
    completion: .file())
  var keyFile: String?
  @Option(name: .long, help: "A command of the shell that prints that file.")
  var keyCommand: String?

  func validate() throws {
    guard keyFile != nil, keyCommand != nil else { return }
    throw ValidationError("Either --key-file or --key-command.")
  }

  /// What is named; nil for the file beside the store, where there is one.
  var source: KeySource? {
    keyCommand.map { .command($0) } ?? keyFile.map { .file(URL(fileURLWithPath: $0)) }
  }
}
