import Foundation
import Testing

/// The engine's settings in a store, and what `store check` knows of them.
struct SettingTests {
  @Test("store check knows each setting of the engine's")
  func known() throws {
    let check = try String(
      contentsOf: Pages.root.appending(path: "Sources/DriftlessSync/Check/ReplicaCheck.swift"),
      encoding: .utf8)
    var count = 0
    for (file, text) in try sources() {
      var type = ""
      for line in text.split(separator: "\n") {
        if let declared = line.firstMatch(
          of:
            /^\s*(?:package |public |private |fileprivate )*(?:final )?(?:struct|enum|class|actor|extension) (\w+)/
        ) {
          type = String(declared.1)
        }
        guard let setting = line.firstMatch(of: /static let (\w+) = "(sync\.[\w.]+)"/) else {
          continue
        }
        count += 1
        let (name, literal) = (String(setting.1), String(setting.2))
        // Within its own type it goes by its name alone.
        let isKnown =
          check.contains("\"\(literal)\"") || check.contains("\(type).\(name),")
          || check.contains("(\(name),")
        #expect(isKnown, "\(file): store check calls a store damaged that has \(literal)")
      }
    }
    #expect(count > 20)
  }

  private func sources() throws -> [(String, String)] {
    let folder = Pages.root.appending(path: "Sources")
    let names = FileManager.default.enumerator(atPath: folder.path)
    var sources: [(String, String)] = []
    while let name = names?.nextObject() as? String {
      guard name.hasPrefix("DriftlessSync/") || name.hasSuffix("EngineRows.swift"),
        name.hasSuffix(".swift")
      else { continue }
      sources.append(
        (name, try String(contentsOf: folder.appending(path: name), encoding: .utf8)))
    }
    return sources
  }
}
