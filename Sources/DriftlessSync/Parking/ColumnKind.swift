import DriftlessProtocol

/// What a column of a change set can be about. It stands behind the name of a parked property that
/// the model has as something else: the name alone would say that the model knows it.
enum ColumnKind: String {
  case values
  case references
  case elements
  /// This program does not know what it is.
  case unknown

  init(_ values: Column.Values) {
    self =
      switch values {
      case .references: .references
      case .elements: .elements
      case .unknown: .unknown
      default: .values
      }
  }

  /// Whether it is about objects that are related to one.
  var saysRelationships: Bool { self == .references || self == .elements }

  /// Whether a property of the model can be what the column says.
  func fits(_ kind: SyncSchema.Property.Kind) -> Bool {
    switch (self, kind) {
    case (.values, .attribute), (.values, .place), (.references, .toOne), (.elements, .elements):
      true
    // What was to-one when it was sent.
    case (.references, .elements): true
    default: false
    }
  }
}

/// The name of an entity ("Entity") or a property ("Entity.property") of a parked entry.
struct ParkedName: Hashable {
  private static let separator: Character = "\t"

  var name: String
  /// What the log has under the name; nil where the model had nothing of that name.
  var kind: ColumnKind?

  init(_ name: String, _ kind: ColumnKind? = nil) {
    self.name = name
    self.kind = kind
  }

  /// Reads the form in which it is kept.
  init(text: String) {
    let parts = text.split(separator: Self.separator, maxSplits: 1)
    name = parts.first.map(String.init) ?? ""
    kind = parts.count > 1 ? ColumnKind(rawValue: String(parts[1])) : nil
  }

  var text: String { kind.map { "\(name)\(Self.separator)\($0.rawValue)" } ?? name }

  /// Why these names are parked.
  static func reason(_ names: Set<ParkedName>) -> String {
    func list(_ isOther: Bool) -> String {
      names.filter { ($0.kind != nil) == isOther }.map(\.name).sorted().joined(separator: ", ")
    }
    var sentences: [String] = []
    if !list(false).isEmpty { sentences.append("This model does not have: \(list(false)).") }
    if !list(true).isEmpty {
      sentences.append("This model has another kind of property as: \(list(true)).")
    }
    return sentences.joined(separator: " ")
  }
}
