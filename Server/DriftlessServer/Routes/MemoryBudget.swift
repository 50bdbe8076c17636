import Synchronization

/// Bytes that requests hold in memory at one time, where none may hold much for long: of all, of each zone and of each token. None of
/// these gets all of it: who asks for much leaves room for others.
package final class MemoryBudget: Sendable {
  /// For whom it is held.
  package struct Holder: Sendable, Hashable {
    let zone: String
    let token: String

    package init(zone: String, token: String) {
      self.zone = zone
      self.token = token
    }
  }

  fileprivate struct State {
    var all = 0
    var ofZone: [String: Int] = [:]
    var ofToken: [String: Int] = [:]
  }

  private let state = Mutex(State())
  private let most: @Sendable () -> Int
  private let least: @Sendable () -> Int
  private let what: String

  /// - Parameters:
  ///   - what: what is too much where it is refused, in the plural.
  ///   - most: asked anew each time.
  ///   - least: bytes that a zone and a token may hold in any case, where all together leave room; asked anew each time.
  package init(
    _ what: String, most: @autoclosure @escaping @Sendable () -> Int,
    least: @autoclosure @escaping @Sendable () -> Int = 0
  ) {
    self.what = what
    self.most = most
    self.least = least
  }

  /// Bytes that are held by all.
  package var held: Int { state.withLock { $0.all } }

  /// Has bytes counted as held until the charge goes. A zone may hold half of all; a token three eighths, and no more than leaves
  /// `least` of the zone's part to its other tokens. Who holds nothing yet
  /// gets in where all together leave room, and one alone always: it could never be served else.
  ///
  /// - Throws: `ServerError` (`.busy`).
  package func reserve(_ bytes: Int, for holder: Holder) throws -> Charge {
    let charge = Charge(self, holder)
    try charge.grow(by: bytes)
    return charge
  }

  /// A charge that holds nothing yet.
  package func charge(for holder: Holder) -> Charge { Charge(self, holder) }

  /// - Returns: whether there is room for so many bytes more, which are held then.
  private func take(_ bytes: Int, for holder: Holder) -> Bool {
    let (most, least) = (most(), least())
    let zoneMost = max(most / 2, least)
    // Beside one token's there is room in the zone for the largest thing of another's.
    let tokenMost = max(min(most / 8 * 3, zoneMost - least), least)
    return state.withLock { state in
      func fits(_ held: Int, _ bound: Int) -> Bool { held == 0 || held + bytes <= bound }
      guard fits(state.all, most), fits(state.ofZone[holder.zone] ?? 0, zoneMost),
        fits(state.ofToken[holder.token] ?? 0, tokenMost)
      else { return false }
      state.add(bytes, holder)
      return true
    }
  }

  /// What is held; it goes with its last reference, if not before.
  package final class Charge: Sendable {
    private let bytes = Mutex(0)
    private let budget: MemoryBudget
    private let holder: Holder

    fileprivate init(_ budget: MemoryBudget, _ holder: Holder) {
      self.budget = budget
      self.holder = holder
    }

    deinit { shrink(to: 0) }

    /// Bytes that it holds.
    package var held: Int { bytes.withLock { $0 } }

    /// Holds so many bytes more, by the same rules as what is held by others.
    ///
    /// - Throws: `ServerError` (`.busy`); it holds what it held then.
    package func grow(by count: Int) throws {
      guard count > 0 else { return }
      guard budget.take(count, for: holder) else {
        throw ServerError.busy("too many \(budget.what) are in memory at one time")
      }
      bytes.withLock { $0 += count }
    }

    /// Holds no more than so many bytes from now on.
    package func shrink(to count: Int) {
      let freed = bytes.withLock { bytes in
        let freed = max(0, bytes - count)
        bytes -= freed
        return freed
      }
      if freed > 0 { budget.state.withLock { $0.add(-freed, holder) } }
    }
  }
}

extension MemoryBudget.State {
  fileprivate mutating func add(_ bytes: Int, _ holder: MemoryBudget.Holder) {
    all += bytes
    ofZone[holder.zone, default: 0] += bytes
    ofToken[holder.token, default: 0] += bytes
    if ofZone[holder.zone] == 0 { ofZone[holder.zone] = nil }
    if ofToken[holder.token] == 0 { ofToken[holder.token] = nil }
  }
}
