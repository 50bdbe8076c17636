import ArgumentParser
import Driftless
import Foundation
import SyncDaemon

struct ModelLintCommand: ControlCommand {
  static let configuration = CommandConfiguration(
    commandName: "lint", abstract: "Name what will hurt later in a model.",
    discussion: """
      Each finding names an element, what follows from what the model says of it, and what to do. \
      Nothing is guessed from names. A model that is wrong is refused, as by every command, with 65.
      Ends with 0 when nothing was found, and with \(findingsCode) otherwise:

      custom-policy     a rule that every program which syncs the store must have
      idle-policy       a policy that settles nothing
      misspelt-word     an element, an attribute or a flag that is near a known one: the file is refused
      missing-inverse   a relationship without inverse
      optional-key      an optional property in a uniqueness constraint
      shared-name       two things of one kind that say that they were called by one name before
      twofold-order     a many-to-many relationship that is ordered at both ends
      unfit-encryption  what says that it is encrypted, and is not
      unfit-fetch       what says when its values are fetched, and has none that can wait
      unfit-policy      a policy that cannot do its work on the type
      unknown-setting   a driftless. key or word in a userInfo that means nothing there
      unknown-word      an element or an attribute that is not known, and is not read

      Example: syncctl model lint Shop.xcdatamodeld
      """)

  @Argument(
    help: "A model: an .xcdatamodeld, a .momd, or a file of XML.", completion: .file())
  var model: String
  @OptionGroup var output: OutputOptions

  /// How the command ends when something was found.
  static let findingsCode: Int32 = 21

  func perform() throws {
    let url = URL(fileURLWithPath: model)
    let words = try ManagedObjectModel.unknownWords(at: url)
    let lint: ModelLint
    if words.contains(where: \.isMisspelt) {
      // It is no model before they are mended.
      lint = ModelLint(words)
    } else {
      let read = try ManagedObjectModel(contentsOf: url)
      try read.freeze()
      lint = ModelLint(read)
    }
    try output.put(lint, lines: lint.lines)
    guard lint.findings.isEmpty else { throw ExitCode(Self.findingsCode) }
  }
}
