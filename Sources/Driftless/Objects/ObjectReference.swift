import CSwiftRuntime

/// A reference to an object that does not hold it. The object may be let go of at any time, on any thread: then it is not
/// found any more, and its memory stays until the reference is dropped.
///
/// It is what `weak` is without a table beside each object, which is an allocation for each of a hundred thousand and slows
/// every count of a reference from then on: the count of `unowned` references keeps the memory, and the runtime holds an
/// object only where its end has not begun.
struct ObjectReference {
  private let address: UnsafeMutableRawPointer

  /// Whoever makes one drops it, once.
  init(_ object: ManagedObject) {
    address = Unmanaged.passUnretained(object).toOpaque()
    driftless_unowned_retain(address)
  }

  /// The object, held; nil once its end has begun.
  @inline(__always)
  var object: ManagedObject? {
    driftless_try_retain(address).map {
      Unmanaged<ManagedObject>.fromOpaque($0).takeRetainedValue()
    }
  }

  /// Whether it is of the object, which may be at its end.
  @inline(__always)
  func isOf(_ object: ManagedObject) -> Bool {
    address == Unmanaged.passUnretained(object).toOpaque()
  }

  /// Whether both are of one object. Nothing else has its address, as long as there is one of them.
  @inline(__always)
  func isSame(as other: ObjectReference) -> Bool { address == other.address }

  /// Lets go of the memory.
  @inline(__always)
  func drop() { driftless_unowned_release(address) }
}
