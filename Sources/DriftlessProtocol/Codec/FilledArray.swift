extension Array {
  /// An array of so many elements at most, which `fill` writes where they lie, and counts.
  ///
  /// One for none is the standard library's own: that one notes the count in memory which the empty arrays of all threads share.
  @inline(__always)
  init<Failure: Error>(
    capacity: Int,
    _ fill: (inout UnsafeMutableBufferPointer<Element>, inout Int) throws(Failure) -> Void
  ) throws(Failure) {
    guard capacity > 0 else {
      var (none, count) = (UnsafeMutableBufferPointer<Element>(start: nil, count: 0), 0)
      try fill(&none, &count)
      assert(count == 0, "nothing fits")
      self = []
      return
    }
    try self.init(unsafeUninitializedCapacity: capacity, initializingWith: fill)
  }
}
