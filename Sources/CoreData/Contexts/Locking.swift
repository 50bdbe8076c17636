public import Driftless
public import Foundation

// Locks that an application takes by itself, as before there were queues. Nothing here takes them.

extension NSManagedObjectContext: NSLocking {
  /// Waits for the context's lock, which a thread may take several times. Use `perform(_:)` in new code.
  public func lock() { ownLock.lock() }

  /// Gives the context's lock back.
  public func unlock() { ownLock.unlock() }

  /// Takes the context's lock if nobody has it.
  public func tryLock() -> Bool { ownLock.try() }

  /// Runs the body with the context's lock.
  /// - Throws: what the body throws.
  public func withLock<R>(_ body: () throws -> R) rethrows -> R {
    lock()
    defer { unlock() }
    return try body()
  }
}

extension PersistentStoreCoordinator: NSLocking {
  /// Waits for the coordinator's lock, which a thread may take several times. Use `perform(_:)` in new code.
  public func lock() { ownLock.lock() }

  /// Gives the coordinator's lock back.
  public func unlock() { ownLock.unlock() }

  /// Takes the coordinator's lock if nobody has it.
  public func tryLock() -> Bool { ownLock.try() }

  /// Runs the body with the coordinator's lock.
  /// - Throws: what the body throws.
  public func withLock<R>(_ body: () throws -> R) rethrows -> R {
    lock()
    defer { unlock() }
    return try body()
  }
}
