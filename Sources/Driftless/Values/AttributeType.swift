/// The type of an attribute. The raw values are Core Data's.
public enum AttributeType: Int, Sendable, CaseIterable, Codable {
  case undefined = 0
  case integer16 = 100
  case integer32 = 200
  case integer64 = 300
  case decimal = 400
  case double = 500
  case float = 600
  case string = 700
  case boolean = 800
  case date = 900
  case binaryData = 1000
  case uuid = 1100
  case uri = 1200
  case transformable = 1800
  case objectID = 2000
  case composite = 2100
}

/// What happens to the destinations of a relationship when its source is deleted. The raw values are Core Data's.
public enum DeleteRule: Int, Sendable, Codable {
  case noAction = 0
  case nullify = 1
  case cascade = 2
  case deny = 3
}

extension AttributeDescription {
  /// The type under the name that Core Data gave it in 2021.
  public typealias AttributeType = Driftless.AttributeType
}
