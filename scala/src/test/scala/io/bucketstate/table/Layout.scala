package io.bucketstate.table

import java.nio.{ByteBuffer, ByteOrder}

import scala.util.Random

import io.bucketstate.bucket.BucketKey
import io.bucketstate.testkit.CollidingKeys

/** Some of a family's records: how to get them, and which they are. */
private[table] final class Part(
    val records: (FamilyState, Long) => RecordScan,
    val holds: String => Boolean,
    val isOrdered: Boolean
)

/** What keys look like, and how they are scanned. */
private[table] sealed abstract class Layout(val scans: Scans, val bucketKey: BucketKey) {
  def key(n: Int): String

  def part(someKey: () => String, random: Random): Part

  protected val whole: Part = new Part(_.records(_), _ => true, isOrdered = false)
}

private[table] object Layout {
  case object Nothing extends Layout(Scans.Nothing, BucketKey.Whole) {
    override def key(n: Int): String = s"key-$n"
    override def part(someKey: () => String, random: Random): Part = whole
  }

  /** All keys have one hash, as far as buckets look at it. */
  case object Colliding extends Layout(Scans.Nothing, BucketKey.Whole) {
    private val texts = CollidingKeys.texts("", 77).take(300).toIndexedSeq
    override def key(n: Int): String = texts(n)
    override def part(someKey: () => String, random: Random): Part = whole
  }

  case object Ranges extends Layout(Scans.Ranges, BucketKey.Whole) {
    override def key(n: Int): String = s"key-$n"

    override def part(someKey: () => String, random: Random): Part = random.nextInt(4) match {
      case 0 => whole
      case 1 =>
        val prefix = someKey().dropRight(random.nextInt(3))
        new Part(_.prefixed(prefix.getBytes, _), _.startsWith(prefix), isOrdered = true)
      case _ =>
        val (from, until) = (bound(someKey, random), bound(someKey, random))
        new Part(
          _.ranged(from.map(_.getBytes).orNull, until.map(_.getBytes).orNull, _),
          key => from.forall(_ <= key) && until.forall(key < _),
          isOrdered = true
        )
    }

    private def bound(someKey: () => String, random: Random): Option[String] =
      Option.when(random.nextInt(3) > 0)(someKey())
  }

  /** A length of five, as Spark's prefix encoder has it in front, a prefix so long, and the rest. */
  case object Prefixes extends Layout(Scans.Prefixes, BucketKey.LengthPrefixed) {
    private val length =
      ByteBuffer.allocate(4).order(ByteOrder.nativeOrder).putInt(5).array.map(_.toChar).mkString

    override def key(n: Int): String = s"${length}pre-${n % 7}:$n"

    override def part(someKey: () => String, random: Random): Part =
      if (random.nextInt(4) == 0) whole
      else {
        val prefix = someKey().take(9)
        new Part(_.prefixed(prefix.getBytes, _), _.startsWith(prefix), isOrdered = false)
      }
  }
}
