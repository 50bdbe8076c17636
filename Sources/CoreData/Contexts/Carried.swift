import Foundation

/// Carries a value to a queue, and back, where the compiler cannot see that it goes along with the work.
struct Carried<Value>: @unchecked Sendable {  // one side uses it at a time
  let value: Value

  init(_ value: Value) { self.value = value }
}

/// A reference that keeps nothing alive.
final class WeakReference<Object: AnyObject>: @unchecked Sendable {  // read only
  weak let object: Object?

  init(_ object: Object) { self.object = object }
}
