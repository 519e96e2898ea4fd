package io.bucketstate.testkit

import scala.util.Random

/**
 * Changes of which more is appended than any writer of a local database takes at a time. To put or to remove a key twice is to
 * do it once; what is appended twice is there twice.
 */
object LargeAppends {

  /** What the changes come on top of: as files it is larger than they are, since it cannot be compressed. */
  def before: Seq[(String, Option[String])] = {
    val random = new Random(1L)
    (0 until Keys).map(n => s"key-$n" -> Some(random.alphanumeric.take(2000).mkString))
  }

  /** As [[SnapshotRoom]] takes them. */
  def changes: Seq[(String, Option[String])] = (0 until Keys).map { n =>
    val value = s"$n,".repeat(Length / s"$n,".length)
    s"key-$n" -> (n % 12 match {
      case 0 => None
      case 1 => Some(value)
      case _ => Some(s"+$value")
    })
  }

  /** Throws unless they are the same; says which keys are wrong, and not their values. */
  def requireSame(found: Map[String, String], expected: Map[String, String]): Unit = {
    val wrong = (found.keySet ++ expected.keySet).filter(key => found.get(key) != expected.get(key))
    val lengths = wrong.toSeq.sorted.map { key =>
      s"$key: ${found.get(key).map(_.length)} and not ${expected.get(key).map(_.length)}"
    }
    require(lengths.isEmpty, lengths.mkString("lengths of values are wrong: ", ", ", ""))
  }

  private final val Keys = 120
  private final val Length = 100000
}
