/// What is wrong with a file of settings, and where.
package struct SettingsComplaint: Error, Hashable, Sendable {
  /// The line in the file, from 1 on; nil where it is about the whole file.
  package let line: Int?
  /// The setting's name, where it is about one.
  package let name: String?
  package let message: String

  package init(line: Int?, name: String? = nil, _ message: String) {
    self.line = line
    self.name = name
    self.message = message
  }

  /// `FILE:12: "name" is …`, as compilers write it.
  package func text(in file: String) -> String {
    let place = line.map { "\(file):\($0)" } ?? file
    return "\(place): \(name.map { "\"\($0)\" " } ?? "")\(message)"
  }
}
