/// What a setting of a file is: what its reader takes, and what a schema says of it.
package struct SettingDeclaration: Sendable {
  package indirect enum Kind: Sendable {
    case text
    /// A path; one that is relative is taken from the file's own folder.
    case path
    case flag
    case number(ClosedRange<Double>)
    case whole(ClosedRange<Int>)
    /// One of some words.
    case choice([String])
    case object([SettingDeclaration])
    /// An array of at least one object.
    case objects([SettingDeclaration])
  }

  /// What counts where a file says nothing.
  package enum Standard: Sendable {
    case text(String)
    case number(Double)
    case flag(Bool)
  }

  package let name: String
  package let kind: Kind
  /// What a number counts.
  package let unit: String?
  package let standard: Standard?
  package let isRequired: Bool
  /// A setting that may not be said beside this one.
  package let rival: String?
  package let meaning: String

  /// - Parameters:
  ///   - name: As a file has it.
  ///   - kind: What is taken.
  ///   - unit: What a number counts.
  ///   - standard: What counts where a file says nothing.
  ///   - isRequired: Whether a file has to have it.
  ///   - rival: A setting that may not be said beside this one.
  ///   - meaning: What it does, for a person.
  package init(
    _ name: String, _ kind: Kind, unit: String? = nil, standard: Standard? = nil,
    isRequired: Bool = false, rival: String? = nil, _ meaning: String
  ) {
    self.name = name
    self.kind = kind
    self.unit = unit
    self.standard = standard
    self.isRequired = isRequired
    self.rival = rival
    self.meaning = meaning
  }

  /// The least level to log.
  package static func logLevel(_ meaning: String) -> SettingDeclaration {
    SettingDeclaration(
      "logLevel", .choice(SettingsObject.logLevels),
      standard: .text("info"), meaning)
  }
}
