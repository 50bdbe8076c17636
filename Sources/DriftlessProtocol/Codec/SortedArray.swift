extension Array {
  /// The last element that holds, where all that hold come before those that do not.
  package func lastHolding(_ holds: (Element) -> Bool) -> Element? {
    var (low, high) = (0, count)
    while low < high {
      let middle = (low + high) / 2
      if holds(self[middle]) { low = middle + 1 } else { high = middle }
    }
    return low > 0 ? self[low - 1] : nil
  }
}
