/// Indexes in a change set's object table, ascending and each once: a run, or a list.
public struct ObjectIndexes: RandomAccessCollection, Hashable, Sendable {
  private enum Form: Hashable, Sendable {
    case run(Range<Int>)
    case list([Int32])
  }

  private let form: Form

  /// Indexes that follow each other.
  public init(_ run: Range<Int>) {
    form = .run(run)
  }

  /// A list that is a run becomes one.
  ///
  /// - Parameter list: Ascending; each once. The encoder refuses another order.
  public init(_ list: [Int32]) {
    if let first = list.first, let last = list.last, first >= 0, last >= first,
      Int(last) - Int(first) == list.count - 1, Self.isAscending(list)
    {
      form = .run(Int(first)..<Int(last) + 1)
    } else if list.isEmpty {
      form = .run(0..<0)
    } else {
      form = .list(list)
    }
  }

  public var startIndex: Int { 0 }

  public var endIndex: Int {
    switch form {
    case .run(let run):
      // `run.count` traps when the bounds are further apart than an Int.
      run.lowerBound < 0
        ? run.upperBound.addingClamped(-Swift.max(run.lowerBound, -.max)) : run.count
    case .list(let list): list.count
    }
  }

  /// The index in the object table at a place of this list.
  public subscript(position: Int) -> Int {
    switch form {
    case .run(let run): run.lowerBound + position
    case .list(let list): Int(list[position])
    }
  }

  /// The indexes as a range, when they follow each other without a gap.
  public var run: Range<Int>? {
    if case .run(let run) = form { return run }
    return nil
  }

  /// Whether the indexes ascend, each once, from 0 up to below `count`.
  func isValid(below count: Int) -> Bool {
    switch form {
    case .run(let run): run.lowerBound >= 0 && run.upperBound <= count
    case .list(let list):
      list.first.map { $0 >= 0 } ?? true && list.last.map { Int($0) < count } ?? true
        && Self.isAscending(list)
    }
  }

  private static func isAscending(_ list: [Int32]) -> Bool {
    var previous = Int32.min
    for (place, index) in list.enumerated() {
      guard index > previous || place == 0 else { return false }
      previous = index
    }
    return true
  }
}
