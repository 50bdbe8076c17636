import Foundation

extension PredicateEvaluator {
  func operand(_ expression: FetchExpression) throws(FetchError) -> Operand {
    switch expression {
    case .constant(let value):
      return .value(value.isNotANumber ? .null : value)
    case .keyPath(let path):
      try PredicateNesting.check(steps: path.count)
      return try resolve(path[...], from: source)
    case .variable(let name, let path):
      guard let operand = variables[name] else {
        throw FetchError(
          .unboundVariable, "$\(name) has no value",
          suggestion: "Call withSubstitutionVariables first.")
      }
      return try resolve(path[...], from: operand, path)
    case .list(let items, _):
      var operands: [Operand] = []
      for item in items { operands.append(try operand(item)) }
      return .list(operands)
    case .function(let function, let operands, _):
      var values: [PropertyValue] = []
      for expression in operands {
        values.append(try value(try operand(expression), expression))
      }
      return .value(try function.apply(to: values, now: now))
    case .collection(let operation, let collection, let path, _):
      let elements = try self.elements(of: try operand(collection), collection)
      return .value(try aggregate(operation, elements, path, expression))
    case .cast(let operand, let type, _):
      return .value(try type.apply(to: try value(try self.operand(operand), operand)))
    case .property(let collection, let path, _):
      return try resolve(path[...], from: try operand(collection), path)
    case .distinct(let collection, _):
      return .list(try distinct(try elements(of: try operand(collection), collection), collection))
    case .fetch(let fetch, let countOnly):
      let found = try source.predicateFetch(fetch)
      if countOnly { return .value(.integer(Int64(found.count))) }
      var operands: [Operand] = []
      for object in found { operands.append(try resolve(fetch.path[...], from: object)) }
      return .list(operands)
    case .conditional(let predicate, let one, let other, _):
      return try operand(try truth(of: predicate) == true ? one : other)
    case .element(let collection, let place, let path, _):
      let elements = try self.elements(of: try operand(collection), collection)
      guard let index = place.index(in: elements.count) else { return .value(.null) }
      return try resolve(path[...], from: elements[index], path)
    case .message(let receiver, let selector, let operands, _):
      return try answer(receiver, selector, operands)
    case .subquery(let collection, let variable, let condition, _):
      var inner = self
      var found: [Operand] = []
      for element in try elements(of: try operand(collection), collection) {
        inner.variables[variable] = element
        if try inner.truth(of: condition) == true { found.append(element) }
      }
      return .list(found)
    case .tooDeep: throw PredicateNesting.error
    }
  }

  private func answer(
    _ receiver: FetchExpression, _ selector: String, _ operands: [FetchExpression]
  ) throws(FetchError) -> Operand {
    guard let answer, case .variable(let name, _) = receiver else {
      throw Self.unanswered(selector)
    }
    var values: [Operand] = []
    for expression in operands { values.append(try operand(expression)) }
    return try answer(name, selector, values)
  }

  static func unanswered(_ selector: String) -> FetchError {
    FetchError(
      .unsupported, "FUNCTION(…, \"\(selector)\") has an answer in a migration only",
      suggestion: "Use it in a mapping model.")
  }

  // MARK: Key paths

  private func resolve(
    _ path: ArraySlice<String>, from operand: Operand, _ whole: [String]
  ) throws(FetchError) -> Operand {
    if path.isEmpty { return operand }
    switch operand {
    case .object(let object): return try resolve(path, from: object)
    case .list(let elements):
      var found: [Operand] = []
      for element in elements {
        switch try resolve(path, from: element, whole) {
        case .list(let nested): found += nested
        case let operand: found.append(operand)
        }
      }
      return .list(found)
    case .value(.null): return operand
    case .value(let value):
      // The one property that a value has.
      if path.count == 1, path.first == "length" {
        guard let length = value.length else {
          throw FetchError(
            .typeMismatch, "\(whole.joined(separator: ".")) is the length of no text or data",
            suggestion: "Only texts and data have a length.")
        }
        return .value(.integer(length))
      }
      throw FetchError(
        .unknownKey, "\(whole.joined(separator: ".")) goes on behind a value",
        suggestion: "Only relationships can be followed.")
    }
  }

