import Driftless
import Foundation

/// Sets in one value: a JSON array in a text or in bytes, or a property list that is an array. What
/// either side added or took away adds up, element by element; add wins.
///
/// For a to-many relationship the union is made by `ElementMerge` as well.
enum UnionMerge {
  static func settle(_ conflict: PropertyConflict) -> Verdict {
    guard let local = ElementList(conflict.local), let remote = ElementList(conflict.remote) else {
      // CONFLICT: a side has no elements: null, or a value that is no list.
      // RESOLUTION: the later edit stands, and the journal says by which rule.
      return LastWriterWins.settle(
        conflict, since: "since one side holds no list that could be united")
    }
    guard local.form == remote.form else {
      // CONFLICT: the sides hold lists of different forms, such as JSON and a property list.
      // RESOLUTION: the later edit stands, and the journal says by which rule.
      return LastWriterWins.settle(conflict, since: "since the two lists are of different forms")
    }
    // Without a base nobody took anything away.
    let base = Set(conflict.base.flatMap { ElementList($0) }?.identities ?? [])
    var merge = ElementMerge(base: base, local: Set(local.identities))
    let theirs = Set(remote.identities)
    merge.apply(adds: theirs.subtracting(base), removes: base.subtracting(theirs))
    switch (merge.local == theirs, merge.local == Set(local.identities), conflict.isLocalLater) {
    // CONFLICT: both sets hold the same elements, spelled or ordered differently, and the local edit
    // is the later one.
    // RESOLUTION: it stays pending, so that its elements are added at its time.
    case (true, true, true): return Verdict(.sameButLater, base: baseKeepingAdds(conflict))
    // CONFLICT: the zone's set holds all that the local one does, or says it otherwise.
    // RESOLUTION: the zone's value stands, and nothing is pending.
    case (true, _, _): return Verdict(.remote)
    // CONFLICT: the local set holds all that the zone's does.
    // RESOLUTION: it stands and is pushed.
    case (false, true, _): return Verdict(.local, base: baseKeepingAdds(conflict))
    // CONFLICT: each side added or took away something of its own.
    // RESOLUTION: the set with both changes stands and is pushed.
    case (false, false, _):
      let merged = remote.keeping(merge.local).appending(local.keeping(merge.local))
      guard let value = merged.value else {
        return LastWriterWins.settle(conflict, since: "since the union cannot be written")
      }
      return Verdict(.combined(value), base: baseKeepingAdds(conflict))
    }
  }

  /// The zone's set without the elements that the later local edit added as well: they stay added
  /// here, so that a removal of the earlier addition does not take the later one. Nil where that is
  /// the zone's set itself.
  static func baseKeepingAdds(_ conflict: PropertyConflict) -> PropertyValue? {
    guard conflict.isLocalLater, let local = ElementList(conflict.local),
      let remote = ElementList(conflict.remote), local.form == remote.form
    else { return nil }
    let base = Set(conflict.base.flatMap { ElementList($0) }?.identities ?? [])
    let theirs = Set(remote.identities)
    let added = theirs.intersection(local.identities).subtracting(base)
    return added.isEmpty ? nil : remote.keeping(theirs.subtracting(added)).value
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
