import Foundation
import Testing

/// The page `Limits.md` has every bound of the sources, with its value.
struct LimitPageTests {
  /// Files with bounds, and the type whose bounds are meant.
  private static let files = [
    "Server/DriftlessServer/ServerLimits.swift",
    "Sources/DriftlessProtocol/ChangeSet/ChangeSetLimits.swift",
    "Sources/DriftlessHTTP/TransportOptions.swift",
    "Sources/DriftlessHTTP/RetryPolicy.swift",
    "Sources/DriftlessSync/SyncTuning.swift",
    "Sources/DriftlessSync/Run/SyncSchedule.swift",
    "Sources/Driftless/Store/StoreOptions.swift",
  ]

  private static func section(of file: String) throws -> String {
    let name = file.split(separator: "/").last.map(String.init) ?? file
    return try Pages.text("Limits.md").components(separatedBy: "\n## ")
      .first { $0.contains("`\(name)`") } ?? ""
  }

  /// The value of `64 << 20`, `24 * 3600 * 1000`, `1_000` or `0.25`.
  private static func value(of expression: String) -> Double? {
    let text = expression.replacingOccurrences(of: "_", with: "")
    guard !text.isEmpty, text.allSatisfy({ $0.isNumber || " .*<".contains($0) }) else { return nil }
    let shifted = text.components(separatedBy: "<<").map { $0.trimmingCharacters(in: .whitespaces) }
    let factors = shifted[0].components(separatedBy: "*").map {
      Double($0.trimmingCharacters(in: .whitespaces))
    }
    guard factors.allSatisfy({ $0 != nil }) else { return nil }
    let product = factors.reduce(1) { $0 * ($1 ?? 0) }
    guard shifted.count == 2 else { return product }
    return Double(shifted[1]).map {
      product * Double(sign: .plus, exponent: Int($0), significand: 1)
    }
  }

  /// The value of a cell: `64 MiB`, `128 KiB`, `4,096`, `0.25`.
  private static func value(ofCell cell: String) -> Double? {
    let parts = cell.split(separator: " ")
    guard let number = parts.first.flatMap({ Double($0.replacingOccurrences(of: ",", with: "")) })
    else { return nil }
    switch parts.dropFirst().first {
    case "MiB": return number * 1_048_576
    case "KiB": return number * 1024
    default: return number
    }
  }

  @Test("Every bound of the sources is in Limits.md, with its value", arguments: files)
  func bounds(file: String) throws {
    let section = try Self.section(of: file)
    #expect(!section.isEmpty, "Limits.md has no section with \(file)")
    let text = try String(contentsOf: Pages.root.appendingPathComponent(file), encoding: .utf8)
    let pattern = try Regex(
      #"^ +(?:public var|package var|static let) (\w+)(?:: \w+)? = ([0-9][0-9_. *<]*)$"#
    ).anchorsMatchLineEndings()
    let bounds = text.matches(of: pattern).map {
      (name: String($0.output[1].substring ?? ""), value: String($0.output[2].substring ?? ""))
    }
    #expect(bounds.count >= 3, "\(file)")
    for bound in bounds {
      let row = section.components(separatedBy: "\n| `\(bound.name)` | ").dropFirst().first
      let cell = row?.components(separatedBy: " |").first
      #expect(
        cell.flatMap(Self.value(ofCell:)) == Self.value(of: bound.value),
        "Limits.md: \(bound.name) is \(bound.value), the page says \(cell ?? "nothing")")
    }
  }

  @Test("Every row of a section of Limits.md is a bound of the sources")
  func rows() throws {
    let page = try Pages.text("Limits.md")
    var looked: Set<String> = []
    for section in page.components(separatedBy: "\n## ").dropFirst() {
      let files = Self.files.filter {
        section.contains("`\($0.split(separator: "/").last.map(String.init) ?? $0)`")
      }
      guard !files.isEmpty else { continue }
      looked.formUnion(files)
      let sources = try files.map {
        try String(contentsOf: Pages.root.appendingPathComponent($0), encoding: .utf8)
      }
      let names = section.components(separatedBy: "\n| `").dropFirst().compactMap {
        $0.components(separatedBy: "` |").first
      }
      for name in names where name.allSatisfy({ $0.isLetter || $0.isNumber }) {
        #expect(
          sources.contains { $0.contains("var \(name)") || $0.contains("let \(name)") },
          "Limits.md has \(name), which none of \(files) has")
      }
    }
    #expect(looked == Set(Self.files))
  }

  @Test("What a schema says of a limit of the server is the limit's own comment")
  func meanings() throws {
    func text(_ name: String) throws -> String {
      try String(
        contentsOf: Pages.root.appendingPathComponent("Server/DriftlessServer/\(name)"),
        encoding: .utf8)
    }
    let told = try text("ServerLimits+Meanings.swift")
    var comment: [String] = []
    var count = 0
    for line in try text("ServerLimits.swift").split(separator: "\n") {
      let line = line.trimmingCharacters(in: .whitespaces)
      if line.hasPrefix("///") {
        comment.append(line.dropFirst(3).trimmingCharacters(in: .whitespaces))
        continue
      }
      defer { comment = [] }
      guard line.hasPrefix("public var "), line.contains(" = "), !comment.isEmpty else { continue }
      count += 1
      let words = comment.joined(separator: " ")
      #expect(told.contains("\"\(words)\""), "\(line): \(words)")
    }
    #expect(count > 40)
  }
}
