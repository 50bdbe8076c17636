/// Things that wait for one who does them, in lines of zones: the zones take turns, so that who brings much to one of them
/// keeps the others waiting for a turn, and not for all of it. Within a zone, first come first served.
///
/// Each turn gives a zone so much credit (deficit round robin); what costs more than its zone's credit waits for further
/// turns while other zones have something to do, and for nobody else.
package struct ZoneTurns<Element> {
  fileprivate struct Line {
    let zone: Int64
    var waiting: [(element: Element, cost: Int)] = []
    var credit = 0
  }

  /// In the order of their turns. None is empty.
  private var lines: [Line] = []
  package private(set) var count = 0
  /// What a zone may cost the others in one turn.
  private let credit: Int

  package init(credit: Int) { self.credit = credit }

  package func isWaiting(for zone: Int64) -> Bool { lines.contains { $0.zone == zone } }

  package mutating func add(_ element: Element, of zone: Int64, cost: Int) {
    count += 1
    let place =
      lines.firstIndex { $0.zone == zone }
      ?? {
        lines.append(Line(zone: zone))
        return lines.count - 1
      }()
    lines[place].waiting.append((element, cost))
  }

  /// Puts back what a group had no time for: as it came, before all that waits of its zone.
  ///
  /// - Parameter last: the zone that was served last: its turn is over, all others keep theirs.
  package mutating func putBack(
    _ rest: [(element: Element, zone: Int64, cost: Int)], after last: Int64
  ) {
    count += rest.count
    for (element, zone, cost) in rest.reversed() {
      let old = lines.firstIndex { $0.zone == zone }
      var line = old.map { lines.remove(at: $0) } ?? Line(zone: zone)
      line.waiting.insert((element, cost), at: 0)
      // It has paid for its turn, and is not to save up for it again: others would be before it for ever.
      line.credit += cost
      lines.insert(line, at: zone == last ? lines.count : 0)
    }
  }

  /// What is done together next: of each zone what its turn allows, and always something where something waits.
  ///
  /// - Parameters:
  ///   - most: at most so many elements, and so much cost but for the first.
  ///   - isAlone: whether an element is done by itself.
  package mutating func next(
    most: (count: Int, cost: Int), isAlone: (Element) -> Bool
  ) -> [Element] {
    while !lines.isEmpty {
      let group = round(most, isAlone)
      if !group.isEmpty {
        count -= group.count
        return group
      }
    }
    return []
  }

  /// One turn of each zone that fits.
  private mutating func round(
    _ most: (count: Int, cost: Int), _ isAlone: (Element) -> Bool
  ) -> [Element] {
    var (group, cost) = ([Element](), 0)
    for _ in 0..<lines.count {
      var line = lines.removeFirst()
      // No more is kept than the next one costs: a line that never empties saves nothing up.
      line.credit = min(line.credit, line.waiting[0].cost) + credit
      // Nobody waits for the only one.
      if lines.isEmpty { line.credit = max(line.credit, line.waiting[0].cost) }
      var taken = 0
      var isFull = false
      for (element, itsCost) in line.waiting {
        guard itsCost <= line.credit else { break }
        let isByItself = isAlone(element)
        isFull =
          group.count >= most.count
          || !group.isEmpty && (isByItself || cost + itsCost > most.cost)
        if isFull { break }
        group.append(element)
        (taken, cost, line.credit) = (taken + 1, cost + itsCost, line.credit - itsCost)
        isFull = isByItself
        if isFull { break }
      }
      line.waiting.removeFirst(taken)
      if isFull, taken == 0 {
        // Its turn was cut short, and is the next one.
        line.credit -= credit
        lines.insert(line, at: 0)
        return group
      }
      if !line.waiting.isEmpty { lines.append(line) }
      if isFull { return group }
    }
    return group
  }
}

extension ZoneTurns: Sendable where Element: Sendable {}
extension ZoneTurns.Line: Sendable where Element: Sendable {}
