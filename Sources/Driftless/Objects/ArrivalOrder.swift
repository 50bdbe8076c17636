/// Elements that leave in the order in which they came.
///
/// Whoever takes one out has the last reference to it. A slice of an array keeps what was taken out until it moves to other
/// memory: then it would be let go of there, maybe under a lock that its end wants as well.
struct ArrivalOrder<Element> {
  private var elements: [Element?] = []
  private var first = 0

  var count: Int { elements.count - first }
  var isEmpty: Bool { first == elements.count }

  mutating func append(_ element: Element) { elements.append(element) }

  mutating func popFirst() -> Element? {
    guard first < elements.count else { return nil }
    let element = elements[first]
    elements[first] = nil
    first += 1
    if first == elements.count {
      elements.removeAll(keepingCapacity: first <= Self.keptMax)
      first = 0
    } else if first > Self.keptMax, first > elements.count / 2 {
      elements.removeFirst(first)
      first = 0
    }
    return element
  }

  /// Places of elements that left are kept up to here.
  private static var keptMax: Int { 64 }
}
