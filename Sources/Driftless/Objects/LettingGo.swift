import Foundation

/// Lets go of lists of objects one after the other: a member that nobody else holds lets go of its own members, and a chain of
/// them must not take the stack.
enum LettingGo {
  private final class Pending {
    var lists: [[ManagedObject]] = []
  }

  /// The lists of the thread that lets go of some; the outermost call holds on to it.
  private static let key: pthread_key_t = {
    var key = pthread_key_t()
    pthread_key_create(&key, nil)
    return key
  }()

  /// Empties the list.
  static func letGo(_ objects: inout [ManagedObject]) {
    if let pending = pthread_getspecific(key) {
      let pending = Unmanaged<Pending>.fromOpaque(pending).takeUnretainedValue()
      pending.lists.append(objects)
      objects = []
      return
    }
    let pending = Pending()
    pthread_setspecific(key, Unmanaged.passUnretained(pending).toOpaque())
    pending.lists.append(objects)
    objects = []
    while pending.lists.popLast() != nil {}
    pthread_setspecific(key, nil)
  }
}
