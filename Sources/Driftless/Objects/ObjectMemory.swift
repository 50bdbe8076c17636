import CSwiftRuntime
import Synchronization

// References to objects that count none, and where they lie: what a context looks at for each of a hundred thousand objects,
// some ten times a save. All that the compiler does not look after of them is in this file.

/// A reference that its owner makes sure of: it is not held here, and there for as long as this is used.
struct Unretained<Object: AnyObject> {
  private let reference: Unmanaged<Object>

  @inline(__always)
  init(_ object: Object) { reference = .passUnretained(object) }

  /// The object, held.
  @inline(__always)
  var object: Object { reference.takeUnretainedValue() }

  /// Uses the object without counting a reference.
  @inline(__always)
  func with<Result>(_ body: (Object) throws -> Result) rethrows -> Result {
    try reference._withUnsafeGuaranteedRef(body)
  }

  @inline(__always)
  func isOf(_ object: Object) -> Bool {
    reference.toOpaque() == Unmanaged.passUnretained(object).toOpaque()
  }
}

/// As ``Unretained``, there later and for all threads: what it is of stays as long as this does.
struct AtomicUnretained<Object: AnyObject & Sendable>: ~Copyable, Sendable {
  private let address = Atomic<UInt>(0)

  func set(_ object: Object) {
    address.store(
      UInt(bitPattern: Unmanaged.passUnretained(object).toOpaque()), ordering: .releasing)
  }

  /// Uses the object without counting a reference; nil before it was set.
  @inline(__always)
  func with<Result>(_ body: (Object?) throws -> Result) rethrows -> Result {
    guard let address = UnsafeRawPointer(bitPattern: address.load(ordering: .acquiring)) else {
      return try body(nil)
    }
    return try Unmanaged<Object>.fromOpaque(address)._withUnsafeGuaranteedRef { try body($0) }
  }
}

/// A reference to an object that does not hold it. The object may be let go of at any time, on any thread: then it is not
/// found any more, and its memory stays until the reference is dropped.
///
/// It is what `weak` is without a table beside each object, which is an allocation for each of a hundred thousand and slows
/// every count of a reference from then on: the count of `unowned` references keeps the memory, and the runtime holds an
/// object only where its end has not begun.
struct UncountedReference<Object: AnyObject> {
  private let address: UnsafeMutableRawPointer

  /// Whoever makes one drops it, once.
  init(_ object: Object) {
    address = Unmanaged.passUnretained(object).toOpaque()
    driftless_unowned_retain(address)
  }

  /// The object, held; nil once its end has begun.
  @inline(__always)
  var object: Object? {
    driftless_try_retain(address).map { Unmanaged<Object>.fromOpaque($0).takeRetainedValue() }
  }

  /// Whether it is of the object, which may be at its end.
  @inline(__always)
  func isOf(_ object: Object) -> Bool {
    address == Unmanaged.passUnretained(object).toOpaque()
  }

  /// Whether both are of one object. Nothing else has its address, as long as there is one of them.
  @inline(__always)
  func isSame(as other: Self) -> Bool { address == other.address }

  /// Lets go of the memory.
  @inline(__always)
  func drop() { driftless_unowned_release(address) }
}

typealias ObjectReference = UncountedReference<ManagedObject>

/// Places for the references of objects whose keys follow each other.
struct ReferencePage {
  /// Places a page.
  static let size = 32

  private let places: UnsafeMutablePointer<ObjectReference?>

  /// A page without references; `deallocate()` must follow.
  init() {
    places = .allocate(capacity: Self.size)
    places.initialize(repeating: nil, count: Self.size)
  }

  @inline(__always)
  subscript(place: Int) -> ObjectReference? {
    get {
      assert((0..<Self.size).contains(place), "a place of another page")
      return places[place]
    }
    nonmutating set {
      assert((0..<Self.size).contains(place), "a place of another page")
      places[place] = newValue
    }
  }

  /// Its references were dropped.
  func deallocate() { places.deallocate() }
}

/// Lists of objects, as a save walks them.
///
/// A save looks at each of its objects some ten times, and a loop over an array counts a reference to each object at
/// each look: that was a quarter of a save.
extension [ManagedObject] {
  /// Calls `body` with each object from `start` on, without counting a reference to it.
  @inline(__always)
  func walk(from start: Int = 0, _ body: (ManagedObject) throws -> Void) rethrows {
    assert(start >= 0, "a list begins at its first object")
    try withUnsafeBufferPointer { objects in
      // An unmanaged reference lies in memory as a counted one does. The array is held until this returns, whatever
      // becomes of the variable that it came from, and holds its objects.
      try objects.withMemoryRebound(to: Unmanaged<ManagedObject>.self) { objects in
        var place = start
        while place < objects.count {
          try objects[place]._withUnsafeGuaranteedRef(body)
          place += 1
        }
      }
    }
  }
}
