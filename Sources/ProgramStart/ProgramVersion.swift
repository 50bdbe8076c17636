/// The version of the programs.
package enum ProgramVersion {
  /// By semantic versioning; `-dev` on the way to it. `CHANGELOG.md` begins with the same version, and the packages have
  /// it. Nothing of the build is in it, so that one source makes the same bytes everywhere.
  package static let text = "0.1.0-dev"

  /// What `--version` prints.
  package static func line(of program: String) -> String { "\(program) \(text)" }
}
