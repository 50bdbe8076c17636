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

/// The text of a value as an object, for functions of C: nobody says when they are done with it, so it stays.
private func encoding(_ value: some Any) -> [Int] {
  [Int(bitPattern: Unmanaged.passRetained(NSString(string: "\(value)")).toOpaque())]
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
