import Driftless
import Foundation

extension FetchPredicate {
  /// With texts of numbers as numbers where they are compared with an attribute that is one: `age == %@` with "20", as Core Data's SQLite
  /// store takes it. Other texts stay, and are refused by the fetch.
  func takingNumbers(of entity: EntityDescription) -> FetchPredicate {
    switch self {
    case .and(let parts, _): .and(parts.map { $0.takingNumbers(of: entity) })
    case .or(let parts, _): .or(parts.map { $0.takingNumbers(of: entity) })
    case .not(let part, _): .not(part.takingNumbers(of: entity))
    case .comparison(let comparison): .comparison(comparison.takingNumbers(of: entity))
    case .constant, .block, .tooDeep: self
    }
  }
}

extension FetchComparison {
  fileprivate func takingNumbers(of entity: EntityDescription) -> FetchComparison {
    var taken = self
    switch `operator` {
    case .contains, .beginsWith, .endsWith, .like, .matches: return self
    default: break
    }
    if let type = left.numberType(in: entity) { taken.right = right.asNumber(type) }
    if let type = right.numberType(in: entity) { taken.left = left.asNumber(type) }
    return taken
  }
}

extension FetchExpression {
  /// The type of the number that a key path leads to.
  fileprivate func numberType(in entity: EntityDescription) -> AttributeType? {
    guard case .keyPath(let path) = self, let type = entity.attribute(at: path[...])?.type else {
      return nil
    }
    switch type {
    case .integer16, .integer32, .integer64, .double, .float, .decimal: return type
    default: return nil
    }
  }

  fileprivate func asNumber(_ type: AttributeType) -> FetchExpression {
    switch self {
    case .list(let elements, let nesting):
      return .list(elements.map { $0.asNumber(type) }, nesting)
    case .constant(.string(let text)):
      if let number = Int64(text) { return .constant(.integer(number)) }
      guard let number = Double(text), number.isFinite else { return self }
      if type == .decimal, let decimal = Decimal(string: text) {
        return .constant(.decimal(decimal))
      }
      return .constant(.double(number))
    default: return self
    }
  }
}
