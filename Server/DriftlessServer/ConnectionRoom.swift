import Logging
import NIOCore
import Synchronization

/// Who is connected, and who of them has shown a token that lets them in.
///
/// Anybody can connect, and stay silent. So where there is no room for a further connection it is not the newcomer who waits: the
/// oldest of those without a token is closed. Who has shown one keeps its connection, and `connectionsReserve` places are always
/// left to those who have not yet.
final class ConnectionRoom: Sendable {
  fileprivate struct Stranger {
    let channel: any Channel
    let address: String
  }

  fileprivate struct State {
    var open: Set<ObjectIdentifier> = []
    var numbers: [ObjectIdentifier: UInt64] = [:]
    var strangers: [UInt64: Stranger] = [:]
    /// Their numbers, which ascend: the oldest first. All, and of each address.
    var order: [UInt64] = []
    var ofAddress: [String: [UInt64]] = [:]
    var next: UInt64 = 0
    /// Since the log was told.
    var closed = 0
    var told: ContinuousClock.Instant?

    var admitted: Int { open.count - order.count }
  }

  private let state = Mutex(State())
  private let limits: LiveLimits
  private let metrics: ServerMetrics
  private let logger: Logger

  init(limits: LiveLimits, metrics: ServerMetrics, logger: Logger) {
    self.limits = limits
    self.metrics = metrics
    self.logger = logger
  }

  /// A connection was made; where it is one too many, the oldest without a token is closed.
  func opened(_ channel: any Channel) {
    let limits = limits.current
    let id = ObjectIdentifier(channel)
    let address = channel.remoteAddress?.ipAddress ?? ""
    let victims = state.withLock { state in
      state.add(Stranger(channel: channel, address: address))
      var victims: [any Channel] = []
      if let own = state.ofAddress[address], own.count > limits.connectionsPerAddressMax {
        victims += state.close(own[0])
      }
      let reserve = min(limits.connectionsReserve, limits.connectionsMax)
      if state.order.count > max(limits.connectionsMax - state.admitted, reserve) {
        victims += state.close(state.order[0])
      }
      return victims
    }
    channel.closeFuture.whenComplete { [self] _ in
      state.withLock { state in
        if let number = state.numbers[id] { state.forget(number) }
        state.open.remove(id)
      }
    }
    close(victims)
  }

  /// A token was shown on a connection that lets it in. Where all places of such are taken it stays as it was.
  func admit(_ channel: any Channel) {
    state.withLock { state in
      guard state.admitted < limits.connectionsMax,
        let number = state.numbers[ObjectIdentifier(channel)]
      else { return }
      state.forget(number)
    }
  }

  /// Closes some of those without a token, since the process can open no more files.
  func makeRoom(for count: Int) {
    close(
      state.withLock { state in
        state.order.prefix(count).flatMap { state.close($0) }
      })
  }

  private func close(_ victims: [any Channel]) {
    guard !victims.isEmpty else { return }
    for channel in victims {
      metrics.countClosedStranger()
      channel.close(promise: nil)
    }
    let count: Int? = state.withLock { state in
      state.closed += victims.count
      let now = ContinuousClock.now
      guard state.told.map({ now - $0 >= .seconds(60) }) ?? true else { return nil }
      defer { state.closed = 0 }
      state.told = now
      return state.closed
    }
    guard let count else { return }
    logger.warning(
      "connections that showed no token were closed to make room",
      metadata: [
        "count": "\(count)", "connectionsMax": "\(limits.connectionsMax)",
        "connectionsPerAddressMax": "\(limits.connectionsPerAddressMax)",
      ])
  }
}

extension ConnectionRoom.State {
  fileprivate mutating func add(_ stranger: ConnectionRoom.Stranger) {
    let id = ObjectIdentifier(stranger.channel)
    open.insert(id)
    numbers[id] = next
    strangers[next] = stranger
    order.append(next)
    ofAddress[stranger.address, default: []].append(next)
    next += 1
  }

  /// It is no stranger any more, or is gone.
  fileprivate mutating func forget(_ number: UInt64) {
    guard let stranger = strangers.removeValue(forKey: number) else { return }
    numbers[ObjectIdentifier(stranger.channel)] = nil
    order.removeAscending(number)
    ofAddress[stranger.address]?.removeAscending(number)
    if ofAddress[stranger.address]?.isEmpty == true { ofAddress[stranger.address] = nil }
  }

  /// - Returns: the connection, to be closed.
  fileprivate mutating func close(_ number: UInt64) -> [any Channel] {
    guard let stranger = strangers[number] else { return [] }
    forget(number)
    open.remove(ObjectIdentifier(stranger.channel))
    return [stranger.channel]
  }
}

extension [UInt64] {
  /// Takes out one of numbers that ascend.
  fileprivate mutating func removeAscending(_ number: UInt64) {
    var (low, high) = (0, count)
    while low < high {
      let middle = (low + high) / 2
      if self[middle] < number { low = middle + 1 } else { high = middle }
    }
    if low < count, self[low] == number { remove(at: low) }
  }
}
