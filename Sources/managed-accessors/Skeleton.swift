import Foundation
import SwiftSource

/// Has the compiler say under which symbols it looks for accessors.
struct Skeleton {
  let compiler: String
  let module: String
  let folder: URL

  /// The compiler's text for a module's skeleton, from which what it does not take is left out.
  func compiled(_ accessors: inout ManagedModule) throws -> String {
    let library = folder.appendingPathComponent("library")
    try write([ManagedModule.library], to: library)
    let built = try run([
      "-emit-module", "-module-name", "Driftless", "-o",
      library.appendingPathComponent("Driftless.swiftmodule").path,
      library.appendingPathComponent(ManagedModule.library.name).path,
    ])
    guard built.isDone else { throw refusal(built.text) }
    let sources = folder.appendingPathComponent("skeleton")
    let output = folder.appendingPathComponent("skeleton.sil")
    while true {
      let files = accessors.skeleton()
      try write(files, to: sources)
      let result = try run(
        [
          "-emit-silgen", "-whole-module-optimization", "-module-name", module, "-I", library.path,
          "-o", output.path,
        ] + files.map { sources.appendingPathComponent($0.name).path })
      if result.isDone { return try String(contentsOf: output, encoding: .utf8) }
      guard accessors.leaveOut(diagnostics: result.text) else { throw refusal(result.text) }
    }
  }

  private func refusal(_ text: String) -> Arguments.Mistake {
    Arguments.Mistake(
      description: "\(compiler) says of the types of \(module) alone, in \(folder.path):\n\(text)"
        + "Write the accessors with `syncctl code port` instead.")
  }

  /// Puts files in a folder that has no others.
  private func write(_ files: [ManagedModule.File], to folder: URL) throws {
    try? FileManager.default.removeItem(at: folder)
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    for file in files {
      try Data(file.text.utf8).write(to: folder.appendingPathComponent(file.name))
    }
  }

  private func run(_ arguments: [String]) throws -> (isDone: Bool, text: String) {
    let log = folder.appendingPathComponent("compiler.log")
    guard FileManager.default.createFile(atPath: log.path, contents: nil) else {
      throw Arguments.Mistake(description: "\(log.path) cannot be written: check the folder's room")
    }
    let process = Process()
    process.executableURL = URL(fileURLWithPath: compiler)
    process.arguments = ["-suppress-warnings", "-swift-version", "5"] + arguments
    let handle = try FileHandle(forWritingTo: log)
    process.standardOutput = handle
    process.standardError = handle
    do {
      try process.run()
    } catch {
      throw Arguments.Mistake(description: "\(compiler) cannot be run: check the toolchain")
    }
    process.waitUntilExit()
    let text = String(decoding: try Data(contentsOf: log), as: UTF8.self)
    return (process.terminationStatus == 0, text)
  }
}