  private func resolve(
    _ path: ArraySlice<String>, from object: any PropertySource
  ) throws(FetchError) -> Operand {
    guard let first = path.first else { return try whole(object) }
    // A leaf of a composite attribute is one property whose name has dots.
    var name = first
    var rest = path.dropFirst()
    var found = object.predicateValue(forKey: name)
    while found == nil, let next = rest.popFirst() {
      name += "." + next
      found = object.predicateValue(forKey: name)
    }
    switch found {
    case .scalar(let value):
      let value = value.isNotANumber ? .null : value
      if value.isNull, object.predicateLeadsToMany(name, rest) { return .list([]) }
      return try resolve(rest, from: .value(value), Array(path))
    case .object(let destination): return try resolve(rest, from: destination)
    case .objects(let elements):
      var operands: [Operand] = []
      for element in elements {
        switch try resolve(rest, from: element) {
        case .list(let nested): operands += nested
        case let operand: operands.append(operand)
        }
      }
      return .list(operands)
    case nil where path.count == 1 && first == "objectID": return .object(object)
    case nil:
      throw FetchError(
        .unknownKey, "There is no property \"\(path.joined(separator: "."))\"",
        suggestion: "Check the spelling against the model.")
    }
  }

  /// `SELF`
  private func whole(_ source: any PropertySource) throws(FetchError) -> Operand {
    switch source.predicateSelf {
    case nil: return .object(source)
    case .scalar(let value): return .value(value.isNotANumber ? .null : value)
    case .object(let object): return .object(object)
    case .objects(let elements):
      var operands: [Operand] = []
      for element in elements { operands.append(try whole(element)) }
      return .list(operands)
    }
  }

  // MARK: Collections

  private func aggregate(
    _ operation: CollectionOperator, _ elements: [Operand], _ path: [String],
    _ expression: FetchExpression
  ) throws(FetchError) -> PropertyValue {
    if operation == .count { return .integer(Int64(elements.count)) }
    var values: [PropertyValue] = []
    for element in elements {
      let operand = try resolve(path[...], from: element, path)
      let value = try value(operand, expression)
      if !value.isNull { values.append(value) }
    }
    switch operation {
    case .sum: return try sum(values, expression)
    case .avg:
      guard !values.isEmpty else { return .null }
      let total = try sum(values, expression).number ?? 0
      return .double(total / Double(values.count))
    case .min: return try extreme(values, .orderedAscending)
    case .max: return try extreme(values, .orderedDescending)
    case .count: return .integer(Int64(values.count))
    case .median, .mode, .stddev:
      let numbers = values.compactMap(\.number)
      guard numbers.count == values.count else {
        throw FetchError(
          .typeMismatch, "\(expression) needs numbers",
          suggestion: "Use @\(operation.rawValue) on numeric attributes.")
      }
      return operation.statistic(numbers).map { .double($0) } ?? .null
    }
  }

  /// Each value once, without null.
  private func distinct(
    _ elements: [Operand], _ expression: FetchExpression
  ) throws(FetchError) -> [Operand] {
    var seen: Set<PropertyValue> = []
    var found: [Operand] = []
    for element in elements where !element.isNull {
      if seen.insert(try value(element, expression).identity).inserted { found.append(element) }
    }
    return found
  }

  private func sum(
    _ values: [PropertyValue], _ expression: FetchExpression
  ) throws(FetchError) -> PropertyValue {
    var total = PropertyValue.integer(0)
    for value in values {
      guard value.number != nil else {
        throw FetchError(
          .typeMismatch, "\(expression) adds up values that are no numbers",
          suggestion: "Use @sum and @avg on numeric attributes.")
      }
      total = try FetchFunction.add.apply(to: [total, value], now: now)
    }
    return total
  }

  private func extreme(
    _ values: [PropertyValue], _ order: ComparisonResult
  ) throws(FetchError) -> PropertyValue {
    guard var extreme = values.first else { return .null }
    for value in values.dropFirst() where try value.order(extreme, []) == order {
      extreme = value
    }
    return extreme
  }
}

extension PropertyValue {
  /// Equal for values that the store takes for one: texts by their bytes, numbers of any type by what they are.
  fileprivate var identity: PropertyValue {
    if let text { return .data(Data(text.utf8)) }
    if let wholeNumber { return .integer(wholeNumber) }
    if case .double(let number) = self, let whole = Int64(exactly: number) {
      return .integer(whole)
    }
    return self
  }

  /// Of a text in UTF-16 units, of data in bytes; nil of anything else.
  package var length: Int64? {
    if case .data(let data) = self { return Int64(data.count) }
    return text.map { Int64($0.utf16.count) }
  }

  /// The store keeps no NaN: it reads back as null.
  var isNotANumber: Bool {
    switch self {
    case .double(let value): value.isNaN
    case .decimal(let value): value.isNaN
    case .date(let value): value.timeIntervalSinceReferenceDate.isNaN
    default: false
    }
  }
}

extension ElementPlace {
  /// Nil when there is no such element.
  func index(in count: Int) -> Int? {
    switch self {
    case .first: count > 0 ? 0 : nil
    case .last: count > 0 ? count - 1 : nil
    case .index(let index): index < count ? index : nil
    }
  }
}
