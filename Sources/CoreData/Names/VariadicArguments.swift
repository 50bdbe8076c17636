public import Driftless
public import Foundation

// Arguments of format strings are often written as `id as CVarArg`. On Apple's systems what Objective-C has as an object is one.
// Formats of predicates take the values as they are; C's formats get the object, or a text of the value.

extension NSObject: @retroactive CVarArg {
  /// The object, for functions of C.
  public var _cVarArgEncoding: [Int] {
    [Int(bitPattern: Unmanaged.passUnretained(self).toOpaque())]
  }
}

/// The text of a value as an object, for functions of C.
private func encoding(_ value: some Sendable) -> [Int] {
  let object = NSString(string: "\(value)")
  CArgumentObjects.keep(object, for: value)
  return [Int(bitPattern: Unmanaged.passUnretained(object).toOpaque())]
}

/// Calls the closure with a list of C's of the arguments, which is good until it returns. It hides the standard library's function
/// of that name, which cannot tell when the values are done with that stand in the list as objects.
public func withVaList<R>(_ args: [any CVarArg], _ body: (CVaListPointer) -> R) -> R {
  CArgumentObjects.whileInUse { Swift.withVaList(args, body) }
}

/// Objects in lists of C's that stand for values.
///
/// They are kept while the list is in use where ``withVaList(_:_:)`` makes it. Of lists that are made elsewhere, as by `String(format:)`, nobody says
/// when they are done with: of these a thread keeps the last ones, more than a list has.
package enum CArgumentObjects {
  private struct Entry {
    let object: NSString
    let value: any Sendable
  }

  /// Those of one thread.
  private final class Kept {
    /// Of lists that are in use, the innermost last.
    var inUse: [[Entry]] = []
    /// Of other lists, in a ring.
    var others: [Entry] = []
    var next = 0
  }

  /// As many as the lists that a thread makes at one time may have together.
  private static let othersMax = 4096
  private static let key = "coredata.arguments"

  private static var kept: Kept {
    let thread = Thread.current
    if let known = thread.threadDictionary[key] as? Kept { return known }
    let made = Kept()
    thread.threadDictionary[key] = made
    return made
  }

  static func keep(_ object: NSString, for value: some Sendable) {
    let (kept, entry) = (kept, Entry(object: object, value: value))
    if !kept.inUse.isEmpty {
      kept.inUse[kept.inUse.count - 1].append(entry)
    } else if kept.others.count < othersMax {
      kept.others.append(entry)
    } else {
      kept.others[kept.next] = entry
      kept.next = (kept.next + 1) % othersMax
    }
  }

  static func whileInUse<R>(_ body: () -> R) -> R {
    let kept = kept
    kept.inUse.append([])
    defer { kept.inUse.removeLast() }
    return body()
  }

  /// How many the thread keeps, for tests.
  package static var count: Int { kept.others.count + kept.inUse.reduce(0) { $0 + $1.count } }

  /// The value that the object at a place stands for, or the object; nil for no object.
  static func value(at place: UInt) -> Any? {
    guard let object = UnsafeRawPointer(bitPattern: place) else { return nil }
    func isThere(_ entry: Entry) -> Bool {
      UnsafeRawPointer(Unmanaged.passUnretained(entry.object).toOpaque()) == object
    }
    let kept = kept
    let entry =
      kept.inUse.lazy.reversed().compactMap { $0.first(where: isThere) }.first
      ?? kept.others.last(where: isThere)
    if let entry { return entry.value }
    return Unmanaged<AnyObject>.fromOpaque(object).takeUnretainedValue()
  }
}

extension UUID: @retroactive CVarArg {
  /// The text of the value, for functions of C.
  public var _cVarArgEncoding: [Int] { encoding(self) }
}

extension Date: @retroactive CVarArg {
  /// The text of the value, for functions of C.
  public var _cVarArgEncoding: [Int] { encoding(self) }
}

extension URL: @retroactive CVarArg {
  /// The text of the value, for functions of C.
  public var _cVarArgEncoding: [Int] { encoding(self) }
}

extension ManagedObject: CVarArg {
  /// The text of the value, for functions of C.
  public var _cVarArgEncoding: [Int] { encoding(objectID) }
}

extension ManagedObjectID: CVarArg {
  /// The text of the value, for functions of C.
  public var _cVarArgEncoding: [Int] { encoding(self) }
}
