/// Objects that an earlier part of the same push makes.
///
/// They have no number yet when the part is made. Each is named by how far its number lies before that of the part's own first
/// new object, taken from 2^41: such names lie above all numbers, and ascend as the numbers do that they stand for.
extension ChangeSetIndex {
  private static let madeBeforeEnd: UInt64 = 1 << 41
  private static let madeBeforeStart: UInt64 = 1 << 40

  /// The name, among known numbers, of an object that an earlier part makes.
  ///
  /// - Parameter distance: How many new objects of the push there are from it on, up to the part's own first; at least 1.
  public static func name(madeBefore distance: UInt64) -> UInt64 { madeBeforeEnd - distance }

  /// How far an object lies before the part's own first new object; nil for a number that the zone knows.
  public static func distance(ofName name: UInt64) -> UInt64? {
    (madeBeforeStart..<madeBeforeEnd).contains(name) ? madeBeforeEnd - name : nil
  }

  /// The most new objects that lie between this part's own and one that it names; 0 where it names none of an earlier part.
  public var farthestMadeBefore: UInt64 {
    knownNumbers.first { Self.distance(ofName: $0) != nil }.flatMap(Self.distance) ?? 0
  }

  /// Puts numbers in the place of the names of what earlier parts make. A name that stands for none stays as it is: no object
  /// has such a number.
  ///
  /// - Parameter firstNumber: The number of the change set's own first new object.
  public mutating func number(from firstNumber: UInt64) {
    guard Self.distance(ofName: knownNumbers.last ?? 0) != nil else { return }
    var before: UInt64 = 0
    for place in knownNumbers.indices {
      let number = knownNumbers[place]
      if let distance = Self.distance(ofName: number), distance < firstNumber,
        firstNumber - distance > before
      {
        knownNumbers[place] = firstNumber - distance
      }
      before = knownNumbers[place]
    }
  }
}

extension ChangeSetDecoder {
  /// Reads the change set of an entry of a log, with numbers for all that earlier parts of its push make.
  ///
  /// - Throws: `ProtocolError`.
  package func decode(_ entry: PullPage.Entry) throws(ProtocolError) -> ChangeSet {
    var changeSet = try decode(entry.frame)
    changeSet.index.number(from: entry.firstObjectNumber)
    return changeSet
  }
}
