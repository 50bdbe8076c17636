import Driftless
import Foundation

/// Sets in one value: a JSON array in a text or in bytes, or a property list that is an array. What
/// either side added or took away adds up, element by element; add wins.
///
/// For a to-many relationship the union is made by `ElementMerge` as well.
enum UnionMerge {
  static func settle(_ conflict: PropertyConflict) -> Settlement {
    guard conflict.local != conflict.remote else {
      // CONFLICT: both replicas set the property to the same value.
      // RESOLUTION: it stands, and nothing is pending.
      return .same
    }
    guard let local = ElementList(conflict.local), let remote = ElementList(conflict.remote),
      local.form == remote.form
    else {
      // CONFLICT: a side has no elements: null, or a value of another form.
      // RESOLUTION: the later edit stands.
      return LastWriterWins.settle(conflict)
    }
    // Without a base nobody took anything away.
    let base = Set(conflict.base.flatMap { ElementList($0) }?.identities ?? [])
    var merge = ElementMerge(base: base, local: Set(local.identities))
    let theirs = Set(remote.identities)
    merge.apply(adds: theirs.subtracting(base), removes: base.subtracting(theirs))
    switch (merge.local == theirs, merge.local == Set(local.identities)) {
    // CONFLICT: both sets hold the same elements, spelled or ordered differently.
    // RESOLUTION: the zone's spelling stands, and nothing is pending.
    case (true, _): return .remote
    // CONFLICT: the local set holds all that the zone's does.
    // RESOLUTION: it stands and is pushed.
    case (false, true): return .local
    // CONFLICT: each side added or took away something of its own.
    // RESOLUTION: the set with both changes stands and is pushed.
    case (false, false):
      let merged = remote.keeping(merge.local).appending(local.keeping(merge.local))
      return merged.value.map { .combined($0) } ?? LastWriterWins.settle(conflict)
    }
  }
}

/// The elements of a set that is one value.
struct ElementList {
  enum Form: Hashable { case jsonText, jsonBytes, propertyList }

  let form: Form
  /// Each element in a form in which equal ones are equal bytes; no element twice.
  private(set) var identities: [Data] = []
  private var elements: [Any] = []

  /// Nil when the value is no array.
  init?(_ value: PropertyValue) {
    let all: [Any]
    switch value {
    case .string(let text):
      guard let array = Self.json(Data(text.utf8)) else { return nil }
      form = .jsonText
      all = array
    case .data(let bytes):
      if let array = Self.json(bytes) {
        form = .jsonBytes
        all = array
      } else if let list = try? PropertyListSerialization.propertyList(from: bytes, format: nil),
        let array = list as? [Any]
      {
        form = .propertyList
        all = array
      } else {
        return nil
      }
    default: return nil
    }
    var seen: Set<Data> = []
    for element in all {
      guard let identity = identity(of: element) else { return nil }
      guard seen.insert(identity).inserted else { continue }
      identities.append(identity)
      elements.append(element)
    }
  }

  private static func json(_ bytes: Data) -> [Any]? {
    (try? JSONSerialization.jsonObject(with: bytes)) as? [Any]
  }

  private func identity(of element: Any) -> Data? {
    if form == .propertyList {
      return try? PropertyListSerialization.data(
        fromPropertyList: [element], format: .xml, options: 0)
    }
    return try? JSONSerialization.data(withJSONObject: [element], options: .sortedKeys)
  }

  func keeping(_ kept: Set<Data>) -> ElementList {
    var list = self
    let places = identities.indices.filter { kept.contains(identities[$0]) }
    list.identities = places.map { identities[$0] }
    list.elements = places.map { elements[$0] }
    return list
  }

  func appending(_ other: ElementList) -> ElementList {
    var list = self
    let known = Set(identities)
    for (identity, element) in zip(other.identities, other.elements) where !known.contains(identity)
    {
      list.identities.append(identity)
      list.elements.append(element)
    }
    return list
  }

  /// The list as a value of its form.
  var value: PropertyValue? {
    switch form {
    case .jsonText, .jsonBytes:
      guard
        let bytes = try? JSONSerialization.data(
          withJSONObject: elements, options: [.sortedKeys, .withoutEscapingSlashes])
      else { return nil }
      return form == .jsonBytes ? .data(bytes) : .string(String(decoding: bytes, as: UTF8.self))
    case .propertyList:
      let bytes = try? PropertyListSerialization.data(
        fromPropertyList: elements, format: .binary, options: 0)
      return bytes.map { .data($0) }
    }
  }
}
