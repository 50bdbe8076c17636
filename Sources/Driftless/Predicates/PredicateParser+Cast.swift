import Foundation

extension PredicateParser {
  /// `CAST(born, "NSDate")`; of a literal it is the value itself, as `description` writes those that have no literal.
  func cast(
    _ operands: [FetchExpression], at position: Int
  ) throws(FetchError) -> FetchExpression {
    guard operands.count == 2, case .constant(.string(let type)) = operands[1] else {
      throw syntaxError("CAST needs an expression and the name of a type", at: position)
    }
    guard case .constant(let value) = operands[0] else {
      guard let cast = FetchCast(name: type) else {
        let known = FetchCast.allCases.map(\.rawValue).joined(separator: ", ")
        throw FetchError(
          .unsupported, "CAST knows no type \(type)", suggestion: "Known are \(known).",
          format: format, position: position)
      }
      return .cast(operands[0], cast)
    }
    let bare = type.hasPrefix("NS") ? String(type.dropFirst(2)) : type
    var result = value.cast(to: bare)
    if result == nil, let other = try? FetchCast(name: type)?.apply(to: value), !other.isNull {
      result = other
    }
    guard let result else {
      throw FetchError(
        .typeMismatch, "CAST cannot make a \(type) of this",
        suggestion: "Known are NSDate (seconds since 2001), Decimal, Double, UUID, URL and Data "
          + "(Base64).",
        format: format, position: position)
    }
    return .constant(result)
  }
}

extension PropertyValue {
  fileprivate func cast(to type: String) -> PropertyValue? {
    switch (self, type) {
    case (.integer(let seconds), "Date"):
      return .date(Date(timeIntervalSinceReferenceDate: Double(seconds)))
    case (.double(let seconds), "Date"):
      return .date(Date(timeIntervalSinceReferenceDate: seconds))
    case (.string(let text), "Decimal"), (.string(let text), "DecimalNumber"):
      return Decimal(string: text).map(PropertyValue.decimal)
    case (.string(let text), "Double"): return Double(text).map(PropertyValue.double)
    case (.string(let text), "UUID"): return UUID(uuidString: text).map(PropertyValue.uuid)
    case (.string(let text), "URL"): return URL(string: text).map(PropertyValue.uri)
    case (.string(let text), "Data"): return Data(base64Encoded: text).map(PropertyValue.data)
    case (.string(let text), "ObjectKey"):
      let parts = text.split(separator: "/")
      guard parts.count == 2, let entity = Int32(parts[0]), let key = Int64(parts[1]) else {
        return nil
      }
      return .reference(ObjectKey(entity: entity, key: key))
    default: return nil
    }
  }
}
