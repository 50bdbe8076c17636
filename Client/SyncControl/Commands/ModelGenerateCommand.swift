import ArgumentParser
import Driftless
import Foundation
import SyncDaemon

struct ModelGenerateCommand: ControlCommand {
  static let configuration = CommandConfiguration(
    commandName: "generate", abstract: "Write a Swift class with typed keys for every entity.")

  @OptionGroup var source: ModelArguments
  @Option(name: .long, help: "The folder to write to; files of the same names are replaced.")
  var folder = "."
  @Option(name: .long, help: "The access level of the classes: internal, package or public.")
  var access = "internal"
  @OptionGroup var output: OutputOptions

  func validate() throws {
    guard ["internal", "package", "public"].contains(access) else {
      throw ValidationError("--access is internal, package or public.")
    }
  }

  func perform() throws {
    let model = try source.read()
    let url = URL(fileURLWithPath: folder)
    try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    var written: [String] = []
    for file in ModelSource.swift(for: model, accessLevel: access) {
      let path = url.appendingPathComponent(file.fileName)
      try Data(file.text.utf8).write(to: path, options: .atomic)
      written.append(path.path)
    }
    try output.put(["files": written], lines: written)
  }
}
