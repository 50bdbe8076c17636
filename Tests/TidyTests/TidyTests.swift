import Foundation
import TestSupport
import Testing

/// The rules of style that a machine can check, checked.
struct TidyTests {
  private struct SourceFile {
    let path: String
    let lines: [Substring]
    var isTest: Bool { path.hasPrefix("Tests/") || path.contains("/Tests/") }
  }

  private static let root = URL(fileURLWithPath: #filePath)
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

  /// Files over the limit, each with the reason why it is one file.
  private static let longFiles: [String: String] = [:]

  private static let files: [SourceFile] = {
    var files: [SourceFile] = []
    for folder in ["Sources", "Server", "Client", "Plugins", "Tests", "Examples"] {
      let url = root.appendingPathComponent(folder)
      let names = FileManager.default.enumerator(atPath: url.path)
      while let name = names?.nextObject() as? String {
        guard name.hasSuffix(".swift"), !name.hasSuffix(".pb.swift"), !name.contains(".build/")
        else { continue }
        guard
          let text = try? String(contentsOf: url.appendingPathComponent(name), encoding: .utf8)
        else { continue }
        files.append(
          SourceFile(
            path: "\(folder)/\(name)",
            lines: text.split(separator: "\n", omittingEmptySubsequences: false)))
      }
    }
    return files
  }()

  @Test(
    "Nothing is committed at the top but what the project is made of",
    .enabled(
      if: FileManager.default.fileExists(atPath: root.appendingPathComponent(".git").path),
      "this is no checkout"))
  func topLevel() throws {
    let git = try ProgramRun([
      "git", "-c", "safe.directory=*", "-C", Self.root.path, "ls-files", "-z",
    ])
    try #require(git.status == 0)
    let top = Set(git.output.split(separator: "\0").map { $0.prefix { $0 != "/" } })
    let known: Set<Substring> = [
      ".ci", ".gitignore", ".swift-format", "Benchmarks", "CHANGELOG.md", "CONTRIBUTING.md",
      "Client", "Demo", "Examples", "Makefile", "Package.swift", "Plugins", "README.md", "Scripts",
      "Server", "Sources", "Tests",
    ]
    #expect(top == known)
  }

  @Test("There are files to check")
  func filesAreFound() {
    #expect(Self.files.count > 20)
  }

  @Test("No file is longer than 400 lines, unless a reason is given here")
  func filesAreShort() {
    for file in Self.files where Self.longFiles[file.path] == nil {
      #expect(file.lines.count <= 401, "\(file.path) has \(file.lines.count) lines: split it")
    }
  }

  @Test("Nothing is left half done")
  func nothingIsHalfDone() {
    // Spelled in parts, so that this file does not find itself.
    let marks = ["TO" + "DO", "FIX" + "ME", "not yet " + "implemented"]
    for file in Self.files {
      for (number, line) in file.lines.enumerated() {
        for mark in marks where line.contains(mark) {
          Issue.record("\(file.path):\(number + 1): \(mark)")
        }
      }
    }
  }

  @Test("What can trap or race says on its line why it does not")
  func dangersGiveReasons() {
    let marks = [
      "fatal" + "Error(", "tr" + "y!", " as" + "! ", "@unchecked " + "Sendable",
      "nonisolated" + "(unsafe)", "unsafe" + "Downcast", "unsafe" + "BitCast",
      "unowned" + "(unsafe)", "@exclusivity" + "(unchecked)",
    ]
    for file in Self.files where !file.isTest {
      for (number, line) in file.lines.enumerated() {
        let before = number > 0 ? file.lines[number - 1] : ""
        for mark in marks where line.contains(mark) {
          let hasReason =
            line.contains("// ") || before.trimmingCharacters(in: .whitespaces).hasPrefix("//")
          #expect(hasReason, "\(file.path):\(number + 1): \(mark) gives no reason")
        }
      }
    }
  }

  @Test("Only the modules that may know a library import it")
  func modulesKnowWhatTheyMay() {
    let owners: [String: [String]] = [
      "CSQLite": [
        "Sources/DriftlessSQLite/", "Tests/DriftlessSQLiteTests/", "Tests/StoreProbe/",
        "Tests/Simulation/Commits.swift", "Tests/DriftlessSyncTests/ValueWorkTests.swift",
      ],
      "CSwiftRuntime": ["Sources/Driftless/Objects/"],
      "ModelXML": ["Sources/Driftless/Model/", "Sources/model-compiler/"],
      "CZlib": ["Sources/DriftlessProtocol/", "Tests/DriftlessProtocolTests/"],
      "CCurl": ["Sources/DriftlessHTTP/"],
      "CHeap": ["Sources/ProgramStart/"],
      "CPostgres": ["Server/DriftlessServer/Storage/PostgreSQL/PostgresConnection.swift"],
      "Hummingbird": ["Server/", "Tests/DriftlessServerTests/", "Examples/PointOfSale/"],
      "X509": ["Server/ServerCertificates/"],
      "SwiftASN1": ["Server/ServerCertificates/"],
      "NIOSSL": ["Server/DriftlessServer/"],
      "SwiftProtobuf": ["Sources/DriftlessProtocol/", "Tests/DriftlessProtocolTests/"],
    ]
    for file in Self.files {
      for line in file.lines where line.contains("import ") && !line.hasPrefix(" ") {
        guard let module = line.split(separator: " ").last.map(String.init),
          let allowed = owners[module]
        else { continue }
        #expect(
          allowed.contains { file.path.hasPrefix($0) }, "\(file.path) must not import \(module)")
      }
    }
  }
}
