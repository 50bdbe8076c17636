public import Driftless
public import Foundation
import Synchronization

// Arguments of format strings are often written as `id as CVarArg`. On Apple's systems what Objective-C has as an object is one.
// Formats of predicates take the values as they are; C's formats get the object, or a text of the value.

extension NSObject: @retroactive CVarArg {
  /// The object, for functions of C.
  public var _cVarArgEncoding: [Int] {
    [Int(bitPattern: Unmanaged.passUnretained(self).toOpaque())]
  }
}

/// The text of a value as an object, for functions of C: nobody says when they are done with it, so it stays.
private func encoding(_ value: some Sendable) -> [Int] {
  let object = Unmanaged.passRetained(NSString(string: "\(value)")).toOpaque()
  CArgumentObjects.note(value, at: object)
  return [Int(bitPattern: object)]
}

/// Objects in lists of C's that stand for values.
enum CArgumentObjects {
  /// By the place of the object, which stays.
  private static let values = Mutex<[UInt: any Sendable]>([:])

  static func note(_ value: some Sendable, at object: UnsafeRawPointer) {
    let place = UInt(bitPattern: object)
    values.withLock { $0[place] = value }
  }

  /// The value that the object at a place stands for, or the object; nil for no object.
  static func value(at place: UInt) -> Any? {
    if let value = values.withLock({ $0[place] }) { return value }
    return UnsafeRawPointer(bitPattern: place).map {
      Unmanaged<AnyObject>.fromOpaque($0).takeUnretainedValue()
    }
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
