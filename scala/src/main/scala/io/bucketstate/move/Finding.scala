package io.bucketstate.move

/** How much a finding matters, from the least on. */
sealed abstract class Severity(val name: String)

object Severity {
  case object Info extends Severity("info")
  case object Warning extends Severity("warning")

  /** The move is refused. */
  case object Error extends Severity("error")
}

/** Something about a move that people should know before it is made. Immutable. */
final case class Finding(severity: Severity, text: String)
