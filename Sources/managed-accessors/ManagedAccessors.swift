import Foundation
import SwiftSource

/// Writes the accessors of a module's `@NSManaged` members. `CoreDataPlugin` runs it at a build.
@main
enum ManagedAccessors {
  static func main() {
    do {
      let arguments = try Arguments(Array(CommandLine.arguments.dropFirst()))
      let problems = try arguments.write()
      guard problems.isEmpty else {
        for problem in problems { complain("\(problem.path):\(problem.line):1: \(problem.text)") }
        exit(1)
      }
    } catch {
      complain("\(error)")
      exit(1)
    }
  }

  /// In the form that a build tells as an error of the source.
  private static func complain(_ text: String) {
    let line = text.replacingOccurrences(
      of: "^(.+:[0-9]+:1: )?", with: "$1error: ", options: .regularExpression)
    FileHandle.standardError.write(Data("\(line)\n".utf8))
  }
}

/// What the plugin asks for.
struct Arguments {
  struct Mistake: Error, CustomStringConvertible {
    var description: String
  }

  private var module = ""
  private var compiler = ""
  private var folder = URL(fileURLWithPath: "/")
  private var sources: [String] = []
  /// Where the accessors of a source go.
  private var outputs: [String: String] = [:]
  /// Where the members go that key-value coding reaches.
  private var keys: String?

  init(_ words: [String]) throws(Mistake) {
    var words = words[...]
    func value(_ option: String) throws(Mistake) -> String {
      guard let value = words.popFirst() else {
        throw Mistake(description: "\(option) needs a value: CoreDataPlugin gives it")
      }
      return value
    }
    while let word = words.popFirst() {
      switch word {
      case "--module": module = try value(word)
      case "--compiler": compiler = try value(word)
      case "--work": folder = URL(fileURLWithPath: try value(word))
      case "--keys": keys = try value(word)
      case "--accessors":
        let source = try value(word)
        outputs[source] = try value(word)
      default: sources.append(word)
      }
    }
    guard !module.isEmpty, !compiler.isEmpty, folder.path != "/" else {
      throw Mistake(
        description: "--module, --compiler and --work are needed: CoreDataPlugin gives them")
    }
  }

  /// Writes the files; what a person has to mend, where that is so.
  func write() throws -> [ManagedModule.Problem] {
    let texts = try sources.map { path in
      do {
        return (path: path, text: try String(contentsOfFile: path, encoding: .utf8))
      } catch {
        throw Mistake(description: "\(path) cannot be read as UTF-8: save it so")
      }
    }
    var accessors = ManagedModule(texts)
    guard accessors.problems.isEmpty else { return accessors.problems }
    let skeleton = Skeleton(compiler: compiler, module: module, folder: folder)
    let files = accessors.accessors(
      intermediate: accessors.isPlain ? "" : try skeleton.compiled(&accessors),
      for: outputs.keys.sorted())
    guard accessors.problems.isEmpty else { return accessors.problems }
    if let keys {
      let text = accessors.keyedMembers.text
      try Data(text.utf8).write(to: URL(fileURLWithPath: keys), options: .atomic)
    }
    for file in files {
      guard let output = outputs[file.name] else { continue }
      try Data(file.text.utf8).write(to: URL(fileURLWithPath: output), options: .atomic)
    }
    return []
  }
}
