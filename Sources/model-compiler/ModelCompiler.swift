import Foundation

/// Makes of a model as it is edited what an application takes along: the bundle `NAME.momd`, and the classes that Xcode would
/// generate. `CoreDataPlugin` runs it at a build.
@main
enum ModelCompiler {
  static func main() {
    do {
      var words = CommandLine.arguments.dropFirst()
      guard let bundle = words.popFirst(), let classes = words.popFirst(),
        let model = words.popFirst()
      else { throw Mistake("a bundle, a source and a model are needed: CoreDataPlugin gives them") }
      if let other = words.first {
        let name = URL(fileURLWithPath: bundle).lastPathComponent
        throw Mistake(
          "it becomes \(name), as \(model) does: give one of them another name",
          at: URL(fileURLWithPath: other))
      }
      let edited = try EditedModel(at: URL(fileURLWithPath: model))
      // First what may fail.
      let text = try GeneratedClasses(of: edited.current).text
      try edited.write(to: URL(fileURLWithPath: bundle))
      try Data(text.utf8).write(to: URL(fileURLWithPath: classes), options: .atomic)
    } catch {
      FileHandle.standardError.write(Data("\(error)\n".utf8))
      exit(1)
    }
  }
}

/// What a person has to mend, in the form that a build tells.
struct Mistake: Error, CustomStringConvertible {
  let description: String

  init(_ text: String, at file: URL? = nil, line: Int = 1) {
    description = (file.map { "\($0.path):\(line):1: " } ?? "") + "error: \(text)"
  }
}
