/// What happens to the destinations of a relationship when its source is deleted. The raw values are Core Data's.
public enum DeleteRule: Int, Sendable, Codable {
  case noAction = 0
  case nullify = 1
  case cascade = 2
  case deny = 3
}
