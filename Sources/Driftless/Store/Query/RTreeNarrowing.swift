import DriftlessSQLite
import Foundation

/// Lets an R-tree index answer the part of a predicate that bounds its numbers: a further condition on the key, which
/// holds for every row that meets the predicate.
struct RTreeNarrowing {
  let schema: StoreSchema
  let entity: EntityDescription
  /// Of the entity's table.
  let alias: String

  /// The condition; nil when no R-tree index has all its numbers bounded by the predicate.
  func condition(_ predicate: FetchPredicate) -> SQLFragment? {
    let bounds = Self.bounds(of: predicate)
    guard !bounds.isEmpty else { return nil }
    var owner: EntityDescription? = entity
    while let entity = owner {
      for index in entity.indexes where index.elements.first?.collationType == .rTree {
        guard let tree = RTreeIndex(index, of: entity, schema), schema.has(tree),
          tree.dimensions.allSatisfy({ bounds[$0.property] != nil })
        else { continue }
        return condition(tree, bounds)
      }
      owner = entity.superentity
    }
    return nil
  }

  private func condition(_ tree: RTreeIndex, _ bounds: [String: Bounds]) -> SQLFragment {
    var parts: [SQLFragment] = []
    for (property, column) in tree.dimensions {
      // The index has 32 bits a number, the lower end rounded down and the upper up: it finds too much, never too little.
      if let lower = bounds[property]?.lower {
        parts.append(.identifier("\(column)_MAX") + " >= " + .value(.real(lower)))
      }
      if let upper = bounds[property]?.upper {
        parts.append(.identifier("\(column)_MIN") + " <= " + .value(.real(upper)))
      }
    }
    let key = SQLFragment.column(alias, "Z_PK")
    return key + " IN (SELECT Z_PK FROM " + .identifier(tree.name) + " WHERE "
      + .joined(parts, by: " AND ") + ")"
  }

  // MARK: Bounds

  private struct Bounds {
    var lower: Double?
    var upper: Double?

    mutating func meet(lower: Double? = nil, upper: Double? = nil) {
      if let lower { self.lower = max(lower, self.lower ?? lower) }
      if let upper { self.upper = min(upper, self.upper ?? upper) }
    }
  }

  /// What all rows that meet the predicate have in common, by property.
  private static func bounds(of predicate: FetchPredicate) -> [String: Bounds] {
    var bounds: [String: Bounds] = [:]
    func look(_ predicate: FetchPredicate) {
      switch predicate {
      case .and(let parts, _): parts.forEach(look)
      case .comparison(let comparison): look(comparison)
      case .constant, .or, .not, .block, .tooDeep: return
      }
    }
    func look(_ comparison: FetchComparison) {
      guard comparison.modifier == .direct, case .keyPath(let path) = comparison.left else {
        return
      }
      let property = path.joined(separator: ".")
      if comparison.operator == .between, case .list(let ends, _) = comparison.right,
        ends.count == 2,
        let lower = number(ends[0]), let upper = number(ends[1])
      {
        return bounds[property, default: Bounds()].meet(lower: lower, upper: upper)
      }
      guard let number = number(comparison.right) else { return }
      switch comparison.operator {
      case .equal: bounds[property, default: Bounds()].meet(lower: number, upper: number)
      case .greater, .greaterOrEqual: bounds[property, default: Bounds()].meet(lower: number)
      case .less, .lessOrEqual: bounds[property, default: Bounds()].meet(upper: number)
      default: return
      }
    }
    look(predicate)
    return bounds
  }

  private static func number(_ expression: FetchExpression) -> Double? {
    guard case .constant(let value) = expression else { return nil }
    switch value {
    case .integer(let value): return Double(value)
    case .double(let value): return value.isFinite ? value : nil
    case .date(let date): return date.timeIntervalSinceReferenceDate
    default: return nil
    }
  }
}
